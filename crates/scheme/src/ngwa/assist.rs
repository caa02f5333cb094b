//! The end-point part: keeps the network's value of a connection and caps the window with it.

use super::codec::{self, Message};
use super::{NgwaConfig, Smoothing};
use narrows_cc::Advice;
use narrows_tcp::{Agreement, Assist, Heard, Outgoing, WindowCap};
use narrows_units::{Bytes, Instant};
use narrows_wire::{Ip, Packet, TcpFlags};

/// NGWA at one end of one connection (paper, sections 2.1, 2.3 and 4.2).
///
/// As a receiver it takes the value of each data segment, smooths it where the mode says so, and bounds the window that it
/// advertises: `W_a = min[W_b, W_max, W_ngwa]` (equation 2; `W_b` is what the connection itself would offer). As a
/// sender it does nothing but send segments that leave room for the option (section 4.2); how much, the peer's window
/// says.
///
/// # Choices
/// - Nothing is negotiated: the paper has no handshake. An end that knows NGWA next to one that does not caps its own window
///   and has its own segments small enough; the other ignores the option, as hosts do with options they do not know (RFC
///   1122, section 3.2.1.8).
/// - A segment without the option (its router did not write, or there was no room) changes nothing: the latest value rules.
/// - Each data segment counts, retransmissions, duplicates and window probes included: a probe's answer is how a window
///   that the network closed opens again.
/// - A malformed option is ignored and counted.
#[derive(Debug)]
pub struct NgwaAssist {
    shrink: bool,
    max_window: Option<Bytes>,
    smooths: bool,
    smoothing: Smoothing,
    /// The network's value in bytes, smoothed or not.
    window: Option<Bytes>,
    heard: Heard,
}

impl NgwaAssist {
    /// The agent of one end. `config` has been [checked](NgwaConfig::check).
    #[must_use]
    pub fn new(config: &NgwaConfig) -> Self {
        Self {
            shrink: config.shrink,
            max_window: config.max_window,
            smooths: config.mode.smoothing,
            smoothing: Smoothing::new(config.alpha),
            window: None,
            heard: Heard::default(),
        }
    }

    /// The value that bounds the window: `W_ngwa`, or `S` with smoothing; `None` before the first.
    #[must_use]
    pub const fn window(&self) -> Option<Bytes> {
        self.window
    }
}

impl Assist for NgwaAssist {
    fn negotiates(&self) -> bool {
        false
    }

    fn offer(&self) -> TcpFlags {
        TcpFlags::NONE
    }

    fn accept(&mut self, _syn: TcpFlags, _ecn: bool) -> (Agreement, TcpFlags) {
        (Agreement::Nothing, TcpFlags::NONE)
    }

    fn agreed(&mut self, _syn_ack: TcpFlags) -> Agreement {
        Agreement::Nothing
    }

    fn on_transmit(&mut self, _packet: &mut Packet, _out: &Outgoing) {}

    fn on_receive(&mut self, packet: &Packet, _now: Instant) -> Option<Advice> {
        if packet.payload_len > 0
            && let Ip::V4(ip) = &packet.ip
        {
            match codec::read(&ip.options) {
                Message::Absent => {}
                Message::Window(value) => {
                    self.heard.taken += 1;
                    let smooth = self.smoothing.update(value);
                    // Whole bytes; the mean of values is at most the largest of them.
                    let bytes = if self.smooths { smooth as u64 } else { u64::from(value) };
                    self.window = Some(Bytes::new(bytes));
                }
                Message::Malformed => self.heard.ignored += 1,
            }
        }
        None
    }

    fn header_overhead(&self, ipv6: bool) -> u16 {
        if ipv6 { 0 } else { codec::OVERHEAD }
    }

    fn window_cap(&self) -> Option<WindowCap> {
        let bytes = match (self.window, self.max_window) {
            (Some(window), Some(most)) => window.min(most),
            (window, most) => window.or(most)?,
        };
        Some(WindowCap { bytes, shrink: self.shrink })
    }

    fn heard(&self) -> Heard {
        self.heard
    }
}
