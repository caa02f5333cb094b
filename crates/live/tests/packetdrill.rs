//! The packetdrill host on this kernel, at the seam: what the executor asks for happens, in a namespace that leaves
//! nothing behind.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, missing_docs, reason = "tests")]

#[path = "skips/mod.rs"]
mod skips;

use narrows_live::packetdrill::{KernelHost, on_kernel};
use narrows_packetdrill::call::{Address, CallResult, Data, Form, Output, Room, SystemCall};
use narrows_packetdrill::host::{Fd, Happening, Host, Progress, Ticket};
use narrows_packetdrill::options::{IpVersion, Options};
use narrows_packetdrill::run::{Outcome, Plan, Verdict, run};
use narrows_packetdrill::syntax::{ScriptOption, parse};
use narrows_units::{Duration, Instant, SeqNum};
use narrows_wire::{Ip, TcpFlags, TcpOptions, TcpRepr, TcpView};
use skips::skip;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

const PORT: u16 = 40_000;
const PATIENCE: Duration = Duration::from_millis(2000);

fn lacks_root() -> bool {
    let lacks = !nix::unistd::Uid::effective().is_root() || !Path::new("/dev/net/tun").exists();
    if lacks {
        skip("needs root and /dev/net/tun");
    }
    lacks
}

/// Runs `work` on a host, in a new directory.
fn on_host<T: Send>(ip_version: IpVersion, work: impl FnOnce(&mut KernelHost, &Options) -> T + Send) -> T {
    let options = Options::new(ip_version);
    let directory = std::env::temp_dir().join(format!("narrows-packetdrill-{}-{:p}", std::process::id(), &options));
    std::fs::create_dir(&directory).unwrap();
    let done = on_kernel(&options, &directory, &Arc::default(), |host| work(host, &options));
    std::fs::remove_dir_all(&directory).unwrap();
    done.unwrap()
}

/// A segment that arrives from the other end.
fn arriving(options: &Options, seq: u32, ack: u32, flags: TcpFlags, tcp: TcpOptions, payload: usize) -> Vec<u8> {
    let tcp = TcpRepr {
        src_port: PORT,
        dst_port: options.bind_port,
        seq: SeqNum::new(seq),
        ack: SeqNum::new(ack),
        flags,
        window: 65_535,
        options: tcp,
    };
    let mut bytes = Vec::new();
    let length = tcp.header_len() + payload;
    match Ip::between(options.remote, options.local) {
        Ip::V4(ip) => ip.emit_into(6, length, &mut bytes),
        Ip::V6(ip) => ip.emit_into(6, length, &mut bytes),
    }
    tcp.emit_into(options.remote, options.local, payload, &mut bytes);
    // The checksum is that of zeros.
    bytes.resize(bytes.len() + payload, 0);
    bytes
}

/// A segment that the kernel has sent: its TCP header and the length of its payload, after a check of the checksum.
fn sent(options: &Options, bytes: &[u8]) -> (TcpRepr, usize) {
    let ip_header = if options.local.is_ipv4() { usize::from(bytes[0] & 15) * 4 } else { 40 };
    let segment = &bytes[ip_header..];
    let (from, to) = (options.local, options.remote);
    let octets = |address: IpAddr| match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    let words = |bytes: &[u8]| -> u32 {
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0))).sum()
    };
    let sum = words(&octets(from)) + words(&octets(to)) + 6 + segment.len() as u32 + words(segment);
    assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "the checksum of {bytes:02x?}");
    let tcp = TcpRepr::from_view(&TcpView::new_checked(segment).unwrap()).unwrap();
    (tcp, segment.len() - tcp.header_len())
}

fn done(host: &mut KernelHost, call: &SystemCall) -> CallResult {
    match host.call(call).unwrap() {
        Progress::Done(result) => result,
        Progress::Blocked(_) => panic!("{call:?} sleeps"),
    }
}

fn value(host: &mut KernelHost, call: &SystemCall) -> i64 {
    done(host, call).value.unwrap_or_else(|error| panic!("{call:?}: {error:?}"))
}

/// The next packet, or the next return of a call.
fn next(host: &mut KernelHost) -> Happening {
    let until = host.now() + PATIENCE;
    host.advance(until).unwrap().unwrap_or_else(|| panic!("nothing happens"))
}

fn next_sent(host: &mut KernelHost, options: &Options) -> (Instant, TcpRepr, usize) {
    match next(host) {
        Happening::Sent { at, bytes } => {
            let (tcp, payload) = sent(options, &bytes);
            (at, tcp, payload)
        }
        Happening::Returned { result, .. } => panic!("a call returned {result:?}"),
    }
}

fn listener(host: &mut KernelHost, options: &Options) -> Fd {
    let domain = if options.ip_version == IpVersion::V4 { libc::AF_INET } else { libc::AF_INET6 };
    let socket = SystemCall::Socket { domain, kind: libc::SOCK_STREAM, protocol: libc::IPPROTO_TCP };
    let fd = Fd(i32::try_from(value(host, &socket)).unwrap());
    let address = Address::Inet(options.as_socket_address(options.local, options.bind_port));
    assert_eq!(value(host, &SystemCall::Bind { fd, address }), 0);
    assert_eq!(value(host, &SystemCall::Listen { fd, backlog: 1 }), 0);
    fd
}

/// Opens a connection from the other end; returns the sequence number that follows the kernel's SYN.
fn handshake(host: &mut KernelHost, options: &Options) -> u32 {
    let asked = TcpOptions { mss: Some(1000), sack_permitted: true, ..TcpOptions::default() };
    host.inject(&arriving(options, 0, 0, TcpFlags::SYN, asked, 0)).unwrap();
    let (_, answer, _) = next_sent(host, options);
    assert_eq!((answer.flags, answer.ack), (TcpFlags::SYN.with(TcpFlags::ACK), SeqNum::new(1)));
    assert!(answer.options.sack_permitted, "{answer:?}");
    let first = answer.seq.as_u32().wrapping_add(1);
    host.inject(&arriving(options, 1, first, TcpFlags::ACK, TcpOptions::default(), 0)).unwrap();
    first
}

fn write(fd: Fd, length: usize) -> SystemCall {
    SystemCall::Send {
        form: Form::Plain,
        fd,
        buffers: vec![Data::Zeros(length)],
        address: None,
        control: Vec::new(),
        flags: 0,
    }
}

#[test]
fn a_connection_runs_over_each_ip_version() {
    if lacks_root() {
        return;
    }
    for version in [IpVersion::V4, IpVersion::V6, IpVersion::Mapped] {
        on_host(version, |host, options| {
            let listener = listener(host, options);
            let first = handshake(host, options);
            let accepted = done(host, &SystemCall::Accept { fd: listener });
            let Output::Address(peer) = accepted.output else { panic!("{accepted:?}") };
            assert_eq!(peer, options.as_socket_address(options.remote, PORT), "{version:?}");
            let fd = Fd(i32::try_from(accepted.value.unwrap()).unwrap());
            // Ten segments fit into the first window; they leave as super-packets longer than the MTU.
            assert_eq!(value(host, &write(fd, 10_000)), 10_000);
            let mut taken = 0;
            while taken < 10_000 {
                let (at, data, payload) = next_sent(host, options);
                assert_eq!(data.seq, SeqNum::new(first.wrapping_add(taken as u32)), "{version:?}");
                assert!(payload >= 2000 && payload % 1000 == 0, "{version:?}: {payload}");
                assert!(host.now() >= at && host.now().since(at) < PATIENCE, "{at:?}");
                taken += payload;
            }
            let info = host.tcp_info(fd).unwrap();
            let of = |name| info.get(name).unwrap();
            assert_eq!((of("tcpi_state"), of("tcpi_unacked"), of("tcpi_snd_mss")), (1, 10, 1000), "{version:?}");
            let ack = first.wrapping_add(10_000);
            host.inject(&arriving(options, 1, ack, TcpFlags::ACK.with(TcpFlags::PSH), TcpOptions::default(), 300))
                .unwrap();
            let read =
                SystemCall::Receive { form: Form::Plain, fd, buffers: vec![Room::Buffer(1000)], control: 0, flags: 0 };
            assert_eq!(done(host, &read).output, Output::Bytes(vec![0; 300]), "{version:?}");
            assert_eq!(value(host, &SystemCall::Close { fd }), 0);
        });
    }
}

#[test]
fn a_call_that_sleeps_returns_later() {
    if lacks_root() {
        return;
    }
    on_host(IpVersion::V4, |host, options| {
        let listener = listener(host, options);
        let Progress::Blocked(ticket) = host.call(&SystemCall::Accept { fd: listener }).unwrap() else {
            panic!("there is no connection yet")
        };
        let until = host.now() + Duration::from_millis(20);
        assert_eq!(host.advance(until).unwrap(), None);
        assert!(host.now() >= until);
        handshake(host, options);
        let Happening::Returned { ticket: of, result, at } = next(host) else { panic!("a packet") };
        assert!(of == ticket && at > until, "{at:?}");
        let fd = Fd(i32::try_from(result.value.unwrap()).unwrap());
        assert_eq!(host.tcp_info(fd).unwrap().get("tcpi_state"), Some(1));
        // A call that never returns does not keep the host from ending.
        let read = SystemCall::Receive { form: Form::Plain, fd, buffers: vec![Room::Buffer(10)], control: 0, flags: 0 };
        assert!(matches!(host.call(&read).unwrap(), Progress::Blocked(Ticket(_))));
    });
}

#[test]
fn errors_have_their_numbers() {
    if lacks_root() {
        return;
    }
    on_host(IpVersion::V4, |host, options| {
        let listener = listener(host, options);
        let nonblocking =
            SystemCall::Fcntl { fd: listener, command: libc::F_SETFL, argument: Some(i64::from(libc::O_NONBLOCK)) };
        assert_eq!(value(host, &nonblocking), 0);
        let error = |host: &mut KernelHost, call| done(host, &call).value.unwrap_err().0;
        assert_eq!(error(host, SystemCall::Accept { fd: listener }), libc::EAGAIN);
        assert_eq!(error(host, write(listener, 10)), libc::EPIPE);
        // Files of this process are not the script's.
        assert_eq!(error(host, write(Fd(2), 10)), libc::EBADF);
        assert_eq!(error(host, SystemCall::Close { fd: Fd(0) }), libc::EBADF);
        assert!(host.tcp_info(Fd(0)).is_err());
        // A script that never ends is refused at once.
        let far = host.now() + Duration::from_secs(3600);
        let refused = host.advance(far).unwrap_err().to_string();
        assert!(refused.ends_with("a live script lasts 300 s at most"), "{refused}");
    });
}

#[test]
fn commands_change_their_namespace_alone() {
    if lacks_root() {
        return;
    }
    let outside = ["ipv4/tcp_sack", "ipv4/tcp_congestion_control"].map(narrows_live::sysctl);
    on_host(IpVersion::V4, |host, options| {
        let run = |host: &mut KernelHost, command: &str| host.shell(command).unwrap();
        let result = run(host, "echo \"it's\"; echo out >&2; exit 3");
        assert_eq!((result.status, result.output.as_str()), (3, "it's\nout"));
        let changed = "echo 0 > /proc/sys/net/ipv4/tcp_sack && echo cubic > /proc/sys/net/ipv4/tcp_congestion_control";
        assert_eq!(run(host, changed).status, 0);
        assert_eq!(run(host, "cat /proc/sys/net/ipv4/tcp_congestion_control").output, "cubic");
        assert_eq!(run(host, "cat /proc/sys/net/ipv4/tcp_sack").output, "0");
        // Connections have the default that the script has set, whether or not a namespace may set it.
        let fd = listener(host, options);
        let control = SystemCall::GetOption { fd, level: libc::IPPROTO_TCP, option: libc::TCP_CONGESTION, length: 16 };
        let Output::Option(name) = done(host, &control).output else { panic!("no name") };
        assert!(name.starts_with(b"cubic\0"), "{name:?}");
        // Helper scripts keep files under the identifier of the shell's parent, from one command to the next.
        assert_eq!(run(host, "echo 'exit 7' > /tmp/restore_$PACKETDRILL_PID").status, 0);
        assert_eq!(run(host, "sh /tmp/restore_${PPID}").status, 7);
        // Its directory is the script's.
        assert!(run(host, "pwd").output.contains("narrows-packetdrill-"));
        let refused = host.shell("echo warp > /proc/sys/net/ipv4/tcp_congestion_control").unwrap_err().to_string();
        assert!(refused.contains("CONFIG_TCP_CONG_WARP"), "{refused}");
    });
    assert_eq!(["ipv4/tcp_sack", "ipv4/tcp_congestion_control"].map(narrows_live::sysctl), outside);
    assert!(!Path::new("/tmp/restore_1").exists());
}

#[test]
fn nothing_outlives_the_host() {
    if lacks_root() {
        return;
    }
    const SIGN: &str = "86399.25";
    let running = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.filter(|line| line.windows(SIGN.len()).any(|part| part == SIGN.as_bytes())).count()
    };
    on_host(IpVersion::V4, |host, _| {
        assert_eq!(host.shell(&format!("sleep {SIGN} >/dev/null 2>&1 &")).unwrap().status, 0);
        // While the program is exchanged for `sleep`, the process has no command line.
        let begun = std::time::Instant::now();
        while running() != 1 {
            assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{} are running", running());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    assert_eq!(running(), 0);
}

/// Stops a script 200 ms after its start; returns its verdict, and how long after the stop it ended.
fn stop_in(script: &str) -> (Verdict, std::time::Duration) {
    let script = parse("test.pkt", script, &std::collections::BTreeMap::new()).unwrap();
    let options = Options::resolve("test.pkt", &script.options, &[]).unwrap();
    let plan = Plan::new("test.pkt", &script, &options).unwrap();
    let progress = Arc::new(narrows_fabric::Progress::default());
    let stopper = Arc::clone(&progress);
    let stopping = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        stopper.stop();
        std::time::Instant::now()
    });
    let outcome = on_kernel(&options, Path::new("/"), &progress, |host| run(&plan, host)).unwrap();
    (outcome.verdict, std::time::Instant::now().duration_since(stopping.join().unwrap()))
}

#[test]
fn a_script_that_is_stopped_ends_at_once_and_leaves_nothing() {
    if lacks_root() {
        return;
    }
    const SIGN: &str = "7134";
    let sleepers = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let names = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        names.filter(|name| name.starts_with(b"sleep") && name.windows(4).any(|part| part == SIGN.as_bytes())).count()
    };
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let server = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n";
    for (script, line) in [
        (format!("{server}+200 < S 0:0(0) win 1000\n"), 4),
        (format!("{server}* > S. 0:0(0) ack 1\n"), 4),
        (format!("{server}+0...100 accept(3, ..., ...) = 4\n+100 < S 0:0(0) win 1000\n"), 5),
        (format!("`sleep {SIGN}`\n{server}"), 0),
        (format!("{server}+0 `sleep {SIGN} & sleep {SIGN}`\n"), 4),
    ] {
        let before = threads();
        let (verdict, after) = stop_in(&script);
        assert_eq!(verdict, Verdict::Stopped { line }, "{script}");
        assert!(after < std::time::Duration::from_millis(900), "{after:?}: {script}");
        assert_eq!(sleepers(), 0, "{script}");
        // Tests beside this one have threads too, and end within seconds.
        let begun = std::time::Instant::now();
        while threads() > before + 1 {
            let late = begun.elapsed() > std::time::Duration::from_secs(20);
            assert!(!late, "{before} threads before, {} after: {script}", threads());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// A server that sleeps in `accept`, sends three segments, and closes first.
const SCRIPT: &str = "
--tolerance_usecs=10000
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0...0.100 accept(3, ..., ...) = 4
+.05 < S 0:0(0) win 32792 <mss 1000,nop,nop,sackOK,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.05 < . 1:1(0) ack 1 win 257
+.02 write(4, ..., 3000) = 3000
+0 > P. 1:3001(3000) ack 1
+.05 < P. 1:501(500) ack 3001 win 257
+0 > . 3001:3001(0) ack 501
+0 read(4, ..., 1000) = 500
+0 %{ assert tcpi_state == 1 }%
+0 close(4) = 0
+0 > F. 3001:3001(0) ack 501
+.05 < F. 501:501(0) ack 3002 win 257
+0 > . 3002:3002(0) ack 502
";

/// Runs a script; returns its outcome, and why it is doubtful.
fn run_script(text: &str, version: &str) -> (Outcome, Option<String>) {
    let of_version = ScriptOption { name: "ip_version".to_owned(), value: Some(version.to_owned()), line: 0 };
    let script = parse("test.pkt", text.trim_start(), &std::collections::BTreeMap::new()).unwrap();
    let options = Options::resolve("test.pkt", &script.options, &[of_version]).unwrap();
    let plan = Plan::new("test.pkt", &script, &options).unwrap();
    on_kernel(&options, Path::new("/"), &Arc::default(), |host| {
        let outcome = run(&plan, host);
        let late = host.latest() > options.tolerance;
        let doubt = match &outcome.verdict {
            Verdict::Differed(mismatch) if late => Some(format!("the host was {} late: {mismatch}", host.latest())),
            Verdict::Differed(mismatch) if mismatch.differences.iter().all(|one| one.field.starts_with("time")) => {
                Some(mismatch.to_string())
            }
            _ => None,
        };
        (outcome, doubt)
    })
    .unwrap()
}

/// The first outcome of three that is not doubtful.
fn trusted_outcome(text: &str, version: &str) -> Option<Outcome> {
    let mut last = String::new();
    for _ in 0..3 {
        match run_script(text, version) {
            (outcome, None) => return Some(outcome),
            (_, Some(doubt)) => last = doubt,
        }
    }
    skip(format_args!("each of three runs is doubtful; the last: {last}"));
    None
}

#[test]
fn a_script_runs_on_this_kernel() {
    if lacks_root() {
        return;
    }
    for version in ["ipv4", "ipv6", "ipv4-mapped-ipv6"] {
        let Some(outcome) = trusted_outcome(SCRIPT, version) else { return };
        assert_eq!(outcome.verdict, Verdict::Matched, "{version}");
        let [code] = &outcome.code[..] else { panic!("{:?}", outcome.code) };
        assert_eq!(code.info.as_ref().and_then(|info| info.get("tcpi_state")), Some(1), "{version}");
    }
    let wrong = SCRIPT.replace("ack 501\n", "ack 500\n");
    let Some(outcome) = trusted_outcome(&wrong, "ipv4") else { return };
    let Verdict::Differed(mismatch) = outcome.verdict else { panic!("{:?}", outcome.verdict) };
    let [difference] = &mismatch.differences[..] else { panic!("{mismatch}") };
    assert_eq!(
        (difference.field.as_str(), difference.expected.as_str(), difference.actual.as_str()),
        ("ack", "500", "501")
    );
}
