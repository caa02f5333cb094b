//! Keys of test cases: `[case]`, `[[steps]]` and `[[expect]]`.

use super::{ANY_TIME, Field, Kind, Need, SOME_SIZE, SOME_TIME, Table, Word};
use crate::quantity::{BDPS as TIMES_BDP, RTTS, SHARE};

/// Largest number of packets or round trips.
pub(crate) const MANY: u64 = 1_000_000_000;

/// Most values of an axis of the grid, and names of a list.
const SOME: usize = 100;

static RATE: Kind = Kind::Rate(1, super::FAST);
static TIME: Kind = SOME_TIME;
static BDPS: Kind = Kind::Number(0.01, 1000.0);
static NAME: Kind = Kind::Name;
static DELAY: Kind = ANY_TIME;
static SIZE: Kind = SOME_SIZE;
static RATE_OR_SHARE: Kind = Kind::Scaled(&RATE, SHARE);

/// Cells of a case.
static GRID: Table = Table {
    name: "case.grid",
    doc: "Networks on which `narrows check` repeats the case: every combination of these values.",
    groups: &[&[
        Field::new(
            "rate",
            Kind::Several(&RATE, SOME),
            Need::Described("the file's own"),
            "Rates of the bottleneck: one, or a list.",
        ),
        Field::new(
            "rtt",
            Kind::Several(&TIME, SOME),
            Need::Described("the file's own"),
            "Round-trip propagation delays of the path: one, or a list.",
        ),
        Field::new(
            "buffer",
            Kind::Several(&BDPS, SOME),
            Need::Described("the file's own"),
            "Limits of the bottleneck's queue in multiples of the cell's rate times its round-trip time: one, or a list.",
        ),
    ]],
};

/// What a test case is about.
pub(crate) static CASE: Table = Table {
    name: "case",
    doc: "What a test case is about. Steps and expectations may stand in a file without it.",
    groups: &[&[
        Field::new("source", Kind::Text, Need::Default(""), "The document and section that ask for the behaviour."),
        Field::new(
            "flow",
            Kind::Name,
            Need::Described("the first TCP flow"),
            "The flow under test: what `flow` means in conditions.",
        ),
        Field::new(
            "cc",
            Kind::Several(&NAME, SOME),
            Need::Described("the flow's own"),
            "Congestion controls that the case is meant for: one, or a list.",
        ),
        Field::new("open", Kind::Text, Need::Default(""), "What the document leaves open, and how this file reads it."),
        Field::new(
            "bottleneck",
            Kind::Text,
            Need::Described("the link of a dumbbell"),
            "The link that `bottleneck` means, as `A-B` by the nodes at its ends.",
        ),
        Field::new("grid", Kind::Table(&GRID), Need::Described("none"), "Networks on which the case is repeated."),
    ]],
};

/// New values of a link.
static SET: Table = Table {
    name: "steps.set",
    doc: "New values of a link direction, for packets whose transmission starts from then on.",
    groups: &[&[
        Field::new(
            "rate",
            Kind::Scaled(&RATE, SHARE),
            Need::Described("as before"),
            "Rate of the direction, or a percentage of the one that it has at the start of the run.",
        ),
        Field::new(
            "delay",
            Kind::Scaled(&DELAY, RTTS),
            Need::Described("as before"),
            "Propagation delay, of both directions unless `direction` is given; or a multiple of the round-trip propagation delay that the path of the flow under test has at the start.",
        ),
        Field::new(
            "per",
            Kind::Probability,
            Need::Described("as before"),
            "Probability with which a packet of the direction is lost.",
        ),
    ]],
};

const PICK: &[Field] = &[
    Field::new(
        "packets",
        Kind::Integer(1, MANY),
        Need::Described("no limit"),
        "Number of packets that are looked at; without `share` and `every`, all of them are taken.",
    ),
    Field::new("share", Kind::Probability, Need::Described("all"), "Probability with which a packet is taken."),
    Field::new(
        "every",
        Kind::Integer(1, MANY),
        Need::Described("all"),
        "Of this number of packets, the last one is taken; no chance is involved.",
    ),
    Field::new("for", Kind::Lapse, Need::Described("no limit"), "Time after which no more packets are looked at."),
    Field::new("rounds", Kind::Integer(1, MANY), Need::Described("no limit"), "The same in round trips."),
];

/// Packets to be dropped.
static DROP: Table =
    Table { name: "steps.drop", doc: "Packets that are dropped in front of the queue.", groups: &[PICK] };

/// Packets to be marked.
static MARK: Table = Table {
    name: "steps.mark",
    doc: "ECN-capable packets that get the mark CE in front of the queue. Others pass.",
    groups: &[PICK],
};

/// Packets that come late.
static REORDER: Table = Table {
    name: "steps.reorder",
    doc: "Packets that arrive later, so that others overtake them.",
    groups: &[&[
        Field::new("packets", Kind::Integer(1, MANY), Need::Default("1"), "Number of packets."),
        Field::new(
            "by",
            Kind::Scaled(&TIME, RTTS),
            Need::Required,
            "How much later they arrive, or a multiple of the round-trip propagation delay at the start.",
        ),
    ]],
};

/// Aggregation.
static AGGREGATE: Table = Table {
    name: "steps.aggregate",
    doc: "Delivery in bursts, as `aggregation` of links.",
    groups: &[&[
        Field::new(
            "packets",
            Kind::Integer(1, MANY),
            Need::Required,
            "Number of held packets at which all are released.",
        ),
        Field::new(
            "time",
            Kind::Scaled(&TIME, RTTS),
            Need::Required,
            "Longest time that the first held packet waits for the others, or a multiple of the round-trip propagation delay at the start.",
        ),
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

/// A policer.
static POLICE: Table = Table {
    name: "steps.police",
    doc: "A token bucket in front of the queue. It drops packets for which it has no tokens.",
    groups: &[&[
        Field::new(
            "rate",
            Kind::Scaled(&RATE, SHARE),
            Need::Required,
            "Rate at which tokens come, or a percentage of the direction's rate at the start.",
        ),
        Field::new(
            "burst",
            Kind::Scaled(&SIZE, TIMES_BDP),
            Need::Required,
            "Size of the bucket, which is full at first; or a multiple of the bandwidth-delay product of the path at the start.",
        ),
    ]],
};

/// A step.
pub(crate) static STEP: Table = Table {
    name: "steps",
    doc: "A moment of a run, and what is done then. Without an action it is a moment that others refer to. It happens \
          `at` a time, `when` a condition is true, or `after` another step; the keys below `direction` are actions.",
    groups: &[&[
        Field::new("name", Kind::Name, Need::Described("none"), "Unique name, by which others refer to it."),
        Field::new("at", ANY_TIME, Need::Described("none"), "Time since the start of the run."),
        Field::new(
            "when",
            Kind::Condition,
            Need::Described("none"),
            "Condition: it happens at the first look at which this is true. Without `after`, it waits from the start of the flow under test on.",
        ),
        Field::new(
            "after",
            Kind::Name,
            Need::Described("none"),
            "Step after which this one is armed: from then on it waits for its condition, or it happens at once.",
        ),
        Field::new(
            "delay",
            Kind::Lapse,
            Need::Default("0 s"),
            "With `after` and without a condition: this much later, as a time or `2 rounds`.",
        ),
        Field::new(
            "rounds",
            Kind::Integer(1, MANY),
            Need::Described("none"),
            "The same in round trips of the flow under test.",
        ),
        Field::new(
            "within",
            Kind::Lapse,
            Need::Described("the end of the run"),
            "Time in which it must happen, from when it is armed, or `20 rounds`. Otherwise the case fails.",
        ),
        Field::new(
            "link",
            Kind::Text,
            Need::Described("`bottleneck`"),
            "Link that the step acts on: `A-B` by the nodes at its ends, or `bottleneck`.",
        ),
        Field::new(
            "direction",
            Kind::Choice(&[
                Word("forward", "from the link's first node to its second"),
                Word("reverse", "from the second node to the first"),
            ]),
            Need::Default("forward"),
            "Direction of the link.",
        ),
        Field::new("set", Kind::Table(&SET), Need::Described("none"), "Changes the link."),
        Field::new("drop", Kind::Table(&DROP), Need::Described("none"), "Drops packets."),
        Field::new("mark", Kind::Table(&MARK), Need::Described("none"), "Marks packets CE."),
        Field::new("reorder", Kind::Table(&REORDER), Need::Described("none"), "Lets packets arrive later."),
        Field::new(
            "aggregate",
            Kind::OrFalse(&AGGREGATE),
            Need::Described("none"),
            "Delivers packets in bursts from now on; `false` ends it.",
        ),
        Field::new(
            "police",
            Kind::OrFalse(&POLICE),
            Need::Described("none"),
            "Puts a policer in front of the queue from now on; `false` removes it.",
        ),
        Field::new(
            "flows",
            Kind::Several(&NAME, super::MOST as usize),
            Need::Described("the flow under test"),
            "Flows that the step acts on: one, a list for applications, or `all`. Of a flow's packets, those with data; where its ACKs pass, those.",
        ),
        Field::new(
            "pause",
            Kind::Switch,
            Need::Default("false"),
            "Whether the applications write nothing from now on.",
        ),
        Field::new("resume", Kind::Switch, Need::Default("false"), "Whether the applications write again."),
        Field::new(
            "app_rate",
            Kind::Or(&RATE_OR_SHARE, &[Word("unlimited", "as fast as TCP allows")]),
            Need::Described("as before"),
            "Rate at which applications of `kind = \"bulk\"` write from now on, or a percentage of the smallest rate on the flow's path at the start.",
        ),
    ]],
};

/// An expectation.
pub(crate) static EXPECT: Table = Table {
    name: "expect",
    doc: "What must hold. Exactly one of `always`, `never`, `eventually` and `then` has the condition.",
    groups: &[&[
        Field::new("name", Kind::Text, Need::Described("the condition"), "What it says, in words."),
        Field::new(
            "after",
            Kind::Name,
            Need::Described("the start of the flow under test"),
            "Step from which on it is judged.",
        ),
        Field::new("until", Kind::Name, Need::Described("the end of the run"), "Step up to which it is judged."),
        Field::new(
            "for",
            Kind::Lapse,
            Need::Described("the end of the run"),
            "Time for which it is judged, or `3 rounds`.",
        ),
        Field::new("rounds", Kind::Integer(1, MANY), Need::Described("none"), "The same in round trips."),
        Field::new(
            "within",
            Kind::Lapse,
            Need::Described("the end of the run"),
            "Of `eventually`: the time in which it must become true, or `3 rounds`.",
        ),
        Field::new("always", Kind::Condition, Need::Described("none"), "Condition that is true at every look."),
        Field::new("never", Kind::Condition, Need::Described("none"), "Condition that is true at no look."),
        Field::new(
            "eventually",
            Kind::Condition,
            Need::Described("none"),
            "Condition that is true at one look at least.",
        ),
        Field::new("then", Kind::Condition, Need::Described("none"), "Condition that is true when `after` happens."),
        Field::new(
            "unless",
            Kind::Condition,
            Need::Described("none"),
            "Condition under which the expectation is not judged, looked at when judging begins.",
        ),
    ]],
};
