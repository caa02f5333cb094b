//! The loader on the real kernel, with a congestion control that is compiled here. Skipped, with the reason, if clang,
//! root or type information is missing.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]

use narrows_live::LiveError;
use narrows_live::bpf::{Direction, Hook, Opened, unique_name};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt::TcpCongestion};
use std::path::Path;
use std::process::Command;

mod skips;
use skips::skip;

/// A congestion control with a window of two segments after a loss, and a program for packets; without any header.
const SOURCE: &str = r#"
#define SEC(name) __attribute__((section(name), used))
typedef unsigned int u32;
typedef unsigned long long u64;
struct sock;
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *);
	void (*cong_avoid)(struct sock *, u32, u32);
	u32 (*undo_cwnd)(struct sock *);
	char name[16];
	u32 flags;
};
struct __sk_buff;
const volatile u64 param_left = 2000000;
const volatile unsigned char narrow = 7;
SEC("struct_ops") u32 two_ssthresh(u64 *ctx) { return param_left / 1000000 + narrow; }
SEC("struct_ops") int two_cong_avoid(u64 *ctx) { return 0; }
SEC("struct_ops") u32 two_undo_cwnd(u64 *ctx) { return UNDO; }
SEC("tcx/ingress") int pass(struct __sk_buff *packet) { return -1; }
SEC("tc") int filter(struct __sk_buff *packet) { return -1; }
SEC(".struct_ops.link") struct tcp_congestion_ops two = {
	.ssthresh = (void *)two_ssthresh,
	.cong_avoid = (void *)two_cong_avoid,
	.undo_cwnd = (void *)two_undo_cwnd,
	.name = "two",
	.flags = 1,
};
char _license[] SEC("license") = "GPL";
"#;

/// Compiles [`SOURCE`] with `undo` for its `UNDO`; returns `None` without clang.
fn object(name: &str, undo: &str) -> Option<Vec<u8>> {
    let folder = std::env::temp_dir().join(format!("narrows-loader-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, output) = (folder.join("two.bpf.c"), folder.join("two.bpf.o"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut command = Command::new("clang");
    command.args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-w", "-c"]).arg(format!("-DUNDO={undo}"));
    let built = command.arg(&source).arg("-o").arg(&output).output().ok();
    let bytes = built.map(|made| {
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        std::fs::read(&output).unwrap()
    });
    std::fs::remove_dir_all(&folder).unwrap();
    bytes
}

/// Why this machine cannot load anything.
fn lacking() -> Option<&'static str> {
    let root = nix::unistd::geteuid().is_root();
    match (root, Path::new("/sys/kernel/btf/vmlinux").exists()) {
        (false, _) => Some("loading eBPF takes root"),
        (_, false) => Some("the kernel has no type information (CONFIG_DEBUG_INFO_BTF)"),
        (true, true) => None,
    }
}

/// Returns an object that this machine can load; if there is none, the test ends there.
fn ready(name: &str, undo: &str) -> Option<Opened> {
    if let Some(reason) = lacking() {
        skip(reason);
        return None;
    }
    let Some(bytes) = object(name, undo) else {
        skip("clang is not installed");
        return None;
    };
    Some(Opened::new("two", &bytes).unwrap())
}

fn available() -> Vec<String> {
    let names = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    names.split_whitespace().map(str::to_owned).collect()
}

/// Whether a socket of this process may choose `name`.
fn chosen(name: &str) -> bool {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    setsockopt(&socket, TcpCongestion, &name.into()).is_ok()
}

#[test]
fn a_congestion_control_lives_as_long_as_its_value() {
    let Some(mut opened) = ready("lives", "10") else { return };
    let name = unique_name("two");
    opened.set_registered_name("two", &name).unwrap();
    let mut loaded = opened.load().unwrap();
    assert!(!available().contains(&name) && !chosen(&name));
    let link = loaded.attach_struct_ops("two").unwrap();
    assert!(available().contains(&name) && chosen(&name));
    drop(link);
    assert!(!available().contains(&name) && !chosen(&name));
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let Some(mut opened) = ready("taken", "10") else { return };
    opened.set_registered_name("two", "reno").unwrap();
    let error = opened.load().unwrap().attach_struct_ops("two").unwrap_err();
    let LiveError::Unavailable { why, .. } = &error else { panic!("{error:?}") };
    assert_eq!(why, "its name is registered already");
}

#[test]
fn a_name_that_is_too_long_is_refused() {
    let Some(mut opened) = ready("long", "10") else { return };
    let error = opened.set_registered_name("two", "a_name_of_16_byt").unwrap_err().to_string();
    assert!(error.contains("it has 16 bytes; allowed: 1 to 15"), "{error}");
}

#[test]
fn the_verifiers_words_reach_the_error() {
    // A read through a number, which the verifier rejects.
    let Some(opened) = ready("fault", "(*(volatile u32 *)(param_left))") else { return };
    let error = opened.load().unwrap_err();
    let LiveError::Unavailable { what, why, .. } = &error else { panic!("{error:?}") };
    assert_eq!(what, "the eBPF object \"two\"");
    assert!(why.contains("two_undo_cwnd") && why.contains("invalid mem access"), "{why}");
}

#[test]
fn constants_are_set_by_name_and_width() {
    let Some(mut opened) = ready("constants", "10") else { return };
    assert!(opened.has("param_left") && !opened.has("param_right"));
    opened.set_number("param_left", 3_000_000).unwrap();
    opened.set_number("narrow", 255).unwrap();
    let error = opened.set_number("narrow", 256).unwrap_err().to_string();
    assert!(error.contains("256 does not fit into its 1 bytes"), "{error}");
    let error = opened.set_number("param_right", 1).unwrap_err().to_string();
    assert!(error.contains("no such constant"), "{error}");
    let loaded = opened.load().unwrap();
    let section = loaded.map("two.rodata").unwrap();
    let value = libbpf_rs::MapCore::lookup(&section, &0u32.to_ne_bytes(), libbpf_rs::MapFlags::ANY).unwrap().unwrap();
    assert!(value.windows(8).any(|bytes| bytes == 3_000_000_u64.to_ne_bytes()), "{value:?}");
    assert!(value.contains(&255), "{value:?}");
}

/// Runs `step` in a network namespace of its own.
fn in_a_namespace<T: Send + 'static>(step: impl FnOnce() -> T + Send + 'static) -> T {
    let inside = || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
        step()
    };
    std::thread::spawn(inside).join().unwrap()
}

#[test]
fn a_packet_program_attaches_to_a_device_of_its_namespace() {
    let Some(opened) = ready("packets", "10") else { return };
    let loaded = opened.load().unwrap();
    in_a_namespace(move || {
        let first = loaded.attach_packets("pass", 1, Direction::Ingress, Hook::Newest).unwrap();
        loaded.attach_packets("pass", 1, Direction::Ingress, Hook::Newest).unwrap_err();
        drop(first);
        let _again = loaded.attach_packets("pass", 1, Direction::Ingress, Hook::Newest).unwrap();
        let error = loaded.attach_packets("pass", 4711, Direction::Ingress, Hook::Newest).unwrap_err();
        assert!(matches!(error, LiveError::Unavailable { .. }), "{error:?}");
    });
}

#[test]
fn a_program_that_tcx_does_not_take_becomes_a_filter() {
    let Some(opened) = ready("filter", "10") else { return };
    let loaded = opened.load().unwrap();
    in_a_namespace(move || {
        let _ingress = loaded.attach_packets("filter", 1, Direction::Ingress, Hook::Newest).unwrap();
        let _egress = loaded.attach_packets("filter", 1, Direction::Egress, Hook::Newest).unwrap();
        let shown = Command::new("tc").args(["filter", "show", "dev", "lo", "ingress"]).output();
        let Ok(shown) = shown else {
            skip("tc is not installed");
            return;
        };
        assert!(String::from_utf8_lossy(&shown.stdout).contains("bpf"), "{shown:?}");
    });
}

#[test]
fn what_is_no_object_is_refused() {
    let error = Opened::new("noise", b"not an object").unwrap_err().to_string();
    assert!(error.contains("cannot open the eBPF object \"noise\""), "{error}");
}
