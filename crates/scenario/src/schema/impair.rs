//! Impairments of links.

use super::{ANY_TIME, Field, Kind, Need, SOME_TIME, Table, Word};

/// Largest number of packets that settings of impairments take.
const MANY: u64 = 1_000_000;

/// The keys of impairments, which tables of links share.
pub(crate) const FIELDS: &[Field] = &[
    Field::new(
        "jitter",
        Kind::OrTable(&ANY_TIME, &JITTER),
        Need::Described("none"),
        "Random part of the delay, as in netem: the delay of a packet is `delay` plus this time by a random factor, at least zero.",
    ),
    Field::new(
        "reorder",
        Kind::OrFalse(&REORDER),
        Need::Described("none"),
        "Lets some packets overtake others, as netem's `reorder`.",
    ),
    Field::new(
        "duplicate",
        Kind::OrTable(&Kind::Probability, &DUPLICATE),
        Need::Described("0"),
        "Probability that a packet that is not lost arrives twice. The copy takes no time of the transmitter.",
    ),
    Field::new(
        "outages",
        Kind::Tables(&OUTAGE),
        Need::Described("none"),
        "Times in which the link sends nothing, in order.",
    ),
    Field::new(
        "aggregation",
        Kind::OrFalse(&AGGREGATION),
        Need::Described("none"),
        "Holds packets at the far end and releases them in one burst, at one instant.",
    ),
    Field::new(
        "ack_decimation",
        Kind::OrTable(&Kind::Integer(1, MANY), &DECIMATION),
        Need::Described("1"),
        "Drops pure ACKs in front of the queue: of this number of ACKs of a flow in a row, the last one passes. Counted in \
         `dropped_forced`.",
    ),
    Field::new(
        "ack_loss",
        Kind::Probability,
        Need::Described("0"),
        "Each pure ACK (TCP without payload, SYN, FIN and RST) is lost on the link with this probability, in addition to `per` or `loss`. \
         Counted in `corrupted`.",
    ),
];

/// All impairments of a direction.
pub(crate) static IMPAIRMENTS: Table =
    Table { name: "impairments", doc: "Impairments of one direction of a link.", groups: &[FIELDS] };

/// Jitter.
pub(crate) static JITTER: Table = Table {
    name: "links.jitter",
    doc: "Random part of a link's delay. A time alone stands for `time`.",
    groups: &[&[
        Field::new("time", ANY_TIME, Need::Required, "Scale of the distribution; zero is no jitter."),
        Field::new(
            "distribution",
            Kind::Choice(&[
                Word("uniform", "between `delay` - `time` and `delay` + `time`"),
                Word("normal", "with the standard deviation `time`"),
                Word("pareto", "shape 3; `delay` plus -2/3 to 4 times `time`, as netem's table"),
                Word("paretonormal", "a quarter normal, three quarters pareto, as netem's table"),
            ]),
            Need::Default("uniform"),
            "Distribution of the delay. It has negative parts too; a delay is never below zero.",
        ),
        Field::new(
            "correlation",
            Kind::Probability,
            Need::Default("0"),
            "Correlation of consecutive packets. The distribution stays the same.",
        ),
        Field::new(
            "order",
            Kind::Choice(&[
                Word("free", "a packet with a shorter delay overtakes others, as in netem"),
                Word("kept", "a packet does not arrive before those ahead of it"),
            ]),
            Need::Default("free"),
            "What happens to the order of packets.",
        ),
    ]],
};

/// Reordering.
pub(crate) static REORDER: Table = Table {
    name: "links.reorder",
    doc: "Reordering. After `gap` - 1 packets that are not selected, the next one is selected with the probability.",
    groups: &[&[
        Field::new("delay", SOME_TIME, Need::Required, "Extra delay of the packets that others overtake."),
        Field::new(
            "probability",
            Kind::Probability,
            Need::Described("1 with `gap`, else needed"),
            "Probability that a packet is selected.",
        ),
        Field::new(
            "correlation",
            Kind::Probability,
            Need::Default("0"),
            "Correlation of the random numbers that select, as in netem: x = (1 - correlation) * random + correlation * last x. It \
             draws x towards 1/2, so that small probabilities select fewer packets than they say.",
        ),
        Field::new(
            "gap",
            Kind::Integer(1, MANY),
            Need::Default("1"),
            "Least number of packets from one selected packet to the next. With probability 1, every packet of this number is selected.",
        ),
        Field::new(
            "selected",
            Kind::Choice(&[
                Word("ahead", "selected packets overtake: all others have the extra delay, and jitter; as in netem"),
                Word("behind", "selected packets are overtaken: they alone have the extra delay"),
            ]),
            Need::Default("ahead"),
            "What happens to selected packets.",
        ),
    ]],
};

/// Duplication.
pub(crate) static DUPLICATE: Table = Table {
    name: "links.duplicate",
    doc: "Duplication, as netem's `duplicate`. A probability alone stands for `probability`.",
    groups: &[&[
        Field::new("probability", Kind::Probability, Need::Required, "Probability that a packet arrives twice."),
        Field::new(
            "correlation",
            Kind::Probability,
            Need::Default("0"),
            "Correlation of the random numbers, as in `reorder`.",
        ),
    ]],
};

/// Outages.
pub(crate) static OUTAGE: Table = Table {
    name: "links.outages",
    doc: "A time in which no transmission starts. A packet whose transmission has started, and packets on the wire, arrive.",
    groups: &[&[
        Field::new("start", ANY_TIME, Need::Required, "Time from the start of the run."),
        Field::new("duration", SOME_TIME, Need::Required, "Length; the end of the run ends an outage too."),
        Field::new(
            "queue",
            Kind::Choice(&[
                Word("keep", "packets wait until the outage ends, as far as the queue has room"),
                Word(
                    "drop",
                    "waiting packets and those that come are dropped, as when a device loses its carrier; counted in `dropped_forced`",
                ),
            ]),
            Need::Default("keep"),
            "What happens to packets meanwhile.",
        ),
    ]],
};

/// Aggregation.
pub(crate) static AGGREGATION: Table = Table {
    name: "links.aggregation",
    doc: "Delivery in bursts, as after a link layer that collects packets.",
    groups: &[&[
        Field::new(
            "packets",
            Kind::Integer(1, MANY),
            Need::Required,
            "Number of held packets at which all are released.",
        ),
        Field::new("time", SOME_TIME, Need::Required, "Longest time that the first held packet waits for the others."),
        Field::new(
            "of",
            Kind::Choice(&[
                Word("all", "all packets of the direction"),
                Word("acks", "pure ACKs; other packets do not wait and overtake them"),
            ]),
            Need::Default("all"),
            "Which packets are held.",
        ),
    ]],
};

/// Decimation of ACKs.
pub(crate) static DECIMATION: Table = Table {
    name: "links.ack_decimation",
    doc: "Decimation of ACKs. A number alone stands for `every`. The first ACK of a flow passes. If the last ones of a transfer are dropped, \
          the sender gets an ACK after its next retransmission.",
    groups: &[&[
        Field::new(
            "every",
            Kind::Integer(1, MANY),
            Need::Required,
            "Of this number of a flow's ACKs, the last one passes; 1 drops none.",
        ),
        Field::new(
            "of",
            Kind::Choice(&[
                Word("cumulative", "pure ACKs of new data without SACK blocks and with no other flag than PSH"),
                Word("all", "all pure ACKs, also duplicate ones and those with SACK blocks or ECN feedback"),
            ]),
            Need::Default("cumulative"),
            "Which ACKs count and may be dropped. Others pass.",
        ),
    ]],
};
