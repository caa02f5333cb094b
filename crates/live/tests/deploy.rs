//! Attaching and detaching on the real kernel, in mount and network namespaces of the test's own. They own the BPF file
//! system and the default of new connections, so a test that fails leaves nothing behind. Only the list of names is
//! kernel-wide, so the tests take turns.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]

use narrows_live::bpf::register;
use narrows_live::deploy::{attach, attached, detach};
use narrows_live::{LiveError, controls};
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

mod skips;
use skips::skip;

/// Lets one test run at a time on this machine, whether of this file, of another working copy, or in Python.
fn turn() -> Flock<File> {
    let file = File::options().create(true).truncate(false).write(true).open("/tmp/narrows-attach.lock").unwrap();
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error).unwrap()
}

/// Why this machine cannot attach anything.
fn lacking() -> Option<&'static str> {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some("the kernel has no type information (CONFIG_DEBUG_INFO_BTF)");
    }
    controls::available().iter().any(|name| name == "agile_sd").then_some("agile_sd is registered already")
}

/// Runs `step` in namespaces of its own, without a BPF file system, or prints why it cannot.
fn apart(step: impl FnOnce() + Send + 'static) {
    if !nix::unistd::geteuid().is_root() {
        skip("attaching takes root");
        return;
    }
    let _turn = turn();
    if let Some(reason) = lacking() {
        skip(reason);
        return;
    }
    let inside = || {
        unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET).unwrap();
        let none: Option<&str> = None;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
        let _not_mounted = umount2("/sys/fs/bpf", MntFlags::MNT_DETACH);
        step();
    };
    std::thread::spawn(inside).join().unwrap();
    // The namespaces ended with the thread, and the pins with them.
    let until = Instant::now() + Duration::from_secs(5);
    while controls::available().iter().any(|name| name == "agile_sd") {
        assert!(Instant::now() < until, "agile_sd is left over");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn words(items: &[(&str, &str)]) -> Vec<(String, String)> {
    items.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect()
}

fn is_listed() -> bool {
    controls::available().iter().any(|name| name == "agile_sd")
}

/// Whether a BPF file system is mounted.
fn is_mounted() -> bool {
    statfs("/sys/fs/bpf").unwrap().filesystem_type() == BPF_FS_MAGIC
}

fn pins() -> usize {
    std::fs::read_dir("/sys/fs/bpf").map_or(0, Iterator::count)
}

/// Attaches and detaches, with and without the default, until the process is killed: what
/// [`a_command_may_be_killed_at_any_moment`] runs in a process of its own.
#[test]
#[ignore = "endless: another test runs it"]
fn attach_and_detach_without_end() {
    if std::env::var_os("NARROWS_TO_BE_KILLED").is_none() {
        return;
    }
    for make_default in [false, true].into_iter().cycle() {
        attach("agile_sd", &[], make_default).unwrap();
        detach("agile_sd").unwrap();
    }
}

#[test]
fn a_command_may_be_killed_at_any_moment() {
    apart(|| {
        let before = controls::default().unwrap();
        let mut random = 4711_u64;
        for round in 0..20 {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "--ignored", "attach_and_detach_without_end"])
                .env("NARROWS_TO_BE_KILLED", "yes")
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            std::thread::sleep(Duration::from_micros(20_000 + (random >> 33) % 80_000));
            assert!(child.try_wait().unwrap().is_none(), "round {round}: it ended by itself");
            child.kill().unwrap();
            child.wait().unwrap();
            // Whatever it was doing, listing is enough to undo a mount in which nothing is left.
            if attached().unwrap().is_empty() && !Path::new("/sys/fs/bpf/narrows").exists() {
                assert!(!is_mounted(), "round {round}");
            }
            // The next commands work, and leave nothing of it behind.
            attach("agile_sd", &[], true).unwrap();
            assert_eq!(attached().unwrap().len(), 1, "round {round}");
            detach("agile_sd").unwrap();
            assert_eq!(controls::default().as_ref(), Some(&before), "round {round}");
            assert!(!is_listed() && !is_mounted(), "round {round}");
        }
    });
}

#[test]
fn attach_use_list_detach() {
    apart(|| {
        assert_eq!(attached().unwrap(), vec![]);
        let done = attach("agile_sd", &words(&[("lambda_max", "4")]), false).unwrap();
        assert!(done.is_new && done.mounted && is_listed());
        assert_eq!(done.deployed.params, "profile=paper lambda_max=4 beta1=0.9 beta2=0");
        assert!(!done.deployed.is_default);

        carry_a_megabyte("agile_sd");

        assert_eq!(attached().unwrap(), vec![done.deployed.clone()]);
        let again = attach("agile_sd", &words(&[("lambda_max", "4.0")]), false).unwrap();
        assert!(!again.is_new && !again.mounted);
        assert_eq!(again.deployed, done.deployed);

        let error = attach("agile_sd", &[], false).unwrap_err().to_string();
        assert!(error.contains("is attached already, with profile=paper lambda_max=4 "), "{error}");
        assert!(error.contains("`narrows detach agile_sd`"), "{error}");

        assert_eq!(detach("agile_sd").unwrap().default, None);
        assert!(!is_listed());
        assert_eq!(attached().unwrap(), vec![]);
        assert!(!is_mounted(), "what was mounted is mounted no more");
        assert!(matches!(detach("agile_sd"), Err(LiveError::Unsupported { .. })));
    });
}

/// Sends a megabyte over the loopback device with the congestion control `name`.
fn carry_a_megabyte(name: &str) {
    Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    setsockopt(&sender, TcpCongestion, &name.into()).unwrap();
    let used = getsockopt(&sender, TcpCongestion).unwrap();
    assert!(used.to_string_lossy().starts_with(name), "{used:?}");
    let mut receiver = listener.accept().unwrap().0;
    // The new thread is in this thread's namespace.
    let sending = std::thread::spawn(move || sender.write_all(&vec![7; 1 << 20]).unwrap());
    let mut bytes = Vec::new();
    receiver.read_to_end(&mut bytes).unwrap();
    sending.join().unwrap();
    assert_eq!(bytes.len(), 1 << 20);
}

#[test]
fn the_default_comes_back() {
    apart(|| {
        let before = controls::default().unwrap();
        let plain = attach("agile_sd", &[], false).unwrap();
        assert!(!plain.deployed.is_default);
        let done = attach("agile_sd", &[], true).unwrap();
        assert!(!done.is_new && done.deployed.is_default);
        assert_eq!(done.deployed.replaced.as_ref(), Some(&before));
        assert_eq!(controls::default().unwrap(), "agile_sd");
        assert_eq!(detach("agile_sd").unwrap().default.as_ref(), Some(&before));
        assert_eq!(controls::default().unwrap(), before);
        assert!(!is_listed());
    });
}

#[test]
fn a_default_that_somebody_else_set_stays() {
    apart(|| {
        attach("agile_sd", &[], true).unwrap();
        controls::set_default("reno").unwrap();
        assert_eq!(detach("agile_sd").unwrap().default, None);
        assert_eq!(controls::default().unwrap(), "reno");
    });
}

#[test]
fn a_name_of_somebody_else_is_left_alone() {
    apart(|| {
        let other = register("agile_sd", "agile_sd", &narrows_cc::Params::default()).unwrap();
        let error = attach("agile_sd", &[], false).unwrap_err();
        assert!(matches!(&error, LiveError::Unavailable { what, .. } if what == "the name agile_sd"), "{error:?}");
        assert_eq!(pins(), 0, "nothing half done");
        let error = detach("agile_sd").unwrap_err().to_string();
        assert!(error.contains("`narrows attach` did not register it"), "{error}");
        assert!(is_listed());
        drop(other);
        let error = detach("reno").unwrap_err().to_string();
        assert!(error.contains("did not register it; allowed: nothing is attached"), "{error}");
    });
}

#[test]
fn what_a_killed_command_left_is_swept_away() {
    apart(|| {
        // Everything but the last step: the pin.
        attach("agile_sd", &[], false).unwrap();
        std::fs::remove_file("/sys/fs/bpf/narrows/cc/agile_sd/link").unwrap();
        while is_listed() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(attached().unwrap(), vec![]);
        let done = attach("agile_sd", &words(&[("profile", "module")]), false).unwrap();
        assert!(done.is_new);
        detach("agile_sd").unwrap();
        assert_eq!(pins(), 0);
    });
}

#[test]
fn a_mount_that_a_killed_command_left_is_undone_by_the_next() {
    apart(|| {
        // The states between the mount and the folder, with the folder, and with what is created before the pin.
        for left in ["", "narrows", "narrows/cc", "narrows/cc/agile_sd"] {
            for detaching in [false, true] {
                attach("agile_sd", &[], false).unwrap();
                take_all_but(left);
                assert!(is_mounted(), "{left:?}");
                if detaching {
                    assert!(detach("agile_sd").unwrap_err().to_string().contains("nothing is attached"), "{left:?}");
                } else {
                    assert_eq!(attached().unwrap(), vec![], "{left:?}");
                }
                assert!(!is_mounted(), "{left:?}");
            }
        }
    });
}

/// Removes the pin and the metadata of `agile_sd`, and all folders but those on the way to `left`.
fn take_all_but(left: &str) {
    let top = Path::new("/sys/fs/bpf");
    for name in ["link", "params"] {
        std::fs::remove_file(top.join("narrows/cc/agile_sd").join(name)).unwrap();
    }
    while is_listed() {
        std::thread::sleep(Duration::from_millis(5));
    }
    for folder in ["narrows/cc/agile_sd", "narrows/cc", "narrows"] {
        if !left.starts_with(folder) {
            std::fs::remove_dir(top.join(folder)).unwrap();
        }
    }
}

#[test]
fn a_mount_of_ours_that_somebody_else_uses_stays() {
    apart(|| {
        assert!(attach("agile_sd", &[], false).unwrap().mounted);
        std::fs::create_dir("/sys/fs/bpf/other").unwrap();
        detach("agile_sd").unwrap();
        assert!(Path::new("/sys/fs/bpf/other").exists());
        assert_eq!(attached().unwrap(), vec![]);
        assert!(is_mounted());
        std::fs::remove_dir("/sys/fs/bpf/other").unwrap();
        assert_eq!(attached().unwrap(), vec![]);
        assert!(!is_mounted());
    });
}

#[test]
fn a_folder_of_somebody_else_is_not_trusted() {
    apart(|| {
        let none: Option<&str> = None;
        mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), MsFlags::empty(), none).unwrap();
        std::fs::create_dir_all("/sys/fs/bpf/narrows").unwrap();
        std::os::unix::fs::chown("/sys/fs/bpf/narrows", Some(65534), None).unwrap();
        let error = attach("agile_sd", &[], false).unwrap_err().to_string();
        assert!(error.contains("it belongs to user 65534"), "{error}");
        assert!(!is_listed());
    });
}

#[test]
fn a_file_system_that_was_there_stays() {
    apart(|| {
        let none: Option<&str> = None;
        mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), MsFlags::empty(), none).unwrap();
        std::fs::create_dir("/sys/fs/bpf/other").unwrap();
        assert!(!attach("agile_sd", &[], false).unwrap().mounted);
        detach("agile_sd").unwrap();
        assert!(Path::new("/sys/fs/bpf/other").exists() && !Path::new("/sys/fs/bpf/narrows").exists());
    });
}

#[test]
fn what_is_no_algorithm_or_parameter_is_refused() {
    let error = attach("cubic", &[], false).unwrap_err().to_string();
    assert!(error.contains("cubic: Narrows has no eBPF program of this name; allowed: agile_sd"), "{error}");
    let error = attach("agile_sd", &words(&[("lambda_max", "0")]), false).unwrap_err().to_string();
    assert!(error.contains("a number from 1 to 100"), "{error}");
}
