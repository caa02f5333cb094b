//! The receiving part: turns commands in IP headers into echoes in TCP headers.
//!
//! # Choices
//! - With delayed ACKs the harshest command since the last ACK is echoed, once.
//! - The nonce sum (RFC 3540, section 4) runs over all segments that arrive with a nonce, and T1 to T4 carry it. The
//!   papers give it no further rule, so senders do not check it.

use super::codec::{IpMessage, TcpMessage};
use narrows_cc::Advice;

/// What the receiver has to report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiver {
    harshest: Advice,
    nonce_sum: bool,
}

impl Receiver {
    /// Creates the state before anything is received.
    pub(super) const fn new() -> Self {
        Self { harshest: Advice::Normal, nonce_sum: false }
    }

    /// Handles a segment with data that carries this message.
    pub(super) fn on_data(&mut self, message: IpMessage) {
        if let IpMessage::EcnMode { ns } | IpMessage::Ask { ns } = message {
            self.nonce_sum ^= ns;
        }
        if let Some(command) = message.command() {
            self.harshest = self.harshest.max(command);
        }
    }

    /// Returns the message of a segment that leaves with an acknowledgment, and whether it reports the reduction.
    /// `reduced` says that the sender on this end wants to report a reduced window. A command to echo comes first,
    /// since no message carries both.
    pub(super) fn on_transmit(&mut self, reduced: bool) -> (TcpMessage, bool) {
        let ns = self.nonce_sum;
        match core::mem::replace(&mut self.harshest, Advice::Normal) {
            Advice::Freeze => (TcpMessage::Freeze, false),
            Advice::Fallback => (TcpMessage::Fallback, false),
            Advice::Normal if reduced => (TcpMessage::Reduced { ns }, true),
            Advice::Normal => (TcpMessage::Normal { ns }, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harshest_command_since_the_last_ack_is_echoed_once() {
        let mut r = Receiver::new();
        r.on_data(IpMessage::Freeze);
        r.on_data(IpMessage::EcnMode { ns: false });
        assert_eq!(r.on_transmit(false), (TcpMessage::Freeze, false));
        assert_eq!(r.on_transmit(false), (TcpMessage::Normal { ns: false }, false));
        r.on_data(IpMessage::Fallback);
        r.on_data(IpMessage::Freeze);
        assert_eq!(r.on_transmit(false), (TcpMessage::Fallback, false));
    }

    #[test]
    fn a_reduction_waits_while_there_is_a_command_to_echo() {
        let mut r = Receiver::new();
        r.on_data(IpMessage::Freeze);
        assert_eq!(r.on_transmit(true), (TcpMessage::Freeze, false));
        assert_eq!(r.on_transmit(true), (TcpMessage::Reduced { ns: false }, true));
    }

    #[test]
    fn the_nonce_sum_is_the_parity_of_nonces_that_arrived() {
        let mut r = Receiver::new();
        for (message, sum) in [
            (IpMessage::EcnMode { ns: true }, true),
            (IpMessage::Ask { ns: true }, false),
            (IpMessage::EcnMode { ns: false }, false),
            (IpMessage::NotSupported, false),
            (IpMessage::Ask { ns: true }, true),
        ] {
            r.on_data(message);
            assert_eq!(r.on_transmit(false).0, TcpMessage::Normal { ns: sum });
        }
    }
}
