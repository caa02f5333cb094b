//! What the kernel counts for a host as a whole, for flows that have the host for themselves.
//!
//! `TCP_INFO` has no undone reductions, and timeouts only since Linux 6.7. `/proc/net/netstat` has both for each
//! network namespace. So they are a flow's own where no other flow begins or ends at the host of its sender.

use crate::hosts::Hosts;
use narrows_scenario::{Flow, Scenario};
use std::fs::read_to_string;

/// Counters of `/proc/net/netstat` by which Linux tells a reduction that it has undone (`tcp_try_undo_recovery`,
/// `tcp_try_undo_partial`, `tcp_try_undo_dsack`, `tcp_try_undo_loss`; `net/ipv4/tcp_input.c`).
const UNDONE: [&str; 4] = ["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"];

/// Counter of expiries of the retransmission timer (`tcp_retransmit_timer`, `net/ipv4/tcp_timer.c`).
const TIMEOUTS: &str = "TCPTimeouts";

/// What the kernel of a flow's sender has counted since the host was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Netstat {
    /// Reductions undone as spurious.
    pub(crate) spurious: u64,
    /// Expiries of the retransmission timer, those for a SYN included.
    pub(crate) timeouts: u64,
}

/// Reads the counters by flow; `None` for a flow that shares the host of its sender, for UDP, and where the kernel does
/// not tell.
pub(crate) fn by_flow(scenario: &Scenario, hosts: &Hosts) -> Vec<Option<Netstat>> {
    let read = |flow: &Flow| {
        flow.tcp()?;
        let sender = if flow.traffic.server_sends() { flow.to } else { flow.from };
        let here = |other: &&Flow| other.from == sender || other.to == sender;
        if scenario.flows.iter().filter(here).count() > 1 {
            return None;
        }
        // Not /proc/net: that is the namespace of the process' first thread.
        let text = hosts.of_node(sender)?.netns.run(|| read_to_string("/proc/thread-self/net/netstat"));
        parse(&text.ok()?.ok()?)
    };
    scenario.flows.iter().map(read).collect()
}

/// Reads the counters from the text of `/proc/net/netstat`: lines of names, each followed by a line of their values.
fn parse(text: &str) -> Option<Netstat> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("TcpExt:"));
    let (names, values) = (lines.next()?.split_whitespace(), lines.next()?.split_whitespace());
    let all: Vec<(&str, &str)> = names.zip(values).collect();
    let value = |name: &str| all.iter().find(|(other, _)| *other == name)?.1.parse::<u64>().ok();
    let spurious = UNDONE.iter().map(|name| value(name)).sum::<Option<u64>>()?;
    Some(Netstat { spurious, timeouts: value(TIMEOUTS)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lacks_root, scenario};

    const TEXT: &str = "IpExt: InNoRoutes\nIpExt: 7\n\
        TcpExt: TCPTimeouts TCPFullUndo TCPPartialUndo TCPDSACKUndo TCPLossUndo TCPOther\n\
        TcpExt: 5 1 20 300 4000 9\n";

    #[test]
    fn counters_are_found_by_name() {
        assert_eq!(parse(TEXT), Some(Netstat { spurious: 4321, timeouts: 5 }));
    }

    #[test]
    fn what_is_missing_or_no_number_is_not_told() {
        assert_eq!(parse(""), None);
        assert_eq!(parse("TcpExt: TCPTimeouts\n"), None);
        assert_eq!(parse(&TEXT.replace("TCPDSACKUndo", "TCPOther")), None);
        assert_eq!(parse(&TEXT.replace("4000", "-")), None);
    }

    #[test]
    fn a_flow_has_them_if_it_has_its_sender_s_host_for_itself() {
        if lacks_root() {
            return;
        }
        let one = "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n";
        let alone = scenario(one);
        let counted = by_flow(&alone, &Hosts::new(&alone).unwrap());
        assert_eq!(counted, [Some(Netstat { spurious: 0, timeouts: 0 })]);
        let shared = scenario(&format!("{one}name = \"a\"\n{one}name = \"b\"\n"));
        assert_eq!(by_flow(&shared, &Hosts::new(&shared).unwrap()), [None, None]);
    }
}
