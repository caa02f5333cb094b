//! Writes 802.11 channels as TOML.

use super::syntax::{inline, list, number, quoted};
use super::{Pairs, queue, rate, size, time};
use crate::types::{Aggregation, Scenario, Wifi, WifiMode, WifiStation};
use crate::words::Word;

impl Scenario {
    /// Returns a channel's table, without its heading.
    pub(super) fn wifi_pairs(&self, channel: &Wifi) -> Pairs {
        let station = |index: usize| channel.stations.get(index).map_or(0, |station| station.node);
        let name = |index: usize| self.node_name(station(index));
        let stations = channel.stations.iter().map(|station| self.node_name(station.node));
        let mut pairs = vec![
            ("name", quoted(&channel.name)),
            ("base", self.node_name(channel.base.node)),
            ("stations", list(stations)),
            ("phy", quoted(&channel.phy)),
        ];
        pairs.extend(mode(channel.mode));
        pairs.push(("basic_rate", rate(channel.basic_rate)));
        // The long preamble is the default of PHYs with both. Other PHYs have only the long one, and the key has no
        // meaning there.
        if channel.short_preamble {
            pairs.push(("preamble", quoted("short")));
        }
        pairs.extend([
            ("slot", time(channel.slot)),
            ("sifs", time(channel.sifs)),
            ("cw_min", channel.cw_min.to_string()),
            ("cw_max", channel.cw_max.to_string()),
            ("short_retry", channel.short_retry.to_string()),
            ("long_retry", channel.long_retry.to_string()),
            ("rts_threshold", channel.rts_threshold.map_or_else(|| quoted("never"), size)),
        ]);
        pairs.extend(aggregation(channel));
        // Settings that the format gives once for all stations are the same in each.
        let first = channel.stations.first().unwrap_or(&channel.base);
        pairs.extend([
            ("queues", quoted(channel.queues.word())),
            ("queue", inline(&queue(&channel.base.queue))),
            ("station_queue", inline(&queue(&first.queue))),
            ("overhead", size(channel.base.overhead)),
            ("station_overhead", size(first.overhead)),
            ("propagation", time(channel.propagation)),
            ("capture", channel.capture_db.map_or_else(|| quoted("never"), number)),
        ]);
        let members = std::iter::once(&channel.base).chain(&channel.stations);
        let heard = members.filter(|station| station.signal_db != 0.0).map(|station| self.signal(station));
        let errors = channel.errors.iter().map(|error| {
            let mut pairs = vec![("station", name(error.station))];
            pairs.extend(error.rate.map(|only| ("rate", rate(only))));
            pairs.push(("fer", number(error.fer.as_f64())));
            inline(&pairs)
        });
        pairs.extend([
            ("signals", list(heard)),
            ("hidden", list(hidden(channel).map(|((a, b), one_way)| pair(&name(a), &name(b), one_way)))),
            ("errors", list(errors)),
        ]);
        pairs
    }

    fn signal(&self, station: &WifiStation) -> String {
        inline(&[("station", self.node_name(station.node)), ("signal", number(station.signal_db))])
    }
}

fn mode(mode: WifiMode) -> Pairs {
    match mode {
        WifiMode::Rate(data) => vec![("rate", rate(data))],
        WifiMode::Mcs { mcs, width_mhz, streams, short_guard } => vec![
            ("mcs", mcs.to_string()),
            ("channel_width", quoted(&format!("{width_mhz} MHz"))),
            ("streams", streams.to_string()),
            ("guard_interval", quoted(if short_guard { "400 ns" } else { "800 ns" })),
        ],
    }
}

fn aggregation(channel: &Wifi) -> Option<(&'static str, String)> {
    let text = match (channel.aggregation, channel.mode) {
        (Some(Aggregation { max_mpdus, max_bytes, max_time }), _) => inline(&[
            ("max_mpdus", max_mpdus.to_string()),
            ("max_bytes", size(max_bytes)),
            ("max_time", time(max_time)),
        ]),
        (None, WifiMode::Mcs { .. }) => "false".to_owned(),
        (None, WifiMode::Rate(_)) => return None,
    };
    Some(("aggregation", text))
}

/// Returns the hidden pairs and whether each is one-way. A pair that is hidden both ways is listed once.
fn hidden(channel: &Wifi) -> impl Iterator<Item = ((usize, usize), bool)> + '_ {
    // `hidden` is sorted.
    let back = |(a, b): (usize, usize)| channel.hidden.binary_search(&(b, a)).is_ok();
    let once = channel.hidden.iter().copied().filter(move |(a, b)| a < b || !back((*a, *b)));
    once.map(move |ends| (ends, !back(ends)))
}

fn pair(a: &str, b: &str, one_way: bool) -> String {
    inline(&[("between", list([a.to_owned(), b.to_owned()])), ("one_way", one_way.to_string())])
}
