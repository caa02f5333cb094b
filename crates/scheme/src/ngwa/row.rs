//! The row of NGWA: its table in scenario files and its columns in results.

use super::{NgwaAssist, NgwaConfig, NgwaRouter, codec};
use crate::registry::{Counter, End, FlowCounters, SchemeRow};
use crate::{Parts, RouterAgent};
use narrows_cc::CongestionControl;
use narrows_settings::scheme::{Kind, Param, Rule, Scheme, Values, Word};
use narrows_settings::{Config, RecoveryKind};
use narrows_tcp::Assist;

/// NGWA.
pub(crate) const ROW: SchemeRow = SchemeRow {
    about: &ABOUT,
    build,
    flow_counters: FlowCounters {
        end: End::Receiver,
        over_time: false,
        list: &[
            Counter::new("window_options", "packets", "Segments from whose option the receiver took a window (NGWA)."),
            Counter::new(
                "window_options_ignored",
                "packets",
                "Segments whose malformed options the receiver ignored (NGWA).",
            ),
        ],
    },
    router_values: &[Counter::new(
        "window_bytes",
        "bytes",
        "Window that a flow would now be told (NGWA); none where the scheme tells none.",
    )
    .blank()],
    router_counters: &[
        Counter::new("inserted", "packets", "Segments that got an option (NGWA)."),
        Counter::new("lowered", "packets", "Segments whose option had a larger value, and got a smaller one (NGWA)."),
        Counter::new("kept", "packets", "Segments whose option stayed, its value as small or smaller (NGWA)."),
        Counter::new("full", "packets", "Segments left alone because their option area had no room (NGWA)."),
        Counter::new("malformed", "packets", "Segments left alone because their options were malformed (NGWA)."),
        Counter::new(
            "unsupported",
            "packets",
            "Segments left alone because they are IPv6 or too long for an option (NGWA).",
        ),
    ],
};

static ABOUT: Scheme = Scheme {
    name: "ngwa",
    acronym: "NGWA",
    title: "New General Window Advertising",
    sources: &[
        "M. Talau and E. C. G. Wille: Available Network Bandwidth Schema to Improve Performance in TCP Protocols, International Journal of Computer Networks & Communications 5(5), 2013",
    ],
    doc: "NGWA (M. Talau and E. C. G. Wille, \"Available Network Bandwidth Schema to Improve Performance in TCP \
          Protocols\"): routers write into an option of the IPv4 header how many bytes their queues can take, and receivers \
          advertise no larger a window.",
    params: &[
        Param::new(
            "mode",
            Kind::Integer(1, 8),
            "6",
            "Mode of the paper's table 1. Congestion window: 1, 2, 5, 6; without it (3, 4, 7, 8) flows run without congestion \
             control, whatever their `cc`. Smoothing of values: 2, 4, 6, 8. Division among flows: 5, 6, 7, 8; without it \
             (1, 2, 3, 4) a router's value is the free bytes of its queue.",
        ),
        Param::new(
            "alpha",
            Kind::Share { one: false },
            "0.3",
            "Weight of the newest value in the smoothing S = (1 - alpha) S + alpha W_ngwa.",
        ),
        Param::new(
            "flow_factor",
            Kind::Share { one: true },
            "0.98",
            "Share of a queue's limit that its flows divide among them; the rest is for ACKs.",
        ),
        Param::new("idle_timeout", Kind::Time, "60 s", "Idle time after which a flow leaves the router's table."),
        Param::new("max_flows", Kind::Integer(1, 1 << 32), "65536", "Capacity of the router's table.").unit("flows"),
        Param::new(
            "shrink",
            Kind::Switch,
            "false",
            "Whether the right edge of an advertised window may move left, as the paper's text reads; RFC 9293 advises against it.",
        ),
        Param::new(
            "fast_retransmit",
            Kind::Switch,
            "false",
            "Whether flows without a congestion window have the loss recovery of `recovery`, instead of the timer alone. Only in \
             modes 3, 4, 7 and 8.",
        ),
        Param::new(
            "stamp",
            Kind::Choice(&[
                Word("departure", "when the packet leaves the queue, as the paper's module for Linux does"),
                Word("arrival", "before the packet enters the queue"),
            ]),
            "departure",
            "When routers count a packet's flow and write their value into it.",
        ),
        Param::new(
            "marks",
            Kind::Choice(&[
                Word("all", "every TCP segment: a SYN too, so that the first window already obeys"),
                Word("data", "segments with payload"),
            ]),
            "all",
            "Segments into which routers write their value.",
        ),
        Param::new(
            "packet_size",
            Kind::Size,
            "1500 B",
            "Bytes that one place of a queue stands for, where its limit is in packets.",
        ),
        Param::new(
            "max_window",
            Kind::Or(&Kind::Size, &[Word("none", "no bound beside the receive buffer")]),
            "none",
            "W_max, the largest window that a receiver advertises; at least one segment.",
        ),
    ],
    rules: &[
        Rule::OnlyWith {
            switch: "fast_retransmit",
            number: "mode",
            // The modes without a congestion window (paper, table 1).
            values: &[3, 4, 7, 8],
            why: "whose flows have a congestion window and its recovery",
        },
        Rule::HoldsSegment("max_window"),
    ],
    ipv4_only: Some("whose value travels in an option of the IPv4 header"),
    router_adds: codec::OVERHEAD as u64,
    excludes_ecn: false,
    variables: &[],
};

fn build(values: &Values) -> Result<Box<dyn Parts>, String> {
    Ok(Box::new(NgwaConfig::from_values(values)?))
}

impl Parts for NgwaConfig {
    fn router(&self) -> Box<dyn RouterAgent> {
        Box::new(NgwaRouter::new(self))
    }

    fn end(&self, control: Box<dyn CongestionControl>) -> (Box<dyn CongestionControl>, Box<dyn Assist>) {
        let control = if self.mode.congestion_window { control } else { Box::new(narrows_cc::none::Unlimited) };
        (control, Box::new(NgwaAssist::new(self)))
    }

    /// A flow without a congestion window is TCP as in RFC 793, which repairs losses by the timer alone.
    fn configure(&self, config: &mut Config) {
        if !self.mode.congestion_window && !self.fast_retransmit {
            config.recovery = RecoveryKind::RtoOnly;
        }
    }
}
