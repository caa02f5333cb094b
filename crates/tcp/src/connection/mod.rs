//! A connection: glue between the modules that do the work.
//!
//! | file | its part |
//! |---|---|
//! | `mod.rs` | the state, and what the application does |
//! | `view.rs` | what can be looked at |
//! | `open.rs` | segments before the connection is synchronized |
//! | `predicted.rs` | the segments of a bulk transfer where all is well: nearly all |
//! | `plain.rs` | the same where nothing else is asked for, with the answers |
//! | `input.rs` | all other segments of a synchronized connection |
//! | `ack.rs` | an ACK: what it delivers, loss recovery, congestion control |
//! | `react.rs` | what a sign of congestion does |
//! | `sacked.rs` | the SACK option of an ACK |
//! | `linux_info.rs` | what Linux's `TCP_INFO` shows |
//! | `measured.rs` | what is measured for those who watch a sender |
//! | `linux.rs` | what a receiver that follows Linux is told |
//! | `output.rs` | which segment leaves next |
//! | `header.rs` | how a segment is written |
//! | `burst.rs` | which segments leave together, where they do as Linux's with GSO |
//! | `batch.rs` | how much new data that is |
//! | `small_queue.rs` | whether what waits in the host's device holds them |
//! | `misbehaving.rs` | ACKs of a receiver that breaks the rules |
//! | `merged.rs` | segments that the host's device merges as they arrive |
//! | `idle.rs` | what a sender does that cwnd or the application stops |
//! | `timers.rs` | what happens when a timer expires |
//! | `socket.rs` | what a socket asks of a full end: options, closing, errors, ICMP |
//! | `full.rs` | segments at a full end, checked as Linux checks them |
//! | `remains.rs` | what is left of a full end: TIME-WAIT, and FIN-WAIT-2 without a program |
//! | `opening.rs` | the handshake of a full end, with Fast Open |
//! | `vigil.rs` | a full end's probes, keep-alive, and when it gives up |
//! | `check.rs` | invariants, for tests |

mod ack;
mod application;
mod batch;
mod burst;
#[cfg(test)]
mod check;
mod full;
mod header;
mod idle;
mod input;
#[cfg(test)]
mod layout;
mod linux;
mod linux_info;
mod measured;
mod merged;
mod misbehaving;
mod open;
mod opening;
mod output;
mod plain;
mod predicted;
mod react;
mod remains;
mod sacked;
mod small_queue;
mod socket;
mod timers;
mod view;
mod vigil;

use crate::assist::{Agreement, Assist};
use crate::congestion::{Controller, initial_window};
use crate::ecn::{Feedback, negotiates, offer};
use crate::episode::Episode;
use crate::handshake::{Syn, first_cap};
use crate::linux::device::Device;
use crate::linux::gso::Gso;
use crate::options::TimestampState;
use crate::pacer::Pacer;
use crate::rate::RateSampler;
use crate::receiver::Receiver;
use crate::recovery::{self, Recovery};
use crate::rto::Rto;
use crate::rtt::Rtt;
use crate::sender::{Frame, Sender};
use crate::socket::Socket;
use crate::stats::{Counters, State};
use core::net::SocketAddr;
pub use linux_info::LinuxInfo;
pub use measured::Measured;
use narrows_cc::CongestionControl;
use narrows_settings::Config;
use narrows_units::{Instant, SeqNum};
use narrows_wire::{Ip, Packet, TcpFlags, TcpRepr};
pub use plain::BareAck;
use prefetch_index::prefetch_index;
use std::collections::VecDeque;
use std::sync::Arc;
use timers::Timers;

/// A RST that waits to be sent.
#[derive(Clone, Copy, Debug)]
struct Reset {
    seq: SeqNum,
    ack: Option<SeqNum>,
    /// Whether it is this end's own, which carries what every segment carries.
    own: bool,
}

/// Segments that leave before all others.
#[derive(Debug, Default)]
struct Urgent {
    reset: Option<Reset>,
    /// ACKs in order: of the state before the last segment, which must leave first (RFC 8257, section 3.2), and of a
    /// receiver that misbehaves.
    acks: VecDeque<Packet>,
}

/// One end of a TCP connection, without I/O.
///
/// Four methods drive it. [`handle_segment`](Self::handle_segment) and [`handle_timeout`](Self::handle_timeout) report
/// what happened; [`poll_transmit`](Self::poll_transmit) (called until it returns nothing) and
/// [`poll_timeout`](Self::poll_timeout) return what the connection wants. The caller polls after each segment, timeout
/// or call of the application; otherwise an ACK that is due is merged with the next.
///
/// Payload is counted, not carried: the application writes and reads lengths.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Connection {
    // With thousands of flows each cache line is a miss. So fields are in groups that begin and end with lines of 64
    // bytes, and parts put what plain segments need (`plain.rs`) first or last, next to a part that does the same. A
    // test holds the lines of the plain path.
    //
    // Lines 0 to 2: what only other segments need; what data that arrives needs; what data and ACKs need.
    assist: Option<Box<dyn Assist>>,
    /// None if segments leave one by one.
    gso: Option<Box<Gso>>,
    /// None if the host's device neither merges what arrives nor bounds the sender.
    device: Option<Box<Device>>,
    rx: Receiver,
    ts: TimestampState,
    pacer: Pacer,
    // Lines 3 and 4: what both ends need. Line 5: what only other segments need.
    timers: Timers,
    rate: RateSampler,
    stats: Counters,
    recovery: Recovery,
    state: State,
    sack: bool,
    agreement: Agreement,
    /// The initial window in octets.
    initial_window: u32,
    // Lines 6 to 9, of which data that arrives needs 6 and the beginning of 7.
    tx: Sender,
    // The last field of `tx` is on line 10. Lines 10 to 13: what an ACK needs.
    smss: u64,
    config: Arc<Config>,
    congestion: Controller,
    rto: Rto,
    rtt: Rtt,
    episode: Episode,
    // What only other segments need.
    ecn: Feedback,
    /// Segments that leave before all others.
    urgent: Option<Box<Urgent>>,
    /// None for an end of a simulated flow.
    socket: Option<Box<Socket>>,
    src_port: u16,
    dst_port: u16,
    /// Network header of every segment.
    ip: Ip,
    /// Our SYN, until both are acknowledged.
    syn: Option<Box<Syn>>,
    /// Whether header prediction is used.
    #[cfg(test)]
    pub(crate) predicts: bool,
    /// Segments that were as predicted.
    #[cfg(test)]
    pub(crate) predicted: u64,
    /// Whether the last segment was plain data, which the next segment answers.
    #[cfg(test)]
    pub(crate) answers: bool,
}

// With tens of thousands of connections, memory and cache misses count: a line more is 1.3 MB for 10,000 flows.
#[cfg(all(not(test), target_pointer_width = "64"))]
const _: () = assert!(size_of::<Connection>() == 16 * 64, "a connection takes 16 cache lines");

impl Connection {
    /// An active open (RFC 9293, section 3.9.1.1): the first [`poll_transmit`](Self::poll_transmit) yields the SYN.
    ///
    /// `iss` is the initial sequence number. Connections may share their settings.
    #[must_use]
    pub fn connect(
        config: impl Into<Arc<Config>>,
        cc: Box<dyn CongestionControl>,
        assist: Option<Box<dyn Assist>>,
        local: SocketAddr,
        remote: SocketAddr,
        iss: SeqNum,
    ) -> Self {
        let mut connection = Self::closed(config.into(), cc, assist, local, remote, iss);
        connection.state = State::SynSent;
        let flags = offer(&connection.config, connection.assist.as_deref());
        connection.syn = Some(Box::new(Syn { due: true, flags, capable: true, ..Syn::default() }));
        connection
    }

    /// A passive open for one expected peer.
    #[must_use]
    pub fn listen(
        config: impl Into<Arc<Config>>,
        cc: Box<dyn CongestionControl>,
        assist: Option<Box<dyn Assist>>,
        local: SocketAddr,
        remote: SocketAddr,
        iss: SeqNum,
    ) -> Self {
        let mut connection = Self::closed(config.into(), cc, assist, local, remote, iss);
        connection.state = State::Listen;
        connection
    }

    fn closed(
        config: Arc<Config>,
        cc: Box<dyn CongestionControl>,
        assist: Option<Box<dyn Assist>>,
        local: SocketAddr,
        remote: SocketAddr,
        iss: SeqNum,
    ) -> Self {
        let smss = u64::from(config.mss);
        let mut tx = Sender::new(iss);
        let congestion = Controller::new(&config, cc);
        let stamps = congestion.needs.rates || congestion.needs.losses;
        let ip = Ip::between(local.ip(), remote.ip());
        tx.frame = Frame::of(&ip, false);
        if stamps {
            tx.board.keep_stamps();
        }
        Self {
            state: State::Closed,
            ip,
            src_port: local.port(),
            dst_port: remote.port(),
            syn: None,
            smss,
            initial_window: u32::try_from(initial_window(config.initial_window, smss)).unwrap_or(u32::MAX),
            sack: false,
            ts: TimestampState::new(config.timestamp_offsets),
            recovery: recovery::build(&config, smss, false, &mut tx.board),
            tx,
            rx: Receiver::new(&config, first_cap(assist.as_deref())),
            congestion,
            episode: Episode::default(),
            rtt: Rtt::default(),
            rto: Rto::new(Arc::clone(&config)),
            rate: if stamps { RateSampler::sampling() } else { RateSampler::default() },
            ecn: Feedback::default(),
            urgent: None,
            socket: None,
            agreement: Agreement::Nothing,
            assist,
            gso: config.gso.then(|| Box::new(Gso::new(config.tsq))),
            device: Device::new(&config),
            pacer: Pacer::default(),
            timers: Timers::default(),
            stats: Counters::default(),
            #[cfg(test)]
            predicts: true,
            #[cfg(test)]
            predicted: 0,
            #[cfg(test)]
            answers: false,
            config,
        }
    }

    /// Sets the value of this end's timestamp clock at time zero, in ticks; call it before the first segment.
    pub fn set_timestamp_offset(&mut self, offset: u32) {
        self.ts.set_offset(offset);
    }

    /// Sets the DSCP of every later segment; only the lower six bits count.
    pub fn set_dscp(&mut self, dscp: u8) {
        self.ip.set_dscp(dscp);
        self.tx.frame = Frame::of(&self.ip, self.ts.on);
    }

    /// The scheme's part at this end, if it is in force.
    #[inline]
    fn active_assist(&mut self) -> Option<&mut Box<dyn Assist>> {
        let agreed = self.agreement == Agreement::Assisted;
        self.assist.as_mut().filter(|assist| agreed || !negotiates(&***assist))
    }

    /// Prefetches what the next segment will need into the processor's caches, because a segment is about to come:
    /// with data, or without. Changes nothing; with thousands of connections it hides much of the time that memory
    /// takes.
    #[inline]
    pub fn prefetch(&self, data: bool) {
        fn line<T>(part: &T) {
            prefetch_index(core::slice::from_ref(part), 0);
        }
        // A part of each line, in the order of lines. Most data finds a connection that sends none.
        line(&self.assist);
        line(self.rx.plain_line());
        line(&self.ts);
        line(&self.timers);
        line(&self.stats);
        line(&self.state);
        line(&self.tx);
        line(&self.tx.board);
        line(&self.ecn);
        if !data {
            line(self.tx.board.rare_line());
            line(&self.tx.usage);
            line(&self.smss);
            line(&self.congestion.limits);
            line(&self.rtt);
            line(&self.episode);
        }
    }

    /// Prefetches what the connection points to, when it is in the caches itself: what waits behind a gap if `data`
    /// arrives, and the congestion control, the first segment in flight and what losses need if an ACK does.
    #[inline]
    pub fn prefetch_behind(&self, data: bool) {
        if data {
            self.rx.prefetch_behind();
        } else {
            self.congestion.prefetch();
            self.tx.board.prefetch_behind();
        }
    }

    /// Queues a RST in answer to a segment (RFC 9293, section 3.10.7.1).
    fn reject(&mut self, segment: &Packet, tcp: &TcpRepr) {
        if tcp.flags.has(TcpFlags::RST) {
            return;
        }
        if tcp.flags.has(TcpFlags::ACK) {
            self.send_reset(tcp.ack, None);
        } else {
            self.send_reset(SeqNum::new(0), Some(tcp.seq + segment.seq_len()));
        }
    }

    fn send_reset(&mut self, seq: SeqNum, ack: Option<SeqNum>) {
        self.urgent.get_or_insert_default().reset = Some(Reset { seq, ack, own: false });
    }

    /// Ends the connection prematurely.
    #[cold]
    fn enter_aborted(&mut self, now: Instant) {
        self.stats.abort(now);
        self.enter_closed();
    }

    /// Frees what only further segments would need, at the end of a run. Counters stay; the connection must not be
    /// driven any more.
    pub fn put_away(&mut self) {
        self.congestion.put_away();
        self.tx.board.put_away();
    }

    fn enter_closed(&mut self) {
        self.state = State::Closed;
        self.timers = Timers::default();
        self.set_time_wait(Instant::NEVER);
        self.rx.forget_acks();
        if let Some(socket) = &mut self.socket {
            (socket.keep_alive_at, socket.probe_due) = (None, false);
        }
        self.recovery.end();
        self.episode.end();
        self.pacer.idle();
    }
}
