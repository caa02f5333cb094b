//! A connection: glue between the modules that do the work.
//!
//! | file | its part |
//! |---|---|
//! | `mod.rs` | the state, what the application does, what can be looked at |
//! | `open.rs` | segments before the connection is synchronized |
//! | `predicted.rs` | the segments of a bulk transfer where all is well: nearly all |
//! | `input.rs` | all other segments of a synchronized connection |
//! | `ack.rs` | an ACK: what it delivers, loss recovery, congestion control |
//! | `linux.rs` | what a receiver that follows Linux is told |
//! | `output.rs` | which segment leaves next, and its header |
//! | `timers.rs` | what happens when a timer expires |
//! | `check.rs` | invariants, for tests |

mod ack;
#[cfg(test)]
mod check;
mod input;
mod linux;
mod open;
mod output;
mod predicted;
mod timers;

use crate::assist::{Agreement, Assist};
use crate::congestion::{Controller, initial_window};
use crate::ecn::{Feedback, negotiates, offer};
use crate::handshake::{Syn, first_cap};
use crate::offset::MaybeOffset;
use crate::options::TimestampState;
use crate::pacer::Pacer;
use crate::prr::Prr;
use crate::rate::RateSampler;
use crate::receiver::Receiver;
use crate::recovery::{self, Recovery};
use crate::rto::Rto;
use crate::rtt::Rtt;
use crate::sender::Sender;
use crate::stats::{Counters, Info, State, Stats};
use crate::undo::Undo;
use core::net::SocketAddr;
use narrows_cc::{CongestionControl, Path, Phase};
use narrows_settings::Config;
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use narrows_wire::{Ip, Packet, TcpFlags, TcpRepr};
use prefetch_index::prefetch_index;
use std::sync::Arc;
use timers::Timers;

/// A RST that waits to be sent.
#[derive(Clone, Copy, Debug)]
struct Reset {
    seq: SeqNum,
    ack: Option<SeqNum>,
}

/// Segments that leave before all others.
#[derive(Debug, Default)]
struct Urgent {
    reset: Option<Reset>,
    /// An ACK of the state before the last segment, which must leave first (RFC 8257, section 3.2).
    parted_ack: Option<Packet>,
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
    // Fields are in order of use, so that those of a segment lie on few cache lines: among thousands of flows each line
    // is a miss. First what every segment needs, then what sending needs, then the rest.
    rx: Receiver,
    tx: Sender,
    ts: TimestampState,
    rate: RateSampler,
    assist: Option<Box<dyn Assist>>,
    timers: Timers,
    pacer: Pacer,
    /// Segments that leave before all others.
    urgent: Option<Box<Urgent>>,
    ecn: Feedback,
    state: State,
    send_shift: u8,
    sack: bool,
    agreement: Agreement,
    src_port: u16,
    dst_port: u16,
    /// Network header of every segment.
    ip: Ip,
    stats: Counters,
    recovery: Recovery,
    smss: u64,
    config: Arc<Config>,
    congestion: Controller,
    rto: Rto,
    rtt: Rtt,
    /// The reduction step of an episode, if one limits the usable window.
    prr: Option<Box<Prr>>,
    undo: Undo,
    initial_window: u64,
    /// When congestion was last reported to congestion control.
    reduced_at: Instant,
    /// SND.UNA at the last timeout.
    timeout_una: MaybeOffset,
    /// When the connection was aborted; [`Instant::NEVER`] if it was not.
    aborted_at: Instant,
    /// Our SYN, until both are acknowledged.
    syn: Option<Box<Syn>>,
    /// Whether header prediction is used.
    #[cfg(test)]
    pub(crate) predicts: bool,
    /// Segments that were as predicted.
    #[cfg(test)]
    pub(crate) predicted: u64,
}

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
        connection.syn = Some(Box::new(Syn { due: true, flags, ..Syn::default() }));
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
        if stamps {
            tx.board.keep_stamps();
        }
        Self {
            state: State::Closed,
            ip: Ip::between(local.ip(), remote.ip()),
            src_port: local.port(),
            dst_port: remote.port(),
            syn: None,
            smss,
            initial_window: initial_window(config.initial_window, smss),
            send_shift: 0,
            sack: false,
            ts: TimestampState::new(config.timestamp_offsets),
            recovery: recovery::build(&config, smss, false, &mut tx.board),
            tx,
            rx: Receiver::new(&config, first_cap(assist.as_deref())),
            congestion,
            prr: None,
            rtt: Rtt::default(),
            rto: Rto::new(Arc::clone(&config)),
            rate: if stamps { RateSampler::sampling() } else { RateSampler::default() },
            reduced_at: Instant::ZERO,
            ecn: Feedback::default(),
            urgent: None,
            agreement: Agreement::Nothing,
            assist,
            pacer: Pacer::default(),
            undo: Undo::default(),
            timers: Timers::default(),
            timeout_una: MaybeOffset::NONE,
            aborted_at: Instant::NEVER,
            stats: Counters::default(),
            #[cfg(test)]
            predicts: true,
            #[cfg(test)]
            predicted: 0,
            config,
        }
    }

    /// Adds `bytes` to the application's stream; [`Bytes::MAX`] means endless. Ignored after [`close`](Self::close).
    pub fn write(&mut self, bytes: Bytes) {
        self.tx.write(bytes.as_u64());
    }

    /// Withdraws what the application wrote and was not sent yet. The application may write again unless it has closed;
    /// then the FIN follows what was sent.
    pub fn withdraw(&mut self) {
        self.tx.withdraw();
    }

    /// Closes the application's stream: a FIN follows what was written. An endless stream ends at what has been sent.
    /// If the peer's SYN has not arrived and nothing was written, the connection is dropped (RFC 9293, section 3.10.4).
    /// With something written the RFC would drop it too; here the FIN follows later.
    pub fn close(&mut self) {
        if matches!(self.state, State::Listen | State::SynSent) && self.tx.unsent() == 0 {
            self.enter_closed();
        } else {
            self.tx.close();
        }
    }

    /// Ends the connection at once; the peer gets a RST if it knows of the connection (RFC 9293, section 3.10.5).
    pub fn abort(&mut self) {
        let told = !matches!(self.state, State::Listen | State::SynSent | State::TimeWait | State::Closed);
        if told {
            self.send_reset(self.tx.seq(self.tx.nxt), Some(self.rx.ack()));
        }
        self.enter_closed();
    }

    /// Sets whether the application reads at once (the default), so that the window stays open, or by
    /// [`read`](Self::read).
    pub fn set_auto_read(&mut self, on: bool) {
        self.rx.set_auto_read(on);
    }

    /// Reads up to `max` for the application; returns how much was read.
    pub fn read(&mut self, max: Bytes) -> Bytes {
        Bytes::new(self.rx.read(max.as_u64()))
    }

    /// In-order bytes that the application has not read; zero where it reads at once.
    #[must_use]
    pub fn readable(&self) -> Bytes {
        Bytes::new(self.rx.readable())
    }

    /// In-order payload bytes received so far, read or not.
    #[inline]
    #[must_use]
    pub fn delivered_to_app(&self) -> Bytes {
        Bytes::new(self.rx.delivered())
    }

    /// Whether the peer's FIN and all its data have arrived.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.rx.is_finished()
    }

    /// Bytes written and not sent yet; [`Bytes::MAX`] minus what was sent for an endless stream.
    #[inline]
    #[must_use]
    pub fn unsent(&self) -> Bytes {
        Bytes::new(self.tx.unsent())
    }

    /// Bytes written and cumulatively acknowledged.
    #[inline]
    #[must_use]
    pub fn acked(&self) -> Bytes {
        Bytes::new(self.tx.acked())
    }

    /// State by RFC 9293.
    #[inline]
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// When the connection ended prematurely: it was given up after [`Config::max_retries`] timeouts in a row, or the
    /// peer reset it (RFC 9293, sections 3.8.3 and 3.10.7). `None` otherwise, after [`abort`](Self::abort) too. A RST
    /// once both sides have closed is not premature.
    #[must_use]
    pub fn aborted_at(&self) -> Option<Instant> {
        (self.aborted_at != Instant::NEVER).then_some(self.aborted_at)
    }

    /// Counters.
    #[inline]
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats.all()
    }

    /// A snapshot.
    #[must_use]
    pub fn info(&self) -> Info {
        let win = &self.congestion.win;
        Info {
            cwnd: self.cwnd(),
            ssthresh: win.ssthresh,
            pacing_rate: self.pacer.rate(win),
            srtt: self.rto.srtt(),
            rtt: self.rtt.latest(),
            min_rtt: self.rtt.min(),
            rttvar: self.rto.rttvar(),
            rto: self.rto.current(),
            rwnd: Bytes::new(self.tx.window()),
            flightsize: Bytes::new(self.tx.board.flight()),
            inflight: Bytes::new(self.tx.board.pipe()),
            delivered: Bytes::new(self.rate.delivered()),
            smss: Bytes::new(self.smss),
            phase: self.phase(),
            agreement: self.agreement,
            sack: self.sack,
            timestamps: self.ts.on,
        }
    }

    /// The latest round-trip time sample, unless an earlier call returned it.
    #[inline]
    pub fn take_rtt_sample(&mut self) -> Option<Duration> {
        self.rtt.take()
    }

    /// Sets the value of this end's timestamp clock at time zero, in ticks; call it before the first segment.
    pub fn set_timestamp_offset(&mut self, offset: u32) {
        self.ts.set_offset(offset);
    }

    /// Sets the DSCP of every later segment; only the lower six bits count.
    pub fn set_dscp(&mut self, dscp: u8) {
        self.ip.set_dscp(dscp);
    }

    /// The congestion control.
    #[must_use]
    pub fn cc(&self) -> &dyn CongestionControl {
        self.congestion.algorithm()
    }

    /// The end-point part of a scheme, if there is one.
    #[must_use]
    pub fn assist(&self) -> Option<&dyn Assist> {
        self.assist.as_deref()
    }

    /// The scheme's part at this end, if it is in force.
    #[inline]
    fn active_assist(&mut self) -> Option<&mut Box<dyn Assist>> {
        let agreed = self.agreement == Agreement::Assisted;
        self.assist.as_mut().filter(|assist| agreed || !negotiates(&***assist))
    }

    /// Prefetches what the next segment will need into the processor's caches, because a segment is about to come.
    /// Changes nothing; with thousands of connections it hides much of the time that memory takes.
    #[inline]
    pub fn prefetch(&self) {
        fn line<T>(part: &T) {
            prefetch_index(core::slice::from_ref(part), 0);
        }
        line(&self.rx);
        line(&self.tx);
        line(&self.ts);
        line(&self.timers);
        line(&self.state);
        line(&self.stats);
        line(&self.smss);
        line(&self.congestion);
        line(&self.rto);
        line(&self.tx.board);
        line(&self.tx.limited);
        line(&self.recovery);
        line(&self.ip);
        line(&self.undo);
    }

    /// Whether the network header is IPv6.
    fn is_ipv6(&self) -> bool {
        matches!(self.ip, Ip::V6(_))
    }

    #[inline]
    fn phase(&self) -> Phase {
        match self.recovery.phase() {
            Phase::Open | Phase::Disorder if self.ecn.in_cwr => Phase::Cwr,
            phase => phase,
        }
    }

    /// The usable window: that of the reduction step, or the congestion control's.
    #[inline]
    fn cwnd(&self) -> Bytes {
        self.prr.as_ref().map_or(self.congestion.win.cwnd, |prr| Bytes::new(prr.cwnd()))
    }

    /// The path as congestion control sees it; `flightsize` is an argument because its meaning depends on the event.
    fn path(&self, flightsize: u64, now: Instant) -> Path {
        self.path_in(self.phase(), flightsize, now)
    }

    /// The path in the given phase.
    #[inline]
    fn path_in(&self, phase: Phase, flightsize: u64, now: Instant) -> Path {
        let tx = &self.tx;
        let win = &self.congestion.win;
        Path {
            now,
            smss: Bytes::new(self.smss),
            initial_window: Bytes::new(self.initial_window),
            srtt: self.rto.srtt(),
            min_rtt: self.rtt.min(),
            rto: self.rto.current(),
            flightsize: Bytes::new(flightsize),
            inflight: Bytes::new(tx.board.pipe()),
            snd_una: tx.una,
            snd_nxt: tx.nxt,
            delivered: Bytes::new(self.rate.delivered()),
            lost: Bytes::new(self.rate.lost()),
            cwnd_limited: self.config.unused_growth || tx.usage.is_limited(win, self.config.slow_start_at_equality),
            pacing_rate: self.pacer.rate(win),
            phase,
            slow_start_at_equality: self.config.slow_start_at_equality,
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
        self.urgent.get_or_insert_default().reset = Some(Reset { seq, ack });
    }

    /// Ends the connection prematurely.
    #[cold]
    fn enter_aborted(&mut self, now: Instant) {
        self.aborted_at = now;
        self.enter_closed();
    }

    fn enter_closed(&mut self) {
        self.state = State::Closed;
        self.timers = Timers::default();
        self.timeout_una = MaybeOffset::NONE;
        self.pacer.idle();
    }
}
