//! The row of ACNS: its table in scenario files and its columns in results.

use super::{Acns, AcnsAssist, AcnsConfig, AcnsRouter, codec};
use crate::registry::{Counter, End, FlowCounters, SchemeRow};
use crate::{Parts, RouterAgent};
use narrows_cc::CongestionControl;
use narrows_settings::scheme::{Kind, Param, Rule, Scheme, Values, Word};
use narrows_tcp::{Assist, HeaderBits};
use narrows_units::Variable;

/// ACNS.
pub(crate) const ROW: SchemeRow = SchemeRow {
    about: &ABOUT,
    build,
    flow_counters: FlowCounters {
        end: End::Sender,
        over_time: true,
        list: &[
            Counter::new("commands_normal", "", "Commands \"normal\" received by the sender."),
            Counter::new("commands_freeze", "", "Commands \"freeze\" received by the sender."),
            Counter::new("commands_fallback", "", "Commands \"fallback\" received by the sender."),
        ],
    },
    router_values: &[
        Counter::new("flows_normal", "flows", "Flows whose command would now be normal."),
        Counter::new("flows_freeze", "flows", "Flows whose command would now be freeze."),
        Counter::new("flows_fallback", "flows", "Flows whose command would now be fallback."),
    ],
    router_counters: &[
        Counter::new("asked", "packets", "Segments that asked for a command (ACNS)."),
        Counter::new("wrote_freeze", "packets", "Segments into which freeze was written (ACNS)."),
        Counter::new("wrote_fallback", "packets", "Segments into which fallback was written (ACNS)."),
    ],
};

static ABOUT: Scheme = Scheme {
    name: "acns",
    acronym: "ACNS",
    title: "Advanced Congestion Notification System",
    sources: &[
        "M. Hruby, M. Olsovsky, M. Kotocova: A Novel Technique for TCP Based Congestion Control, DCNET 2013",
        "M. Olsovsky: Advanced notification system for TCP performance increase, Bulletin of the ACM Slovakia 5(2), 2013",
    ],
    doc: "ACNS (Hruby et al., DCNET 2013; Olsovsky 2013): routers compute a command per flow from its age, its priority and \
          the queue, and senders obey. Keys may also be written as the papers' symbols.",
    params: &[
        Param::new(
            "formula",
            Kind::Choice(&[
                Word("dcnet2013", "F(p) = v_p p / p_max, T(a) = v_a / a: old, low-priority flows yield first"),
                Word("thesis2013", "F(p) = v_p p_max / p, T(a) = v_a a: as printed in the thesis"),
            ]),
            "dcnet2013",
            "Formula of the weight W = A(q) / (F(p) + T(a)).",
        ),
        Param::new(
            "priority_weight",
            Kind::Number(0.0, 1.0),
            "0.8",
            "Weight of the priority; together with `age_weight` it is 1.",
        )
        .follows("1 - `age_weight`, or 0.8")
        .alias(&["v_p"]),
        Param::new("age_weight", Kind::Number(0.0, 1.0), "0.2", "Weight of the age.")
            .follows("1 - `priority_weight`, or 0.2")
            .alias(&["v_a"]),
        Param::new("freeze_threshold", Kind::Number(0.0, 1e6), "0.95", "Weight from which the command is freeze.")
            .alias(&["th_A1"]),
        Param::new("fallback_threshold", Kind::Number(0.0, 1e6), "1.0", "Weight from which the command is fallback.")
            .alias(&["th_A2"]),
        Param::new(
            "loss_fallback_threshold",
            Kind::Number(0.0, 4.0),
            "1.8413",
            "Trend of commands from which a loss means fallback instead of freeze.",
        )
        .alias(&["th_L1"]),
        Param::new(
            "loss_decrease_threshold",
            Kind::Number(0.0, 4.0),
            "2.1587",
            "Trend of commands from which the base variant handles a loss.",
        )
        .alias(&["th_L2"]),
        Param::new("trend_count", Kind::Integer(1, 1000), "10", "Commands in the loss trend.")
            .alias(&["count"])
            .unit("commands"),
        Param::new("trend_sigma", Kind::Number(0.001, 1e6), "3.0", "Larger values forget old commands more slowly.")
            .alias(&["sigma"])
            .unit("commands"),
        Param::new(
            "p_max",
            Kind::Or(&Kind::OneOf(&[63]), &[Word("observed", "the largest priority in the router's table")]),
            "63",
            "Priority that counts as the highest.",
        ),
        Param::new("idle_timeout", Kind::Time, "60 s", "Idle time after which a flow leaves the router's table."),
        Param::new("max_flows", Kind::Integer(1, 1 << 32), "65536", "Capacity of the router's table.").unit("flows"),
        Param::new(
            "command_scope",
            Kind::Choice(&[
                Word("window", "the command on the ACK of the asking segment applies until the next such ACK"),
                Word("ack", "each ACK's command is obeyed on its own"),
            ]),
            "window",
            "How long a command applies.",
        ),
        Param::new(
            "fallback_window",
            Kind::Choice(&[
                Word("smaller", "the latest smaller window of the sender's history, as the papers' texts say"),
                Word("difference", "cwnd less that window, as equation 9 of DCNET 2013 is printed"),
            ]),
            "smaller",
            "Window that a fallback sets.",
        ),
        Param::new(
            "history_step",
            Kind::Choice(&[Word("round_trip", "once per round trip"), Word("ack", "at each ACK")]),
            "round_trip",
            "How often the window enters the history that a fallback returns to.",
        ),
        Param::new(
            "normal_only_losses",
            Kind::Choice(&[
                Word("trend", "an error of the channel, as in the papers: the window stays"),
                Word("base", "congestion: the base variant reacts; a rule of ours for paths whose routers lack ACNS"),
            ]),
            "trend",
            "Meaning of a loss to a sender that has received no command other than normal.",
        ),
        Param::new(
            "ipv6",
            Kind::Choice(&[
                Word("extension", "hop-by-hop options header"),
                Word("flow_label", "top bit of a flow label shortened to 17 bits"),
            ]),
            "extension",
            "How the congestion bit travels in IPv6.",
        ),
        Param::new(
            "obey",
            Kind::Switch,
            "true",
            "Whether senders obey; if not, commands are computed, written and counted, but change nothing.",
        ),
    ],
    rules: &[
        Rule::SumToOne("priority_weight", "age_weight"),
        Rule::Ordered("freeze_threshold", "fallback_threshold"),
        Rule::Ordered("loss_fallback_threshold", "loss_decrease_threshold"),
    ],
    ipv4_only: None,
    router_adds: 0,
    excludes_ecn: codec::BITS.excludes(HeaderBits::CLASSIC_ECN),
    variables: &[
        Variable::state("acns_command", "Command in force.", &["none", "normal", "freeze", "fallback"]),
        Variable::new(
            "acns_trend",
            "",
            "Weighted mean of the last commands, W_trend, from 1 to 3; 0 before the first.",
        ),
        Variable::new("acns_history", "", "Windows in the history that a fallback returns to."),
        Variable::new("acns_fallbacks", "", "Times the window fell back."),
        Variable::new("acns_losses_frozen", "", "Losses that left the window, C_trend = 1."),
        Variable::new("acns_losses_fallen_back", "", "Losses after which the window fell back, C_trend = 2."),
        Variable::new("acns_losses_decreased", "", "Losses that the base algorithm answered, C_trend = 3."),
    ],
};

fn build(values: &Values) -> Result<Box<dyn Parts>, String> {
    Ok(Box::new(AcnsConfig::from_values(values)?))
}

impl Parts for AcnsConfig {
    fn router(&self) -> Box<dyn RouterAgent> {
        Box::new(AcnsRouter::new(self))
    }

    fn end(&self, control: Box<dyn CongestionControl>) -> (Box<dyn CongestionControl>, Box<dyn Assist>) {
        (Box::new(Acns::new(control, self)), Box::new(AcnsAssist::new(self)))
    }
}
