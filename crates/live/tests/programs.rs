//! Every congestion control of ours on the real kernel: registered, chosen by a socket, and removed again.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use narrows_cc::Params;
use narrows_live::bpf::{parameters, programs, register, unique_name};
use narrows_live::controls;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt::TcpCongestion};
use std::path::Path;

mod skips;
use skips::skip;

/// Whether this machine can load programs; prints why not.
fn ready() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        skip("loading eBPF takes root");
    } else if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        skip("the kernel has no type information (CONFIG_DEBUG_INFO_BTF)");
        return false;
    }
    root
}

#[test]
fn every_program_serves_sockets_while_it_is_registered() {
    if !ready() {
        return;
    }
    for program in programs() {
        let name = unique_name(program.name);
        let registered = register(program.name, &name, &Params::default()).unwrap();
        assert_eq!(registered.name(), name);
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
        setsockopt(&socket, TcpCongestion, &name.as_str().into()).unwrap();
        // Without this flag no network namespace of ours could have it as its default.
        assert!(controls::allowed().contains(&name), "{name}: it is not for everybody");
        drop((socket, registered));
        assert!(!controls::available().contains(&name), "{name} is left over");
    }
}

#[test]
fn every_program_loads_in_every_profile() {
    if !ready() {
        return;
    }
    for (name, profile) in [("agile_sd", "paper"), ("agile_sd", "module"), ("compound", "draft"), ("compound", "linux")]
    {
        let row = narrows_cc::find(name).unwrap();
        let params = parameters(row, &[("profile".to_owned(), profile.to_owned())]).unwrap();
        register(name, &unique_name(name), &params).unwrap();
    }
}
