//! Two hosts joined by a link that loses, reorders and duplicates, in virtual time: whatever their programs call, no
//! byte is read that was not written, all that was written arrives where the connection ends in order, and after both
//! have closed nothing is left of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use narrows_socket::number::{family, file, level, msg, shut, so, tcp};
use narrows_socket::{Errno, Event, Host, Payload, Progress, Receive, Send, Setup, Sysctls, Ticket};
use narrows_units::{Duration, Instant, SeqNum};
use narrows_wire::Packet;
use proptest::prelude::*;

const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
const PORT: u16 = 8080;
/// Virtual time within which nothing may be left after both programs have closed: over both directions' last
/// retransmissions (`tcp_retries2`, 15 min) and TIME-WAIT.
const BOUND: Duration = Duration::from_secs(3_600);

/// What the link does, in parts of 256.
#[derive(Clone, Copy, Debug)]
struct Link {
    loss: u8,
    duplication: u8,
    /// Longest additional delay of a packet, milliseconds.
    jitter: u64,
    delay: u64,
    /// From when to when it loses all, milliseconds.
    dead: (u64, u64),
    seed: u64,
}

/// What a program does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Write {
        bytes: u64,
        flags: i32,
    },
    Read {
        bytes: u64,
        flags: i32,
    },
    Shut(i32),
    /// Closes; abruptly with `SO_LINGER`.
    Close {
        abruptly: bool,
    },
    Cork(bool),
    NoDelay,
    LowWater(i32),
    SendBuffer(i32),
    ReceiveBuffer(i32),
    Sleep(u64),
}

/// One side's program.
#[derive(Debug, Default)]
struct Program {
    fd: Option<i32>,
    steps: Vec<Step>,
    blocking: bool,
    /// When it goes on.
    ready_at: Option<Instant>,
    sleeping: Option<(Ticket, Step)>,
    /// Bytes that writes took for sure, and at most.
    written: u64,
    perhaps: u64,
    read: u64,
    ended: bool,
    failure: Option<Errno>,
    abrupt: bool,
    /// Whether it was closed before the end of the peer's stream was read.
    early: bool,
}

struct World {
    hosts: [Host; 2],
    programs: [Program; 2],
    listener: i32,
    flying: Vec<(Instant, u64, usize, Packet)>,
    sent: u64,
    link: Link,
    state: u64,
}

impl World {
    fn new(link: Link, first: u32, sysctls: &[(&str, &str)], steps: [Vec<Step>; 2], blocking: [bool; 2]) -> Self {
        let start = Instant::ZERO + Duration::from_secs(1);
        let mut table = Sysctls::default();
        for (name, value) in sysctls {
            table.set(name, value).unwrap();
        }
        let host = |v4| {
            let mut host = Host::new(Setup { start, v4: Some(v4), v6: None, mtu: 1500, sysctls: table.clone() });
            host.set_first_sequence(SeqNum::new(first));
            host
        };
        let mut hosts = ADDRESSES.map(host);
        let listener = hosts[0].open_socket(family::INET, family::STREAM | file::NONBLOCK, 0).unwrap();
        let here = SocketAddr::new(IpAddr::V4(ADDRESSES[0]), PORT);
        hosts[0].bind(listener, here).unwrap();
        hosts[0].listen(listener, 5).unwrap();
        let fd = hosts[1].open_socket(family::INET, family::STREAM | file::NONBLOCK, 0).unwrap();
        assert_eq!(value(hosts[1].connect(fd, here)), Err(Errno::EINPROGRESS));
        let [a, b] = steps;
        let program =
            |steps: Vec<Step>, blocking| Program { steps, blocking, ready_at: Some(start), ..Program::default() };
        let mut programs = [program(a, blocking[0]), program(b, blocking[1])];
        programs[1].fd = Some(fd);
        if blocking[1] {
            hosts[1].fcntl(fd, file::SETFL, 0).unwrap();
        }
        Self { hosts, programs, listener, flying: Vec::new(), sent: 0, link, state: link.seed }
    }

    fn random(&mut self) -> u64 {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn now(&self) -> Instant {
        self.hosts[0].now()
    }

    fn carry(&mut self, from: usize, packet: Packet) {
        let millis = self.now().since(Instant::ZERO).as_millis();
        let copies = match (self.random() as u8, self.random() as u8) {
            _ if (self.link.dead.0..self.link.dead.1).contains(&millis) => 0,
            (lost, _) if lost < self.link.loss => 0,
            (_, twice) if twice < self.link.duplication => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let extra = if self.link.jitter > 0 { self.random() % self.link.jitter } else { 0 };
            let at = self.now() + Duration::from_millis(self.link.delay + extra);
            self.sent += 1;
            self.flying.push((at, self.sent, 1 - from, packet));
        }
    }

    /// Takes what happened at both hosts until now.
    fn drain(&mut self, until: Instant) {
        for side in 0..2 {
            let mut events = 0;
            while let Some(event) = self.hosts[side].advance(until) {
                events += 1;
                assert!(events < 20_000, "events without end at {:?}", self.hosts[side].now());
                match event {
                    Event::Sent { packet, .. } => self.carry(side, packet),
                    Event::Returned { ticket, answer, .. } => {
                        let Some((waited, step)) = self.programs[side].sleeping.take() else { panic!("nobody waits") };
                        assert_eq!(waited, ticket);
                        self.returned(side, step, answer.value);
                        self.programs[side].ready_at = Some(until);
                    }
                }
            }
        }
    }

    fn returned(&mut self, side: usize, step: Step, value: Result<i64, Errno>) {
        let program = &mut self.programs[side];
        match (step, value) {
            (Step::Write { bytes, .. }, Ok(taken)) => {
                assert!(taken > 0 || bytes == 0, "a write takes something or fails");
                assert!(taken as u64 <= bytes);
                program.written += taken as u64;
                program.perhaps += taken as u64;
            }
            // A sleeping write may have taken a part when its descriptor was closed.
            (Step::Write { bytes, .. }, Err(Errno::EBADF)) => program.perhaps += bytes,
            (Step::Read { bytes, flags }, Ok(count)) => {
                assert!(count as u64 <= bytes);
                if flags & msg::PEEK == 0 {
                    program.read += count as u64;
                    program.ended |= count == 0 && bytes > 0;
                }
            }
            (_, Err(errno @ (Errno::ECONNRESET | Errno::ETIMEDOUT | Errno::EPIPE | Errno::ECONNREFUSED))) => {
                program.failure.get_or_insert(errno);
            }
            (_, Err(Errno::EAGAIN | Errno::EBADF | Errno::ENOTCONN)) => {}
            (step, value) => panic!("{step:?} returned {value:?}"),
        }
    }

    /// Lets a program take its next step, if it can.
    fn step(&mut self, side: usize) {
        let now = self.now();
        let program = &mut self.programs[side];
        let Some(fd) = program.fd else { return };
        if program.sleeping.is_some() || program.ready_at.is_none_or(|at| at > now) {
            return;
        }
        let Some(step) = program.steps.pop() else {
            program.ready_at = None;
            return;
        };
        let host = &mut self.hosts[side];
        let set = |host: &mut Host, level, name, value: i32| {
            host.set_option(fd, level, name, &value.to_le_bytes()).unwrap();
        };
        let mut progress = None;
        match step {
            Step::Write { bytes, flags } => {
                progress = Some(host.send(&Send { fd, parts: vec![Payload::Bytes(bytes)], flags, to: None }));
            }
            Step::Read { bytes, flags } => progress = Some(receive(host, fd, bytes, flags)),
            Step::Shut(how) => match host.shutdown(fd, how) {
                // After `SHUT_RD` a read without data returns 0, and this is not the end of the stream.
                Ok(_) => program.early |= how != shut::WRITE,
                Err(Errno::ENOTCONN) => {}
                other => panic!("shutdown: {other:?}"),
            },
            Step::Close { abruptly } => {
                if abruptly {
                    host.set_option(fd, level::SOCKET, so::LINGER, &[1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
                }
                self.close(side, abruptly);
                return;
            }
            Step::Cork(on) => set(host, level::TCP, tcp::CORK, i32::from(on)),
            Step::NoDelay => set(host, level::TCP, tcp::NODELAY, 1),
            Step::LowWater(bytes) => set(host, level::SOCKET, so::RCVLOWAT, bytes),
            Step::SendBuffer(bytes) => set(host, level::SOCKET, so::SNDBUF, bytes),
            Step::ReceiveBuffer(bytes) => set(host, level::SOCKET, so::RCVBUF, bytes),
            Step::Sleep(millis) => self.programs[side].ready_at = Some(now + Duration::from_millis(millis)),
        }
        match progress {
            Some(Progress::Done(answer)) => self.returned(side, step, answer.value),
            Some(Progress::Blocked(ticket)) => self.programs[side].sleeping = Some((ticket, step)),
            None => {}
        }
    }

    fn close(&mut self, side: usize, abruptly: bool) {
        let program = &mut self.programs[side];
        let Some(fd) = program.fd.take() else { return };
        program.abrupt |= abruptly;
        program.early |= !program.ended;
        program.ready_at = None;
        assert_eq!(self.hosts[side].close(fd), Ok(0));
    }

    /// Runs until `until`, or until nothing happens any more.
    fn run(&mut self, until: Instant) {
        let mut rounds = 0;
        loop {
            rounds += 1;
            assert!(rounds < 60_000, "it goes on for ever at {:?}", self.now());
            let now = self.now();
            self.drain(now);
            self.flying.sort_by_key(|(at, number, ..)| (*at, *number));
            let due = self.flying.partition_point(|(at, ..)| *at <= now);
            let arrived: Vec<_> = self.flying.drain(..due).collect();
            let busy = !arrived.is_empty();
            for (_, _, to, packet) in arrived {
                self.hosts[to].receive(&packet);
                self.drain(now);
            }
            let waits = self.programs[0].fd.is_none() && !self.programs[0].early && self.listener > 0;
            let flags = if self.programs[0].blocking { 0 } else { file::NONBLOCK };
            if waits && let Ok(fd) = value(self.hosts[0].accept(self.listener, flags)) {
                self.programs[0].fd = Some(fd as i32);
                self.programs[0].ready_at.get_or_insert(now);
            }
            let mut stepped = false;
            for side in 0..2 {
                let before = self.programs[side].steps.len();
                self.step(side);
                self.drain(now);
                stepped |= self.programs[side].steps.len() < before;
            }
            if busy || stepped {
                continue;
            }
            let mut next = self.flying.first().map_or(Instant::NEVER, |(at, ..)| *at);
            for side in 0..2 {
                next = next.min(self.hosts[side].next_timer());
                let program = &self.programs[side];
                if program.fd.is_some() && program.sleeping.is_none() {
                    next = next.min(program.ready_at.unwrap_or(Instant::NEVER));
                }
            }
            if next > until || next == Instant::NEVER {
                self.drain(until);
                return;
            }
            self.drain(next.max(now));
        }
    }

    /// What is left to read is read, and both sides close in order where their programs have not.
    fn finish(&mut self) {
        for side in 0..2 {
            if let Some(fd) = self.programs[side].fd {
                self.hosts[side].fcntl(fd, file::SETFL, i64::from(file::NONBLOCK)).unwrap();
                let _ = self.hosts[side].shutdown(fd, shut::WRITE);
            }
        }
        let end = self.now() + BOUND;
        while self.now() < end && (0..2).any(|side| self.programs[side].fd.is_some()) {
            for side in 0..2 {
                let Some(fd) = self.programs[side].fd else { continue };
                if self.programs[side].sleeping.is_none() {
                    loop {
                        let step = Step::Read { bytes: 100_000, flags: msg::DONTWAIT };
                        let Progress::Done(answer) = receive(&mut self.hosts[side], fd, 100_000, msg::DONTWAIT) else {
                            panic!("it does not block")
                        };
                        let more = matches!(answer.value, Ok(count) if count > 0);
                        self.returned(side, step, answer.value);
                        if !more {
                            break;
                        }
                    }
                }
                let program = &self.programs[side];
                if program.ended || program.failure.is_some() {
                    self.close(side, false);
                }
            }
            self.run(self.now() + Duration::from_millis(500));
        }
    }
}

fn value(progress: Progress) -> Result<i64, Errno> {
    match progress {
        Progress::Done(answer) => answer.value,
        Progress::Blocked(_) => panic!("it sleeps"),
    }
}

fn receive(host: &mut Host, fd: i32, bytes: u64, flags: i32) -> Progress {
    host.receive_call(&Receive { fd, parts: vec![Payload::Bytes(bytes)], flags, control: false })
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![Just(1u64), 1u64..3_000, 1u64..200_000];
    prop_oneof![
        8 => (bytes.clone(), prop_oneof![Just(0), Just(msg::MORE), Just(msg::EOR)])
            .prop_map(|(bytes, flags)| Step::Write { bytes, flags }),
        8 => (bytes, prop_oneof![3 => Just(0), 1 => Just(msg::PEEK), 1 => Just(msg::WAITALL)])
            .prop_map(|(bytes, flags)| Step::Read { bytes, flags }),
        6 => (0u64..3_000).prop_map(Step::Sleep),
        1 => (shut::READ..=shut::BOTH).prop_map(Step::Shut),
        1 => prop::bool::weighted(0.3).prop_map(|abruptly| Step::Close { abruptly }),
        1 => any::<bool>().prop_map(Step::Cork),
        1 => Just(Step::NoDelay),
        1 => prop_oneof![Just(1), 1..100_000, Just(i32::MAX)].prop_map(Step::LowWater),
        1 => (1..60_000i32).prop_map(Step::SendBuffer),
        1 => (1..60_000i32).prop_map(Step::ReceiveBuffer),
    ]
}

fn link() -> impl Strategy<Value = Link> {
    let dead =
        prop_oneof![3 => Just((0, 0)), 1 => (1_000u64..8_000, 1_000u64..2_000_000).prop_map(|(a, b)| (a, a + b))];
    let jitter = prop_oneof![Just(0u64), 0u64..60];
    (prop_oneof![Just(0u8), 0u8..80], 0u8..60, jitter, 1u64..80, dead, any::<u64>()).prop_map(
        |(loss, duplication, jitter, delay, dead, seed)| Link { loss, duplication, jitter, delay, dead, seed },
    )
}

/// Initial sequence numbers: some so that those of the stream wrap.
fn first() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), (0u32..100_000).prop_map(|below| 0u32.wrapping_sub(below))]
}

fn settings() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let switch = |name: &'static str| any::<bool>().prop_map(move |on| (name, if on { "1" } else { "0" }));
    (
        switch("tcp_sack"),
        switch("tcp_timestamps"),
        switch("tcp_window_scaling"),
        prop_oneof![Just(("tcp_ecn", "2")), Just(("tcp_ecn", "1")), Just(("tcp_ecn", "3"))],
        prop_oneof![Just(("tcp_rmem", "4096 131072 33554432")), Just(("tcp_rmem", "4096 8192 65536"))],
    )
        .prop_map(|(a, b, c, d, e)| vec![a, b, c, d, e])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_was_written_and_nothing_is_left_after_both_have_closed(
        link in link(),
        first in first(),
        settings in settings(),
        steps in [prop::collection::vec(step(), 0..24), prop::collection::vec(step(), 0..24)],
        blocking in any::<[bool; 2]>(),
    ) {
        let mut world = World::new(link, first, &settings, steps, blocking);
        world.run(world.now() + Duration::from_secs(120));
        world.finish();
        let [a, b] = &world.programs;
        for (reader, writer) in [(a, b), (b, a)] {
            prop_assert!(reader.read <= writer.perhaps, "{reader:?} {writer:?}");
            let orderly = !a.abrupt && !b.abrupt && a.failure.is_none() && b.failure.is_none() && !a.early && !b.early;
            if orderly && reader.ended {
                prop_assert!(reader.read >= writer.written, "lost: {reader:?} {writer:?}");
            }
        }
        // An end without a program is given up without a word if its peer's window stays closed for long
        // (`tcp_orphan_retries`); then the peer waits. Two ends with programs never wait for each other.
        prop_assert!(a.fd.is_none() || b.fd.is_none(), "stuck: {a:?} {b:?}");
        for side in 0..2 {
            world.close(side, false);
        }
        world.hosts[0].close(world.listener).unwrap();
        world.listener = 0;
        world.run(world.now() + BOUND);
        for host in &world.hosts {
            prop_assert_eq!(host.sockets(), 0, "sockets are left");
            prop_assert_eq!(host.next_timer(), Instant::NEVER);
        }
    }
}
