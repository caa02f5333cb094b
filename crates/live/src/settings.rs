//! The settings of a host's kernel before its first packet: sysctls of its namespace, its MTU, its routes.
//!
//! Some settings apply to a whole namespace. Flows that start or end at one host must agree on them, or their scenario
//! has no live form.

use crate::LiveError;
use crate::fit::{initial_segments, rto_bounds_ms};
use crate::netns::set_sysctl;
use crate::refusals::Refusals;
use crate::tun::{RouteSettings, TunConfig};
use narrows_scenario::{DelayedAck, Flow, IdleRestart, IpVersion, Pacing, RecoveryKind, Scenario, Tcp, Transport};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::IpAddr;

/// Smallest MTU of a device, which other programs expect; our flows set their MSS per socket.
const MIN_MTU: u64 = 1500;
/// Largest MTU: the largest size of an IPv4 packet.
const MAX_MTU: u64 = 65_535;
/// Bytes of an IPv4 header, and an IPv6 header, without options.
const HEADERS: [u64; 2] = [20, 40];
/// Bytes of a TCP header without options.
const TCP_HEADER: u64 = 20;
/// Bytes of a UDP header.
const UDP_HEADER: u64 = 8;

/// `tcp_wmem`: smallest, initial and largest buffer of a socket that does not set its own. The kernel's default for the
/// largest (4 MiB on most machines) limits connections with a large bandwidth-delay product.
const SEND_BUFFERS: &str = "4096 65536 268435456";
/// `tcp_rmem[1]`: receive buffer of a new socket, bytes of memory.
const FIRST_RECEIVE_BUFFER: u64 = 131_072;

/// The settings of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Sysctls of the namespace, as paths below `/proc/sys/net` and values.
    pub sysctls: BTreeMap<String, String>,
    /// Its device.
    pub tun: TunConfig,
}

impl Settings {
    /// Returns the settings of the host that is node number `node`.
    ///
    /// # Errors
    /// [`LiveError::Unsupported`] if flows of the host want different values of a setting that they share. Several are
    /// reported as [`LiveError::Refused`].
    pub fn of_host(scenario: &Scenario, node: usize) -> Result<Self, LiveError> {
        let (sysctls, routes, refusals) = (BTreeMap::new(), BTreeMap::new(), Refusals::default());
        let mut host = Host { scenario, node, sysctls, routes, refusals };
        host.common();
        let flows = scenario.flows.iter().filter(|flow| flow.from == node || flow.to == node);
        let mut mtu = MIN_MTU;
        for flow in flows {
            mtu = mtu.max(packet_size(scenario, flow));
            if let Some(tcp) = flow.tcp() {
                host.flow(flow, tcp)?;
            }
        }
        host.refusals.end()?;
        let accepts_ecn = scenario.flows.iter().any(|flow| flow.to == node && flow.tcp().is_some_and(|tcp| tcp.ecn));
        // 2: ECN where the peer asks for it. 1 is set by flows that start here.
        host.sysctls
            .entry("ipv4/tcp_ecn".to_owned())
            .or_insert_with(|| (if accepts_ecn { "2" } else { "0" }).to_owned());
        let routes = host.routes.into_iter().filter(|(_, settings)| *settings != RouteSettings::default()).collect();
        let address = scenario.nodes[node].address;
        Ok(Self { sysctls: host.sysctls, tun: TunConfig { address, mtu: mtu.min(MAX_MTU) as u32, routes } })
    }

    /// Applies the sysctls to the namespace that the current thread is in.
    ///
    /// # Errors
    /// As [`set_sysctl`].
    pub(crate) fn apply(&self) -> Result<(), LiveError> {
        self.sysctls.iter().try_for_each(|(name, value)| set_sysctl(name, value))
    }
}

/// Bytes of the largest packet that a flow's ends send.
fn packet_size(scenario: &Scenario, flow: &Flow) -> u64 {
    let ip = HEADERS[usize::from(scenario.ip == IpVersion::V6)];
    match &flow.transport {
        Transport::Udp(udp) => ip + UDP_HEADER + udp.payload.as_u64(),
        Transport::Tcp(tcp) => ip + TCP_HEADER + u64::from(tcp.mss),
    }
}

struct Host<'a> {
    scenario: &'a Scenario,
    node: usize,
    sysctls: BTreeMap<String, String>,
    routes: BTreeMap<IpAddr, RouteSettings>,
    refusals: Refusals,
}

impl Host<'_> {
    /// Adds the settings of every host.
    fn common(&mut self) {
        let fixed = [
            // Prevents connections from sharing cached TCP metrics: each begins as in the simulator.
            ("ipv4/tcp_no_metrics_save", "1"),
            // A SYN-ACK takes the DSCP of the SYN, since flows share listeners.
            ("ipv4/tcp_reflect_tos", "1"),
            ("ipv4/tcp_wmem", SEND_BUFFERS),
        ];
        self.sysctls.extend(fixed.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    fn flow(&mut self, flow: &Flow, tcp: &Tcp) -> Result<(), LiveError> {
        let opens = flow.from == self.node;
        // An option is used only if both ends want it, so an accepting end may want it even if the other does not.
        for (name, wanted, key) in [
            ("tcp_sack", tcp.sack && tcp.recovery != RecoveryKind::NewReno, "sack"),
            ("tcp_timestamps", tcp.timestamps, "timestamps"),
            ("tcp_window_scaling", tcp.window_scaling, "window_scaling"),
        ] {
            if opens || wanted {
                self.set(flow, name, u8::from(wanted), key);
            }
        }
        if opens && (tcp.ecn || self.opens_with_ecn()) {
            self.set(flow, "tcp_ecn", u8::from(tcp.ecn), "ecn");
        }
        if tcp.idle_restart != IdleRestart::Rfc5681 {
            let on = u8::from(tcp.idle_restart == IdleRestart::Linux);
            self.set(flow, "tcp_slow_start_after_idle", on, "idle_restart");
        }
        self.set(flow, "tcp_retries2", tcp.max_retries.map_or(u8::MAX, |n| n.min(255) as u8), "max_retries");
        if let Pacing::Ratio { slow_start, avoidance } = tcp.pacing {
            self.set(flow, "tcp_pacing_ss_ratio", slow_start, "pacing.slow_start");
            self.set(flow, "tcp_pacing_ca_ratio", avoidance, "pacing.avoidance");
        }
        if tcp.autotuning {
            // The largest window is half of the memory, until the kernel measures another ratio.
            let most = (2 * tcp.recv_buffer.as_u64()).min(i32::MAX as u64);
            self.set(flow, "tcp_rmem", format!("4096 {} {most}", most.min(FIRST_RECEIVE_BUFFER)), "recv_buffer");
        }
        let [_, rto_max] = rto_bounds_ms(tcp)?;
        if let Some(most) = rto_max {
            self.set(flow, "tcp_rto_max_ms", most, "rto.max");
        }
        self.route(flow, tcp)
    }

    fn opens_with_ecn(&self) -> bool {
        self.scenario.flows.iter().any(|flow| flow.from == self.node && flow.tcp().is_some_and(|tcp| tcp.ecn))
    }

    /// Sets `name` below `ipv4` for all flows of the host, as requested by the setting `key` of one of them.
    fn set(&mut self, flow: &Flow, name: &str, value: impl Display, key: &str) {
        let value = value.to_string();
        let set = self.sysctls.entry(format!("ipv4/{name}")).or_insert_with(|| value.clone()).clone();
        if set != value {
            self.refusals.add(self.disagree(flow, key, &value, &set));
        }
    }

    fn disagree(&self, flow: &Flow, key: &str, value: &str, set: &str) -> LiveError {
        LiveError::Unsupported {
            field: format!("flows.{}.tcp.{key}", flow.name),
            value: value.to_owned(),
            reason: format!(
                "another flow of host {:?} has {set}, and Linux has one setting for all",
                self.scenario.nodes[self.node].name
            ),
            allowed: "the same for all flows of a host, or hosts of their own".to_owned(),
        }
    }

    /// Adds the settings of the route to the other end.
    fn route(&mut self, flow: &Flow, tcp: &Tcp) -> Result<(), LiveError> {
        let other = if flow.from == self.node { flow.to } else { flow.from };
        let settings = route_settings(tcp)?;
        let set = *self.routes.entry(self.scenario.nodes[other].address).or_insert(settings);
        if set == settings {
            return Ok(());
        }
        Err(LiveError::Unsupported {
            field: format!("flows.{}.tcp", flow.name),
            value: format!("{settings:?}"),
            reason: format!(
                "another flow between the same hosts has {set:?}, and Linux has one setting per destination"
            ),
            allowed: "initial_window, delayed_ack = false and rto.min alike for flows between two hosts".to_owned(),
        })
    }
}

fn route_settings(tcp: &Tcp) -> Result<RouteSettings, LiveError> {
    let [rto_min, _] = rto_bounds_ms(tcp)?;
    let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    Ok(RouteSettings {
        initcwnd: initial_segments(tcp),
        rto_min_ms: rto_min.map(number),
        quickack: tcp.delayed_ack == DelayedAck::Off,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_fabric::catalogue;

    /// Returns the first sender's settings in a dumbbell of two pairs, given the rest of the file.
    fn settings(rest: &str) -> Result<Settings, LiveError> {
        let text = format!(
            "[topology]\nkind = \"dumbbell\"\npairs = 2\nbottleneck = {{ rate = \"10 Mb/s\", delay = \"20 ms\" }}\n\
             access = {{ rate = \"1 Gb/s\", delay = \"1 ms\" }}\n{rest}"
        );
        let scenario = narrows_scenario::parse(&text, "test.toml", &[], &catalogue()).unwrap();
        let node = scenario.nodes.iter().position(|node| node.name == "s1").unwrap();
        Settings::of_host(&scenario, node)
    }

    fn flow(more: &str) -> String {
        format!("[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n{more}\n")
    }

    #[test]
    fn a_host_is_told_what_its_flows_ask_for() {
        let more = "tcp = { stack = \"linux\", sack = false, timestamps = false, max_retries = 4, ecn = true, \
                    initial_window = 3, delayed_ack = false, idle_restart = false }";
        let host = settings(&flow(more)).unwrap();
        let of = |name: &str| host.sysctls[&format!("ipv4/{name}")].as_str();
        let set = [
            "tcp_sack",
            "tcp_timestamps",
            "tcp_window_scaling",
            "tcp_ecn",
            "tcp_retries2",
            "tcp_slow_start_after_idle",
        ];
        assert_eq!(set.map(of), ["0", "0", "1", "1", "4", "0"]);
        let (_, route) = host.tun.routes[0];
        assert_eq!((route.initcwnd, route.rto_min_ms, route.quickack), (Some(3), None, true));
        assert_eq!(host.tun.mtu, 1500);
    }

    #[test]
    fn a_window_that_the_kernel_tunes_is_bounded_by_the_host_s_memory() {
        let rmem = |more: &str| settings(&flow(more)).unwrap().sysctls.get("ipv4/tcp_rmem").cloned();
        let [tuned, small] = ["", ", autotuning = true, recv_buffer = \"20 kB\""]
            .map(|more| rmem(&format!("tcp = {{ stack = \"linux\"{more} }}")));
        assert_eq!(tuned.as_deref(), Some("4096 131072 6291456"), "the kernel's own default");
        assert_eq!(small.as_deref(), Some("4096 40000 40000"));
        assert_eq!(rmem("tcp = { stack = \"linux\", autotuning = false }"), None, "its sockets set their own");
        let flows = flow("name = \"a\"\ntcp = { stack = \"linux\" }")
            + &flow("name = \"b\"\ntcp = { stack = \"linux\", autotuning = true, recv_buffer = \"1 MiB\" }");
        assert!(settings(&flows).unwrap_err().to_string().contains("flows.b.tcp.recv_buffer"));
    }

    #[test]
    fn a_host_without_wishes_has_the_kernel_s_routes() {
        let host = settings(&flow("tcp = { stack = \"linux\" }")).unwrap();
        assert_eq!((host.tun.routes.len(), host.sysctls["ipv4/tcp_ecn"].as_str()), (0, "0"));
    }

    #[test]
    fn the_mtu_has_room_for_the_largest_packet() {
        let mtu = |more: &str| settings(&flow(more)).unwrap().tun.mtu;
        assert_eq!(mtu("tcp = { mss = \"8960 B\" }"), 9000);
        assert_eq!(mtu("kind = \"udp\"\nrate = \"1 Mb/s\"\npayload = \"4000 B\""), 4028);
        assert_eq!(mtu("tcp = { mss = \"536 B\" }"), 1500, "sockets bound their segments themselves");
    }

    #[test]
    fn flows_of_one_host_that_disagree_are_refused() {
        let flows = flow("name = \"a\"\ntcp = { sack = true }") + &flow("name = \"b\"\ntcp = { sack = false }");
        let said = settings(&flows).unwrap_err().to_string();
        assert_eq!(
            said,
            "flows.b.tcp.sack: 0: another flow of host \"s1\" has 1, and Linux has one setting for all; \
             allowed: the same for all flows of a host, or hosts of their own"
        );
        let flows = flow("name = \"a\"") + &flow("name = \"b\"\ntcp = { initial_window = 2 }");
        let said = settings(&flows).unwrap_err().to_string();
        assert!(said.contains("one setting per destination"), "{said}");
        let flows = flow("name = \"a\"\ntcp = { ecn = true }") + &flow("name = \"b\"");
        assert!(settings(&flows).unwrap_err().to_string().contains("flows.b.tcp.ecn: 0"));
    }
}
