//! Writes a scenario as TOML with every default shown; it reads back as an equal scenario.

mod case;
mod file;
mod syntax;
mod wifi;

pub use file::Texts;

use crate::quantity::{Amount, show_limit, show_rate, show_size, show_time};
use crate::record::{Record, Value};
use crate::schema::Kind;
use crate::trace::{Trace, lists};
use crate::types::{
    Arrivals, Change, Direction, Flow, Impairments, Limit, Link, Loss, Pace, Pauses, Queue, Scenario, Scheme,
    SizeDistribution, Sizes, Tcp, Traffic, Transport, Workload, WorkloadKind,
};
use crate::words::Word;
use crate::write::words;
use narrows_settings::queue::Value as QueueValue;
use narrows_settings::scheme::Value as SchemeValue;
use narrows_units::{Bytes, Duration, Instant, Rate};
use std::collections::VecDeque;
use syntax::{inline, list, number, quoted};

/// Keys and values of a table, in the order in which they are written.
type Pairs = Vec<(&'static str, String)>;

impl Scenario {
    fn node_name(&self, index: usize) -> String {
        quoted(self.nodes.get(index).map_or("", |node| &node.name))
    }

    fn node_names(&self, indices: &[usize]) -> String {
        list(indices.iter().map(|index| self.node_name(*index)))
    }

    fn scheme_pairs(&self, scheme: &Scheme) -> Pairs {
        let common = [("enabled", "true".to_owned()), ("routers", self.node_names(&scheme.routers))];
        let params = scheme.values.iter().map(|(name, value)| (name, scheme_value(value)));
        common.into_iter().chain(params).collect()
    }

    fn link_pairs<'a>(&'a self, link: &'a Link, directions: &mut Directions<'a>) -> Pairs {
        let mut pairs = vec![("between", self.node_names(&[link.a, link.b]))];
        let (mut forward, mut reverse) = (directions.pairs(&link.forward), directions.pairs(&link.reverse));
        for (key, texts) in impairments([&link.forward, &link.reverse]) {
            let [there, back] = texts;
            forward.push((key, there));
            reverse.push((key, back));
        }
        // A queue's table is layered over the other direction's, so it is written in full.
        let different: Pairs = reverse.iter().filter(|pair| !forward.contains(pair)).cloned().collect();
        pairs.extend(forward);
        if !different.is_empty() {
            pairs.push(("reverse", inline(&different)));
        }
        pairs
    }

    fn flow_pairs(&self, flow: &Flow, base: Option<&Tcp>) -> Pairs {
        let mut pairs = vec![
            ("name", quoted(&flow.name)),
            ("from", self.node_name(flow.from)),
            ("to", self.node_name(flow.to)),
            ("kind", quoted(flow.traffic.word())),
            ("start", instant(flow.start)),
            ("stop", self.stop(flow.stop)),
            ("dscp", flow.dscp.to_string()),
            ("jitter", flow.jitter.to_string()),
        ];
        pairs.extend(traffic(&flow.traffic));
        let settings = match &flow.transport {
            Transport::Tcp(settings) => settings,
            Transport::Udp(udp) => {
                pairs.push(("payload", size(udp.payload)));
                return pairs;
            }
        };
        pairs.extend(own_tcp(settings, base));
        pairs
    }

    fn stop(&self, stop: Instant) -> String {
        if stop.as_nanos() == self.duration.as_nanos() { quoted("end") } else { instant(stop) }
    }

    fn workload_pairs(&self, workload: &Workload, base: Option<&Tcp>) -> Pairs {
        let flow = &workload.flow;
        let mut pairs = vec![
            ("name", quoted(&flow.name)),
            ("kind", quoted(workload.kind.word())),
            ("from", quoted(&workload.patterns[0])),
            ("to", quoted(&workload.patterns[1])),
            ("pairs", workload.pairs.len().to_string()),
            ("start", instant(flow.start)),
            ("stop", self.stop(flow.stop)),
        ];
        match &workload.arrivals {
            Arrivals::Poisson(pace) | Arrivals::Constant(pace) => {
                pairs.push(("arrivals", quoted(workload.arrivals.word())));
                pairs.push(match pace {
                    Pace::Every(interval) => ("interval", time(*interval)),
                    Pace::Load(load) => ("load", number(*load)),
                });
                pairs.push(("size", sizes(&workload.size)));
            }
            Arrivals::Trace(trace) => {
                let content = quoted(&lists::arrivals_text(&trace.rows));
                pairs.push(("arrivals", inline(&[("trace", quoted(&trace.name)), ("content", content)])));
            }
        }
        pairs.push(("count", or_unlimited(workload.count.map(|n| n.to_string()))));
        match workload.kind {
            WorkloadKind::Transfers => {}
            WorkloadKind::Requests { request } => pairs.push(("request", size(request))),
            WorkloadKind::Pages { request, objects, connections } => pairs.extend([
                ("request", size(request)),
                ("objects", objects.to_string()),
                ("connections", connections.to_string()),
            ]),
        }
        pairs.push(("dscp", flow.dscp.to_string()));
        if let Some(settings) = flow.tcp() {
            pairs.extend(own_tcp(settings, base));
        }
        pairs
    }
}

/// Returns the settings that differ from `base` as keys of a flow.
fn own_tcp(settings: &Tcp, base: Option<&Tcp>) -> Pairs {
    let mut pairs = Vec::new();
    let mut different = tcp(settings, base);
    if let Some(at) = different.iter().position(|(key, _)| *key == "cc") {
        pairs.push(different.remove(at));
    }
    if !different.is_empty() {
        pairs.push(("tcp", inline(&different)));
    }
    pairs
}

fn sizes(sizes: &Sizes) -> String {
    let word = ("distribution", quoted(sizes.distribution.word()));
    let mut pairs = match &sizes.distribution {
        SizeDistribution::Constant(of) if sizes.max.is_none() => return size(*of),
        SizeDistribution::Constant(mean) | SizeDistribution::Exponential(mean) => vec![("mean", size(*mean)), word],
        SizeDistribution::Pareto { mean, shape } => {
            vec![("mean", size(*mean)), word, ("shape", number(*shape))]
        }
        SizeDistribution::WebSearch | SizeDistribution::DataMining => vec![word],
        SizeDistribution::Empirical(table) => {
            let content = quoted(&lists::sizes_text(&table.points));
            vec![word, ("file", quoted(&table.name)), ("content", content)]
        }
    };
    pairs.push(("max", or_unlimited(sizes.max.map(size))));
    inline(&pairs)
}

/// The latest directions that were written. Most links have equal ones, and comparing takes less time than writing.
#[derive(Default)]
struct Directions<'a>(VecDeque<(&'a Direction, Pairs)>);

impl<'a> Directions<'a> {
    /// How many are known.
    const MOST: usize = 4;

    fn pairs(&mut self, of: &'a Direction) -> Pairs {
        if let Some((_, pairs)) = self.0.iter().find(|(known, _)| *known == of) {
            return pairs.clone();
        }
        let pairs = direction(of);
        self.0.truncate(Self::MOST - 1);
        self.0.push_front((of, pairs.clone()));
        pairs
    }
}

fn direction(direction: &Direction) -> Pairs {
    vec![
        ("rate", direction.trace.as_ref().map_or_else(|| rate(direction.rate), |of| trace(of))),
        ("delay", time(direction.delay)),
        ("queue", inline(&queue(&direction.queue))),
        ("loss", inline(&loss(&direction.loss))),
        ("changes", list(direction.changes.iter().map(change))),
    ]
}

/// Returns the impairments of both directions by key. A key that neither has is left out.
fn impairments(both: [&Direction; 2]) -> Vec<(&'static str, [String; 2])> {
    if both.iter().all(|direction| direction.impairments.is_none()) {
        return Vec::new();
    }
    let none = Impairments::default();
    let records = both.map(|direction| direction.impairments.as_deref().unwrap_or(&none).record());
    let none = none.record();
    let text = |record: &Record, key: &str| record.given(key).map_or_else(String::new, |item| value_text(&item.value));
    let pair = |key: &'static str| (key, [text(&records[0], key), text(&records[1], key)]);
    let mut pairs: Vec<_> = none.entries.iter().map(|(key, ..)| pair(key)).collect();
    pairs.retain(|(key, texts)| texts.iter().any(|text_of| *text_of != text(&none, key)));
    pairs
}

fn trace(trace: &Trace) -> String {
    inline(&[
        ("trace", quoted(&trace.name)),
        ("repeat", trace.repeat.to_string()),
        ("content", quoted(&trace.content())),
    ])
}

fn change(change: &Change) -> String {
    let mut pairs = vec![("at", instant(change.at))];
    pairs.extend(change.rate.map(|new| ("rate", rate(new))));
    pairs.extend(change.delay.map(|new| ("delay", time(new))));
    inline(&pairs)
}

fn queue(queue: &Queue) -> Pairs {
    let params = queue.params.iter().map(|(name, value)| (name, queue_value(value)));
    [("kind", quoted(queue.kind)), ("limit", limit(queue.limit))].into_iter().chain(params).collect()
}

fn queue_value(value: QueueValue) -> String {
    match value {
        QueueValue::Switch(on) => on.to_string(),
        QueueValue::Integer(n) => n.to_string(),
        QueueValue::Number(n) | QueueValue::Amount(Amount::Bare(n)) => number(n),
        QueueValue::Probability(p) => number(p.as_f64()),
        QueueValue::Time(value) => time(value),
        QueueValue::Rate(value) => rate(value),
        QueueValue::Size(value) => size(value),
        QueueValue::Amount(Amount::Packets(n)) => quoted(&format!("{} packets", number(n))),
        QueueValue::Amount(Amount::Bytes(n)) => quoted(&format!("{} B", number(n))),
        QueueValue::Choice(word) => quoted(word),
    }
}

fn loss(loss: &Loss) -> Pairs {
    match loss {
        Loss::None => vec![("kind", quoted("none"))],
        Loss::Uniform(per) => vec![("kind", quoted("uniform")), ("per", number(per.as_f64()))],
        Loss::GilbertElliott { to_bad, to_good, per_good, per_bad } => vec![
            ("kind", quoted("gilbert_elliott")),
            ("to_bad", number(to_bad.as_f64())),
            ("to_good", number(to_good.as_f64())),
            ("per_good", number(per_good.as_f64())),
            ("per_bad", number(per_bad.as_f64())),
        ],
    }
}

fn traffic(traffic: &Traffic) -> Pairs {
    match traffic {
        Traffic::Bulk { size: all } => vec![("size", or_unlimited(all.map(size)))],
        Traffic::RateLimited { rate: pace, write } => vec![("rate", rate(*pace)), ("write", size(*write))],
        Traffic::OnOff { rate: pace, on, off, distribution } => vec![
            ("rate", or_unlimited(pace.map(rate))),
            ("on", time(*on)),
            ("off", time(*off)),
            ("distribution", quoted(distribution.word())),
        ],
        Traffic::RequestResponse { request, response, think, count } => vec![
            ("request", size(*request)),
            ("response", sizes(response)),
            ("think", time(*think)),
            ("count", or_unlimited(count.map(|n| n.to_string()))),
        ],
        Traffic::Video(video) => vec![
            ("request", size(video.request)),
            ("ladder", list(video.ladder.iter().map(|of| rate(*of)))),
            ("segment", time(video.segment)),
            ("buffer", time(video.buffer)),
            ("reservoir", time(video.reservoir)),
            ("cushion", time(video.cushion)),
            ("startup", time(video.startup)),
            ("length", or_unlimited(video.length.map(time))),
        ],
        // Only in the flows of a run, which no file has.
        Traffic::Page(_) => Vec::new(),
        Traffic::Datagrams { rate: pace, pauses } => {
            let mut pairs = vec![("rate", rate(*pace))];
            if let Some(Pauses { on, off, distribution }) = pauses {
                pairs.extend([("on", time(*on)), ("off", time(*off)), ("distribution", quoted(distribution.word()))]);
            }
            pairs
        }
        Traffic::Frames { rate: pace, frame_rate } => {
            vec![("rate", rate(*pace)), ("frame_rate", frame_rate.to_string())]
        }
    }
}

/// Returns the settings, or those that differ from `base`.
fn tcp(tcp: &Tcp, base: Option<&Tcp>) -> Pairs {
    // Most flows share the settings of the first.
    if base.is_some_and(|base| std::ptr::eq(tcp, base)) {
        return Vec::new();
    }
    // Parameters are inherited only together with their congestion control.
    let inherits = |key: &str| key != "cc_params" || base.is_none_or(|base| tcp.cc == base.cc);
    different(&tcp.record(), base.map(Tcp::record).as_ref(), &inherits)
}

/// Returns the pairs of a table, or those that differ from `base` or that `inherits` excludes. Inner tables are also
/// layered over those of `base`.
fn different(record: &Record, base: Option<&Record>, inherits: &dyn Fn(&str) -> bool) -> Pairs {
    let mut pairs = Vec::new();
    for (key, _, item) in &record.entries {
        let below = base.and_then(|base| base.given(key));
        let layered = matches!(record.table.field(key).map(|field| &field.kind), Some(Kind::Table(_)));
        match (&item.value, below.map(|below| &below.value)) {
            (Value::Table(inner), Some(Value::Table(below))) if layered => {
                let rest = different(inner, Some(below), &|_| true);
                if !rest.is_empty() {
                    pairs.push((*key, inline(&rest)));
                }
            }
            (value, below) => {
                let text = value_text(value);
                if below.is_none_or(|below| value_text(below) != text) || !inherits(key) {
                    pairs.push((*key, text));
                }
            }
        }
    }
    pairs
}

/// Returns a checked value as TOML.
fn value_text(value: &Value) -> String {
    match value {
        Value::Off => "false".to_owned(),
        Value::Switch(on) => on.to_string(),
        Value::Integer(n) => n.to_string(),
        Value::Number(n) => number(*n),
        Value::Probability(p) => number(p.as_f64()),
        Value::Amount(Amount::Bare(n)) => number(*n),
        Value::Table(record) => inline(&different(record, None, &|_| true)),
        Value::Tables(records) => list(records.iter().map(|record| inline(&different(record, None, &|_| true)))),
        Value::Names(items) => list(items.iter().map(|item| value_text(&item.value))),
        Value::Params(list) => {
            let params: Vec<(&str, String)> =
                list.iter().map(|(key, item)| (key.as_str(), value_text(&item.value))).collect();
            inline(&params)
        }
        text => quoted(&words(text)),
    }
}

fn scheme_value(value: SchemeValue) -> String {
    match value {
        SchemeValue::Switch(on) => on.to_string(),
        SchemeValue::Integer(n) => n.to_string(),
        SchemeValue::Number(n) => number(n),
        SchemeValue::Time(of) => time(of),
        SchemeValue::Size(of) => size(of),
        SchemeValue::Word(word) => quoted(word),
    }
}

fn or_unlimited(value: Option<String>) -> String {
    value.unwrap_or_else(|| quoted("unlimited"))
}

fn time(time: Duration) -> String {
    quoted(&show_time(time))
}

fn instant(instant: Instant) -> String {
    quoted(&show_time(Duration::from_nanos(instant.as_nanos())))
}

fn rate(rate: Rate) -> String {
    quoted(&show_rate(rate))
}

fn size(size: Bytes) -> String {
    quoted(&show_size(size))
}

fn limit(limit: Limit) -> String {
    quoted(&show_limit(limit))
}
