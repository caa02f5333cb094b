//! The fingerprint of a run: SHA-256 over its samples.

use narrows_samples::{Samples, Table};
use sha2::{Digest, Sha256};

/// SHA-256 of every table in declared order, each as its name, and per column its name and its values as little-endian
/// 64-bit words; then the names of flows, queues and routers. Where there are 802.11 channels, the table of their stations and
/// the names of stations and channels follow likewise, so that a run without channels keeps the digest that it always had.
/// Lower-case hexadecimal.
pub(crate) fn digest(samples: &Samples) -> String {
    let mut hash = Sha256::new();
    feed(&mut hash, &samples.flows);
    feed(&mut hash, &samples.queues);
    feed(&mut hash, &samples.routers);
    feed(&mut hash, &samples.flow_totals);
    feed(&mut hash, &samples.queue_totals);
    feed(&mut hash, &samples.router_totals);
    feed_names(&mut hash, &[&samples.flow_names, &samples.queue_names, &samples.router_names]);
    if !samples.channel_names.is_empty() {
        feed(&mut hash, &samples.station_totals);
        feed_names(&mut hash, &[&samples.station_names, &samples.channel_names]);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn feed_names(hash: &mut Sha256, lists: &[&Vec<String>]) {
    for name in lists.iter().copied().flatten() {
        hash.update(name.as_bytes());
        hash.update([0]);
    }
}

fn feed<T: Table>(hash: &mut Sha256, table: &T) {
    hash.update(T::NAME.as_bytes());
    let mut bytes = Vec::new();
    for (column, data) in table.columns() {
        hash.update(column.name.as_bytes());
        data.for_each_part(|values| {
            bytes.clear();
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            hash.update(&bytes);
        });
    }
}
