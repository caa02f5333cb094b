//! Keys of the `[ngwa]` table, with their units and defaults.

use super::{Field, Kind, LARGE, MOST, Need, SOME_TIME, Table, Word};

/// The `[ngwa]` table.
pub(crate) static NGWA: Table = Table {
    name: "ngwa",
    doc: "NGWA (M. Talau and E. C. G. Wille, \"Available Network Bandwidth Schema to Improve Performance in TCP \
          Protocols\"): routers write into an option of the IPv4 header how many bytes their queues can take, and receivers \
          advertise no larger a window. Queues out of which its routers send have limits in bytes.",
    groups: &[&[
        Field::new(
            "enabled",
            Kind::Switch,
            Need::Default("true"),
            "`false` removes NGWA from routers and end points, so that `--set ngwa.enabled=false` is the run without it.",
        ),
        Field::new("routers", Kind::Nodes(0, MOST as usize), Need::Described("all routers"), "Routers that run it."),
        Field::new(
            "mode",
            Kind::Integer(1, 8),
            Need::Default("6"),
            "Mode of the paper's table 1. Congestion window: 1, 2, 5, 6; without it (3, 4, 7, 8) flows run without congestion \
             control, whatever their `cc`. Smoothing of values: 2, 4, 6, 8. Division among flows: 5, 6, 7, 8; without it \
             (1, 2, 3, 4) a router's value is the free bytes of its queue.",
        ),
        Field::new(
            "alpha",
            Kind::Share { one: false },
            Need::Default("0.3"),
            "Weight of the newest value in the smoothing S = (1 - alpha) S + alpha W_ngwa.",
        ),
        Field::new(
            "flow_factor",
            Kind::Share { one: true },
            Need::Default("0.98"),
            "Share of a queue's limit that its flows divide among them; the rest is for ACKs.",
        ),
        Field::new(
            "idle_timeout",
            SOME_TIME,
            Need::Default("60 s"),
            "Idle time after which a flow leaves the router's table.",
        ),
        Field::new("max_flows", Kind::Integer(1, 1 << 32), Need::Default("65536"), "Bound of the router's table."),
        Field::new(
            "shrink",
            Kind::Switch,
            Need::Default("false"),
            "Whether the right edge of an advertised window may move left, as the paper's text reads; RFC 9293 advises against it.",
        ),
        Field::new(
            "fast_retransmit",
            Kind::Switch,
            Need::Default("false"),
            "Whether flows without a congestion window have the loss recovery of `recovery`, instead of the timer alone. Only in \
             modes 3, 4, 7 and 8.",
        ),
        Field::new(
            "stamp",
            Kind::Choice(&[
                Word("departure", "when the packet leaves the queue, as the paper's module for Linux does"),
                Word("arrival", "before the packet enters the queue"),
            ]),
            Need::Default("departure"),
            "When routers count a packet's flow and write their value into it.",
        ),
        Field::new(
            "max_window",
            Kind::Or(&Kind::Size(1, LARGE), &[Word("none", "no bound beside the receive buffer")]),
            Need::Default("none"),
            "W_max, the largest window that a receiver advertises; at least one segment.",
        ),
    ]],
};
