//! A test case: the flow under test, steps that change its network or application, and expectations.

use crate::expression::{Expression, Memory};
use crate::vocabulary::{Side, Variable, VariableId};
use narrows_units::{Bytes, Duration, Instant, Probability, Rate};
use std::sync::Arc;

/// A line of a file, from 1. Lines tell people where something stands and are no part of a case's meaning: any two are
/// equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line(pub Option<usize>);

impl PartialEq for Line {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The tables `[case]`, `[[steps]]` and `[[expect]]` of a scenario, checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// Index of the flow under test among the flows of the file. It is a TCP flow.
    pub flow: usize,
    /// Name of that flow.
    pub flow_name: Arc<str>,
    /// The document that asks for this behaviour; empty if the file does not say.
    pub source: String,
    /// What the document leaves open, and how the file reads it; empty if nothing.
    pub open: String,
    /// Congestion controls that the case is meant for; empty for the file's own.
    pub controls: Vec<String>,
    /// Networks on which the case is repeated.
    pub grid: Grid,
    /// Name of the link that `bottleneck` means, if one does.
    pub bottleneck: Option<Arc<str>>,
    /// All variables that the expressions use, each once.
    pub variables: Vec<Variable>,
    /// What the functions of the expressions remember, inner ones first.
    pub memories: Vec<Memory>,
    /// The variable that counts round trips of the flow under test.
    pub rounds: Option<VariableId>,
    /// Steps, in file order.
    pub steps: Vec<Step>,
    /// Expectations, in file order.
    pub expectations: Vec<Expectation>,
}

/// Values of rate, round-trip time and buffer, every combination of which is a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// Rates of the bottleneck; empty for the file's own.
    pub rates: Vec<Rate>,
    /// Round-trip propagation delays of the path; empty for the file's own.
    pub rtts: Vec<Duration>,
    /// Buffers of the bottleneck in multiples of a cell's bandwidth-delay product; empty for the file's own.
    pub buffers: Vec<f64>,
}

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lapse {
    /// This long.
    Time(Duration),
    /// This many round trips of the flow under test, by its variable `rounds`.
    Rounds(u64),
}

/// A named moment of a run, and what is done then.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Unique name; `step 1`, `step 2` .. by position unless the file gives one.
    pub name: String,
    /// Whether the file gives the name.
    pub named: bool,
    /// Line of its table.
    pub line: Line,
    /// The step after which this one is armed; `None` for the start of the flow under test, or, with [`When::At`], of
    /// the run.
    pub after: Option<usize>,
    /// When it happens, once it is armed.
    pub when: When,
    /// Time in which it must happen, from when it is armed; `None` is until the end of the run.
    pub within: Option<Lapse>,
    /// What is done, in this order.
    pub actions: Vec<Action>,
}

/// When an armed step happens.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// At this time since the start of the run, or at once if it is past.
    At(Instant),
    /// When this becomes true. It happens at once if it is true already.
    Condition(Expression),
    /// This long after it was armed; zero is at once.
    Later(Lapse),
}

/// A direction of a link that a step acts on.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Index of the link in the scenario.
    pub link: usize,
    /// Direction.
    pub side: Side,
    /// Name of the link as the file writes it.
    pub name: Arc<str>,
}

/// A flow that a step acts on.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRef {
    /// Index of the flow in the file.
    pub index: usize,
    /// Name.
    pub name: Arc<str>,
}

/// Which packets of a link direction a step acts on.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// Packets of this flow: segments with payload in the direction of its data, all but SYN segments in the other.
    Flow(FlowRef),
    /// Every packet.
    All,
}

/// How many of the packets that pass the filter are taken, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Which of them.
    pub pick: Pick,
    /// Number of packets looked at, taken or not; `None` without a limit.
    pub packets: Option<u64>,
    /// Time after which no more are looked at; `None` without a limit.
    pub time: Option<Lapse>,
}

/// Which packets are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pick {
    /// All of them.
    Each,
    /// Each with this probability, drawn from the run's seed.
    Share(Probability),
    /// The n-th, 2n-th, 3n-th ..
    Every(u64),
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Changes a link direction from now on.
    Set {
        /// Directions that get the rate and the loss rate: the first of them alone. All get the delay.
        edges: Vec<Edge>,
        /// New rate of the first of `edges`.
        rate: Option<Rate>,
        /// New propagation delay of all `edges`.
        delay: Option<Duration>,
        /// New probability of random loss (PER) of the first of `edges`.
        per: Option<Probability>,
    },
    /// Drops packets where they enter the queue.
    Drop {
        /// Where.
        edge: Edge,
        /// Of which packets.
        filter: Filter,
        /// Which of them.
        selection: Selection,
    },
    /// Sets CE on packets that are ECN-capable, where they enter the queue.
    Mark {
        /// Where.
        edge: Edge,
        /// Of which packets.
        filter: Filter,
        /// Which of them.
        selection: Selection,
    },
    /// Delays the next packets on the wire, so that later ones overtake them.
    Reorder {
        /// Where.
        edge: Edge,
        /// Of which packets.
        filter: Filter,
        /// How many.
        packets: u64,
        /// How much later they arrive.
        by: Duration,
    },
    /// Holds packets back until enough are there, as `aggregation` of links; ends it with `None`.
    Aggregate {
        /// Where.
        edge: Edge,
        /// Number of packets and time after which a batch goes on.
        rule: Option<Aggregation>,
    },
    /// Puts a token-bucket policer in front of the queue; removes it with `None`.
    Police {
        /// Where.
        edge: Edge,
        /// The bucket.
        rule: Option<Policer>,
    },
    /// The application of these flows writes nothing from now on.
    Pause(Vec<FlowRef>),
    /// The application of these flows writes again.
    Resume(Vec<FlowRef>),
    /// The application of these flows writes at this rate from now on; `None` is without limit.
    AppRate(Vec<FlowRef>, Option<Rate>),
}

/// Batches of packets on a link direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Most packets in a batch.
    pub packets: u64,
    /// Longest time that a batch waits for its packets.
    pub time: Duration,
    /// Whether only pure ACKs are held; other packets do not wait and overtake them.
    pub acks: bool,
}

/// A token bucket that drops what exceeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// Rate at which tokens come.
    pub rate: Rate,
    /// Size of the bucket, full at the start.
    pub burst: Bytes,
}

/// What must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Name; the text of the expression unless the file gives one.
    pub name: String,
    /// Whether the file gives the name.
    pub named: bool,
    /// Line of its table.
    pub line: Line,
    /// How often it must hold.
    pub quantifier: Quantifier,
    /// What must hold: a condition.
    pub expression: Expression,
    /// The step from which on it is judged; `None` from the start of the flow under test.
    pub after: Option<usize>,
    /// Up to when it is judged.
    pub until: Until,
    /// A condition under which it is not judged, evaluated when judging would begin.
    pub unless: Option<Expression>,
}

/// How often an expectation must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// At every look.
    Always,
    /// At no look.
    Never,
    /// At one look at least.
    Eventually,
    /// At the look at which `after` happens.
    Then,
}

impl Quantifier {
    /// The word of files and results.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Never => "never",
            Self::Eventually => "eventually",
            Self::Then => "then",
        }
    }
}

/// Up to when an expectation is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The end of the run.
    End,
    /// The look at which this step happens, included.
    Step(usize),
    /// This long after judging began, included.
    Lapse(Lapse),
}
