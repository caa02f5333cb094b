//! Nodes, links, queues, losses, and the shorthands.

use super::impair;
use super::{ANY_RATE, ANY_TIME, Field, Kind, MOST, Need, Table, Word};

/// A node.
pub(crate) static NODE: Table = Table {
    name: "nodes",
    doc: "A node.",
    groups: &[&[
        Field::new("name", Kind::Name, Need::Required, "Unique name."),
        Field::new(
            "kind",
            Kind::Choice(&[
                Word("host", "sends and receives flows; does not forward"),
                Word("router", "forwards; does not send or receive flows"),
            ]),
            Need::Default("host"),
            "Role of the node.",
        ),
        Field::new(
            "ip_options",
            Kind::Choice(&[
                Word("keep", "forwards packets with their options"),
                Word(
                    "drop",
                    "drops packets with options; counted in `dropped_forced` of the queue that they would have entered",
                ),
                Word("strip", "removes them"),
                Word(
                    "copy",
                    "writes the options of a flow's first packet that has some into all its later packets, as a box that makes headers of its own",
                ),
            ]),
            Need::Default("keep"),
            "What a router that runs no scheme does to options of IPv4 headers: a middlebox.",
        ),
        Field::new(
            "address",
            Kind::Address,
            Need::Described("10.0.0.1, 10.0.0.2 .. or fd00::1, fd00::2 .., in order"),
            "Its IP address.",
        ),
    ]],
};

const ENDS: &[Field] = &[Field::new(
    "between",
    Kind::Nodes(2, 2),
    Need::Required,
    "The two nodes; forward is from the first to the second.",
)];

const BODY: &[Field] = &[
    Field::new(
        "rate",
        Kind::OrTable(&ANY_RATE, &TRACE),
        Need::Described("needed, here or in both directions"),
        "Rate, or the trace that gives it.",
    ),
    Field::new("delay", ANY_TIME, Need::Described("needed, here or in both directions"), "Propagation delay, one way."),
    Field::new("queue", Kind::Table(&QUEUE), Need::Described("`[queue]`"), "Queue in front of the link."),
    Field::new(
        "per",
        Kind::Probability,
        Need::Described("0"),
        "Packet error rate: each packet is lost with this probability. Netem's `corrupt` is the same to an end point: a checksum drops \
         the packet.",
    )
    .alias(&["corrupt"]),
    Field::new("loss", Kind::Table(&LOSS), Need::Described("none"), "Random losses, instead of `per`."),
    Field::new(
        "changes",
        Kind::Tables(&CHANGE),
        Need::Described("none"),
        "Changes of rate or delay, in order of time.",
    ),
];

const SIDES: &[Field] = &[
    Field::new(
        "forward",
        Kind::Table(&DIRECTION),
        Need::Described("as the link"),
        "Settings that differ from the first to the second node.",
    ),
    Field::new(
        "reverse",
        Kind::Table(&DIRECTION),
        Need::Described("as the link"),
        "Settings that differ from the second to the first node.",
    ),
];

/// A link.
pub(crate) static LINK: Table = Table {
    name: "links",
    doc: "A link: two directions, equal unless `forward` or `reverse` differ.",
    groups: &[ENDS, BODY, impair::FIELDS, SIDES],
};

/// A link of a shorthand, which determines its ends.
pub(crate) static SHORTHAND_LINK: Table = Table {
    name: "topology.link",
    doc: "A link of a shorthand: as in `[[links]]`, without its ends.",
    groups: &[BODY, impair::FIELDS, SIDES],
};

/// One direction of a link.
pub(crate) static DIRECTION: Table = Table {
    name: "links.forward",
    doc: "Settings in which one direction of a link differs.",
    groups: &[BODY, impair::FIELDS],
};

/// A trace in place of a rate.
pub(crate) static TRACE: Table = Table {
    name: "links.rate",
    doc: "A trace of deliveries, which a link follows instead of a constant rate. Each line of a file in mahimahi's format \
          is an opportunity in milliseconds that delivers up to 1504 bytes, and a packet counts its IP bytes and 4 more. \
          A CSV file has the header `time_s,rate_mbps` (or `time_ms`, `time_us`, `time_ns`; `rate_gbps`, `rate_kbps`, \
          `rate_bps`) and then a time and the rate from then on per line. Its first time is 0.",
    groups: &[&[
        Field::new("trace", Kind::Text, Need::Required, "File of the trace, relative to the scenario's directory."),
        Field::new(
            "repeat",
            Kind::Switch,
            Need::Described("`true` for opportunities, `false` for rates"),
            "Whether the trace starts again at the time of its last line. Otherwise opportunities end there, and the last rate stays.",
        ),
        Field::new(
            "content",
            Kind::Text,
            Need::Described("the file's"),
            "Lines of the trace as resolved scenarios carry them; the file is then not read.",
        ),
    ]],
};

/// A change.
pub(crate) static CHANGE: Table = Table {
    name: "links.changes",
    doc: "A change of rate, delay or both.",
    groups: &[&[
        Field::new("at", ANY_TIME, Need::Required, "Time from the start of the run."),
        Field::new(
            "rate",
            ANY_RATE,
            Need::Described("unchanged"),
            "New rate, for packets whose transmission starts from then on.",
        ),
        Field::new(
            "delay",
            ANY_TIME,
            Need::Described("unchanged"),
            "New propagation delay; packets do not overtake each other.",
        ),
    ]],
};

const GE: &[&str] = &["gilbert_elliott"];

/// Losses.
pub(crate) static LOSS: Table = Table {
    name: "links.loss",
    doc: "Random losses on a link, in addition to drops of its queue.",
    groups: &[&[
        Field::new(
            "kind",
            Kind::Choice(&[
                Word("none", "no losses"),
                Word("uniform", "each packet with the same probability"),
                Word("gilbert_elliott", "a good and a bad state, each with its own rate; transitions once per packet"),
            ]),
            Need::Required,
            "Model of the losses.",
        ),
        Field::new("per", Kind::Probability, Need::Required, "Packet error rate.").only(&["uniform"]),
        Field::new("to_bad", Kind::Probability, Need::Required, "From the good to the bad state, per packet.").only(GE),
        Field::new("to_good", Kind::Probability, Need::Required, "From the bad to the good state, per packet.")
            .only(GE),
        Field::new("per_good", Kind::Probability, Need::Default("0"), "Packet error rate in the good state.").only(GE),
        Field::new("per_bad", Kind::Probability, Need::Default("1"), "Packet error rate in the bad state.").only(GE),
    ]],
};

/// A queue. The catalogue's disciplines add their parameters.
pub(crate) static QUEUE: Table = Table {
    name: "queue",
    doc: "A queue. `[queue]` gives defaults for the queues of all links and channels; `queue = { .. }` of a link or channel overrides them.",
    groups: &[&[
        Field::new("kind", Kind::Queue, Need::Described("the first that `narrows list queues` shows"), "Discipline."),
        Field::new(
            "limit",
            Kind::Limit,
            Need::Default("100 packets"),
            "Largest backlog. The packet in transmission is not counted. A time stands for the bytes that the link \
             sends in it at its `rate`, rounded down; `changes` do not change them. Queues of channels take packets or \
             bytes.",
        ),
    ]],
};

const DUMBBELL: &[&str] = &["dumbbell"];
const PARKING_LOT: &[&str] = &["parking_lot"];
const CHAIN: &[&str] = &["chain"];
const STAR: &[&str] = &["star"];

/// A shorthand.
pub(crate) static SHORTHAND: Table = Table {
    name: "topology",
    doc: "Nodes and links by a shorthand. It may be combined with `[[nodes]]` and `[[links]]`.",
    groups: &[&[
        Field::new(
            "kind",
            Kind::Choice(&[
                Word("dumbbell", "hosts s1..sN - router r1 - bottleneck - router r2 - hosts d1..dN"),
                Word("parking_lot", "routers r1..r(N+1) in a row; s0 and d0 at its ends, s1..sN and d1..dN across one hop each"),
                Word("chain", "host h1 - routers r1..rN - host h2"),
                Word("star", "router hub with hosts h1..hN"),
            ]),
            Need::Required,
            "Shape.",
        ),
        Field::new("pairs", Kind::Integer(1, MOST), Need::Default("1"), "Pairs of hosts.").only(DUMBBELL),
        Field::new("hops", Kind::Integer(1, MOST), Need::Default("2"), "Bottlenecks in a row.").only(PARKING_LOT),
        Field::new("routers", Kind::Integer(0, MOST), Need::Default("2"), "Routers between the two hosts.").only(CHAIN),
        Field::new("leaves", Kind::Integer(1, MOST), Need::Default("2"), "Hosts around the hub.").only(STAR),
        Field::new(
            "bottleneck",
            Kind::OneOrMany(&SHORTHAND_LINK),
            Need::Required,
            "Links between routers (r1 to r2 is forward): one for all, or a list with one for each.",
        )
        .only(&["dumbbell", "parking_lot"]),
        Field::new(
            "access",
            Kind::OneOrMany(&SHORTHAND_LINK),
            Need::Required,
            "Links of hosts (host to router is forward on the left, router to host on the right): one for all, or a list with \
             one for each pair (of a parking lot: s0 and d0 first).",
        )
        .only(&["dumbbell", "parking_lot", "star"]),
        Field::new("link", Kind::OneOrMany(&SHORTHAND_LINK), Need::Required, "Links in a row from h1 to h2: one for all, or a list.")
            .only(CHAIN),
    ]],
};
