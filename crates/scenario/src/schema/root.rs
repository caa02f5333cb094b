//! Keys of the file's top level and of `[[flows]]`, with their units and defaults.

use super::case::{CASE, EXPECT, STEP};
use super::{
    ANY_RATE, ANY_TIME, Field, Kind, LARGE, LINK, MOST, NODE, Need, QUEUE, SHORTHAND, SOME_SIZE, SOME_TIME, STACKS,
    TCP, Table, WIFI, WORKLOAD, Word, workload::SIZE,
};

const WHEN_WORDS: &[Word] = &[
    Word("off", "no samples: memory does not grow with simulated time"),
    Word("events", "every flow on each ACK, every queue on each change"),
];

/// When samples are taken.
static WHEN: Kind = Kind::Or(&SOME_TIME, WHEN_WORDS);

/// The `sampling` table.
pub(crate) static SAMPLING: Table = Table {
    name: "sampling",
    doc: "What is sampled over time. `sampling = \"10 ms\"` is short for `sampling = { interval = \"10 ms\" }`.",
    groups: &[&[
        Field::new(
            "interval",
            Kind::Or(&SOME_TIME, WHEN_WORDS),
            Need::Default("100 ms"),
            "Sampling interval, or the events that are sampled.",
        ),
        Field::new(
            "state",
            Kind::Switch,
            Need::Default("false"),
            "Whether samples include the internal state of congestion controls, loss recovery and queues, one row per variable.",
        ),
    ]],
};

/// The top level of a file without the tables of schemes; [`root`](super::root) adds them.
pub(crate) static ROOT: Table = Table {
    name: "scenario",
    doc: "The top level of the file: name, duration, sampling, and the tables below.",
    groups: &[&BEFORE_SCHEMES, &AFTER_SCHEMES],
};

/// Keys before the tables of schemes.
pub(super) static BEFORE_SCHEMES: [Field; 15] = [
    Field::new("format", Kind::OneOf(&[1]), Need::Default("1"), "Version of this format."),
    Field::new(
        "name",
        Kind::Name,
        Need::Described("the file's name without its ending"),
        "Short name of the scenario.",
    ),
    Field::new("title", Kind::Text, Need::Described("the name"), "Human-readable title."),
    Field::new("description", Kind::Text, Need::Default(""), "Longer text for the report."),
    Field::new("duration", SOME_TIME, Need::Default("60 s"), "Simulated time."),
    Field::new(
        "seed",
        Kind::Integer(0, i64::MAX as u64),
        Need::Default("1"),
        "Seed of all random streams if the command line gives none.",
    ),
    Field::new(
        "start_jitter",
        ANY_TIME,
        Need::Default("0 s"),
        "Every flow with `jitter` starts later by a random time, uniform from zero to this value, drawn again for each run.",
    ),
    Field::new("ip", Kind::OneOf(&[4, 6]), Need::Default("4"), "IP version of all packets."),
    Field::new(
        "sampling",
        Kind::OrTable(&WHEN, &SAMPLING),
        Need::Default("100 ms"),
        "How often flows, queues and routers are sampled, or a table that also asks for the state of algorithms. Totals are always kept.",
    ),
    Field::new("topology", Kind::Table(&SHORTHAND), Need::Described("none"), "Nodes and links by a shorthand."),
    Field::new("nodes", Kind::Tables(&NODE), Need::Described("none"), "Nodes, in addition to those of the shorthand."),
    Field::new("links", Kind::Tables(&LINK), Need::Described("none"), "Links, in addition to those of the shorthand."),
    Field::new("wifi", Kind::OneOrMany(&WIFI), Need::Described("none"), "802.11 channels."),
    Field::new("queue", Kind::Table(&QUEUE), Need::Described("the table's own defaults"), "Defaults for all queues."),
    Field::new("tcp", Kind::Table(&TCP), Need::Described("the table's own defaults"), "Defaults for all TCP flows."),
];

/// Keys after the tables of schemes.
pub(super) static AFTER_SCHEMES: [Field; 5] = [
    Field::new(
        "flows",
        Kind::Tables(&FLOW),
        Need::Described("needed unless there are workloads"),
        "Flows: applications that send data between hosts.",
    ),
    Field::new(
        "workloads",
        Kind::Tables(&WORKLOAD),
        Need::Described("none"),
        "Workloads: transfers that come and go, whose number, times and sizes are drawn.",
    ),
    Field::new("case", Kind::Table(&CASE), Need::Described("none"), "What a test case is about."),
    Field::new("steps", Kind::Tables(&STEP), Need::Described("none"), "Steps: what changes in the run, and when."),
    Field::new("expect", Kind::Tables(&EXPECT), Need::Described("none"), "Expectations, which `narrows check` judges."),
];

const TCP_KINDS: &[&str] = &["bulk", "rate", "on_off", "request_response", "video"];

/// A flow.
pub(crate) static FLOW: Table = Table {
    name: "flows",
    doc: "A flow, or several equal ones: an application at one host that sends to another host.",
    groups: &[&[
        Field::new(
            "name",
            Kind::Name,
            Need::Described("`flow1`, `flow2` .. by position"),
            "Unique name; copies are called `name-1`, `name-2` ..",
        ),
        Field::new(
            "from",
            Kind::NodePattern,
            Need::Required,
            "Host that sends the data; for `request_response` and `video` the client.",
        ),
        Field::new(
            "to",
            Kind::NodePattern,
            Need::Required,
            "Host that receives the data; for `request_response` and `video` the server.",
        ),
        Field::new(
            "kind",
            Kind::Choice(&[
                Word("bulk", "TCP that always has data to send; with `size`, the connection closes after that amount"),
                Word("rate", "TCP whose application writes at a constant `rate`"),
                Word("on_off", "TCP with alternating on and off periods"),
                Word("request_response", "TCP: a request, a response and a think time, repeated"),
                Word("video", "TCP: a video in segments, whose rate the client chooses by its buffer (BBA-0)"),
                Word("udp", "UDP at a constant `rate`, with pauses if `on` and `off` are given"),
                Word("frames", "UDP: `frame_rate` frames of video per second, each cut into datagrams sent at once"),
                Word("call", "two UDP flows: NAME-up with audio from `from` to `to`, NAME-down with frames the other way"),
            ]),
            Need::Default("bulk"),
            "The application and its transport protocol.",
        ),
        Field::new("start", ANY_TIME, Need::Default("0 s"), "When the application starts."),
        Field::new(
            "stop",
            Kind::Or(&SOME_TIME, &[Word("end", "the end of the run")]),
            Need::Default("end"),
            "When the application stops; a time after the end of the run means the end.",
        ),
        Field::new(
            "dscp",
            Kind::Dscp,
            Need::Default("0"),
            "Differentiated services codepoint of its packets (RFC 2474).",
        ),
        Field::new("jitter", Kind::Switch, Need::Default("true"), "Whether `start_jitter` applies."),
        Field::new("copies", Kind::Integer(1, MOST), Need::Default("1"), "Number of flows with these settings."),
        Field::new("stagger", ANY_TIME, Need::Default("0 s"), "Delay between the starts of consecutive copies."),
        Field::new(
            "size",
            Kind::Or(&SOME_SIZE, &[Word("unlimited", "without end")]),
            Need::Default("unlimited"),
            "Total amount of data; the connection then closes.",
        )
        .only(&["bulk"]),
        Field::new(
            "rate",
            Kind::Or(&ANY_RATE, &[Word("unlimited", "as fast as TCP allows; only for on_off")]),
            Need::RequiredIn(&["rate", "udp", "frames"], "unlimited"),
            "Rate of the application. For UDP it counts whole IP packets with headers; for on_off it applies to on periods; for frames it is that of the media.",
        )
        .only(&["rate", "on_off", "udp", "frames"]),
        Field::new(
            "write",
            Kind::Size(1, 1_000_000_000),
            Need::Described("the flow's `mss`"),
            "Bytes per write of the application.",
        )
        .only(&["rate"]),
        Field::new(
            "on",
            Kind::Or(&SOME_TIME, &[Word("always", "no pauses; only for udp")]),
            Need::RequiredIn(&["on_off"], "always"),
            "Mean length of an on period.",
        )
        .only(&["on_off", "udp"]),
        Field::new(
            "off",
            Kind::Or(&SOME_TIME, &[Word("never", "no pauses; only for udp")]),
            Need::RequiredIn(&["on_off"], "never"),
            "Mean length of an off period.",
        )
        .only(&["on_off", "udp"]),
        Field::new(
            "distribution",
            Kind::Choice(&[
                Word("constant", "always the mean"),
                Word("exponential", "exponential"),
                Word("pareto", "Pareto with shape 1.5"),
            ]),
            Need::Default("exponential"),
            "Distribution of the lengths of on and off periods.",
        )
        .only(&["on_off", "udp"]),
        Field::new("request", SOME_SIZE, Need::Default("200 B"), "Bytes of a request.")
            .only(&["request_response", "video"]),
        Field::new("response", SIZE, Need::Required, "Bytes of a response, always the same or drawn.")
            .only(&["request_response"]),
        Field::new("think", ANY_TIME, Need::Default("0 s"), "Time from the end of a response to the next request.")
            .only(&["request_response"]),
        Field::new(
            "count",
            Kind::Or(&Kind::Integer(1, LARGE), &[Word("unlimited", "until the flow stops")]),
            Need::Default("unlimited"),
            "Number of requests.",
        )
        .only(&["request_response"]),
        Field::new(
            "ladder",
            Kind::Rates(1, 100),
            Need::Required,
            "Rates of the encodings, rising: a list such as `[\"1 Mb/s\", \"3 Mb/s\"]`.",
        )
        .only(&["video"]),
        Field::new("segment", SOME_TIME, Need::Default("4 s"), "Media time of a segment.").only(&["video"]),
        Field::new(
            "buffer",
            SOME_TIME,
            Need::Default("60 s"),
            "Largest media time in the buffer. The client waits with a request until the segment has room.",
        )
        .only(&["video"]),
        Field::new(
            "reservoir",
            ANY_TIME,
            Need::Default("8 s"),
            "Media time in the buffer up to which the lowest rate is chosen.",
        )
        .only(&["video"]),
        Field::new(
            "cushion",
            SOME_TIME,
            Need::Default("40 s"),
            "Media time above `reservoir` over which the rate rises from the lowest to the highest.",
        )
        .only(&["video"]),
        Field::new(
            "startup",
            SOME_TIME,
            Need::Described("`segment`"),
            "Media time in the buffer with which playback starts, and goes on after it stood still.",
        )
        .only(&["video"]),
        Field::new(
            "length",
            Kind::Or(&SOME_TIME, &[Word("unlimited", "until the flow stops")]),
            Need::Default("unlimited"),
            "Media time of the video.",
        )
        .only(&["video"]),
        Field::new(
            "frame_rate",
            Kind::Integer(1, 1000),
            Need::Default("30"),
            "Frames per second.",
        )
        .only(&["frames", "call"]),
        Field::new("audio", ANY_RATE, Need::Default("64 kb/s"), "Rate of the audio without headers.").only(&["call"]),
        Field::new(
            "ptime",
            Kind::Time(1_000_000, 1_000_000_000),
            Need::Default("20 ms"),
            "Audio in a packet (RFC 3551): 20 ms are 50 packets per second.",
        )
        .only(&["call"]),
        Field::new("video", ANY_RATE, Need::Default("1.5 Mb/s"), "Rate of the video without headers.").only(&["call"]),
        Field::new(
            "payload",
            Kind::Size(1, 65_507),
            Need::Described("`1000 B`; for `frames` and `call` `1200 B`"),
            "Payload of a datagram, at most, if it carries frames. The first 12 bytes are an RTP header, by whose number delays are measured; a shorter payload has none.",
        )
        .only(&["udp", "frames", "call"]),
        Field::new(
            "cc",
            Kind::Cc,
            Need::Described("`cc` of `[tcp]`"),
            "Congestion control, short for `tcp = { cc = .. }`.",
        )
        .only(TCP_KINDS),
        Field::new(
            "stack",
            Kind::Choice(STACKS),
            Need::Described("`stack` of `[tcp]`"),
            "System whose TCP defaults it uses, short for `tcp = { stack = .. }`.",
        )
        .only(TCP_KINDS),
        Field::new(
            "tcp",
            Kind::Table(&TCP),
            Need::Described("`[tcp]`"),
            "TCP settings of this flow; `[tcp]` gives the others.",
        )
        .only(TCP_KINDS),
    ]],
};
