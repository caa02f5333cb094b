//! Records of senders, ACK by ACK, from the kernel's tracepoints.
//!
//! `bpf/trace.bpf.c` writes a [`Record`] for each segment that arrives at the sending end of one of our flows, for each
//! retransmission and for each change of phase. A ring buffer carries the records to a thread of this process, which
//! sorts them by flow. Programs, maps and ring end with the process, however it ends.

mod record;
#[cfg(test)]
mod tests;

pub use record::{Event, Phase, Record};

use crate::LiveError;
use crate::bpf::{Attached, Loaded, Opened};
use libbpf_rs::{MapCore, MapFlags, RingBufferBuilder};
use narrows_samples::Histogram;
use narrows_scenario::Scenario;
use narrows_units::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Interval at which the ring is emptied. The ring has room for more than 70 000 records: seconds of traffic at 100
/// Mb/s.
const INTERVAL: Duration = Duration::from_millis(10);

/// Largest number of records kept, of all flows together: about 450 MB. Further records are only counted.
const KEPT_MAX: u64 = 4 << 20;

/// The trace of one flow.
#[derive(Clone, Debug, Default)]
pub struct FlowTrace {
    /// The records, in order of time.
    pub records: Vec<Record>,
    /// Round-trip times in nanoseconds: the kernel's latest sample after each ACK that delivered something. The last
    /// ACK's sample is missing, since a record shows the state before its own ACK. Without SACK the kernel keeps no
    /// sample; those that moved the smoothed value are computed from it.
    pub round_trips: Histogram,
    /// Entries into fast recovery.
    pub fast_retransmits: u64,
    /// Entries into recovery from a timeout.
    pub loss_recoveries: u64,
    /// Reductions for a reason other than loss: an ECN echo, or congestion in the host itself.
    pub reductions: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    delivered: u32,
    /// Smoothed round-trip time of the previous record.
    srtt_ns: Option<u64>,
}

/// The traces of all flows.
#[derive(Clone, Debug, Default)]
pub struct Traced {
    /// By number of the flow; empty for UDP flows.
    pub flows: Vec<FlowTrace>,
    /// Records that are missing because the ring was full.
    pub overruns: u64,
    /// Records that were counted but not kept, because there were more than four million.
    pub not_kept: u64,
    /// Tracepoints that this kernel lacks; their records are missing.
    pub missing: Vec<&'static str>,
    /// Processor time spent on reading the records.
    pub cpu: Duration,
}

/// A trace in progress. Dropping it stops the tracing.
#[derive(Debug)]
pub struct Trace {
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<Result<Traced, LiveError>>>,
}

impl Trace {
    /// Starts tracing the flows of `scenario` in the network namespaces with these numbers ([`crate::Netns::inode`]).
    ///
    /// # Errors
    /// [`LiveError::Unavailable`] where the machine has no eBPF, no type information or no such tracepoint.
    pub fn start(namespaces: &[u64], scenario: &Scenario) -> Result<Self, LiveError> {
        let senders = senders(scenario);
        Self::of(namespaces.to_vec(), senders, scenario.flows.len())
    }

    fn of(namespaces: Vec<u64>, senders: Vec<(u32, bool)>, flows: usize) -> Result<Self, LiveError> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (ready, begun) = mpsc::sync_channel(1);
        let read = move || match Probes::new(&namespaces, &senders) {
            Ok(probes) => {
                // The receiver waits until this message arrives.
                let _ = ready.send(Ok(()));
                probes.read(flows, &stopped)
            }
            Err(error) => {
                let _ = ready.send(Err(error));
                Ok(Traced::default())
            }
        };
        let reader = std::thread::Builder::new()
            .name("trace".to_owned())
            .spawn(read)
            .map_err(|error| LiveError::failed("start a thread", error))?;
        let trace = Self { stop, reader: Some(reader) };
        begun.recv().map_err(|error| LiveError::failed("trace connections", error))??;
        Ok(trace)
    }

    /// Stops tracing and returns the traces.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the records could not be read.
    pub fn stop(mut self) -> Result<Traced, LiveError> {
        self.stop.store(true, Ordering::Relaxed);
        let gone = || LiveError::failed("trace connections", "the thread that reads the records is gone");
        self.reader.take().and_then(|reader| reader.join().ok()).unwrap_or_else(|| Err(gone()))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            // The traces are discarded.
            let _ = reader.join();
        }
    }
}

/// Returns the TCP flows, each with whether its server sends the data.
fn senders(scenario: &Scenario) -> Vec<(u32, bool)> {
    let tcp = scenario.listed().zip(0..).filter(|(flow, _)| flow.tcp().is_some());
    tcp.map(|(flow, index)| (index, flow.traffic.server_sends())).collect()
}

/// The object that clang compiled from `bpf/trace.bpf.c`.
const OBJECT: &[u8] = include_bytes!("../bpf/objects/trace.bpf.o");

/// What gives a kernel all tracepoints of [`PROGRAMS`]: `tcp_cong_state_set`, the newest, came with Linux 5.19.
pub(crate) const REMEDY: &str = "Linux 5.19 or later with BTF";

/// Programs of the object and the tracepoints they hook; the last is the newest.
pub(crate) const PROGRAMS: [(&str, &str); 3] =
    [("segment", "tcp_probe"), ("retransmission", "tcp_retransmit_skb"), ("phase", "tcp_cong_state_set")];

/// The programs in the kernel, attached.
struct Probes {
    loaded: Loaded,
    attached: Vec<Attached>,
    missing: Vec<&'static str>,
}

impl Probes {
    fn new(namespaces: &[u64], senders: &[(u32, bool)]) -> Result<Self, LiveError> {
        let (loaded, there) = match Opened::new("trace", OBJECT)?.load() {
            Ok(loaded) => (loaded, PROGRAMS.len()),
            Err(error) => {
                let mut without = Opened::new("trace", OBJECT)?;
                without.leave_out(PROGRAMS[2].0);
                (without.load().map_err(|_| error)?, 2)
            }
        };
        for namespace in namespaces {
            // Namespace numbers have 32 bits in the kernel.
            enter(&loaded, "namespaces", *namespace as u32, 1)?;
        }
        for (flow, server) in senders {
            enter(&loaded, "senders", *flow, u8::from(*server))?;
        }
        let attached = PROGRAMS[..there].iter().map(|(program, _)| loaded.attach(program)).collect::<Result<_, _>>()?;
        Ok(Self { loaded, attached, missing: PROGRAMS[there..].iter().map(|(_, tracepoint)| *tracepoint).collect() })
    }

    /// Reads records until `stop` is set, then those that are left.
    fn read(mut self, flows: usize, stop: &AtomicBool) -> Result<Traced, LiveError> {
        let mut traced = Traced {
            flows: vec![FlowTrace::default(); flows],
            missing: std::mem::take(&mut self.missing),
            ..Traced::default()
        };
        let mut kept = 0;
        let take = |bytes: &[u8]| {
            traced.take(bytes, &mut kept);
            0
        };
        let failed = |error| LiveError::failed("read the ring of the eBPF object \"trace\"", error);
        let records = self.loaded.map("records")?;
        let mut builder = RingBufferBuilder::new();
        builder.add(&records, take).map_err(failed)?;
        let ring = builder.build().map_err(failed)?;
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_nanos(INTERVAL.as_nanos()));
            ring.consume().map_err(failed)?;
        }
        self.attached.clear();
        ring.consume().map_err(failed)?;
        drop(ring);
        traced.overruns = self.overruns()?;
        traced.cpu = crate::clock::processor_time();
        Ok(traced)
    }

    fn overruns(&self) -> Result<u64, LiveError> {
        let failed = |reason: &dyn ToString| LiveError::failed("count what was not traced", reason.to_string());
        let count = self.loaded.map("overruns")?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let count = count.map_err(|error| failed(&error))?.and_then(|value| value.try_into().ok());
        count.map(u64::from_ne_bytes).ok_or_else(|| failed(&"there is no count"))
    }
}

/// Puts an entry into a map of the object.
fn enter(loaded: &Loaded, map: &str, key: u32, value: u8) -> Result<(), LiveError> {
    loaded
        .map(map)?
        .update(&key.to_ne_bytes(), &[value], MapFlags::ANY)
        .map_err(|error| LiveError::failed(format!("fill the map \"{map}\" of the eBPF object \"trace\""), error))
}

impl Traced {
    /// Stores a record from the ring; `kept` counts the records that are kept.
    fn take(&mut self, bytes: &[u8], kept: &mut u64) {
        let Some((flow, mut record)) = Record::from_bytes(bytes) else { return };
        let Some(trace) = self.flows.get_mut(flow as usize) else { return };
        trace.infer(&mut record);
        trace.count(&record);
        if *kept < KEPT_MAX {
            *kept += 1;
            trace.records.push(record);
        } else {
            self.not_kept += 1;
        }
    }
}

impl FlowTrace {
    /// Computes the latest sample from the smoothed value before and after it, where the kernel kept none.
    ///
    /// `tcp_rtt_estimator` (`net/ipv4/tcp_input.c`) keeps eight times the smoothed value in microseconds and adds the
    /// sample minus an eighth of that, in whole microseconds. So the sample is the amount added plus that eighth.
    fn infer(&mut self, record: &mut Record) {
        /// Nanoseconds of an eighth of a microsecond.
        const EIGHTH_NS: u64 = 125;
        let before = std::mem::replace(&mut self.srtt_ns, record.srtt_ns);
        let (None, Some(before), Some(after)) = (record.rtt_ns, before, record.srtt_ns) else { return };
        if after != before {
            let (before, after) = (before / EIGHTH_NS, after / EIGHTH_NS);
            record.rtt_ns = (after + before / 8).checked_sub(before).map(|micros| micros * 1000);
        }
    }

    fn count(&mut self, record: &Record) {
        if record.delivered_packets != self.delivered {
            self.delivered = record.delivered_packets;
            if let Some(rtt) = record.rtt_ns {
                self.round_trips.record(rtt);
            }
        }
        match record.event {
            Event::Segment => {}
            Event::Retransmission => self.retransmissions += 1,
            Event::Phase => match record.phase {
                Phase::Recovery => self.fast_retransmits += 1,
                Phase::Loss => self.loss_recoveries += 1,
                Phase::Cwr => self.reductions += 1,
                Phase::Open | Phase::Disorder => {}
            },
        }
    }
}
