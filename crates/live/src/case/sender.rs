//! The values of one flow's variables: what the kernel tells of its sender.

use super::rounds::{Progress, Rounds};
use crate::TcpInfo;
use crate::cc_info::CcInfo;
use crate::traffic::{Handle, Seen};
use narrows_timeline::FlowField;
use std::sync::Arc;

/// What is read of a flow; the second number of each pair is the variable's place.
#[derive(Debug)]
pub(super) struct SenderReadings {
    handle: Arc<Handle>,
    /// Whether the sender sent the SYN.
    opened: bool,
    paced: bool,
    /// The kernel's name of its congestion control.
    control: String,
    pub(super) fields: Vec<(FlowField, usize)>,
    pub(super) variables: Vec<(Arc<str>, usize)>,
    rounds: Rounds,
    entries: Entries,
    rtt: LastRtt,
}

/// Entries into phases of loss recovery that the looks have shown.
#[derive(Clone, Copy, Debug, Default)]
struct Entries {
    phase: u8,
    recoveries: u64,
    losses: u64,
}

/// `TCP_CA_Recovery` and `TCP_CA_Loss` of `include/uapi/linux/tcp.h`.
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

impl Entries {
    fn take(&mut self, phase: u8) {
        if phase != self.phase {
            self.recoveries += u64::from(phase == RECOVERY);
            self.losses += u64::from(phase == LOSS);
            self.phase = phase;
        }
    }
}

/// The last round-trip time sample, from how the smoothed value moved.
#[derive(Clone, Copy, Debug, Default)]
struct LastRtt {
    seen: Option<Seen>,
    rtt_ns: Option<u64>,
}

impl LastRtt {
    fn take(&mut self, info: &TcpInfo) {
        let Some(now) = Seen::of(info) else { return };
        let (rtt, samples) = now.samples_since(self.seen);
        if samples > 0 {
            self.rtt_ns = Some(rtt);
        }
        self.seen = Some(now);
    }
}

impl SenderReadings {
    pub(super) fn new(handle: &Arc<Handle>, opened: bool, paced: bool, control: &str) -> Self {
        Self {
            handle: Arc::clone(handle),
            opened,
            paced,
            control: control.to_owned(),
            fields: Vec::new(),
            variables: Vec::new(),
            rounds: Rounds::default(),
            entries: Entries::default(),
            rtt: LastRtt::default(),
        }
    }

    /// Reads the sender as it is now.
    pub(super) fn read(&mut self, set: &mut impl FnMut(usize, f64)) {
        let socket = self.handle.sender();
        let info = socket.and_then(|socket| TcpInfo::read(socket).ok()).filter(TcpInfo::has_opened);
        // Variables that the algorithm does not report now have no value.
        self.variables.iter().for_each(|(_, place)| set(*place, f64::NAN));
        let Some(info) = info else {
            return self.fields.iter().for_each(|(_, place)| set(*place, f64::NAN));
        };
        let rounds = self.rounds.take(Progress::of(&info, self.opened));
        self.entries.take(info.phase());
        self.rtt.take(&info);
        for (field, place) in &self.fields {
            let value = match field {
                FlowField::Rounds => rounds as f64,
                FlowField::Rtt => self.rtt.rtt_ns.map_or(f64::NAN, |ns| ns as f64 / 1e9),
                FlowField::Losses => self.entries.recoveries as f64,
                FlowField::Goodput => self.handle.goodput() as f64,
                field => info.value(*field, self.opened, self.paced),
            };
            // A kernel before 6.7 does not count timeouts; their recoveries are seen.
            let value =
                if *field == FlowField::Timeouts && value.is_nan() { self.entries.losses as f64 } else { value };
            set(*place, value);
        }
        if let Some(cc) = socket.filter(|_| !self.variables.is_empty()).and_then(CcInfo::read) {
            cc.state(&self.control, &mut |name, value| {
                for (_, place) in self.variables.iter().filter(|(of, _)| **of == *name) {
                    set(*place, value);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_into_a_phase_counts_once() {
        let mut entries = Entries::default();
        [0, 1, 3, 3, 0, 3, 4, 4, 0].iter().for_each(|&phase| entries.take(phase));
        assert_eq!((entries.recoveries, entries.losses), (2, 1));
    }
}
