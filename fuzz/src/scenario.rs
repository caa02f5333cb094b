//! Invariants for any text given to the scenario parser. Panics if one is violated.

use narrows_scenario::{Catalogue, CatalogueKind, CatalogueMcs, CatalogueParam, CataloguePhy, CatalogueRow, parse};
use narrows_units::{Bytes, Duration, Rate};

/// A small catalogue with each kind of parameter, and the schemes of the engine.
fn catalogue() -> Catalogue {
    let row =
        |name: &str, params| CatalogueRow { name: name.into(), title: name.into(), params, ..CatalogueRow::default() };
    let param = |name: &str, kind| CatalogueParam { name: name.into(), doc: name.into(), kind };
    let cubic = vec![
        param("beta", CatalogueKind::Number { unit: String::new(), default: 0.7, min: 0.1, max: 0.9 }),
        param(
            "profile",
            CatalogueKind::Choice { default: "rfc9438".into(), allowed: vec!["rfc9438".into(), "linux".into()] },
        ),
        param("fast_convergence", CatalogueKind::Switch { default: true }),
    ];
    let queues = narrows_queue::registry::registry().iter().map(|row| &row.about).collect();
    Catalogue {
        queues,
        cc: vec![row("reno", Vec::new()), row("cubic", cubic)],
        schemes: narrows_scheme::registry().iter().map(|row| row.about).collect(),
        phys: phys(),
        ..Catalogue::default()
    }
}

/// One PHY with rates, and one with indices of modulation and coding.
fn phys() -> Vec<CataloguePhy> {
    let dsss = CataloguePhy {
        name: "802.11b".into(),
        rates: vec![Rate::mbps(1), Rate::mbps(2), Rate::kbps(5500), Rate::mbps(11)],
        basic_rates: vec![Rate::mbps(1), Rate::mbps(2)],
        basic_rate: Rate::mbps(1),
        short_preamble: true,
        slot: Duration::from_micros(20),
        sifs: Duration::from_micros(10),
        cw_min: 31,
        cw_max: 1023,
        ..CataloguePhy::default()
    };
    let mcs = |mcs, rate| CatalogueMcs { mcs, width_mhz: 20, streams: 1, short_guard: false, rate: Rate::kbps(rate) };
    let ofdm = CataloguePhy {
        name: "802.11n".into(),
        rates: Vec::new(),
        basic_rates: vec![Rate::mbps(6), Rate::mbps(24)],
        basic_rate: Rate::mbps(24),
        max_mcs: Some(7),
        mcs: vec![mcs(0, 6_500), mcs(7, 65_000)],
        widths_mhz: vec![20],
        max_streams: 1,
        short_preamble: false,
        slot: Duration::from_micros(9),
        sifs: Duration::from_micros(16),
        cw_min: 15,
        max_ampdu: Some(Bytes::new(65_535)),
        ..dsss.clone()
    };
    vec![dsss, ofdm]
}

/// Overrides are taken from comments of the form `#set path=value`, so that one input holds both.
fn overrides(text: &str) -> Vec<(String, String)> {
    let pairs = text.lines().filter_map(|line| line.strip_prefix("#set ")?.split_once('='));
    pairs.map(|(path, value)| (path.to_owned(), value.to_owned())).collect()
}

/// The parser's messages about the text with its overrides; empty if it accepts the text.
pub fn problems(bytes: &[u8]) -> Vec<String> {
    let Ok(text) = core::str::from_utf8(bytes) else { return vec!["not UTF-8".to_owned()] };
    match parse(text, "input.toml", &overrides(text), &catalogue()) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// A parsed scenario is written with every default shown and read again as the same; each problem has a reason and a
/// path, and no line outside the text.
pub fn scenario(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    // A million copies are allowed, but too slow for a fuzzer.
    let digits = |word: &str| word.bytes().filter(u8::is_ascii_hexdigit).count();
    let counts = ["copies", "pairs", "hops", "routers", "leaves", "per"];
    if text
        .lines()
        .any(|line| counts.iter().any(|count| line.contains(count)) && line.split(' ').any(|w| digits(w) > 7))
    {
        return;
    }
    let catalogue = catalogue();
    match parse(text, "input.toml", &overrides(text), &catalogue) {
        Ok(scenario) => {
            let written = scenario.to_toml();
            let again = parse(&written, "again.toml", &[], &catalogue);
            assert_eq!(again.as_ref(), Ok(&scenario), "{written}");
            assert_eq!(again.map(|s| s.to_toml()), Ok(written));
            let _ = scenario.to_json();
        }
        Err(problems) => {
            assert!(!problems.0.is_empty());
            for problem in &problems {
                assert!(!problem.reason.is_empty() && !problem.path.is_empty(), "{problem:?}");
                let lines = text.lines().count().max(1);
                assert!(problem.line.is_none_or(|line| (1..=lines + 1).contains(&line)), "{problem:?} of {lines}");
            }
        }
    }
}
