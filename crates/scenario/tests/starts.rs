//! How a flow's window begins: `slow_start`, `careful_resume`, and which congestion controls take them.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{SMALL, catalogue};
use narrows_scenario::{
    Catalogue, CatalogueKind, CatalogueParam, CatalogueRow, ParamValue, Problems, Scenario, SlowStart, Tcp, parse,
};

/// The tests' catalogue, with CUBIC's own slow starts and a BBR that has none to replace.
fn known() -> Catalogue {
    let mut known = catalogue();
    let words = ["profile", "standard", "hystart", "hystart++"].map(str::to_owned).to_vec();
    let kind = CatalogueKind::Choice { default: "profile".to_owned(), allowed: words };
    let of = |known: &mut Catalogue, name: &str, change: &dyn Fn(&mut CatalogueRow)| {
        change(known.cc.iter_mut().find(|row| row.name == name).unwrap());
    };
    of(&mut known, "cubic", &|row| {
        row.params.push(CatalogueParam { name: "slow_start".into(), doc: "Its start.".into(), kind: kind.clone() });
    });
    of(&mut known, "bbr", &|row| row.own_start = Some("has its Startup in place of slow start".to_owned()));
    known
}

fn read(all: &str, flow: &str) -> Result<Scenario, Problems> {
    parse(&format!("[tcp]\n{all}\n{SMALL}{flow}\n"), "test.toml", &[], &known())
}

fn tcp(all: &str) -> Tcp {
    read(all, "").unwrap().flows[0].tcp().unwrap().as_ref().clone()
}

/// CUBIC's own parameter.
fn param(tcp: &Tcp) -> Option<&str> {
    tcp.cc_params.iter().find_map(|(name, value)| match value {
        ParamValue::Choice(word) if name == "slow_start" => Some(word.as_str()),
        _ => None,
    })
}

#[test]
fn what_cubic_has_itself_becomes_its_parameter() {
    let of = |line: &str| {
        let tcp = tcp(line);
        (tcp.slow_start, param(&tcp).unwrap().to_owned())
    };
    assert_eq!(of(""), (SlowStart::Own, "profile".to_owned()));
    for word in ["standard", "hystart", "hystart++"] {
        assert_eq!(of(&format!("slow_start = \"{word}\"")), (SlowStart::Standard, word.to_owned()));
    }
    assert_eq!(of("slow_start = \"search\""), (SlowStart::Search, "standard".to_owned()));
    assert_eq!(of("slow_start = \"limited\""), (SlowStart::Limited, "standard".to_owned()));
}

#[test]
fn every_slow_start_reads_back_as_it_was_written() {
    for cc in ["cubic", "reno", "htcp"] {
        for word in ["own", "standard", "hystart", "hystart++", "search", "limited"] {
            let resume = "careful_resume = { saved_cwnd = \"1 MB\", saved_rtt = \"40 ms\" }";
            let scenario = read(&format!("cc = \"{cc}\"\nslow_start = \"{word}\"\n{resume}"), "").unwrap();
            let text = scenario.to_toml();
            assert!(text.contains(&format!("\nslow_start = \"{word}\"")), "{cc}: {text}");
            assert_eq!(parse(&text, "test.toml", &[], &known()), Ok(scenario), "{cc} {word}");
        }
    }
}

#[test]
fn a_congestion_control_with_its_own_start_refuses_another() {
    let of = |all: &str, flow: &str| read(all, flow).unwrap_err().to_string();
    assert_eq!(
        of("cc = \"bbr\"\nslow_start = \"hystart++\"", ""),
        "test.toml:3: tcp.slow_start: \"hystart++\" is not available: bbr has its Startup in place of slow start; \
         allowed: \"own\", or another congestion control"
    );
    let said = of("slow_start = \"search\"", "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\ncc = \"bbr\"");
    assert!(said.contains("\"bbr\" does not fit: slow_start is not available: bbr has its Startup"), "{said}");
    let resume = "careful_resume = { saved_cwnd = \"1 MB\", saved_rtt = \"40 ms\" }";
    let said = of(&format!("cc = \"bbr\"\n{resume}"), "");
    assert!(said.contains("tcp.careful_resume") && said.contains("allowed: false, or another"), "{said}");
    assert!(read("cc = \"bbr\"\nslow_start = \"own\"", "").is_ok());
}

#[test]
fn contradictions_and_missing_keys_are_named() {
    let of = |all: &str| read(all, "").unwrap_err().to_string();
    let said = of("slow_start = \"hystart++\"\ncc_params = { slow_start = \"hystart\" }");
    assert!(said.contains("contradicts cc_params.slow_start = \"hystart\"; allowed: one of the two"), "{said}");
    let said = of("careful_resume = { saved_cwnd = \"1 MB\" }");
    assert!(said.contains("saved_rtt"), "{said}");
    let said = of("slow_start = \"hystart+\"");
    assert!(said.contains("hystart++"), "a word that is near it: {said}");
    let said = of("rate_limited = \"linux\"");
    assert!(said.contains("allowed: \"cwnd_limited\", \"max_flight\""), "{said}");
}

#[test]
fn a_scheme_at_the_sender_keeps_the_window() {
    let file = format!("[tcp]\ncc = \"reno\"\nslow_start = \"limited\"\n{SMALL}\n[acns]\n");
    let said = parse(&file, "test.toml", &[], &known()).unwrap_err().to_string();
    assert!(said.contains("is not available: the sender's part of acns sets the window"), "{said}");
}
