//! Builds the simulation's 802.11 channels from those of a scenario.

use crate::radio::Radio;
use crate::radio::channel::{Channel, Interfaces};
use crate::radio::interface::InterfaceQueue;
use crate::run::RunError;
use narrows_fabric::{Seeds, queue};
use narrows_queue::Disciplines;
use narrows_scenario as scenario;
use narrows_scenario::{Scenario, Wifi, WifiMode, WifiQueues, WifiStation};
use narrows_wifi::{Aggregation, Config, Errors, Mcs, Medium, Mode, Modulation, StationConfig};

/// Builds the channels of a scenario.
///
/// # Errors
/// [`RunError::Radio`] if a PHY has no such modulation, [`RunError::Queue`] if a queue is not one of `disciplines`.
pub(crate) fn radio(scenario: &Scenario, seeds: Seeds, disciplines: Disciplines) -> Result<Radio, RunError> {
    let channels = scenario.wifi.iter().map(|wifi| channel(wifi, scenario, seeds, disciplines));
    Ok(Radio::new(channels.collect::<Result<_, _>>()?))
}

fn channel(wifi: &Wifi, scenario: &Scenario, seeds: Seeds, disciplines: Disciplines) -> Result<Channel, RunError> {
    let config = config(wifi)?;
    let rate = config.data.rate();
    let stations: Vec<&WifiStation> = std::iter::once(&wifi.base).chain(&wifi.stations).collect();
    let nodes: Vec<usize> = stations.iter().map(|s| s.node).collect();
    let name = |station: usize| scenario.nodes[nodes[station]].name.as_str();
    let path = |station: usize| format!("wifi/{}/{}", wifi.name, name(station));
    // Per queue: its station, and the name of its target.
    let base: Vec<(usize, &str)> = match wifi.queues {
        WifiQueues::Shared => vec![(0, wifi.name.as_str())],
        WifiQueues::PerStation => (1..stations.len()).map(|s| (0, name(s))).collect(),
    };
    let own = (1..stations.len()).map(|s| (s, name(0)));
    let (mut queues, mut queue_names) = (Vec::new(), Vec::new());
    for (station, target) in base.iter().copied().chain(own) {
        // Each queue has its own random stream, so that adding a station does not shift the numbers of others.
        let stream = seeds.stream(&format!("{}->{target}", path(station)), "queue");
        queues.push(InterfaceQueue::new(queue(&stations[station].queue, stream, disciplines)?, rate));
        queue_names.push(format!("{}->{target}", name(station)));
    }
    let settings: Vec<_> =
        stations.iter().map(|s| StationConfig { signal_db: s.signal_db, overhead: s.overhead }).collect();
    // In the medium, the base station is number 0 and the stations of the scenario start at 1.
    let hidden: Vec<_> = wifi.hidden.iter().map(|&(from, to)| (from + 1, to + 1)).collect();
    let errors: Vec<_> =
        wifi.errors.iter().map(|e| Errors { station: e.station + 1, rate: e.rate, fer: e.fer }).collect();
    let medium =
        Medium::new(config, &settings, &hidden, &errors, |station, purpose| seeds.stream(&path(station), purpose));
    let interfaces = Interfaces::new(queues, base.len(), &nodes, scenario.nodes.len());
    Ok(Channel { medium, interfaces, rate, name: wifi.name.clone(), queue_names })
}

fn config(wifi: &Wifi) -> Result<Config, RunError> {
    let (data, control) = modulations(wifi)?;
    let row = narrows_wifi::registry().iter().find(|row| row.name == wifi.phy);
    let slowest = row.and_then(narrows_wifi::PhyRow::slowest).unwrap_or(control);
    Ok(Config {
        data,
        control,
        slot: wifi.slot,
        sifs: wifi.sifs,
        eifs: Config::standard_eifs(wifi.sifs, wifi.slot, &slowest),
        answer_timeout: Config::standard_timeout(wifi.sifs, wifi.slot, &control),
        cw_min: wifi.cw_min,
        cw_max: wifi.cw_max,
        short_retry: wifi.short_retry,
        long_retry: wifi.long_retry,
        rts_threshold: wifi.rts_threshold,
        propagation: wifi.propagation,
        capture_db: wifi.capture_db,
        aggregation: wifi.aggregation.map(aggregation),
    })
}

fn aggregation(a: scenario::Aggregation) -> Aggregation {
    Aggregation { max_mpdus: a.max_mpdus, max_bytes: a.max_bytes, max_time: a.max_time }
}

/// The modulations of a channel's data and control frames.
///
/// # Errors
/// [`RunError::Radio`] if its PHY does not have them.
pub(crate) fn modulations(wifi: &Wifi) -> Result<(Modulation, Modulation), RunError> {
    let mode = match wifi.mode {
        WifiMode::Rate(rate) => Mode::Rate(rate),
        WifiMode::Mcs { mcs, width_mhz, streams, short_guard } => {
            Mode::Mcs(Mcs { mcs, width_mhz, streams, short_guard })
        }
    };
    narrows_wifi::modulations(&wifi.phy, mode, wifi.basic_rate, wifi.short_preamble)
        .map_err(|e| RunError::Radio { channel: wifi.name.clone(), reason: e.to_string() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_units::Duration;

    fn eifs(phy: &str) -> Duration {
        let nodes = "[[nodes]]\nname = \"ap\"\nkind = \"router\"\n[[nodes]]\nname = \"a\"\n[[nodes]]\nname = \"b\"\n";
        let wifi = format!("[wifi]\nbase = \"ap\"\nstations = [\"a\", \"b\"]\nphy = {phy}\n");
        let text = format!("duration = \"1 s\"\n{nodes}{wifi}[[flows]]\nfrom = \"a\"\nto = \"b\"\n");
        let scenario = narrows_scenario::parse(&text, "x.toml", &[], &crate::catalogue()).unwrap();
        config(&scenario.wifi[0]).unwrap().eifs
    }

    /// Section 10.3.2.3.7: SIFS, an ACK at the lowest mandatory rate, DIFS, independent of the actual rate of ACKs.
    #[test]
    fn eifs_reckons_with_an_ack_at_the_lowest_rate() {
        let dsss = Duration::from_micros(10 + 304 + 50);
        assert_eq!(eifs("\"802.11b\""), dsss);
        assert_eq!(eifs("\"802.11b\"\nbasic_rate = \"11 Mb/s\"\npreamble = \"short\""), dsss);
        let ofdm = Duration::from_micros(16 + 44 + 34);
        assert_eq!(eifs("\"802.11n\""), ofdm);
        assert_eq!(eifs("\"802.11n\"\nbasic_rate = \"24 Mb/s\""), ofdm);
    }
}
