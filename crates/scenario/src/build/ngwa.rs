//! NGWA: its routers and parameters, and what it needs of the scenario around it.

use super::Build;
use super::nodes::Nodes;
use crate::check::Path;
use crate::record::{OrWord, Record};
use crate::types::{IpVersion, Ngwa};
use narrows_units::Bytes;

const TOP: Path<'static> = Path::Key(&Path::Root, "ngwa");

/// Modes without a congestion window (paper, table 1).
const WITHOUT_CWND: [u8; 4] = [3, 4, 7, 8];

impl Build<'_> {
    /// Reads `[ngwa]`: its parameters, where it is on and right. It is checked even if switched off, so that switching it on
    /// brings no surprise within it.
    pub(crate) fn ngwa(&mut self, nodes: &Nodes) -> Option<Ngwa> {
        let record = self.root.table("ngwa")?;
        let scheme = self.ngwa_scheme(record, nodes);
        if self.schemes.ngwa != Some(true) {
            return None;
        }
        self.ngwa_over_ipv4();
        scheme
    }

    fn ngwa_scheme(&mut self, record: &Record, nodes: &Nodes) -> Option<Ngwa> {
        let routers = self.scheme_routers(record, nodes, &TOP);
        let mode = record.get::<u64>("mode").and_then(|mode| u8::try_from(mode).ok());
        let fast_retransmit = record.get::<bool>("fast_retransmit");
        if let (Some(mode), Some(true), Some(item)) = (mode, fast_retransmit, record.given("fast_retransmit"))
            && !WITHOUT_CWND.contains(&mode)
        {
            let reason = format!("means nothing in mode {mode}, which has a congestion window and its loss recovery");
            let allowed = "false, or mode = 3, 4, 7 or 8";
            self.report.add(item.place, Path::Key(&TOP, "fast_retransmit"), &item.shown, reason, allowed);
        }
        Some(Ngwa {
            routers: routers?,
            mode: mode?,
            alpha: record.get("alpha")?,
            flow_factor: record.get("flow_factor")?,
            idle_timeout: record.get("idle_timeout")?,
            max_flows: record.get("max_flows")?,
            shrink: record.get("shrink")?,
            fast_retransmit: fast_retransmit?,
            stamp: record.get("stamp")?,
            max_window: record.get::<OrWord<Bytes>>("max_window")?.value(),
        })
    }

    /// Refuses IPv6: the value travels in an option of the IPv4 header, and the paper has no other place for it.
    fn ngwa_over_ipv4(&mut self) {
        if let (IpVersion::V6, Some(item)) = (self.ip, self.root.given("ip")) {
            let reason = "does not go with [ngwa], whose value travels in an option of the IPv4 header";
            let path = Path::Key(&Path::Root, "ip");
            self.report.add(item.place, path, &item.shown, reason, "4, or enabled = false in [ngwa]");
        }
    }
}
