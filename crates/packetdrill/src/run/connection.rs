//! A connection as the executor knows it: its addresses, and how the script's numbers map to those on the wire.
//!
//! Sequence numbers of a script are relative to the initial ones, except in packets with SYN, where they are absolute.
//! The executor chooses the remote initial sequence number, so there the script's value is used on the wire. The host
//! chooses its own, which is learnt from its SYN or SYN-ACK.

use super::emit::{Path, TcpHeader};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// A socket without a connection.
    #[default]
    New,
    /// A listener.
    Listening,
    /// `connect` was called; the SYN is not seen yet.
    Connecting,
    /// The script expects or has seen the SYN of this host.
    SynSent,
    /// The script has acknowledged this host's SYN.
    Connected,
    /// A packet for the listener was injected.
    SynReceived,
    /// The host has answered with SYN-ACK.
    SynAckSent,
    /// The script has acknowledged the SYN-ACK.
    Accepted,
}

/// A connection or socket.
#[derive(Clone, Debug, Default)]
pub(super) struct Connection {
    pub(super) phase: Phase,
    /// `IPPROTO_TCP`, `IPPROTO_UDP` ..
    pub(super) protocol: i32,
    /// The script's number of its file, once it has one.
    pub(super) file: Option<i32>,
    /// The host's address, once known.
    pub(super) local: Option<SocketAddr>,
    /// The other end's address, once known.
    pub(super) remote: Option<SocketAddr>,
    /// The host's initial sequence number as the script has it.
    pub(super) local_isn_script: u32,
    /// The host's initial sequence number on the wire.
    pub(super) local_isn: u32,
    /// The other end's initial sequence number, in the script and on the wire.
    pub(super) remote_isn: u32,
    /// Timestamps of the script that the host has sent, with those on the wire.
    pub(super) timestamps: BTreeMap<u32, u32>,
    /// The first of them: script, wire.
    pub(super) first_timestamp: Option<(u32, u32)>,
    /// The flow label that the script has last named: script, wire.
    pub(super) flow_label: Option<(u32, u32)>,
    /// The last header injected.
    pub(super) last_injected: Option<TcpHeader>,
    /// The last header that the host sent.
    pub(super) last_sent: Option<TcpHeader>,
}

impl Connection {
    /// The way of packets to the host, once both addresses are known.
    pub(super) fn inbound(&self) -> Option<Path> {
        Some(Path { source: self.remote?, destination: self.local? })
    }

    /// The way of packets from the host.
    pub(super) fn outbound(&self) -> Option<Path> {
        self.inbound().map(Path::reversed)
    }

    /// What to add to the script's sequence numbers of the host for those on the wire.
    pub(super) fn local_offset(&self, is_syn: bool) -> u32 {
        if is_syn { self.local_isn.wrapping_sub(self.local_isn_script) } else { self.local_isn }
    }

    /// What to add to the script's sequence numbers of the other end for those on the wire.
    pub(super) fn remote_offset(&self, is_syn: bool) -> u32 {
        if is_syn { 0 } else { self.remote_isn }
    }

    /// Returns the timestamp on the wire that the host has sent for a script's echo. With `scaled`, one that it has not
    /// sent is reckoned from the first.
    pub(super) fn echo(&self, script: u32, scaled: bool) -> Option<u32> {
        let reckoned = || {
            let (first, wire) = self.first_timestamp.filter(|_| scaled)?;
            Some(script.wrapping_sub(first).wrapping_add(wire))
        };
        self.timestamps.get(&script).copied().or_else(reckoned)
    }

    /// Notes that the host has sent the timestamp `wire` where the script expects `script`. Returns the wire's
    /// timestamp in the script's terms.
    pub(super) fn note_timestamp(&mut self, script: u32, wire: u32) -> u32 {
        self.timestamps.insert(script, wire);
        let (first, first_wire) = *self.first_timestamp.get_or_insert((script, wire));
        first.wrapping_add(wire.wrapping_sub(first_wire))
    }
}
