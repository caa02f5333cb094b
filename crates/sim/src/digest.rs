//! The fingerprint of a run: SHA-256 over its samples.

use narrows_samples::{Counter, Fault, NONE, Samples, Table, named};
use sha2::{Digest, Sha256};

/// SHA-256 of the samples, in lower-case hexadecimal.
///
/// It covers every table in declared order: its name, and for each column the name and the values as little-endian
/// 64-bit words. Columns that schemes name are in the order of the schemes' rows, those of schemes that the run has not
/// included. The names of flows, queues and routers follow. If there are 802.11 channels, the table of their stations
/// and the names of stations and channels follow in the same form; if there are sub-queues, their tables and labels;
/// if there are workloads, the table of transfers and the workloads' names; if there are videos, the table of their
/// players; if there are flows with frames, the table of datagrams; and if the state of algorithms was sampled, its
/// table and for each series its kind, index, algorithm and variable. Runs without these have the digest that they had
/// before these existed. The digest is the same whether samples are in memory or in a file.
///
/// # Errors
/// [`Fault`]: samples cannot be read back from their file, or `stopped`, called before each 64 KiB, returned `true`.
pub(crate) fn digest(samples: &Samples, stopped: impl Fn() -> bool) -> Result<String, Fault> {
    let mut hash = Sha256::new();
    let go_on = || if stopped() { Err(Fault::Stopped) } else { Ok(()) };
    let counters = &samples.counters;
    feed(&mut hash, &samples.flows, &counters.flows, &go_on)?;
    feed(&mut hash, &samples.queues, &[], &go_on)?;
    feed(&mut hash, &samples.routers, &counters.routers, &go_on)?;
    feed(&mut hash, &samples.flow_totals, &counters.flow_totals, &go_on)?;
    feed(&mut hash, &samples.queue_totals, &[], &go_on)?;
    feed(&mut hash, &samples.router_totals, &counters.router_totals, &go_on)?;
    feed_names(&mut hash, &[&samples.flow_names, &samples.queue_names, &samples.router_names]);
    if !samples.channel_names.is_empty() {
        feed(&mut hash, &samples.station_totals, &[], &go_on)?;
        feed_names(&mut hash, &[&samples.station_names, &samples.channel_names]);
    }
    if !samples.subqueue_totals.is_empty() {
        feed(&mut hash, &samples.subqueues, &[], &go_on)?;
        feed(&mut hash, &samples.subqueue_totals, &[], &go_on)?;
        feed_names(&mut hash, &[&samples.subqueue_names]);
    }
    if !samples.workload_names.is_empty() {
        feed(&mut hash, &samples.transfers, &[], &go_on)?;
        feed_names(&mut hash, &[&samples.workload_names]);
    }
    if !samples.playback_totals.is_empty() {
        feed(&mut hash, &samples.playback_totals, &[], &go_on)?;
    }
    if samples.datagram_totals.frames.iter().any(|frames| *frames != NONE) {
        feed(&mut hash, &samples.datagram_totals, &[], &go_on)?;
    }
    if !samples.series.is_empty() {
        feed(&mut hash, &samples.state, &[], &go_on)?;
        for series in &samples.series {
            let index = series.index.to_string();
            for text in [series.owner.word(), &index, &series.algorithm, series.variable.name] {
                hash.update(text.as_bytes());
                hash.update([0]);
            }
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn feed_names(hash: &mut Sha256, lists: &[&Vec<String>]) {
    for name in lists.iter().copied().flatten() {
        hash.update(name.as_bytes());
        hash.update([0]);
    }
}

/// Values hashed at a time: a buffer of 64 KiB.
const AT_ONCE: usize = 1 << 13;

fn feed<T: Table>(
    hash: &mut Sha256,
    table: &T,
    counters: &[Counter],
    go_on: &impl Fn() -> Result<(), Fault>,
) -> Result<(), Fault> {
    hash.update(T::NAME.as_bytes());
    let mut bytes = Vec::with_capacity(8 * AT_ONCE);
    for (column, data) in named(table, counters) {
        go_on()?;
        hash.update(column.name.as_bytes());
        data.for_each_part(|values| {
            for values in values.chunks(AT_ONCE) {
                go_on()?;
                bytes.clear();
                bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                hash.update(&bytes);
            }
            Ok(())
        })?;
    }
    Ok(())
}
