//! The outcome of a run as bytes: what the guest writes and the host reads.

use super::bytes::{Broken, Reader, Writer};
use super::tables;
use crate::conditions::{Conditions, LatenessFacts};
use crate::{LiveError, Outcome};
use narrows_fabric::{CONNECTION, CONNECTION_VARIABLES, counters, discipline_variables, sender_variables};
use narrows_queue::Disciplines;
use narrows_samples::{Fault, Owner, Samples, Series};
use narrows_scenario::Scenario;
use narrows_units::{Duration, Variable};

/// Version of the bytes; another one is refused.
const VERSION: u64 = 2;

/// Returns a run's outcome as bytes, or why there is none.
#[must_use]
pub fn encode(outcome: &Result<Outcome, LiveError>) -> Vec<u8> {
    let written = outcome.as_ref().map_err(Clone::clone).and_then(|outcome| {
        let mut out = Writer::default();
        out.number(VERSION);
        out.number(1);
        write(&mut out, outcome).map_err(|fault| LiveError::failed("read samples", fault))?;
        Ok(out.into_bytes())
    });
    written.unwrap_or_else(|error| {
        let mut out = Writer::default();
        out.number(VERSION);
        out.number(0);
        write_error(&mut out, &error);
        out.into_bytes()
    })
}

/// Reads what [`encode`] wrote, for a run of `scenario`.
///
/// # Errors
/// The guest's error; [`LiveError::Failed`] for bytes that are not an outcome.
pub fn decode(bytes: &[u8], scenario: &Scenario) -> Result<Outcome, LiveError> {
    let broken = |broken: Broken| LiveError::failed("read the result of the virtual machine", broken);
    let mut from = Reader::new(bytes);
    if from.number().map_err(broken)? != VERSION {
        return Err(broken(Broken));
    }
    if from.number().map_err(broken)? == 1 {
        return read(&mut from, scenario).and_then(|outcome| from.end().map(|()| outcome)).map_err(broken);
    }
    Err(read_error(&mut from, DEEPEST).map_err(broken)?)
}

fn write(out: &mut Writer, outcome: &Outcome) -> Result<(), Fault> {
    let samples = &outcome.samples;
    tables::write_all(out, samples)?;
    for names in names(samples) {
        out.texts(names);
    }
    out.list(&samples.series, |out, series| {
        out.number(u64::from(series.owner == Owner::Queue));
        out.number(series.index);
        out.text(&series.algorithm);
        out.text(series.variable.name);
    });
    out.number(outcome.packets);
    write_conditions(out, &outcome.conditions);
    Ok(())
}

/// Lists of names, in the order in which they are written.
fn names(samples: &Samples) -> [&Vec<String>; 7] {
    let Samples { flow_names, queue_names, router_names, station_names, channel_names, .. } = samples;
    [
        flow_names,
        queue_names,
        router_names,
        station_names,
        channel_names,
        &samples.subqueue_names,
        &samples.workload_names,
    ]
}

fn read(from: &mut Reader<'_>, scenario: &Scenario) -> Result<Outcome, Broken> {
    let mut samples = tables::read_all(from)?;
    samples.flow_names = from.texts()?;
    samples.queue_names = from.texts()?;
    samples.router_names = from.texts()?;
    samples.station_names = from.texts()?;
    samples.channel_names = from.texts()?;
    samples.subqueue_names = from.texts()?;
    samples.workload_names = from.texts()?;
    let variables = Variables::of(scenario);
    samples.series = from.list(|from| variables.series(from))?;
    samples.counters = counters(scenario.scheme.as_ref().map(|scheme| scheme.row.name));
    let packets = from.number()?;
    Ok(Outcome { samples, packets, conditions: read_conditions(from)?, case: None })
}

/// The variables that a run of a scenario may report.
struct Variables {
    senders: Vec<std::sync::Arc<[Variable]>>,
    queues: Vec<narrows_fabric::DisciplineVariables>,
}

impl Variables {
    fn of(scenario: &Scenario) -> Self {
        Self { senders: sender_variables(scenario), queues: discipline_variables(scenario, Disciplines::default()) }
    }

    fn series(&self, from: &mut Reader<'_>) -> Result<Series, Broken> {
        let owner = if from.number()? == 1 { Owner::Queue } else { Owner::Flow };
        let (index, algorithm, name) = (from.number()?, from.text()?, from.text()?);
        let place = usize::try_from(index).map_err(|_| Broken)?;
        let declared: &[Variable] = match owner {
            Owner::Flow if algorithm == CONNECTION => &CONNECTION_VARIABLES,
            Owner::Flow => self.senders.get(place).ok_or(Broken)?,
            Owner::Queue => self.queues.get(place).ok_or(Broken)?.1,
        };
        let variable = *declared.iter().find(|variable| variable.name == name).ok_or(Broken)?;
        Ok(Series { owner, index, algorithm, variable })
    }
}

fn write_conditions(out: &mut Writer, told: &Conditions) {
    out.text(&told.kernel);
    out.number(told.cpus as u64);
    out.text(&told.scheduling);
    out.real(told.bottleneck_cpu);
    write_lateness(out, &told.lateness);
    write_lateness(out, &told.traffic);
    out.number(told.astray);
    out.text(&told.offloads);
    for pairs in [&told.sysctls, &told.controls] {
        out.list(pairs, |out, (name, value)| {
            out.text(name);
            out.text(value);
        });
    }
    out.texts(&told.left_to_kernel);
    out.texts(&told.queues);
    out.text(&told.rtt_source);
    out.number(told.trace_lost);
    out.number(told.trace_not_kept);
    out.texts(&told.trace_missing);
    out.real(told.trace_cpu);
    out.number(told.look.as_nanos());
    out.texts(&told.programs);
    out.real(told.process_cpu);
    out.texts(&told.doubts);
}

fn read_conditions(from: &mut Reader<'_>) -> Result<Conditions, Broken> {
    let pairs = |from: &mut Reader<'_>| from.list(|from| Ok((from.text()?, from.text()?)));
    Ok(Conditions {
        kernel: from.text()?,
        cpus: from.number()? as usize,
        scheduling: from.text()?,
        bottleneck_cpu: from.real()?,
        lateness: read_lateness(from)?,
        traffic: read_lateness(from)?,
        astray: from.number()?,
        offloads: from.text()?,
        sysctls: pairs(from)?,
        controls: pairs(from)?,
        left_to_kernel: from.texts()?,
        queues: from.texts()?,
        rtt_source: from.text()?,
        trace_lost: from.number()?,
        trace_not_kept: from.number()?,
        trace_missing: from.texts()?,
        trace_cpu: from.real()?,
        look: Duration::from_nanos(from.number()?),
        programs: from.texts()?,
        process_cpu: from.real()?,
        doubts: from.texts()?,
    })
}

fn write_lateness(out: &mut Writer, facts: &LatenessFacts) {
    out.number(facts.count);
    out.real(facts.mean_ns);
    out.numbers(&[facts.p50_ns, facts.p99_ns, facts.max_ns]);
}

fn read_lateness(from: &mut Reader<'_>) -> Result<LatenessFacts, Broken> {
    Ok(LatenessFacts {
        count: from.number()?,
        mean_ns: from.real()?,
        p50_ns: from.number()?,
        p99_ns: from.number()?,
        max_ns: from.number()?,
    })
}

/// How deep refusals may lie in refusals. They do so once.
const DEEPEST: usize = 3;

fn write_error(out: &mut Writer, error: &LiveError) {
    let (kind, texts): (u64, &[&String]) = match error {
        LiveError::Unavailable { what, why, remedy } => (0, &[what, why, remedy]),
        LiveError::Unsupported { field, value, reason, allowed } => (1, &[field, value, reason, allowed]),
        LiveError::Refused { refusals } => {
            out.number(2);
            out.list(refusals, write_error);
            return;
        }
        LiveError::Failed { what, reason } => (3, &[what, reason]),
        LiveError::Stopped => (4, &[]),
    };
    out.number(kind);
    texts.iter().for_each(|text| out.text(text));
}

fn read_error(from: &mut Reader<'_>, deepest: usize) -> Result<LiveError, Broken> {
    Ok(match from.number()? {
        0 => LiveError::Unavailable { what: from.text()?, why: from.text()?, remedy: from.text()? },
        1 => LiveError::Unsupported {
            field: from.text()?,
            value: from.text()?,
            reason: from.text()?,
            allowed: from.text()?,
        },
        2 => {
            let deeper = deepest.checked_sub(1).ok_or(Broken)?;
            LiveError::Refused { refusals: from.list(|from| read_error(from, deeper))? }
        }
        3 => LiveError::Failed { what: from.text()?, reason: from.text()? },
        4 => LiveError::Stopped,
        _ => return Err(Broken),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scenario;
    use narrows_samples::{FlowRow, FlowTotal, NONE, StateRow, Table as _};
    use proptest::prelude::*;

    fn one() -> Scenario {
        scenario("[[flows]]\nname = \"f\"\nfrom = \"s1\"\nto = \"d1\"\ntcp = { cc = \"cubic\" }")
    }

    fn outcome() -> Outcome {
        let mut samples = Samples::default();
        for time_ns in 0..700 {
            samples.flows.push(&FlowRow {
                time_ns,
                ssthresh_bytes: NONE,
                cwnd_bytes: 3 * time_ns,
                ..FlowRow::default()
            });
            samples.state.push(&StateRow { time_ns, series: 0, value_bits: 2.5_f64.to_bits() });
        }
        samples.flow_totals.push(&FlowTotal { sent_bytes: 9, counters: [1, 2, 3], ..FlowTotal::default() });
        samples.flow_names = vec!["f".to_owned()];
        samples.queue_names = vec!["s1->r1".to_owned()];
        let variable = narrows_cc::find("cubic").unwrap().variables[0];
        samples.series = vec![Series { owner: Owner::Flow, index: 0, algorithm: "cubic".to_owned(), variable }];
        let conditions = Conditions {
            kernel: "6.1".to_owned(),
            controls: vec![("cubic".to_owned(), "kernel".to_owned())],
            queues: vec!["r1->r2: htb rate 10000000bit, codel".to_owned()],
            process_cpu: 0.25,
            doubts: vec!["late".to_owned()],
            ..Conditions::default()
        };
        Outcome { samples, packets: 12, conditions, case: None }
    }

    #[test]
    fn an_outcome_comes_back() {
        let scenario = one();
        let made = outcome();
        let back = decode(&encode(&Ok(made.clone())), &scenario).unwrap();
        assert_eq!(back.conditions, made.conditions);
        assert_eq!((back.packets, back.samples.series.clone()), (12, made.samples.series.clone()));
        assert_eq!(back.samples.flows.len(), 700);
        assert_eq!(back.samples.flows.unpack().unwrap(), made.samples.flows.unpack().unwrap());
        assert_eq!(back.samples.state.unpack().unwrap(), made.samples.state.unpack().unwrap());
        assert_eq!(back.samples.flow_totals, made.samples.flow_totals);
        assert_eq!(names(&back.samples), names(&made.samples));
        assert!(!back.samples.counters.flows.is_empty(), "named by the schemes' rows");
    }

    #[test]
    fn every_error_comes_back() {
        let unavailable = LiveError::Unavailable { what: "a".into(), why: "b".into(), remedy: "c".into() };
        let unsupported =
            LiveError::Unsupported { field: "a".into(), value: "b".into(), reason: "c".into(), allowed: "d".into() };
        let refused = LiveError::Refused { refusals: vec![unavailable.clone(), unsupported.clone()] };
        for error in [unavailable, unsupported, refused, LiveError::failed("x", "y"), LiveError::Stopped] {
            assert_eq!(decode(&encode(&Err(error.clone())), &one()).unwrap_err(), error);
        }
    }

    #[test]
    fn bytes_that_are_cut_off_are_refused() {
        let bytes = encode(&Ok(outcome()));
        let scenario = one();
        for length in [0, 8, 16, 100, bytes.len() / 2, bytes.len() - 1] {
            let said = decode(&bytes[..length], &scenario).unwrap_err().to_string();
            assert!(said.starts_with("cannot read the result of the virtual machine: "), "{length}: {said}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), first in 0..3_u64) {
            let head = [VERSION.to_le_bytes(), first.to_le_bytes()].concat();
            let _ = decode(&[head, bytes].concat(), &one());
        }

        #[test]
        fn no_changed_byte_makes_it_panic(at in 0..4000_usize, to in any::<u8>()) {
            let mut bytes = encode(&Ok(outcome()));
            let at = at % bytes.len();
            bytes[at] = to;
            let _ = decode(&bytes, &one());
        }
    }
}
