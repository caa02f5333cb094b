//! The hosts of a scenario, as namespaces with a device each.

use crate::fit::check;
use crate::settings::Settings;
use crate::{KernelsOwn, LiveError, Netns, Tun};
use narrows_scenario::{NodeKind, Scenario};
use std::collections::BTreeMap;

/// A host: the namespace of its sockets, and the device of its packets.
#[derive(Debug)]
pub struct Host {
    /// Number of the node in the scenario.
    pub node: usize,
    /// Its namespace.
    pub netns: Netns,
    /// Its device.
    pub tun: Tun,
    /// The settings of its kernel.
    pub settings: Settings,
}

/// All hosts of a scenario. They end when this is dropped and the threads and sockets in them are gone.
#[derive(Debug)]
pub struct Hosts {
    hosts: Vec<Host>,
    /// By node.
    of_node: BTreeMap<usize, usize>,
    kernels_own: Vec<KernelsOwn>,
}

impl Hosts {
    /// Makes the hosts. Routers get no namespace: the process that reads the devices is the network.
    ///
    /// # Errors
    /// [`LiveError::Unsupported`] for scenarios without a live form, [`LiveError::Unavailable`] where the machine, or
    /// the user, cannot make namespaces and devices.
    pub fn new(scenario: &Scenario) -> Result<Self, LiveError> {
        let kernels_own = check(scenario)?;
        let nodes = scenario.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Host);
        // All hosts are checked before the first is made.
        let plans = nodes.map(|(node, _)| Ok((node, Settings::of_host(scenario, node)?)));
        let plans = plans.collect::<Result<Vec<_>, LiveError>>()?;
        let hosts = plans.into_iter().map(|(node, settings)| Host::new(node, settings));
        let hosts = hosts.collect::<Result<Vec<_>, LiveError>>()?;
        let of_node = hosts.iter().enumerate().map(|(index, host)| (host.node, index)).collect();
        Ok(Self { hosts, of_node, kernels_own })
    }

    /// The hosts, in the order of the scenario's nodes.
    pub fn iter(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter()
    }

    /// Returns the host of a node; `None` for routers.
    #[must_use]
    pub fn of_node(&self, node: usize) -> Option<&Host> {
        self.of_node.get(&node).map(|&index| &self.hosts[index])
    }

    /// Returns the settings that are the kernel's own instead of the scenario's stack's, for the conditions of a run.
    #[must_use]
    pub fn kernels_own(&self) -> &[KernelsOwn] {
        &self.kernels_own
    }
}

impl Host {
    fn new(node: usize, settings: Settings) -> Result<Self, LiveError> {
        let netns = Netns::new()?;
        let tun = netns.run(|| {
            settings.apply()?;
            Tun::open(&settings.tun)
        })??;
        Ok(Self { node, netns, tun, settings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysctl;
    use crate::testing::{lacks_root, scenario};

    #[test]
    fn each_host_has_its_own_settings_and_routers_have_none() {
        if lacks_root() {
            return;
        }
        let scenario = scenario("[[flows]]\nfrom = \"s1\"\nto = \"d1\"\ntcp = { sack = false }");
        let hosts = Hosts::new(&scenario).unwrap();
        assert_eq!(hosts.iter().count(), 2);
        let of = |name: &str| hosts.of_node(scenario.nodes.iter().position(|node| node.name == name).unwrap());
        assert!(of("r1").is_none());
        for (name, sack) in [("s1", "0"), ("d1", "1")] {
            let host = of(name).unwrap();
            let told = host.netns.run(|| sysctl("ipv4/tcp_sack")).unwrap();
            assert_eq!(told.as_deref(), Some(sack), "{name}: the end that accepts leaves it to the one that asks");
            assert_eq!(host.netns.run(|| sysctl("ipv4/tcp_no_metrics_save")).unwrap().as_deref(), Some("1"));
        }
    }

    #[test]
    fn a_scenario_without_a_live_form_makes_nothing() {
        let scenario = scenario("[[flows]]\nfrom = \"s1\"\nto = \"d1\"\ntcp = { recovery = \"tahoe\" }");
        assert!(matches!(Hosts::new(&scenario), Err(LiveError::Unsupported { .. })));
    }
}
