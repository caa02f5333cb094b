//! From the channels of a scenario to those of a world.

use crate::build::{Seeds, queue};
use crate::radio::Radio;
use crate::radio::channel::{Channel, Interfaces};
use crate::radio::interface::InterfaceQueue;
use crate::run::RunError;
use narrows_scenario as scenario;
use narrows_scenario::{Scenario, Wifi, WifiMode, WifiQueues, WifiStation};
use narrows_wifi::{Aggregation, Config, Errors, Mcs, Medium, Mode, Modulation, StationConfig};

/// The channels of a scenario.
///
/// # Errors
/// [`RunError::Radio`] where a PHY has no such modulation.
pub(crate) fn radio(scenario: &Scenario, seeds: Seeds) -> Result<Radio, RunError> {
    Ok(Radio::new(scenario.wifi.iter().map(|wifi| channel(wifi, scenario, seeds)).collect::<Result<_, _>>()?))
}

fn channel(wifi: &Wifi, scenario: &Scenario, seeds: Seeds) -> Result<Channel, RunError> {
    let config = config(wifi)?;
    let rate = config.data.rate();
    let stations: Vec<&WifiStation> = std::iter::once(&wifi.base).chain(&wifi.stations).collect();
    let nodes: Vec<usize> = stations.iter().map(|s| s.node).collect();
    let name = |station: usize| scenario.nodes[nodes[station]].name.as_str();
    let path = |station: usize| format!("wifi/{}/{}", wifi.name, name(station));
    // Per queue: its station, and the name of where it leads.
    let base: Vec<(usize, &str)> = match wifi.queues {
        WifiQueues::Shared => vec![(0, wifi.name.as_str())],
        WifiQueues::PerStation => (1..stations.len()).map(|s| (0, name(s))).collect(),
    };
    let own = (1..stations.len()).map(|s| (s, name(0)));
    let (mut queues, mut queue_names) = (Vec::new(), Vec::new());
    for (station, target) in base.iter().copied().chain(own) {
        // Each queue draws for itself, so that a further station does not shift the numbers of others.
        let stream = seeds.stream(&format!("{}->{target}", path(station)), "queue");
        queues.push(InterfaceQueue::new(queue(&stations[station].queue, stream), rate));
        queue_names.push(format!("{}->{target}", name(station)));
    }
    let settings: Vec<_> =
        stations.iter().map(|s| StationConfig { signal_db: s.signal_db, overhead: s.overhead }).collect();
    // In the medium the base station is number 0, so the stations of the scenario start at 1.
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
    Ok(Config {
        data,
        control,
        slot: wifi.slot,
        sifs: wifi.sifs,
        eifs: Config::standard_eifs(wifi.sifs, wifi.slot, &control),
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

/// The modulations of data and of control frames of a channel.
///
/// # Errors
/// [`RunError::Radio`] where its PHY has none such.
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
