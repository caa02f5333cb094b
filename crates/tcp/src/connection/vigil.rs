//! What a full end does when nothing arrives: probes of the window, keep-alive, and when it gives up, by Linux's timing
//! (`net/ipv4/tcp_timer.c`).

use super::Connection;
use crate::socket::Failure;
use crate::stats::State;
use narrows_units::{Duration, Instant};
use narrows_wire::{Packet, TcpFlags};

/// Base of the time that a number of retransmissions is taken for (`TCP_RTO_MIN`).
const MODEL_BASE: Duration = Duration::from_millis(200);
/// Shortest interval between window probes.
const LEAST_PROBE: Duration = Duration::from_millis(200);
/// Time between tries to send into a device that refuses packets (`TCP_RESOURCE_PROBE_INTERVAL`).
const RESOURCE_PROBE: Duration = Duration::from_millis(500);
/// Retransmissions of a connection without a program, if it sent lately (`tcp_orphan_retries`): over 100 s.
const ORPHAN_RETRIES: u32 = 8;

/// The time that `retries` retransmissions take whose timeout doubles from `base` to `most` (`tcp_model_timeout`).
fn model_timeout(retries: u32, base: Duration, most: Duration) -> Duration {
    let doublings = (most.as_nanos() / base.as_nanos().max(1)).max(1).ilog2();
    if retries <= doublings {
        base * ((2u64 << retries) - 1)
    } else {
        base * ((2u64 << doublings) - 1) + most * u64::from(retries - doublings)
    }
}

impl Connection {
    /// The earliest timer of a full end beyond those of a flow.
    #[inline]
    pub(super) fn vigil_deadline(&self) -> Instant {
        self.socket.as_ref().and_then(|socket| socket.keep_alive_at).unwrap_or(Instant::NEVER)
    }

    /// (Re)starts the keep-alive timer where the option is on; `running` is whether it was on before.
    pub(super) fn restart_keep_alive(&mut self, running: bool, now: Instant) {
        let open = !matches!(self.state, State::Closed | State::Listen | State::SynSent);
        let Some(socket) = &mut self.socket else { return };
        socket.keep_alive_at = match socket.options.keep_alive {
            None => None,
            Some(_) if !open => None,
            // New times count from the last segment.
            Some(times) if running => Some((socket.heard_at + times.idle).max(now)),
            Some(times) => Some(now + times.idle),
        };
    }

    /// Looks after a connection that has been silent (`tcp_keepalive_timer`).
    pub(super) fn on_keep_alive(&mut self, now: Instant) {
        let idle = self.tx.board.is_empty() && !self.tx.has_unsent();
        let over = self.state == State::TimeWait || (self.state == State::FinWait2 && self.is_orphan());
        let Some(socket) = &mut self.socket else { return };
        let Some(times) = socket.options.keep_alive.filter(|_| !over) else {
            socket.keep_alive_at = None;
            return;
        };
        let silent = now.since(socket.heard_at);
        if !idle {
            socket.keep_alive_at = Some(now + times.idle);
            return;
        }
        if silent < times.idle {
            socket.keep_alive_at = Some(socket.heard_at + times.idle);
            return;
        }
        let over = match socket.options.user_timeout {
            Some(most) => silent >= most && socket.probes_out > 0,
            None => socket.probes_out >= times.probes,
        };
        if over {
            let failure = socket.soft.unwrap_or(Failure::TimedOut);
            socket.failure.get_or_insert(failure);
            self.reset_actively();
            self.stats.abort(now);
            return;
        }
        socket.probe_due = true;
        socket.probes_out += 1;
        socket.keep_alive_at = Some(now + times.interval);
    }

    /// Whether the retransmission timer has expired too often (`tcp_write_timeout`): then the connection is given up.
    pub(super) fn is_given_up(&mut self, now: Instant) -> bool {
        let opening = self.syn.is_some();
        let sent = self.syn.as_ref().map(|syn| syn.first_sent);
        let retries = self.timers.retries.saturating_sub(1);
        let (initial, most) = (self.config.rto.initial, self.config.rto.max);
        let current = self.rto.current();
        let active = self.state == State::SynSent;
        let pending = self.is_fast_open_pending();
        let Some(socket) = &mut self.socket else { return false };
        let options = &socket.options;
        let since = if opening { sent } else { socket.stuck_since };
        let lasting = since.map_or(Duration::ZERO, |since| now.since(since));
        let timed_out = |bound: u32, base: Duration, custom: Option<Duration>| {
            retries > 0 && lasting >= custom.unwrap_or_else(|| model_timeout(bound, base, most))
        };
        if opening {
            if !active {
                return retries >= options.synack_retries + u32::from(pending);
            }
            return retries >= options.syn_retries + options.syn_linear_timeouts
                || timed_out(options.syn_retries, initial, options.user_timeout);
        }
        let mut bound = options.retries2;
        if socket.orphan {
            let alive = current < most;
            let asked = if socket.soft.is_some() && !alive { 0 } else { options.orphan_retries };
            bound = if asked == 0 && alive { ORPHAN_RETRIES } else { asked };
        }
        timed_out(bound, MODEL_BASE, options.user_timeout)
    }

    /// The time until the retransmission timer expires next, at most until the user timeout
    /// (`tcp_clamp_rto_to_user_timeout`).
    pub(super) fn clamped_rto(&self, now: Instant) -> Duration {
        let rto = self.rto.current();
        let Some(socket) = &self.socket else { return rto };
        let since = if self.syn.is_some() { self.syn.as_ref().map(|syn| syn.first_sent) } else { socket.stuck_since };
        match (socket.options.user_timeout, since) {
            (Some(most), Some(since)) => {
                let left = most - now.since(since);
                if left.is_zero() { Duration::from_millis(1) } else { rto.min(left) }
            }
            _ => rto,
        }
    }

    /// Whether the timeout of a SYN doubles now; the first few do not (`tcp_syn_linear_timeouts`).
    pub(super) fn backs_off(&mut self) -> bool {
        let active = self.state == State::SynSent;
        let Some(socket) = &mut self.socket else { return true };
        socket.syn_timeouts += 1;
        socket.syn_by_timer = true;
        !active || socket.syn_timeouts > socket.options.syn_linear_timeouts
    }

    /// The persist timer of a full end expired (`tcp_probe_timer`).
    pub(super) fn on_full_persist(&mut self, now: Instant) {
        self.timers.persist = Instant::NEVER;
        let current = self.rto.current().max(LEAST_PROBE);
        let most = self.config.rto.max;
        let open = self.tx.edge > self.tx.nxt;
        if !self.tx.board.is_empty() || !self.tx.has_unsent() {
            if let Some(socket) = &mut self.socket {
                (socket.probes_out, socket.probing_since) = (0, None);
            }
            return;
        }
        let backed = (current * (1 << self.timers.probes.min(16))).min(most);
        let Some(socket) = &mut self.socket else { return };
        let since = *socket.probing_since.get_or_insert(now);
        let lasting = now.since(since);
        let mut over = lasting > Duration::ZERO && socket.options.user_timeout.is_some_and(|limit| lasting >= limit);
        let mut bound = socket.options.retries2;
        if socket.orphan {
            let alive = backed < most;
            let asked = if socket.soft.is_some() && !alive { 0 } else { socket.options.orphan_retries };
            bound = if asked == 0 && alive { ORPHAN_RETRIES } else { asked };
            over |= !alive && self.timers.probes >= bound;
        }
        if over || socket.probes_out >= bound {
            let failure = socket.soft.unwrap_or(Failure::TimedOut);
            self.fail(failure, now);
            return;
        }
        if open && socket.device_full {
            socket.probes_out += 1;
            let left = socket.options.user_timeout.map_or(RESOURCE_PROBE, |limit| limit - lasting);
            self.timers.persist = now + RESOURCE_PROBE.min(left.max(Duration::from_millis(2)));
            return;
        }
        if open {
            // As much as fits leaves now, whatever held it back.
            self.tx.overridden = true;
            self.timers.probes = 0;
            return;
        }
        socket.probe_due = true;
        socket.probes_out += 1;
        let left = socket.options.user_timeout.map(|limit| limit - lasting);
        self.timers.probes += 1;
        let next = (current * (1 << self.timers.probes.min(16))).min(most);
        self.timers.persist = now + left.map_or(next, |left| next.min(left.max(Duration::from_millis(2))));
    }

    /// Whether the host's own device refuses packets.
    #[inline]
    pub(super) fn is_device_full(&self) -> bool {
        self.socket.as_ref().is_some_and(|socket| socket.device_full)
    }

    /// Lets new data that the device refuses wait for the persist timer (`tcp_check_probe_timer`).
    #[cold]
    pub(super) fn wait_for_device(&mut self, now: Instant) {
        let open = !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::SynReceived);
        if open && self.tx.board.is_empty() && self.tx.has_unsent() {
            self.arm_persist(now);
        }
    }

    /// The interval of the first window probe (`tcp_probe0_base`).
    pub(super) fn first_probe(&self) -> Duration {
        self.rto.current().max(LEAST_PROBE)
    }

    /// A segment without data from before SND.UNA, which every peer answers (`tcp_xmit_probe_skb`).
    pub(super) fn vigil_probe(&mut self, now: Instant, out: &mut Packet) -> bool {
        if !self.socket.as_mut().is_some_and(|socket| core::mem::take(&mut socket.probe_due)) {
            return false;
        }
        self.stats.rare().probes_sent += narrows_units::Packets::new(1);
        let seq = self.tx.seq(self.tx.una) - narrows_units::Bytes::new(1);
        self.bare(seq, TcpFlags::ACK, now, out);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_retransmissions_take_as_long_as_in_linux() {
        let (base, most) = (Duration::from_millis(200), Duration::from_secs(120));
        assert_eq!(model_timeout(15, base, most), Duration::from_millis(924_600), "ip-sysctl: tcp_retries2");
        assert_eq!(model_timeout(3, base, most), Duration::from_secs(3));
        assert_eq!(model_timeout(6, Duration::from_secs(1), most), Duration::from_secs(127));
    }
}
