//! What `stack` resolves to, and which settings override it.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{SMALL, catalogue, good};
use narrows_scenario::{Choices, EcnEcho, ParamValue, RecoveryKind, Reduction, Stack, Tcp, Word, defaults};

/// Returns the settings of the only flow, with these lines in `[tcp]` and in the flow.
fn tcp(all: &str, flow: &str) -> Tcp {
    good(&format!("[tcp]\n{all}\n{SMALL}{flow}\n")).flows[0].tcp().unwrap().as_ref().clone()
}

/// Returns the `[tcp]` section that `to_toml` writes for them.
fn shown(all: &str, flow: &str) -> String {
    let text = good(&format!("[tcp]\n{all}\n{SMALL}{flow}\n")).to_toml();
    let section = text.split("[tcp]\n").nth(1).unwrap_or_default();
    section.split("\n\n").next().unwrap_or_default().to_owned()
}

/// A golden list: run with `UPDATE_GOLDEN=1` to rewrite it, and read what changed.
#[test]
fn each_stack_resolves_to_what_is_pinned() {
    let mut text =
        String::from("# Settings by stack and congestion control: written and checked by tests/stacks.rs.\n");
    for stack in ["rfc", "linux", "ns2"] {
        for (cc, rest) in [
            ("cubic", ""),
            ("reno", ""),
            ("vegas", ""),
            ("htcp", ""),
            ("westwood", ""),
            ("tahoe", ""),
            ("fack", ""),
            ("dctcp", "ecn = true\n"),
            ("cubic", "sack = false\n"),
        ] {
            let said = format!("stack = \"{stack}\"\ncc = \"{cc}\"\n{rest}");
            text.push_str(&format!("\n## {}\n{}\n", said.trim().replace('\n', ", "), shown(&said, "")));
        }
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stacks.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    for (found, expected) in text.lines().zip(golden.lines()) {
        assert_eq!(found, expected, "UPDATE_GOLDEN=1 writes tests/stacks.txt anew");
    }
    assert_eq!(text, golden);
}

#[test]
fn no_stack_is_the_rfcs() {
    for cc in ["cubic", "reno", "vegas", "htcp", "westwood", "tahoe", "fack"] {
        let cc = format!("cc = \"{cc}\"");
        assert_eq!(tcp(&cc, ""), tcp(&format!("{cc}\nstack = \"rfc\""), ""));
    }
}

/// Settings that a stack may determine, as `to_toml` shows them. Each has a value that is not every stack's default.
const SETTINGS: &[&str] = &[
    "mss = \"536 B\"",
    "initial_window = 3",
    "initial_window = \"rfc5681\"",
    "initial_ssthresh = \"64 kB\"",
    "sack = true",
    "dupthresh = 3",
    "dupthresh = 4",
    "delayed_ack = false",
    "delayed_ack = { every = 3, timeout = \"70 ms\" }",
    "quick_ack = false",
    "quick_ack = true",
    "recv_buffer = \"1 MiB\"",
    "autotuning = false",
    "autotuning = true",
    "kernel = \"linux-6.1\"",
    "kernel = \"linux-6.12\"",
    "kernel = \"linux-6.18\"",
    "kernel = \"linux-7.2\"",
    "recovery = \"rto_only\"",
    "recovery = \"tahoe\"",
    "recovery = \"reno\"",
    "recovery = \"newreno\"",
    "recovery = \"sack\"",
    "recovery = \"fack\"",
    "recovery = \"rack\"",
    "recovery = \"rack\"\nfrto = true\nrecovery_style = \"linux\"",
    "reduction = \"immediate\"",
    "reduction = \"prr\"\nrecovery = \"sack\"",
    "reduction = \"prr_linux\"\nrecovery = \"fack\"",
    "limited_transmit = false",
    "limited_transmit = true",
    "lost_retransmission = false",
    "lost_retransmission = true",
    "undo = false",
    "undo = true",
    "full_ack_cap = false",
    "full_ack_cap = true",
    "impatient = false",
    "impatient = true",
    "tso = false",
    "tso = true",
    "gso = false",
    "gso = true",
    "max_retries = 7",
    "max_retries = \"unlimited\"",
    "timestamps = false",
    "timestamps = true",
    "timestamp_offsets = false",
    "timestamp_offsets = true",
    "ecn = \"accurate\"",
    "ecn = \"accurate\"\nect1 = true",
    "ecn_echo = \"until_cwr\"",
    "ecn_echo = \"each_mark\"\necn = \"classic\"",
    "idle_restart = \"off\"",
    "idle_restart = \"rfc5681\"",
    "idle_restart = \"linux\"",
    "cwnd_validation = false",
    "cwnd_validation = true",
    "rate_limited = \"max_flight\"",
    "rate_limited = \"rfc7661\"",
    "rate_limited = \"unlimited\"",
    "slow_start = \"hystart++\"",
    "slow_start = \"search\"",
    "max_ssthresh = 50",
    "slow_start_at_equality = false",
    "slow_start_at_equality = true",
    "pacing = false",
    "pacing = { slow_start = 150, avoidance = 110 }",
    "rto = { style = \"rfc6298\", initial = \"2 s\", min = \"150 ms\", max = \"90 s\", granularity = \"3 ms\" }",
    "rto = { style = \"linux\", initial = \"2 s\", min = \"150 ms\", max = \"90 s\", granularity = \"3 ms\" }",
    "rto = { style = \"ns2\", initial = \"2 s\", min = \"150 ms\", max = \"90 s\", granularity = \"3 ms\" }",
];

#[test]
fn what_a_file_says_itself_always_wins() {
    for setting in SETTINGS {
        for stack in ["rfc", "linux", "ns2"] {
            for cc in ["cubic", "htcp", "vegas", "tahoe"] {
                let who = format!("stack = \"{stack}\"\ncc = \"{cc}\"");
                let own = setting.replace('\n', ", ");
                for (all, flow) in [
                    (format!("{who}\n{setting}"), String::new()),
                    (setting.to_string(), who.clone()),
                    (who.clone(), format!("tcp = {{ {own} }}")),
                    (String::new(), format!("{who}\ntcp = {{ {own} }}")),
                ] {
                    let lines = shown(&all, &flow);
                    for line in setting.lines() {
                        assert!(lines.lines().any(|shown| shown == line), "{line} in\n{all}\n{flow}\ngives\n{lines}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_profile_that_a_file_gives_wins_over_the_stack_s() {
    let profile = |all: &str, flow: &str| tcp(all, flow).cc_params[0].1.clone();
    let word = |word: &str| ParamValue::Choice(word.to_owned());
    let given = "cc_params = { profile = \"paper\" }";
    assert_eq!(profile("stack = \"linux\"\ncc = \"htcp\"", ""), word("linux"));
    assert_eq!(profile(&format!("stack = \"linux\"\ncc = \"htcp\"\n{given}"), ""), word("paper"));
    assert_eq!(profile(&format!("cc = \"htcp\"\n{given}"), "stack = \"linux\""), word("paper"), "explicit in [tcp]");
    assert_eq!(profile("", &format!("cc = \"htcp\"\nstack = \"ns2\"\ntcp = {{ {given} }}")), word("paper"));
    assert_eq!(
        profile("cc = \"htcp\"\nstack = \"linux\"", "stack = \"rfc\""),
        word("paper"),
        "what the stack of [tcp] chose is not explicit"
    );
}

#[test]
fn a_flow_s_stack_is_stronger_than_that_of_all() {
    let mut mixed = tcp("stack = \"linux\"\nmax_retries = 3", "stack = \"ns2\"\ncc = \"vegas\"");
    assert_eq!(mixed.stack, Stack::Ns2);
    assert_eq!(mixed.max_retries, Some(3), "[tcp] says so itself");
    let pure = tcp("", "stack = \"ns2\"\ncc = \"vegas\"");
    mixed.config.max_retries = None;
    assert_eq!(mixed, pure, "nothing of Linux is left");
    assert_eq!(tcp("stack = \"ns2\"", "tcp = { stack = \"rfc\" }"), tcp("", ""));
}

#[test]
fn ns2_has_the_habits_of_the_agent_that_has_the_congestion_control() {
    let of = |cc: &str| tcp("stack = \"ns2\"", &format!("cc = \"{cc}\""));
    assert!(!of("reno").slow_start_at_equality && of("htcp").slow_start_at_equality);
    assert_eq!(of("reno").recovery, RecoveryKind::Reno);
    assert_eq!(of("htcp").recovery, RecoveryKind::Sack);
    assert_eq!((of("tahoe").recovery, of("fack").recovery), (RecoveryKind::Tahoe, RecoveryKind::Fack));
    assert_eq!((of("reno").sack, of("tahoe").sack), (false, false), "their sink sends none");
    assert!(of("fack").sack && of("htcp").sack);
    assert!(tcp("stack = \"ns2\"\ncc = \"reno\"\nrecovery = \"sack\"", "").sack, "Agent/TCP/Sack1");
    assert_eq!(of("westwood").cc_params[0].1, ParamValue::Choice("ns2".into()));
    assert_eq!(of("htcp").cc_params[0].1, ParamValue::Choice("linux".into()), "its module is Linux's");
    assert_eq!(of("vegas").cc_params[0].1, ParamValue::Choice("paper".into()), "its agent is not Linux's");
    assert_eq!(of("htcp").recv_buffer, tcp("", "").recv_buffer, "window_ = 20 is not imitated");
}

#[test]
fn without_sack_a_stack_gives_up_what_needs_it() {
    for stack in ["rfc", "linux", "ns2"] {
        let tcp = tcp(&format!("stack = \"{stack}\"\nsack = false"), "");
        assert_eq!((tcp.recovery, tcp.reduction), (RecoveryKind::NewReno, Reduction::Immediate), "{stack}");
    }
    let own = tcp("stack = \"linux\"", "tcp = { recovery = \"newreno\" }");
    assert_eq!(own.reduction, Reduction::Immediate, "PRR counts what SACK delivers");
    let marked = tcp("stack = \"linux\"", "tcp = { recovery = \"newreno\", ecn = true }");
    assert_eq!(marked.reduction, Reduction::PrrLinux, "an echo is spread all the same");
}

#[test]
fn a_timer_of_another_style_brings_its_own_times() {
    let times = |all: &str, flow: &str| {
        let tcp = tcp(all, flow);
        [tcp.rto.initial, tcp.rto.min, tcp.rto.max, tcp.rto.granularity].map(narrows_units::Duration::as_millis)
    };
    assert_eq!(times("stack = \"ns2\"\ncc = \"htcp\"", ""), [3000, 200, 120_000, 10]);
    assert_eq!(times("stack = \"ns2\"\ncc = \"htcp\"\nrto = { style = \"linux\" }", ""), [3000, 200, 120_000, 10]);
    assert_eq!(times("stack = \"ns2\"\nrto = { style = \"rfc6298\" }", ""), [1000, 1000, 60_000, 1]);
    assert_eq!(times("rto = { min = \"500 ms\" }", "stack = \"linux\""), [1000, 500, 120_000, 1]);
}

#[test]
fn marks_are_echoed_one_by_one_where_congestion_control_needs_it() {
    assert_eq!(tcp("ecn = true", "cc = \"dctcp\"").ecn_echo, EcnEcho::EachMark);
    assert_eq!(tcp("ecn = true\ncc = \"dctcp\"", "cc = \"reno\"").ecn_echo, EcnEcho::UntilCwr);
    assert_eq!(tcp("ecn = true\necn_echo = \"until_cwr\"", "cc = \"dctcp\"").ecn_echo, EcnEcho::UntilCwr);
}

#[test]
fn a_congestion_control_for_l4s_implies_accurate_ecn_and_ect1() {
    let ecn = |all, flow| {
        let tcp = tcp(all, flow);
        (tcp.ecn, tcp.accurate_ecn, tcp.ect1)
    };
    assert_eq!(ecn("", "cc = \"prague\""), (true, true, true));
    assert_eq!(ecn("ecn = \"accurate\"", "cc = \"prague\""), (true, true, true));
    assert_eq!(ecn("cc = \"prague\"", "cc = \"reno\""), (false, false, false));
    assert_eq!(ecn("cc = \"prague\"\necn = \"accurate\"", "tcp = { cc = \"reno\", ecn = true }"), (true, false, false));
    assert_eq!(ecn("ecn = \"accurate\"", "tcp = { cc = \"dctcp\", ect1 = true }"), (true, true, true));
}

#[test]
fn a_buffer_that_a_file_sets_is_not_tuned() {
    let linux = "stack = \"linux\"";
    let buffer = "recv_buffer = \"100 kB\"";
    assert!(tcp(linux, "").autotuning);
    assert!(!tcp(&format!("{linux}\n{buffer}"), "").autotuning);
    assert!(!tcp(linux, &format!("tcp = {{ {buffer} }}")).autotuning);
    assert!(tcp(&format!("{linux}\n{buffer}\nautotuning = true"), "").autotuning);
}

#[test]
fn defaults_without_a_file_are_those_of_a_file_with_the_same_choices() {
    for stack in [Stack::Rfc, Stack::Linux, Stack::Ns2] {
        for (cc, ecn, sack, recovery) in [
            ("cubic", false, true, None),
            ("vegas", false, false, None),
            ("dctcp", true, true, None),
            ("reno", true, false, Some(RecoveryKind::Tahoe)),
            ("htcp", false, true, Some(RecoveryKind::Fack)),
        ] {
            let mut lines = format!("stack = \"{}\"\ncc = \"{cc}\"\necn = {ecn}\nsack = {sack}\n", stack.word());
            if let Some(recovery) = recovery {
                lines.push_str(&format!("recovery = \"{}\"\n", recovery.word()));
            }
            let choices = Choices { stack, cc, ecn, accurate_ecn: false, sack, recovery };
            assert_eq!(defaults(&choices, &catalogue()), Ok(tcp(&lines, "")), "{lines}");
        }
    }
}

#[test]
fn defaults_of_choices_that_contradict_each_other_are_refused() {
    let choices =
        Choices { stack: Stack::Rfc, cc: "dctcp", ecn: false, accurate_ecn: false, sack: true, recovery: None };
    let said = defaults(&choices, &catalogue()).unwrap_err().to_string();
    assert!(said.contains("needs ecn = true"), "{said}");
    let said = defaults(&Choices { cc: "nothing", ..choices }, &catalogue()).unwrap_err().to_string();
    assert!(said.contains("is not a congestion control"), "{said}");
}
