//! How a channel sends, from its PHY and its table: rates, times, contention windows, aggregation.

use super::Row;
use crate::build::Build;
use crate::catalogue::CataloguePhy;
use crate::check::Path;
use crate::quantity::{show_rate, show_size, show_time};
use crate::record::{Layers, Value};
use crate::schema::AGGREGATION;
use crate::suggest::hint;
use crate::types::{Aggregation, WifiMode};
use narrows_units::{Bytes, Duration, Rate};

/// How a channel sends.
pub(super) struct Setup<'a> {
    pub(super) phy: &'a CataloguePhy,
    pub(super) mode: WifiMode,
    /// Rate of data frames; `None` if the catalogue does not have it.
    pub(super) rate: Option<Rate>,
    pub(super) basic_rate: Rate,
    pub(super) short_preamble: bool,
    pub(super) slot: Duration,
    pub(super) sifs: Duration,
    /// aCWmin and aCWmax.
    pub(super) cw: (u32, u32),
    pub(super) propagation: Duration,
    pub(super) aggregation: Option<Aggregation>,
}

/// Keys that only PHYs with indices of modulation and coding have.
const MCS_KEYS: [&str; 4] = ["mcs", "channel_width", "streams", "guard_interval"];

/// Default of the largest A-MPDU in bytes: that of 802.11n.
const MAX_AMPDU: Bytes = Bytes::new(65_535);

impl<'a> Build<'a> {
    /// Builds all settings of sending; reports everything that is wrong.
    pub(super) fn setup(&mut self, row: &Row<'_>) -> Option<Setup<'a>> {
        let phy = self.phy(row)?;
        self.misplaced(row, phy);
        let mode = self.mode(row, phy);
        let rate = mode.and_then(|mode| match mode {
            WifiMode::Rate(rate) => Some(rate),
            WifiMode::Mcs { mcs, width_mhz, streams, short_guard } => {
                phy.mcs_rate(mcs, width_mhz, streams, short_guard)
            }
        });
        let basic_rate = self.basic_rate(row, phy, rate);
        let slot = row.or("slot", phy.slot);
        let propagation = row.record.get("propagation");
        self.answers_in_time(row, slot, propagation);
        let cw = self.windows(row, phy);
        let aggregation = self.aggregation(row, phy);
        let preamble = row.or("preamble", "long");
        Some(Setup {
            phy,
            mode: mode?,
            rate,
            basic_rate: basic_rate?,
            short_preamble: preamble? == "short",
            slot: slot?,
            sifs: row.or("sifs", phy.sifs)?,
            cw: cw?,
            propagation: propagation?,
            aggregation: aggregation?,
        })
    }

    fn phy(&mut self, row: &Row<'_>) -> Option<&'a CataloguePhy> {
        let catalogue = self.catalogue;
        let name: String = row.record.get("phy")?;
        let found = catalogue.find_phy(&name);
        if found.is_none() {
            let names = || catalogue.phys.iter().map(|phy| phy.name.as_str());
            let near = hint(&name, names());
            let allowed =
                if catalogue.phys.is_empty() { "none: this engine has no 802.11".to_owned() } else { or(names()) };
            let reason = format!("is not a PHY of this engine{near}");
            self.report.add(row.place("phy"), row.at("phy"), row.shown("phy"), reason, allowed);
        }
        found
    }

    /// Reports keys without a meaning for this PHY, except `false` for a feature that it lacks.
    fn misplaced(&mut self, row: &Row<'_>, phy: &CataloguePhy) {
        for (key, place, item) in &row.record.entries {
            if phy.takes(key) || matches!(item.value, Value::Off) {
                continue;
            }
            let with = self.catalogue.phys.iter().filter(|phy| phy.takes(key)).map(|phy| phy.name.as_str());
            let reason = format!("has no meaning for phy = {:?}", phy.name);
            let allowed = format!("only with phy = {}", or(with));
            self.report.add(*place, row.at(key), &item.shown, reason, allowed);
        }
    }

    fn mode(&mut self, row: &Row<'_>, phy: &CataloguePhy) -> Option<WifiMode> {
        let Some(max_mcs) = phy.max_mcs else {
            let rate = row.or("rate", phy.rates.last().copied()?)?;
            if !phy.rates.contains(&rate) {
                let reason = format!("is not a rate of {}", phy.name);
                self.report.add(row.place("rate"), row.at("rate"), row.shown("rate"), reason, rates(&phy.rates));
                return None;
            }
            return Some(WifiMode::Rate(rate));
        };
        let mcs: u32 = row.or("mcs", 7_u32.min(max_mcs))?;
        let width_mhz = match row.or("channel_width", "20 MHz")? {
            "160 MHz" => 160,
            "80 MHz" => 80,
            "40 MHz" => 40,
            _ => 20,
        };
        let streams: u32 = row.or("streams", 1_u32)?;
        let short_guard = row.or("guard_interval", "800 ns")? == "400 ns";
        let widths = or(phy.widths_mhz.iter().map(|width| format!("{width} MHz")));
        for (key, fits, allowed) in [
            ("mcs", mcs <= max_mcs, format!("0 to {max_mcs}")),
            ("channel_width", phy.widths_mhz.contains(&width_mhz), widths),
            ("streams", streams <= phy.max_streams, format!("1 to {}", phy.max_streams)),
        ] {
            if !fits {
                let reason = format!("is not available in {}", phy.name);
                self.report.add(row.place(key), row.at(key), row.shown(key), reason, allowed);
                return None;
            }
        }
        if !phy.mcs.is_empty() && phy.mcs_rate(mcs, width_mhz, streams, short_guard).is_none() {
            // The table may give any of these keys, or none; then the defaults do not fit.
            let key = MCS_KEYS.into_iter().find(|key| row.record.given(key).is_some()).unwrap_or("mcs");
            let what = format!("{streams} stream{}", if streams == 1 { "" } else { "s" });
            let reason = format!("does not fit: {} leaves out MCS {mcs} with {what} at {width_mhz} MHz", phy.name);
            let there = phy
                .mcs
                .iter()
                .filter(|row| (row.width_mhz, row.streams, row.short_guard) == (width_mhz, streams, short_guard));
            let allowed = format!("MCS {} with {what} at {width_mhz} MHz", or(there.map(|row| row.mcs.to_string())));
            self.report.add(row.place(key), row.at(key), row.shown(key), reason, allowed);
            return None;
        }
        Some(WifiMode::Mcs { mcs, width_mhz, streams, short_guard })
    }

    /// Returns the rate of control frames. The default is the PHY's, or the largest one below it that does not exceed
    /// the rate of data frames.
    fn basic_rate(&mut self, row: &Row<'_>, phy: &CataloguePhy, data: Option<Rate>) -> Option<Rate> {
        let most = data.unwrap_or(Rate::MAX);
        let fitting = phy.basic_rates.iter().copied().filter(|rate| *rate <= phy.basic_rate.min(most)).max();
        let rate = row.or("basic_rate", fitting.unwrap_or(phy.basic_rate))?;
        let (place, at, shown) = (row.place("basic_rate"), row.at("basic_rate"), row.shown("basic_rate"));
        if !phy.basic_rates.contains(&rate) {
            let reason = format!("is not a rate of control frames in {}", phy.name);
            self.report.add(place, at, shown, reason, rates(&phy.basic_rates));
            return None;
        }
        if rate > most {
            self.report.add(
                place,
                at,
                shown,
                "is more than the rate of data frames",
                format!("at most {}", show_rate(most)),
            );
            return None;
        }
        Some(rate)
    }

    /// Reports a propagation delay with which every answer comes after its timeout (SIFS, a slot and the preamble).
    fn answers_in_time(&mut self, row: &Row<'_>, slot: Option<Duration>, propagation: Option<Duration>) {
        let (Some(slot), Some(propagation)) = (slot, propagation) else { return };
        if propagation + propagation < slot {
            return;
        }
        let (key, reason, allowed) = if row.record.given("propagation").is_some() {
            let reason = "there and back is not less than a slot: answers would come after their timeout";
            ("propagation", reason.to_owned(), format!("less than {}", show_time(slot / 2)))
        } else {
            let twice = show_time(propagation + propagation);
            ("slot", format!("is not longer than propagation there and back ({twice})"), format!("more than {twice}"))
        };
        self.report.add(row.place(key), row.at(key), row.shown(key), reason, allowed);
    }

    fn windows(&mut self, row: &Row<'_>, phy: &CataloguePhy) -> Option<(u32, u32)> {
        let (least, most): (u32, u32) = (row.or("cw_min", phy.cw_min)?, row.or("cw_max", phy.cw_max)?);
        let mut right = true;
        for (key, window) in [("cw_min", least), ("cw_max", most)] {
            if !(window + 1).is_power_of_two() {
                let reason = "is not a power of two less one";
                let below = (window + 1).next_power_of_two() / 2;
                let near = format!("1, 3, 7 .. 32767; the nearest are {} and {}", below - 1, below * 2 - 1);
                self.report.add(row.place(key), row.at(key), row.shown(key), reason, near);
                right = false;
            }
        }
        if right && least > most {
            let (key, reason, allowed) = if row.record.given("cw_min").is_some() {
                ("cw_min", "is more than cw_max", format!("at most {most}"))
            } else {
                ("cw_max", "is less than cw_min", format!("at least {least}"))
            };
            self.report.add(row.place(key), row.at(key), row.shown(key), reason, allowed);
            right = false;
        }
        right.then_some((least, most))
    }

    /// Returns the aggregation; the inner `None` is no aggregation.
    #[allow(clippy::option_option, reason = "wrong, off and on are three cases")]
    fn aggregation(&mut self, row: &Row<'_>, phy: &CataloguePhy) -> Option<Option<Aggregation>> {
        let Some(most) = phy.max_ampdu else { return Some(None) };
        let own = match row.record.given("aggregation").map(|item| &item.value) {
            Some(Value::Off) => return Some(None),
            Some(Value::Table(own)) => Some(own),
            Some(_) => return None,
            None => None,
        };
        let layers = Layers::new(&AGGREGATION, [own]);
        let max_bytes = match layers.given("max_bytes") {
            Some(_) => layers.get("max_bytes")?,
            None => MAX_AMPDU.min(most),
        };
        if max_bytes > most {
            let parent = row.at("aggregation");
            let at = Path::Key(&parent, "max_bytes");
            let reason = format!("is more than an A-MPDU of {} holds", phy.name);
            let allowed = format!("at most {}", show_size(most));
            self.report.add(layers.place("max_bytes"), at, layers.shown("max_bytes"), reason, allowed);
            return None;
        }
        Some(Some(Aggregation { max_mpdus: layers.get("max_mpdus")?, max_bytes, max_time: layers.get("max_time")? }))
    }
}

/// Joins items as `a, b or c`.
pub(super) fn or<T: AsRef<str>>(list: impl Iterator<Item = T>) -> String {
    let list: Vec<T> = list.collect();
    let texts: Vec<&str> = list.iter().map(AsRef::as_ref).collect();
    match texts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => texts.concat(),
    }
}

/// Lists rates for a message.
pub(super) fn rates(list: &[Rate]) -> String {
    or(list.iter().map(|rate| show_rate(*rate)))
}
