//! NGWA: its routers and parameters, and its requirements on queues and flows.

use super::Build;
use super::links::Links;
use super::nodes::Nodes;
use super::schemes::NGWA;
use crate::check::Path;
use crate::quantity::show_size;
use crate::record::{OrWord, Record};
use crate::types::{Flow, IpVersion, Ngwa, Wifi};
use narrows_units::Bytes;

const TOP: Path<'static> = Path::Key(&Path::Root, "ngwa");

/// Modes without a congestion window (paper, table 1).
const WITHOUT_CWND: [u8; 4] = [3, 4, 7, 8];

/// The contents of `[ngwa]`, if it is on.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The routers that run it; empty if it is off, or if its list of routers is wrong.
    routers: Vec<usize>,
    /// All settings, if they are correct.
    pub(crate) scheme: Option<Ngwa>,
}

impl Build<'_> {
    /// Reads `[ngwa]`. A table that is off is checked too, so that switching it on reveals no new problems within it.
    pub(crate) fn ngwa(&mut self, nodes: &Nodes) -> Found {
        let Some(record) = self.root.table(NGWA) else { return Found::default() };
        let routers = self.scheme_routers(record, nodes, &TOP);
        let scheme = self.ngwa_scheme(record, routers.clone());
        if self.schemes.ngwa != Some(true) {
            return Found::default();
        }
        self.ngwa_over_ipv4();
        let routers = routers.unwrap_or_default();
        self.options_inserted = !routers.is_empty();
        Found { routers, scheme }
    }

    fn ngwa_scheme(&mut self, record: &Record, routers: Option<Vec<usize>>) -> Option<Ngwa> {
        let mode = record.get::<u64>("mode").and_then(|mode| u8::try_from(mode).ok());
        let fast_retransmit = record.get::<bool>("fast_retransmit");
        if let (Some(mode), Some(true), Some(item)) = (mode, fast_retransmit, record.given("fast_retransmit"))
            && !WITHOUT_CWND.contains(&mode)
        {
            let reason = format!("means nothing in mode {mode}, whose flows have a congestion window and its recovery");
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

    /// Checks what NGWA requires of queues and flows.
    pub(crate) fn around_ngwa(&mut self, found: &Found, nodes: &Nodes, net: (&Links, &[Wifi]), flows: &[Flow]) {
        self.limits_in_bytes(&found.routers, nodes, net, flows);
        if let Some(most) = found.scheme.as_ref().and_then(|scheme| scheme.max_window) {
            self.window_for_segment(most, flows);
        }
    }

    /// Refuses a largest window below one segment: receivers would advertise no window at all.
    fn window_for_segment(&mut self, most: Bytes, flows: &[Flow]) {
        let own = flows.iter().filter(|flow| flow.assist() == Some(NGWA));
        let own = own.filter_map(|flow| Some((flow, Bytes::new(flow.tcp()?.mss.into()))));
        let Some((largest, mss)) = own.max_by_key(|(_, mss)| *mss) else { return };
        let Some(item) = self.root.table(NGWA).and_then(|record| record.given("max_window")) else { return };
        if most < mss {
            let reason = format!("is less than one segment of flow {:?}", largest.name);
            let allowed = format!("at least its mss ({}), or \"none\"", show_size(mss));
            self.report.add(item.place, Path::Key(&TOP, "max_window"), &item.shown, reason, allowed);
        }
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
