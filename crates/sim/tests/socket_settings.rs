//! A socket's connection has the settings of a scenario's `stack = "linux"`.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use common::*;
use narrows_tcp::Config;

#[test]
fn sockets_and_scenarios_agree_on_linux() {
    let text = path("rate = \"10 Mb/s\"\ndelay = \"10 ms\"", &format!("{BULK}\n[tcp]\nstack = \"linux\""));
    let flows = scenario(&text).flows;
    let of_scenario = flows[0].tcp().expect("a flow over TCP").config;
    let of_socket = narrows_socket::linux();
    // What a program sets by itself, what scenario files have no key for, and what sockets take of a newer Linux.
    let same = Config {
        nagle: of_scenario.nagle,
        time_wait: of_scenario.time_wait,
        kernel: of_scenario.kernel,
        gso: of_scenario.gso,
        recovery: of_scenario.recovery,
        recovery_style: of_scenario.recovery_style,
        frto: of_scenario.frto,
        ..of_socket
    };
    assert_eq!(same, of_scenario);
    assert!(of_socket.nagle, "the default of a socket");
}
