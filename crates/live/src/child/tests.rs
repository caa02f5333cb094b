use super::*;
use crate::Netns;
use crate::testing::lacks_root;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Instant;

const SHORT: Duration = Duration::from_secs(10);

fn empty_network() -> Netns {
    Netns::new().unwrap()
}

fn addresses() -> Vec<(String, std::net::IpAddr)> {
    vec![("h1".to_owned(), [10, 1, 2, 3].into()), ("far-away".to_owned(), [10, 1, 2, 4].into())]
}

fn captured(line: &str) -> Program {
    Program { output: Output::Captured, ..Program::line("h1", line, &addresses()) }
}

/// Runs a line to its end; returns how it ended and what it wrote.
fn run(line: &str) -> (Option<Exit>, String) {
    let child = Child::spawn(empty_network().as_fd(), &captured(line)).unwrap();
    child.wait(Some(SHORT)).unwrap();
    let ended = child.stop(SHORT).unwrap();
    let text = [ended.captured.stdout, ended.captured.stderr].concat();
    (ended.exit, String::from_utf8(text).unwrap())
}

/// Processes of the machine with this text in their environment.
fn processes_with(mark: &str) -> Vec<u32> {
    let of = |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse::<u32>().ok();
    let marked = |pid: &u32| {
        std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environment| environment.windows(mark.len()).any(|part| part == mark.as_bytes()))
    };
    std::fs::read_dir("/proc").unwrap().filter_map(of).filter(marked).collect()
}

/// A mark that no other test's processes have.
fn mark(of: &str) -> String {
    format!("narrows-{of}-{}", std::process::id())
}

fn wait_until(limit: std::time::Duration, what: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !what() {
        if begun.elapsed() > limit {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    true
}

#[test]
fn a_program_sees_its_host_and_nothing_else() {
    if lacks_root() {
        return;
    }
    let (exit, text) = run("ls /sys/class/net; tail -n +3 /proc/net/dev | cut -d: -f1; echo /proc/[0-9]*; hostname; \
         grep far-away /etc/hosts; wc -c < /etc/resolv.conf; echo $NARROWS_HOST $NARROWS_ADDRESS_far_away");
    assert_eq!(exit, Some(Exit::Code(0)), "{text}");
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let [devices, also, processes, hostname, line, resolver, told] = lines[..] else { panic!("{text}") };
    assert_eq!((devices, also), ("lo", "lo"));
    assert!(processes.starts_with("/proc/1 /proc/2") && processes.split(' ').count() <= 4, "{processes}");
    assert_eq!((hostname, line, resolver, told), ("h1", "10.1.2.4 far-away", "0", "h1 10.1.2.4"));
}

#[test]
fn a_program_reaches_other_hosts_by_their_names_through_the_network() {
    if crate::testing::lacks_root() {
        return;
    }
    let Some(iperf3) = ["/usr/bin/iperf3", "/usr/local/bin/iperf3"].into_iter().find(|path| Path::new(path).exists())
    else {
        return crate::testing::skip("needs iperf3");
    };
    let scenario = crate::testing::scenario("[[flows]]\nfrom = \"s1\"\nto = \"d1\"");
    let hosts = crate::Hosts::new(&scenario).unwrap();
    let network = crate::Network::new(&scenario, narrows_fabric::Seeds::new(1, 0)).unwrap();
    let addresses: Vec<_> = hosts.iter().map(|h| scenario.nodes[h.node].clone()).map(|n| (n.name, n.address)).collect();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let clock = crate::Clock::starting_in(Duration::ZERO);
    let end = narrows_units::Instant::ZERO + Duration::from_secs(15);
    let ended = std::thread::scope(|scope| {
        let devices: Vec<_> = hosts.iter().map(|host| (host.node, &host.tun)).collect();
        let stop = &stop;
        scope.spawn(move || {
            crate::carry(network, (&devices, &[]), clock, end, narrows_units::Rate::mbps(10), stop).1.refused
        });
        let spawn = |name: &str, line: &str| {
            let host = hosts.iter().find(|host| scenario.nodes[host.node].name == name).unwrap();
            let program = Program { output: Output::Captured, ..Program::line(name, line, &addresses) };
            Child::spawn(host.netns.as_fd(), &program).unwrap()
        };
        let server = spawn("d1", &format!("exec {iperf3} -s -1"));
        let client = spawn("s1", &format!("sleep 0.3; exec {iperf3} -c d1 -t 1 -f k"));
        let exit = client.wait(Some(SHORT)).unwrap();
        let ended = client.stop(SHORT).unwrap();
        drop(server);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(exit, ended.exit);
        ended
    });
    let text = String::from_utf8(ended.captured.stdout).unwrap();
    assert_eq!(ended.exit, Some(Exit::Code(0)), "{text}{}", String::from_utf8_lossy(&ended.captured.stderr));
    assert!(text.contains("Connecting to host d1") && text.contains("receiver"), "{text}");
}

#[test]
fn the_machine_keeps_its_name_and_mounts() {
    if lacks_root() {
        return;
    }
    let seen = || (std::fs::read("/proc/self/mountinfo").unwrap(), std::fs::read("/proc/sys/kernel/hostname").unwrap());
    let before = seen();
    let child = Child::spawn(empty_network().as_fd(), &captured("sleep 60")).unwrap();
    assert_eq!(seen(), before);
    drop(child);
    assert_eq!(seen(), before);
}

#[test]
fn the_end_of_a_program_is_told() {
    if lacks_root() {
        return;
    }
    assert_eq!(run("exit 7").0, Some(Exit::Code(7)));
    assert_eq!(run("kill -KILL $$").0, Some(Exit::Signal(libc::SIGKILL)));
    assert_eq!(run("echo here; echo there >&2"), (Some(Exit::Code(0)), "here\nthere\n".to_owned()));
    assert_eq!(run("cat").1, "", "there is nothing to read");
    let (exit, text) = run("(nosuchprogram)");
    assert_eq!(exit, Some(Exit::Code(127)));
    assert!(text.contains("nosuchprogram"), "{text}");
}

#[test]
fn a_program_that_does_not_exist_is_refused() {
    let refused = |line: &str| program::check_line("h1", line, "/bin:/usr/bin").map_err(|e| e.to_string());
    for line in
        ["", "  ", "A=1", "nosuchprogram -c h2", "A=1 nosuchprogram", "/bin/nosuchprogram", "/bin", "nosuchprogram;"]
    {
        assert!(refused(line).is_err(), "{line}");
    }
    let said = refused("nosuchprogram -c h2").unwrap_err();
    assert!(
        said.starts_with("--exec h1: `nosuchprogram -c h2`: there is no program `nosuchprogram` in PATH"),
        "{said}"
    );
    for line in
        ["ls", "ls; ls", "A=1 ls -l", "/bin/ls", "for i in 1 2; do ls; done", "! ls", "(ls)", "\"ls\"", "$SHELL"]
    {
        assert_eq!(refused(line), Ok(()), "{line}");
    }
    if !lacks_root() {
        let error = Child::spawn(empty_network().as_fd(), &captured("nosuchprogram")).unwrap_err();
        assert!(matches!(error, LiveError::Unsupported { .. }), "{error}");
    }
}

#[test]
fn a_program_begins_at_its_time() {
    if lacks_root() {
        return;
    }
    let start = crate::monotonic_ns() + 300_000_000;
    let program = Program { start_ns: Some(start), ..captured("cut -d' ' -f1 /proc/uptime") };
    let child = Child::spawn(empty_network().as_fd(), &program).unwrap();
    assert!(child.wait(Some(Duration::from_millis(1))).unwrap().is_none());
    assert_eq!(child.wait(Some(SHORT)).unwrap(), Some(Exit::Code(0)));
    assert!(crate::monotonic_ns() >= start);
    let ended = child.stop(SHORT).unwrap();
    assert!(!ended.captured.stdout.is_empty());

    let never = Program { start_ns: Some(start + 3_600_000_000_000), ..captured("true") };
    let child = Child::spawn(empty_network().as_fd(), &never).unwrap();
    assert_eq!(child.stop(SHORT).unwrap().exit, None);
}

#[test]
fn stopping_asks_first_and_then_forces() {
    if lacks_root() {
        return;
    }
    let stubborn = mark("stubborn");
    let line = format!(
        "export MARK={stubborn}; trap 'echo asked' TERM; sh -c 'trap : TERM; while :; do sleep 60; done' & wait; wait"
    );
    let child = Child::spawn(empty_network().as_fd(), &captured(&line)).unwrap();
    assert!(wait_until(std::time::Duration::from_secs(5), || processes_with(&stubborn).len() >= 2));
    let ended = child.stop(Duration::from_millis(300)).unwrap();
    assert_eq!(ended.exit, None, "it had to be ended");
    assert_eq!(String::from_utf8(ended.captured.stdout).unwrap(), "asked\n");
    assert_eq!(processes_with(&stubborn), Vec::<u32>::new());

    let child = Child::spawn(empty_network().as_fd(), &captured("exec sleep 60")).unwrap();
    let begun = Instant::now();
    assert!(wait_until(std::time::Duration::from_secs(5), || child.pid().is_some()));
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(child.stop(SHORT).unwrap().exit, Some(Exit::Signal(libc::SIGTERM)));
    assert!(begun.elapsed() < std::time::Duration::from_secs(5));
}

#[test]
fn what_a_program_leaves_in_the_background_goes_on_until_stopped() {
    if lacks_root() {
        return;
    }
    let daemon = mark("daemon");
    let child = Child::spawn(empty_network().as_fd(), &captured(&format!("MARK={daemon} setsid sleep 60 &"))).unwrap();
    assert_eq!(child.wait(Some(SHORT)).unwrap(), Some(Exit::Code(0)));
    assert!(wait_until(std::time::Duration::from_secs(5), || processes_with(&daemon).len() == 1));
    assert_eq!(child.stop(SHORT).unwrap().exit, Some(Exit::Code(0)));
    assert_eq!(processes_with(&daemon), Vec::<u32>::new());
}

#[test]
fn more_output_than_is_kept_does_not_stop_a_program() {
    if lacks_root() {
        return;
    }
    let child = Child::spawn(empty_network().as_fd(), &captured("head -c 20000000 /dev/zero")).unwrap();
    assert_eq!(child.wait(Some(SHORT)).unwrap(), Some(Exit::Code(0)));
    let captured = child.stop(SHORT).unwrap().captured;
    assert_eq!(captured.stdout.len() as u64 + captured.dropped_bytes, 20_000_000);
    assert_eq!(captured.stdout.len(), 16 << 20);
}

/// Set in the copy of this test binary that is to be killed.
const VICTIM: &str = "NARROWS_TEST_VICTIM";

/// Not a test: what the copy of the test binary does until it is killed.
fn be_a_victim() {
    let line = "echo begun; setsid sh -c 'trap : TERM HUP; while :; do sleep 600; done' & sleep 600";
    let child = Child::spawn(empty_network().as_fd(), &Program::line("h1", line, &addresses())).unwrap();
    child.wait(None).unwrap();
}

#[test]
fn nothing_survives_when_this_process_is_killed() {
    if std::env::var_os(VICTIM).is_some() {
        return be_a_victim();
    }
    if lacks_root() {
        return;
    }
    let mounted = || std::fs::read_to_string("/proc/self/mountinfo").unwrap().matches(" - nsfs ").count();
    let before = mounted();
    let victim = mark("victim");
    let name = "child::tests::nothing_survives_when_this_process_is_killed";
    let mut process = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(VICTIM, &victim)
        .spawn()
        .unwrap();
    let namespaces =
        |pid: u32| ["net", "pid", "mnt", "uts"].map(|kind| std::fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok());
    let ours = namespaces(std::process::id());
    let apart = |pid: &u32| namespaces(*pid).iter().zip(&ours).all(|(theirs, ours)| theirs.is_some() && theirs != ours);
    // The copy and its test thread, the first process of the namespaces, the shell, its sleep, the shell in the
    // background, and its sleep. A process that is just made is still in our namespaces.
    let all_begun = || {
        let processes = processes_with(&victim);
        processes.len() >= 6 && processes.iter().filter(|pid| apart(pid)).count() == 5
    };
    assert!(wait_until(std::time::Duration::from_secs(20), all_begun));
    process.kill().unwrap();
    process.wait().unwrap();
    // Then no process is in its namespaces, and nothing else holds them, since they are not mounted.
    assert!(wait_until(std::time::Duration::from_secs(1), || processes_with(&victim).is_empty()));
    assert_eq!(mounted(), before);
}

/// Set in the copy of this test binary that opens a shell.
const SHELL: &str = "NARROWS_TEST_SHELL";

/// Not a test: what the copy of the test binary does with its terminal.
fn be_at_a_terminal() {
    let child = Child::spawn(empty_network().as_fd(), &Program::shell("h1", &addresses())).unwrap();
    let exit = child.wait(None).unwrap();
    drop(child);
    let foreground = nix::unistd::tcgetpgrp(std::io::stdin()).unwrap() == nix::unistd::getpgrp();
    println!("left: {exit:?}, in the foreground again: {foreground}");
}

#[test]
fn a_shell_has_the_terminal_and_gives_it_back() {
    if std::env::var_os(SHELL).is_some() {
        return be_at_a_terminal();
    }
    if lacks_root() {
        return;
    }
    use std::io::{Read, Write};
    use std::os::unix::process::CommandExt;
    let ends = nix::pty::openpty(None, None).unwrap();
    let mut process = std::process::Command::new(std::env::current_exe().unwrap());
    process
        .args(["--exact", "child::tests::a_shell_has_the_terminal_and_gives_it_back", "--nocapture"])
        .envs([(SHELL, "1"), ("SHELL", "/bin/sh")])
        .stdin(ends.slave.try_clone().unwrap())
        .stdout(ends.slave.try_clone().unwrap())
        .stderr(ends.slave);
    // SAFETY: system calls only.
    unsafe {
        process.pre_exec(|| {
            nix::unistd::setsid()?;
            if libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let mut child = process.spawn().unwrap();
    // The command holds the terminal's other end too.
    drop(process);
    let mut terminal = std::fs::File::from(ends.master);
    // Ctrl-C must reach the program in the shell, but neither the shell nor the process that opened it.
    terminal.write_all(b"echo on $(hostname) $((6 * 7))\nsleep 100\n").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    terminal.write_all(b"\x03").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    terminal.write_all(b"tty -s && echo with a terminal; exit 5\n").unwrap();
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    // Reading fails once no process holds the other end.
    while let Ok(read @ 1..) = terminal.read(&mut buffer) {
        text.extend_from_slice(&buffer[..read]);
    }
    assert!(child.wait().unwrap().success());
    let text = String::from_utf8_lossy(&text);
    for part in ["on h1 42\r", "\nwith a terminal\r", "left: Some(Code(5)), in the foreground again: true"] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}
