//! Full ends: what sockets ask of a connection, and segments that are not as they should be.

use super::harness::{C, S, addresses, at, forge, ms};
use crate::fastopen::{FastOpenClient, FastOpenServer, cookie};
use crate::{Config, Connection, EcnOptions, Failure, Icmp, KeepAlive, RtoConfig, RtoStyle, SocketOptions, State};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use narrows_wire::{AccEcn, AccEcnOrder, Ecn, FastOpenCookie, Packet, TcpFlags, Timestamps};

/// One full end, the peer of which is made by hand. Its initial sequence number is 1000, the peer's 0.
struct End {
    end: Connection,
    now: Instant,
}

const ISS: u32 = 1_000;

fn config() -> Config {
    let rto = RtoConfig {
        style: RtoStyle::Linux,
        initial: Duration::from_secs(1),
        min: ms(200),
        max: Duration::from_secs(120),
        granularity: ms(1),
    };
    Config {
        timestamps: false,
        timestamp_offsets: true,
        rto,
        time_wait: Duration::from_secs(60),
        recv_buffer: Bytes::new(60_000),
        window_scaling: false,
        ..Config::default()
    }
}

impl End {
    fn new(active: bool, config: Config, options: SocketOptions) -> Self {
        let cc = narrows_cc::build("reno", &narrows_cc::Params::default()).unwrap();
        let [client, server] = addresses();
        let mut end = if active {
            Connection::connect(config, cc, None, client, server, SeqNum::new(ISS))
        } else {
            Connection::listen(config, cc, None, server, client, SeqNum::new(ISS))
        };
        end.set_socket(options);
        end.set_auto_read(false);
        Self { end, now: at(0) }
    }

    /// An established passive open.
    fn open(options: SocketOptions) -> Self {
        Self::open_with(config(), options)
    }

    fn open_with(config: Config, options: SocketOptions) -> Self {
        let mut it = Self::new(false, config, options);
        let stamp = it.syn_options();
        it.hear(stamp);
        let answer = it.sent();
        assert_eq!(answer.len(), 1, "a SYN-ACK");
        it.hear(with_stamp(forge(C, 1, Some(ISS + 1), TcpFlags::ACK, 0), 10));
        assert_eq!(it.end.state(), State::Established);
        assert!(it.sent().is_empty());
        it
    }

    fn syn_options(&self) -> Packet {
        let mut syn = with_stamp(forge(C, 0, None, TcpFlags::SYN, 0), 10);
        let options = &mut syn.tcp_mut().unwrap().options;
        (options.mss, options.sack_permitted) = (Some(1_000), true);
        syn
    }

    fn hear(&mut self, packet: Packet) {
        self.end.handle_segment(&packet, self.now);
    }

    fn sent(&mut self) -> Vec<Packet> {
        core::iter::from_fn(|| self.end.poll_transmit(self.now)).collect()
    }

    /// Lets time pass; returns what leaves, with the time in milliseconds.
    fn wait(&mut self, until: u64) -> Vec<(u64, Packet)> {
        let mut left = Vec::new();
        while self.end.poll_timeout() <= at(until) {
            self.now = self.end.poll_timeout();
            self.end.handle_timeout(self.now);
            let millis = self.now.since(Instant::ZERO).as_millis();
            left.extend(self.sent().into_iter().map(|packet| (millis, packet)));
        }
        self.now = at(until);
        left
    }

    /// The only packet that leaves, as flags, sequence number, ACK and payload.
    fn only(&mut self) -> Option<(TcpFlags, u32, u32, u32)> {
        let sent = self.sent();
        assert!(sent.len() <= 1, "{sent:?}");
        sent.first().map(summary)
    }
}

fn summary(packet: &Packet) -> (TcpFlags, u32, u32, u32) {
    let tcp = packet.tcp().unwrap();
    (tcp.flags, tcp.seq.as_u32(), tcp.ack.as_u32(), packet.payload_len)
}

/// With timestamps, which count only where they are negotiated.
fn with_stamp(mut packet: Packet, val: u32) -> Packet {
    packet.tcp_mut().unwrap().options.timestamps = Some(Timestamps { val, ecr: 0 });
    packet
}

fn ack(seq: u32, ack: u32, payload: u32) -> Packet {
    forge(C, seq, Some(ack), TcpFlags::ACK, payload)
}

const ACK: TcpFlags = TcpFlags::ACK;

#[test]
fn a_reset_counts_at_rcv_nxt_only() {
    // RFC 5961, section 3.2.
    let reset = |seq| forge(C, seq, None, TcpFlags::RST, 0);
    let mut it = End::open(SocketOptions::default());
    it.hear(reset(50));
    assert_eq!(it.only(), Some((ACK, ISS + 1, 1, 0)), "in the window: a challenge ACK");
    it.hear(reset(60));
    assert_eq!(it.only(), None, "answers are limited");
    it.hear(reset(70_000));
    assert_eq!((it.end.state(), it.only()), (State::Established, None), "beyond the window");
    it.hear(reset(1));
    assert_eq!((it.end.state(), it.end.failure()), (State::Closed, Some(Failure::Reset)));
}

#[test]
fn a_reset_at_the_end_of_what_waits_counts_too() {
    let mut it = End::open(SocketOptions::default());
    it.hear(ack(501, ISS + 1, 500));
    assert_eq!(it.sent().len(), 1);
    it.hear(forge(C, 1_001, None, TcpFlags::RST, 0));
    assert_eq!(it.end.failure(), Some(Failure::Reset));
}

#[test]
fn a_connection_that_has_ended_has_no_timer() {
    let mut it = End::open(SocketOptions::default());
    it.hear(ack(1, ISS + 1, 500));
    assert!(it.sent().is_empty() && it.end.poll_timeout() < Instant::NEVER, "a delayed ACK");
    it.hear(forge(C, 501, None, TcpFlags::RST, 0));
    assert_eq!((it.end.state(), it.end.poll_timeout()), (State::Closed, Instant::NEVER));
}

#[test]
fn the_shift_that_a_syn_announced_stands() {
    // RFC 7323, section 2.2.
    let mut it =
        End::new(true, Config { window_scaling: true, autotuning: true, ..config() }, SocketOptions::default());
    let announced = it.sent()[0].tcp().unwrap().options.window_scale;
    let small =
        SocketOptions { receive_memory: Some(Bytes::new(2_600)), fixed_memory: true, ..SocketOptions::default() };
    it.end.change_socket(small, it.now);
    let mut answer = forge(S, 0, Some(ISS + 1), TcpFlags::SYN, 0);
    answer.tcp_mut().unwrap().options.window_scale = Some(3);
    it.hear(answer);
    assert!(announced.is_some_and(|shift| shift > 0));
    assert_eq!((it.end.state(), Some(it.end.linux_info().receive_shift)), (State::Established, announced));
}

#[test]
fn a_syn_in_the_window_is_challenged() {
    // RFC 5961, section 4.2.
    let mut it = End::open(SocketOptions::default());
    it.hear(forge(C, 100, None, TcpFlags::SYN, 0));
    assert_eq!(it.only(), Some((ACK, ISS + 1, 1, 0)));
    assert_eq!(it.end.state(), State::Established);
    it.now = at(499);
    it.hear(forge(C, 100, None, TcpFlags::SYN, 0));
    assert_eq!(it.only(), None);
    it.now = at(500);
    it.hear(forge(C, 100, None, TcpFlags::SYN, 0));
    assert!(it.only().is_some());
}

#[test]
fn acks_out_of_range_are_challenged_and_their_data_is_dropped() {
    // RFC 5961, section 5.2.
    let mut it = End::open(SocketOptions::default());
    it.hear(ack(1, ISS + 2, 10));
    assert_eq!(it.only(), Some((ACK, ISS + 1, 1, 0)), "of data that was never sent");
    assert_eq!(it.end.readable(), Bytes::ZERO);
    it.now = at(600);
    it.hear(ack(1, ISS.wrapping_sub(80_000), 10));
    assert_eq!(it.only(), Some((ACK, ISS + 1, 1, 0)), "older than any window");
    assert_eq!(it.end.readable(), Bytes::ZERO);
}

#[test]
fn a_segment_without_flags_is_ignored() {
    let mut it = End::open(SocketOptions::default());
    it.hear(forge(C, 1, None, TcpFlags::NONE, 10));
    assert_eq!((it.only(), it.end.readable()), (None, Bytes::ZERO));
}

fn stamped() -> End {
    End::open_with(Config { timestamps: true, ..config() }, SocketOptions::default())
}

#[test]
fn old_timestamps_are_answered_with_data_and_ignored_without() {
    // RFC 7323, section 5.3, rule R1; old ACKs are common where paths reorder.
    let mut it = stamped();
    it.hear(with_stamp(ack(1, ISS + 1, 100), 30));
    it.sent();
    it.hear(with_stamp(ack(101, ISS + 1, 100), 20));
    let (flags, _, acked, _) = it.only().unwrap();
    assert_eq!((flags, acked, it.end.readable()), (ACK, 101, Bytes::new(100)));
    it.hear(with_stamp(ack(1, ISS + 1, 0), 20));
    assert_eq!(it.only(), None, "an old ACK");
    it.hear(ack(101, ISS + 1, 100));
    assert_eq!(it.end.readable(), Bytes::new(200), "a segment without the option is taken");
}

#[test]
fn ts_recent_follows_acceptable_acks_only() {
    let mut it = stamped();
    it.hear(with_stamp(ack(1, ISS + 500, 100), 50));
    it.hear(with_stamp(ack(1, ISS + 1, 100), 20));
    let sent = it.sent();
    let echo = sent.last().unwrap().tcp().unwrap().options.timestamps.unwrap().ecr;
    assert_eq!((echo, it.end.readable()), (20, Bytes::new(100)), "the ACK of unsent data taught nothing");
}

#[test]
fn closing_with_unread_data_resets() {
    // RFC 2525, section 2.17.
    let mut it = End::open(SocketOptions::default());
    it.hear(ack(1, ISS + 1, 100));
    it.sent();
    it.end.release(false, it.now);
    assert_eq!(it.only(), Some((TcpFlags::RST.with(ACK), ISS + 1, 101, 0)));
    assert_eq!((it.end.state(), it.end.failure()), (State::Closed, None));
}

#[test]
fn lingering_for_no_time_resets() {
    let mut it = End::open(SocketOptions::default());
    it.end.release(true, it.now);
    assert_eq!(it.only(), Some((TcpFlags::RST.with(ACK), ISS + 1, 1, 0)));
}

#[test]
fn data_after_close_is_answered_by_a_reset() {
    // RFC 1122, section 4.2.2.13.
    let mut it = End::open(SocketOptions::default());
    it.end.release(false, it.now);
    assert_eq!(it.only(), Some((TcpFlags::FIN.with(ACK), ISS + 1, 1, 0)));
    it.hear(ack(1, ISS + 1, 10));
    assert_eq!(it.only(), Some((TcpFlags::RST, ISS + 1, 0, 0)));
    assert_eq!(it.end.state(), State::Closed);
}

#[test]
fn a_half_closed_connection_goes_on_receiving() {
    let mut it = End::open(SocketOptions::default());
    it.end.shutdown();
    it.sent();
    it.hear(ack(1, ISS + 2, 10));
    assert_eq!((it.end.state(), it.end.readable()), (State::FinWait2, Bytes::new(10)));
    assert!(it.wait(120_000).iter().all(|(_, p)| p.payload_len == 0), "no end while the program has the socket");
    assert_eq!(it.end.state(), State::FinWait2);
}

#[test]
fn fin_wait_2_without_a_program_ends_after_a_minute() {
    let mut it = End::open(SocketOptions::default());
    it.end.release(false, it.now);
    it.sent();
    it.now = at(1_000);
    it.hear(ack(1, ISS + 2, 0));
    assert_eq!(it.end.state(), State::FinWait2);
    it.wait(60_999);
    assert_eq!(it.end.state(), State::FinWait2);
    it.wait(61_000);
    assert_eq!(it.end.state(), State::Closed);
}

#[test]
fn time_wait_answers_and_yields_to_a_later_syn() {
    let mut it = End::open(SocketOptions::default());
    it.end.release(false, it.now);
    it.sent();
    it.hear(forge(C, 1, Some(ISS + 2), TcpFlags::FIN, 0));
    assert_eq!(it.end.state(), State::TimeWait);
    assert_eq!(it.only(), Some((ACK, ISS + 2, 2, 0)));
    it.hear(forge(C, 1, Some(ISS + 2), TcpFlags::FIN, 0));
    assert_eq!(it.only(), Some((ACK, ISS + 2, 2, 0)), "the FIN came again");
    assert_eq!(it.end.yields_to(&forge(C, 1, None, TcpFlags::SYN, 0), it.now), None, "an old SYN");
    let isn = it.end.yields_to(&forge(C, 90_000, None, TcpFlags::SYN, 0), it.now);
    assert_eq!(isn, Some(SeqNum::new(ISS + 2 + 65_537)));
}

#[test]
fn silence_is_probed_and_then_ends_the_connection() {
    // RFC 9293, section 3.8.4.
    let times = KeepAlive { idle: Duration::from_secs(10), interval: Duration::from_secs(2), probes: 3 };
    let mut it = End::open(SocketOptions { keep_alive: Some(times), ..SocketOptions::default() });
    let left = it.wait(11_000);
    assert_eq!(left.iter().map(|(t, p)| (*t, summary(p))).collect::<Vec<_>>(), [(10_000, (ACK, ISS, 1, 0))]);
    it.hear(ack(1, ISS + 1, 0));
    let left: Vec<_> = it.wait(60_000).iter().map(|(t, p)| (*t, summary(p).0)).collect();
    let reset = TcpFlags::RST.with(ACK);
    assert_eq!(left, [(21_000, ACK), (23_000, ACK), (25_000, ACK), (27_000, reset)]);
    assert_eq!(it.end.failure(), Some(Failure::TimedOut));
}

#[test]
fn a_user_timeout_ends_what_is_not_acknowledged() {
    // RFC 5482.
    let options = SocketOptions { user_timeout: Some(Duration::from_secs(3)), ..SocketOptions::default() };
    let mut it = End::open(options);
    it.now = at(100);
    it.end.write(Bytes::new(100));
    assert_eq!(it.sent().len(), 1);
    it.wait(60_000);
    assert_eq!(it.end.failure(), Some(Failure::TimedOut));
    let ended = it.end.aborted_at().unwrap().since(Instant::ZERO).as_millis();
    assert!((3_000..3_900).contains(&ended), "{ended} ms");
}

#[test]
fn a_closed_window_is_probed_for_as_long_as_the_peer_answers() {
    // RFC 9293, section 3.8.6.1; RFC 1122, section 4.2.2.17.
    let mut it = End::open(SocketOptions::default());
    let closed = |it: &mut End| {
        let mut update = ack(1, ISS + 1, 0);
        update.tcp_mut().unwrap().window = 0;
        it.hear(update);
    };
    closed(&mut it);
    it.end.write(Bytes::new(100));
    assert!(it.sent().is_empty());
    let mut times = Vec::new();
    while times.len() < 20 {
        let next = it.end.poll_timeout().since(Instant::ZERO).as_millis() + 1;
        for (time, probe) in it.wait(next) {
            assert_eq!(summary(&probe), (ACK, ISS, 1, 0), "a segment that any peer answers");
            times.push(time);
            closed(&mut it);
        }
    }
    assert_eq!(it.end.state(), State::Established);
    let gaps: Vec<u64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(gaps[1] == 2 * gaps[0] && gaps[18] == 120_000, "{gaps:?}");
}

#[test]
fn the_first_syns_go_out_each_second_and_the_last_waits_as_long_as_doubled_timeouts() {
    let options = SocketOptions { syn_retries: 2, ..SocketOptions::default() };
    let mut it = End::new(true, config(), options);
    assert_eq!(it.sent().len(), 1);
    let times: Vec<u64> = it.wait(60_000).iter().map(|(t, _)| t / 1_000).collect();
    assert_eq!(times, [1, 2, 3, 4, 5]);
    assert_eq!(it.end.aborted_at(), Some(at(7_000)), "1 s, 2 s and 4 s, however they were used");
    assert_eq!(it.end.failure(), Some(Failure::TimedOut));
}

#[test]
fn a_refusal_is_told_apart_from_a_reset() {
    let mut it = End::new(true, config(), SocketOptions::default());
    it.sent();
    it.hear(forge(S, 0, Some(ISS + 1), TcpFlags::RST, 0));
    assert_eq!(it.end.failure(), Some(Failure::Refused));
}

#[test]
fn icmp_errors_end_a_handshake_and_are_kept_after_it() {
    // RFC 5927, section 4; RFC 1122, section 4.2.3.9.
    let unreachable = Icmp::Error(Failure::HostUnreachable);
    let mut it = End::new(true, config(), SocketOptions::default());
    it.sent();
    assert!(!it.end.on_icmp(unreachable, SeqNum::new(ISS + 700), it.now), "not about our SYN");
    assert!(it.end.on_icmp(unreachable, SeqNum::new(ISS), it.now));
    assert_eq!(it.end.failure(), Some(Failure::HostUnreachable));
    let mut it = End::open(SocketOptions::default());
    it.end.write(Bytes::new(100));
    it.sent();
    assert!(it.end.on_icmp(unreachable, SeqNum::new(ISS + 1), it.now));
    assert_eq!((it.end.failure(), it.end.soft_failure()), (None, Some(Failure::HostUnreachable)));
    it.hear(ack(1, ISS + 101, 0));
    assert_eq!(it.end.soft_failure(), None, "something arrived");
}

#[test]
fn a_smaller_path_mtu_shortens_segments_and_sends_them_again() {
    // RFC 1191, section 6.4.
    let mut it = End::open(SocketOptions::default());
    it.end.write(Bytes::new(2_000));
    let lengths = |sent: &[Packet]| sent.iter().map(|p| p.payload_len).collect::<Vec<_>>();
    assert_eq!(lengths(&it.sent()), [1_000, 1_000]);
    assert!(it.end.on_icmp(Icmp::TooBig { mtu: 640 }, SeqNum::new(ISS + 1), it.now));
    assert_eq!(it.end.info().smss, Bytes::new(600));
    let again = it.sent();
    assert_eq!(lengths(&again), [600, 400, 600, 400]);
    assert_eq!(summary(&again[0]).1, ISS + 1);
}

fn syn_with(option: FastOpenCookie, payload: u32) -> Packet {
    let mut syn = forge(C, 0, None, TcpFlags::SYN, payload);
    let options = &mut syn.tcp_mut().unwrap().options;
    options.mss = Some(1_000);
    options.set_fast_open(option);
    syn
}

#[test]
fn a_server_takes_data_with_the_syn_and_answers_before_the_handshake_ends() {
    // RFC 7413, section 4.2.2.
    let mut it = End::new(false, config(), SocketOptions::default());
    let [client, server] = addresses();
    let cookie = cookie(&[7; 16], client.ip(), server.ip());
    it.end.decide_fast_open(FastOpenServer { accept: true, grant: None });
    it.hear(syn_with(cookie, 100));
    assert_eq!(it.end.readable(), Bytes::new(100));
    assert!(it.end.is_fast_open_pending());
    assert_eq!(it.only(), Some((TcpFlags::SYN.with(ACK), ISS, 101, 0)));
    it.end.write(Bytes::new(300));
    assert_eq!(it.only(), Some((ACK.with(TcpFlags::PSH), ISS + 1, 101, 300)));
    let left: Vec<_> = it.wait(1_000).iter().map(|(t, p)| (*t, summary(p).0)).collect();
    assert_eq!(left, [(1_000, TcpFlags::SYN.with(ACK))], "only the SYN-ACK is sent again");
    it.hear(ack(101, ISS + 301, 0));
    assert_eq!((it.end.state(), it.end.acked()), (State::Established, Bytes::new(300)));
}

#[test]
fn a_server_without_the_right_cookie_grants_one_and_drops_the_data() {
    let mut it = End::new(false, config(), SocketOptions::default());
    let grant = FastOpenCookie::new(&[1, 2, 3, 4, 5, 6, 7, 8], false);
    it.end.decide_fast_open(FastOpenServer { accept: false, grant });
    it.hear(syn_with(FastOpenCookie::REQUEST, 100));
    let answer = it.sent();
    assert_eq!(summary(&answer[0]), (TcpFlags::SYN.with(ACK), ISS, 1, 0));
    assert_eq!(answer[0].tcp().unwrap().options.fast_open(), grant);
    assert_eq!(it.end.readable(), Bytes::ZERO);
}

fn fast_client(acked: u32) -> (End, Packet) {
    let mut it = End::new(true, config(), SocketOptions::default());
    let option = FastOpenCookie::new(&[1, 2, 3, 4, 5, 6, 7, 8], false);
    it.end.fast_open(FastOpenClient { option, data: true, mss: Some(1_460) });
    it.end.write(Bytes::new(500));
    let syn = it.sent().remove(0);
    let mut answer = forge(S, 0, Some(ISS + 1 + acked), TcpFlags::SYN, 0);
    answer.tcp_mut().unwrap().options.mss = Some(1_000);
    it.now = at(50);
    it.hear(answer);
    (it, syn)
}

#[test]
fn a_client_s_syn_carries_cookie_and_data() {
    // RFC 7413, section 4.2.1.
    let (mut it, syn) = fast_client(500);
    assert_eq!(summary(&syn), (TcpFlags::SYN, ISS, 0, 500));
    assert!(syn.tcp().unwrap().options.fast_open().is_some());
    assert_eq!(it.only(), Some((ACK, ISS + 501, 1, 0)));
    let report = it.end.take_fast_open_report().unwrap();
    assert!(report.data_acked && !report.data_lost && !report.syn_dropped);
    assert_eq!(it.end.acked(), Bytes::new(500));
}

#[test]
fn data_of_a_syn_that_is_not_acknowledged_is_sent_again_at_once() {
    let (mut it, _) = fast_client(0);
    assert_eq!(it.only(), Some((ACK.with(TcpFlags::PSH), ISS + 1, 1, 500)));
    let report = it.end.take_fast_open_report().unwrap();
    assert!(report.data_lost && !report.syn_dropped, "{report:?}");
    it.hear(forge(S, 1, Some(ISS + 501), TcpFlags::ACK, 0));
    assert_eq!(it.end.acked(), Bytes::new(500));
}

fn accurate() -> SocketOptions {
    SocketOptions { ecn: EcnOptions { mode: 3, ..EcnOptions::default() }, ..SocketOptions::default() }
}

fn flags(packet: &Packet) -> u8 {
    packet.tcp().unwrap().flags.ace()
}

#[test]
fn accurate_ecn_is_offered_twice() {
    // RFC 9768, section 3.1.4.1.
    let mut it = End::new(true, config(), accurate());
    let mut sent: Vec<u8> = it.sent().iter().map(flags).collect();
    sent.extend(it.wait(3_500).iter().map(|(_, p)| flags(p)));
    assert_eq!(sent, [0b111, 0b111, 0, 0]);
}

#[test]
fn an_accurate_client_reflects_the_syn_ack_and_counts_with_options() {
    // RFC 9768, sections 3.2.2.1 and 3.2.3.
    let mut it = End::new(true, config(), accurate());
    it.sent();
    let mut answer = forge(S, 0, Some(ISS + 1), TcpFlags::SYN.with_ace(0b010), 0);
    answer.ip.set_ecn(Ecn::Ce);
    let options = &mut answer.tcp_mut().unwrap().options;
    options.mss = Some(1_000);
    options.set_accecn(AccEcn::new(AccEcnOrder::Ect0First, &[1, 0, 1]));
    it.hear(answer);
    let third = it.sent().remove(0);
    assert_eq!((flags(&third), third.ip.ecn()), (0b110, Ecn::Ect0), "the SYN-ACK arrived marked");
    let option = third.tcp().unwrap().options.accecn().unwrap();
    assert_eq!((option.ect0(), option.ce(), option.ect1()), (Some(1), Some(0), Some(1)));
    it.end.write(Bytes::new(1_000));
    let data = it.sent();
    assert_eq!((flags(&data[0]), data[0].payload_len), (0b110, 988), "6: one mark; the option takes 12 bytes");
    let mut data = forge(S, 1, Some(ISS + 1), TcpFlags::ACK.with_ace(5), 100);
    data.ip.set_ecn(Ecn::Ce);
    it.hear(data);
    let report = it.sent();
    let option = report[0].tcp().unwrap().options.accecn().unwrap();
    assert_eq!((flags(&report[0]), option.ce()), (0b111, Some(100)), "acknowledged at once: the codepoint changed");
}

#[test]
fn marks_that_an_ack_reports_are_counted() {
    let mut it = End::new(false, config(), accurate());
    let mut syn = it.syn_options();
    syn.tcp_mut().unwrap().flags = TcpFlags::SYN.with_ace(0b111);
    it.hear(syn);
    assert_eq!(flags(&it.sent()[0]), 0b010);
    it.hear(forge(C, 1, Some(ISS + 1), TcpFlags::ACK.with_ace(0b010), 0));
    it.end.write(Bytes::new(3_000));
    assert_eq!(it.sent().len(), 3);
    it.hear(forge(C, 1, Some(ISS + 3_001), TcpFlags::ACK.with_ace(7), 0));
    let counters = it.end.ecn_counters().unwrap();
    assert_eq!((counters.delivered_ce, counters.failures), (2, 0));
    assert_eq!(it.end.stats().ecn_reductions, 1);
}

/// A server that has agreed on AccECN, and took `taken` bytes of the SYN.
fn accurate_server(taken: u32) -> End {
    let mut it = End::new(false, config(), accurate());
    it.end.decide_fast_open(FastOpenServer { accept: taken > 0, grant: None });
    let mut syn = it.syn_options();
    syn.tcp_mut().unwrap().flags = TcpFlags::SYN.with_ace(0b111);
    syn.payload_len = taken;
    it.hear(syn);
    it
}

#[test]
fn the_handshake_s_encoding_counts_no_marks() {
    // RFC 9768, section 3.2.2.1: data that the ends of a handshake acknowledge does not make it a counter.
    let mut it = accurate_server(100);
    it.end.write(Bytes::new(500));
    assert_eq!(it.sent().len(), 2, "SYN-ACK and data");
    it.hear(forge(C, 101, Some(ISS + 501), TcpFlags::ACK.with_ace(0b010), 0));
    assert_eq!((it.end.acked(), it.end.ecn_counters().unwrap().delivered_ce), (Bytes::new(500), 0));
    let mut it = End::new(true, config(), accurate());
    let option = FastOpenCookie::new(&[1, 2, 3, 4, 5, 6, 7, 8], false);
    it.end.fast_open(FastOpenClient { option, data: true, mss: Some(1_460) });
    it.end.write(Bytes::new(500));
    it.sent();
    it.hear(forge(S, 0, Some(ISS + 501), TcpFlags::SYN.with_ace(0b010), 0));
    assert_eq!((it.end.acked(), it.end.ecn_counters().unwrap().delivered_ce), (Bytes::new(500), 0));
}

#[test]
fn a_syn_ack_again_is_answered_in_the_handshake_s_encoding_or_not_at_all() {
    // RFC 9768, section 3.2.2.1, and RFC 5961, section 7: answers are limited.
    let mut it = End::new(true, config(), accurate());
    it.sent();
    let answer = || forge(S, 0, Some(ISS + 1), TcpFlags::SYN.with_ace(0b010), 0);
    it.hear(answer());
    assert_eq!(it.sent().iter().map(flags).collect::<Vec<_>>(), [0b010]);
    it.hear(answer());
    assert_eq!(it.sent().iter().map(flags).collect::<Vec<_>>(), [0b010], "the challenge");
    it.hear(answer());
    assert!(it.sent().is_empty(), "too soon");
    it.end.write(Bytes::new(100));
    assert_eq!(it.sent().iter().map(flags).collect::<Vec<_>>(), [5], "data counts");
}

#[test]
fn a_cleared_field_ends_ecn_capable_data() {
    // RFC 9768, section 3.2.2.3.
    let mut it = End::new(false, config(), accurate());
    let mut syn = it.syn_options();
    syn.tcp_mut().unwrap().flags = TcpFlags::SYN.with_ace(0b111);
    it.hear(syn);
    it.sent();
    it.hear(ack(1, ISS + 1, 0));
    it.end.write(Bytes::new(500));
    assert_eq!(it.sent()[0].ip.ecn(), Ecn::NotEct);
    assert_ne!(it.end.ecn_counters().unwrap().failures & crate::ecn_fail::ACE_RECEIVE, 0);
}

#[test]
fn a_syn_without_the_offer_is_answered_without_ecn() {
    let mut it = End::new(false, config(), accurate());
    it.hear(it.syn_options());
    assert_eq!(flags(&it.sent()[0]), 0);
    let mut it = End::new(false, config(), SocketOptions::default());
    let mut syn = it.syn_options();
    syn.tcp_mut().unwrap().flags = TcpFlags::SYN.with_ace(0b011);
    it.hear(syn);
    assert_eq!(flags(&it.sent()[0]), 0b001, "tcp_ecn = 2: classic ECN if the peer asks");
}

#[test]
fn a_segment_beyond_the_window_is_taken_whole_if_nothing_waits() {
    let mut it = End::open_with(Config { recv_buffer: Bytes::new(18_980), ..config() }, SocketOptions::default());
    it.hear(ack(1, ISS + 1, 20_000));
    assert_eq!(it.end.readable(), Bytes::new(20_000));
    it.hear(forge(C, 20_001, Some(ISS + 1), TcpFlags::RST, 0));
    assert_eq!(it.end.failure(), Some(Failure::Reset), "RCV.NXT, although no window was offered there");
}

#[test]
fn data_that_the_device_refuses_is_tried_again_each_half_second() {
    let options = SocketOptions { user_timeout: Some(Duration::from_secs(3)), ..SocketOptions::default() };
    let mut it = End::open(options);
    it.end.set_device_full(true);
    it.end.write(Bytes::new(24));
    assert!(it.sent().is_empty() && it.wait(1_500).is_empty());
    it.end.set_device_full(false);
    let left: Vec<_> = it.wait(1_750).iter().map(|(time, packet)| (*time, packet.payload_len)).collect();
    assert_eq!(left, [(1_700, 24)], "after 0.2, 0.7 and 1.2 s");
    it.hear(ack(1, ISS + 25, 0));
    it.end.set_device_full(true);
    it.end.write(Bytes::new(24));
    it.sent();
    it.wait(10_000);
    assert_eq!(it.end.failure(), Some(Failure::TimedOut));
}
