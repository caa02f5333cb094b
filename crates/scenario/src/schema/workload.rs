//! Keys of `[[workloads]]`, of sizes, and of arrivals.

use super::{ANY_TIME, Field, Kind, LARGE, MOST, Need, SOME_SIZE, SOME_TIME, STACKS, TCP, Table, Word};

/// Sizes that are drawn.
pub(crate) static SIZES: Table = Table {
    name: "size",
    doc: "A distribution of sizes. `size = \"100 kB\"` is short for `size = { mean = \"100 kB\" }`.",
    groups: &[&[
        Field::new(
            "mean",
            SOME_SIZE,
            Need::Described("needed for `constant`, `exponential` and `pareto`"),
            "Mean, before `max` applies.",
        ),
        Field::new(
            "distribution",
            Kind::Choice(&[
                Word("constant", "always the mean"),
                Word("exponential", "exponential"),
                Word("pareto", "Pareto with `shape`"),
                Word("web_search", "flows of a cluster for web search (DCTCP, SIGCOMM 2010), mean 1.7 MB"),
                Word("data_mining", "flows of a cluster for data mining (VL2, SIGCOMM 2009), mean 7.5 MB"),
                Word("empirical", "the distribution function in `file`"),
            ]),
            Need::Default("constant"),
            "Distribution.",
        ),
        Field::new(
            "shape",
            Kind::Number(1.01, 100.0),
            Need::Default("1.2"),
            "Shape of `pareto`: the smaller, the more of the data is in few large transfers.",
        ),
        Field::new(
            "max",
            Kind::Or(&SOME_SIZE, &[Word("unlimited", "no bound")]),
            Need::Default("unlimited"),
            "Larger draws count as this.",
        ),
        Field::new(
            "file",
            Kind::Text,
            Need::Described("needed for `empirical`"),
            "CSV file with the header `size_bytes,cdf`: sizes, and probabilities of sizes up to them, both rising, the last one 1. It is linear between rows, and from 0 bytes before the first.",
        ),
        Field::new(
            "content",
            Kind::Text,
            Need::Described("the rows of the file"),
            "The rows in Narrows' own form, which resolved scenarios have; the file is not read then.",
        ),
    ]],
};

/// Sizes of transfers and of responses: an amount, or a distribution.
pub(super) const SIZE: Kind = Kind::OrTable(&SOME_SIZE, &SIZES);

const PROCESSES: &[Word] =
    &[Word("poisson", "a Poisson process"), Word("constant", "at equal distances, the first after one of them")];

/// Arrivals by a process.
static PROCESS: Kind = Kind::Choice(PROCESSES);

/// When transfers begin.
pub(crate) static ARRIVALS: Table = Table {
    name: "arrivals",
    doc: "When transfers begin. `arrivals = \"poisson\"` is short for `arrivals = { process = \"poisson\" }`.",
    groups: &[&[
        Field::new("process", Kind::Choice(PROCESSES), Need::Default("poisson"), "Process without a file."),
        Field::new(
            "trace",
            Kind::Text,
            Need::Described("none"),
            "CSV file with the header `time_s,size_bytes`: times from the workload's start, which do not fall, and sizes of at least one byte.",
        ),
        Field::new(
            "content",
            Kind::Text,
            Need::Described("the rows of the file"),
            "The rows in Narrows' own form, which resolved scenarios have; the file is not read then.",
        ),
    ]],
};

/// A workload.
pub(crate) static WORKLOAD: Table = Table {
    name: "workloads",
    doc: "Transfers that come and go: each has connections of its own, and a row in the table of transfers with its completion time.",
    groups: &[&[
        Field::new("name", Kind::Name, Need::Described("`workload1`, `workload2` .. by position"), "Unique name."),
        Field::new(
            "kind",
            Kind::Choice(&[
                Word("transfers", "`from` connects to `to`, sends the size and closes"),
                Word("requests", "`from` connects to `to`, sends a request, receives the size as response and closes"),
                Word("pages", "`from` loads pages from `to`: an object, then the others over several connections"),
            ]),
            Need::Default("transfers"),
            "What a transfer is.",
        ),
        Field::new(
            "from",
            Kind::NodePattern,
            Need::Required,
            "Host that opens the connections; a star stands for the number of the pair.",
        ),
        Field::new(
            "to",
            Kind::NodePattern,
            Need::Required,
            "Host that it connects to; a star stands for the number of the pair.",
        ),
        Field::new(
            "pairs",
            Kind::Integer(1, MOST),
            Need::Default("1"),
            "Number of pairs of hosts. Each transfer draws one of them.",
        ),
        Field::new("start", ANY_TIME, Need::Default("0 s"), "When the workload starts."),
        Field::new(
            "stop",
            Kind::Or(&SOME_TIME, &[Word("end", "the end of the run")]),
            Need::Default("end"),
            "When it stops: no transfer begins from then on, and those under way go on.",
        ),
        Field::new(
            "arrivals",
            Kind::OrTable(&PROCESS, &ARRIVALS),
            Need::Default("poisson"),
            "When transfers begin: a process with `load` or `interval`, or a table with a file.",
        ),
        Field::new(
            "load",
            Kind::Number(1e-6, 1000.0),
            Need::Described("by `interval`"),
            "Mean payload of the transfers as a share of the rate of the narrowest link on the path of the first pair; above 1 it overloads that link.",
        ),
        Field::new("interval", SOME_TIME, Need::Described("by `load`"), "Mean time between two transfers."),
        Field::new(
            "size",
            SIZE,
            Need::Described("needed unless a file of arrivals has sizes"),
            "Payload of a transfer; for `pages`, of an object.",
        ),
        Field::new(
            "count",
            Kind::Or(&Kind::Integer(1, LARGE), &[Word("unlimited", "until the workload stops")]),
            Need::Default("unlimited"),
            "Largest number of transfers.",
        ),
        Field::new("request", SOME_SIZE, Need::Default("200 B"), "Bytes of a request.").only(&["requests", "pages"]),
        Field::new("objects", Kind::Integer(1, 10_000), Need::Default("20"), "Objects of a page.").only(&["pages"]),
        Field::new(
            "connections",
            Kind::Integer(1, 64),
            Need::Default("6"),
            "Largest number of connections of a page; the first one loads the first object alone.",
        )
        .only(&["pages"]),
        Field::new(
            "dscp",
            Kind::Dscp,
            Need::Default("0"),
            "Differentiated services codepoint of its packets (RFC 2474).",
        ),
        Field::new(
            "cc",
            Kind::Cc,
            Need::Described("`cc` of `[tcp]`"),
            "Congestion control, short for `tcp = { cc = .. }`.",
        ),
        Field::new(
            "stack",
            Kind::Choice(STACKS),
            Need::Described("`stack` of `[tcp]`"),
            "System whose TCP defaults it uses, short for `tcp = { stack = .. }`.",
        ),
        Field::new("tcp", Kind::Table(&TCP), Need::Described("`[tcp]`"), "TCP settings; `[tcp]` gives the others."),
    ]],
};
