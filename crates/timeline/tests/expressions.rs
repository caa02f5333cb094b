//! What the language of conditions takes, and what it says about the rest.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{read, refused};
use narrows_timeline::{Cause, parse};

#[test]
fn conditions_of_test_cases_are_read() {
    for text in [
        "flow.cc.phase == 'ProbeBW_UP'",
        "flow.phase != 'Recovery'",
        "near(flow.cc.max_bw, bottleneck.rate, 5 %)",
        "flow.cwnd >= 4 packets and not flow.app_limited",
        "between(flow.pacing_rate / flow.cc.max_bw, 1.2, 1.3)",
        "flow.cwnd <= 0.7 * at('a', flow.cwnd) + 2 packets",
        "flows['s2'].cc.w_max > 10 packets",
        "rounds_since('a') <= 3 or since('a') < 2 * flow.srtt",
        "total('a', bottleneck.dropped) == 3",
        "highest('a', link['r1-r2'].queue) < 30 kB",
        "mean('b', bottleneck.reverse.queue_delay) < 5 ms",
        "was(flow.cc.phase) == 'Startup' and flow.cc.phase == 'Drain'",
        "happened('a') and time > 3 s",
        "flow.inflight <= 1.25 * path.bdp",
        "flow.delivered > 0 and flow.srtt - path.rtt >= 0",
        "min(flow.cwnd, flow.rwnd) > max(3 kB, 2 * flow.smss, 1 KiB)",
        "-flow.srtt < -1 ms",
        "flow.app_limited == true",
        "flow.cc.phase == was(flow.cc.phase)",
        "1 / flow.srtt > 3 / 1 s",
    ] {
        if let Err(errors) = read(text) {
            panic!("{text}: {errors:?}");
        }
    }
}

#[test]
fn operators_bind_as_in_mathematics() {
    for (text, same) in [
        ("1 + 2 * 3 < 4", "(1 + (2 * 3)) < 4"),
        ("8 / 4 / 2 == 1", "((8 / 4) / 2) == 1"),
        ("9 - 3 - 2 == 4", "((9 - 3) - 2) == 4"),
        ("not true or true", "(not true) or true"),
        ("true or false and false", "true or (false and false)"),
        ("not 1 < 2 and true", "(not (1 < 2)) and true"),
        ("- 1 * 2 < 3", "((-1) * 2) < 3"),
    ] {
        assert_eq!(parse(text).unwrap(), parse(same).unwrap(), "{text}");
    }
    assert_ne!(parse("8 / (4 / 2) == 1").unwrap(), parse("8 / 4 / 2 == 1").unwrap());
}

#[test]
fn what_is_no_expression_says_where_and_what_is_allowed() {
    for (text, start) in [
        ("", "column 1: is empty"),
        ("flow.cwnd >", "column 12: ends too early"),
        ("flow.cwnd = 3 kB", "column 11: `=` is no comparison, did you mean `==`?"),
        ("true && false", "column 6: `&&` is no operator, did you mean `and`?"),
        ("true || false", "column 6: `||` is no operator, did you mean `or`?"),
        ("1 < 2 < 3", "column 7: `<` is a second comparison; allowed: one comparison at a time"),
        ("flow.cwnd > 3 parsecs", "column 15: `parsecs` is not a unit; allowed: ns, us, ms"),
        ("flow.phase == \"open\"", "column 15: words stand in single quotes"),
        ("flow.cwnd > 3 kB)", "column 17: `)` is not expected here"),
    ] {
        let messages = refused(text);
        assert!(messages.len() == 1 && messages[0].starts_with(start), "{text}: {messages:?}");
    }
    assert!(refused(&"(".repeat(50))[0].contains("nested too deeply"));
    assert!(refused(&format!("true{}", " ".repeat(3000)))[0].contains("at most 2000 bytes"));
}

#[test]
fn names_that_stand_for_nothing_are_refused_with_those_that_exist() {
    for (text, start) in [
        ("flow.cwmd > 3 kB", "column 1: `cwmd` is no variable of `flow`; allowed: cwnd, ssthresh"),
        ("flow.cc.w_max > 3 kB", "column 1: `w_max` is no variable of bbr3; allowed: phase, max_bw"),
        ("flow.max_bw > 3 Mb/s", "column 1: `max_bw` is no variable of `flow`, did you mean `cc.max_bw`?"),
        ("flows['s3'].cwnd > 3 kB", "column 1: `s3` is not a flow; allowed: s1, s2, call"),
        ("flows['call'].cwnd > 3 kB", "column 1: `call` is not a TCP flow"),
        ("link['x'].rate > 3 kb/s", "column 1: `x` is not a link; allowed: s1-r1, r1-r2"),
        ("bottleneck.reverse.rat > 1 b/s", "column 1: `rat` is no variable of `bottleneck.reverse`; allowed: rate"),
        ("path.queue > 1 B", "column 1: `queue` is no variable of `path`; allowed: rtt, rate, bdp"),
        ("foo > 1", "column 1: `foo` is not a variable; allowed: time, flow"),
        ("frobnicate(1) > 1", "column 1: `frobnicate` is not a function; allowed: min, max"),
        ("since('c') > 1 s", "column 7: `c` is not the name of a step; allowed: a, b"),
        ("flow.phase == 'recover'", "column 15: `recover` is no value of `flow.phase`; allowed: 'open', 'disorder'"),
        ("min(1) > 1", "column 1: `min(1)` has 1 arguments; allowed: min(x, y, ..)"),
    ] {
        let messages = refused(text);
        assert!(messages.len() == 1 && messages[0].starts_with(start), "{text}: {messages:?}");
    }
}

#[test]
fn a_variable_of_another_control_is_a_kind_of_its_own() {
    let cause = |text| read(text).unwrap_err()[0].cause;
    assert_eq!(cause("flow.cc.w_max > 3 kB"), Cause::NotOfControl);
    assert_eq!(cause("flow.cwmd > 3 kB"), Cause::Unknown);
    assert_eq!(cause("flow.cwnd > 3 ms"), Cause::Type);
    assert_eq!(cause("flow.cwnd >"), Cause::Syntax);
}

#[test]
fn types_that_do_not_fit_are_refused() {
    for (text, start) in [
        ("flow.cwnd > 3 ms", "column 1: `flow.cwnd > 3 ms` compares an amount of data with a time"),
        ("flow.cwnd + flow.srtt > 3", "column 1: `flow.cwnd + flow.srtt` adds a time to an amount of data"),
        ("flow.cwnd - 3 > 3 kB", "column 1: `flow.cwnd - 3` subtracts a number from an amount of data"),
        ("flow.cwnd", "column 1: `flow.cwnd` is an amount of data, not a condition"),
        ("not flow.cwnd", "column 5: `flow.cwnd` is an amount of data, not a condition"),
        ("flow.phase > 'open'", "column 1: `flow.phase > 'open'` puts words in an order"),
        ("flow.cwnd == 'open'", "column 1: `flow.cwnd` is an amount of data, and cannot be compared with a word"),
        ("flow.phase + 1 > 2", "column 1: `flow.phase` is a word, not a number"),
        ("near(flow.cwnd, 3 ms, 2 %)", "column 17: `3 ms` is a time, not an amount of data"),
        ("near(flow.cwnd, 3 kB, 2 kB)", "column 23: `2 kB` is an amount of data, not a number"),
        ("flow.app_limited > true", "column 1: `flow.app_limited > true` compares a condition with a condition"),
        ("flow.cwnd / flow.srtt > 3 kB", "column 1: `flow.cwnd / flow.srtt > 3 kB` compares a rate with an amount"),
        ("'open'", "column 1: `'open'` is a word without a variable"),
        ("since(flow.cwnd) > 1 s", "column 7: `flow.cwnd` is not the name of a step"),
        ("highest('a', flow.phase) == 1", "column 14: `flow.phase` is a word, not a number"),
        ("flow.phase == flow.cc.phase", "column 1: `flow.phase == flow.cc.phase` compares a word with a word"),
    ] {
        let messages = refused(text);
        assert!(messages.len() == 1 && messages[0].starts_with(start), "{text}: {messages:?}");
    }
}

#[test]
fn all_faults_of_an_expression_are_told_at_once() {
    let messages = refused("flow.cwmd > 3 kB and flow.srt > 1 ms and flow.cwnd > 1 s");
    assert_eq!(messages.len(), 3, "{messages:?}");
}

#[test]
fn words_are_found_without_regard_to_case() {
    assert!(read("flow.phase == 'CWR'").is_ok());
    assert!(read("flow.cc.phase == 'probebw_up'").is_ok());
}

#[test]
fn printed_expressions_have_no_parentheses_that_they_do_not_need() {
    for text in
        ["1 + 2 * 3 < 4 or not (true and false)", "8 / (4 / 2) - (1 - 2) > -(3 + 4)", "min(1, 2 + 3) == 4 packets"]
    {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
    assert_eq!(parse("((flow.cwnd)) > (((3 kB)))").unwrap().to_string(), "flow.cwnd > 3 kB");
}
