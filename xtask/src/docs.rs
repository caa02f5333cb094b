//! The page of everything that the registries offer: generated from them and checked against them.

use narrows_scenario::{Catalogue, CatalogueKind, CatalogueParam, CataloguePhy, CatalogueRow};
use narrows_units::{Bytes, Rate};
use std::fmt::Write as _;
use std::path::Path;

/// The page that describes every algorithm.
const PAGE: &str = "docs/algorithms.md";

const HEAD: &str = "\
# Algorithms

Everything that a scenario may name: congestion controls, queues, schemes and 802.11 PHYs, with their sources and parameters. `narrows list cc`,
`narrows list queues`, `narrows list schemes` and `narrows list phys` show the same. Each algorithm's file opens with its idea, its state, where RFC, Linux,
ns-2 and ns-3 disagree, and its limits.

`cargo xtask docs` writes this page from the registries.
";

/// Congestion controls that are not here, with the reasons; after the list of those that are.
const LEFT_OUT: &str = "
### Left out

The controls above are those that hosts run, those that documents of the IETF describe, and those that a reviewer asks a new control to be compared with. The following were considered.
Any of them can be written as a file of your own ([own-algorithm.md](own-algorithm.md)) and then takes part in contests and sweeps as these do.

| control | why it is not here |
|---|---|
| Sprout (NSDI 2013) | Its receiver forecasts the link in ticks of 20 ms and sends the forecast back in headers of its own. That is a protocol, and not the sender of a TCP. |
| Verus (SIGCOMM 2015) | It sends by a profile of delay over window that it learns on a path, over UDP. Its constants are for cellular links of 2015, and later work compares with C2TCP in its place. |
| RemyCC (SIGCOMM 2013) | A table computed off line. The tables that its authors publish are binary, without the runs that made them, and the one that comes with Copa's code is under GPL-2.0, which the engine cannot \
take over. A table of ours would be another control under the same name, and outside of the range that it was computed for no table means anything. |
| Indigo (ATC 2018), Aurora (ICML 2019), Orca (SIGCOMM 2020) | Neural networks. Their results are those of published weights, whose licences and arithmetic (a library of tensors in single precision) do not fit an engine with the same digests everywhere. |
| PCC Allegro (NSDI 2015) | Its authors replaced it by Vivace. |
| BBR version 2 | Version 3 replaced it, in Linux's branch and in the draft. |
| Nimbus (SIGCOMM 2022) | It detects whether other traffic is elastic by the spectrum of its own pulses, and switches between two other controls. It is a detector with free choices more than one control, and has no published vectors. |
| Copa+ (2022) | It changes how Copa detects competitors and RTTmin. `copa` has the mode as a switch (`competitive`); there is no reference code to hold a copy to. |
| FAST TCP (2004) | Patented and closed; `vegas` and `copa` answer the same questions. |
| TIMELY (SIGCOMM 2015), DCQCN (SIGCOMM 2015) | They set the rate of RDMA messages. `swift` follows TIMELY at Google, for windows; its page says more. |
| HPCC (SIGCOMM 2019), PowerTCP (NSDI 2022), ABC (NSDI 2020), XCP, RCP | Routers write or mark what the sender follows. Here that is a scheme with a router's part, as ACNS and NGWA are, and not a congestion control. |
| SCReAM (RFC 8298), NADA (RFC 8698), Google's GCC | Rates of media over RTP, without a reliable stream. |
";

/// Writes the page.
pub fn write(root: &Path, catalogue: &Catalogue) -> Result<(), String> {
    std::fs::write(root.join(PAGE), page(catalogue)).map_err(|e| format!("{PAGE}: {e}"))
}

/// Reports a problem if the page differs from the registries.
pub fn problems(root: &Path, catalogue: &Catalogue) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root.join(PAGE)).map_err(|e| format!("{PAGE}: {e}"))?;
    Ok(difference(&text, &page(catalogue)).into_iter().collect())
}

fn difference(text: &str, wanted: &str) -> Option<String> {
    let first = text.lines().zip(wanted.lines()).position(|(a, b)| a != b);
    let line = match first {
        Some(index) => index + 1,
        None if text == wanted => return None,
        None => text.lines().count().min(wanted.lines().count()) + 1,
    };
    Some(format!("{PAGE}:{line}: differs from the registries; `cargo xtask docs` writes it again"))
}

fn page(catalogue: &Catalogue) -> String {
    let mut text = HEAD.to_owned();
    section(
        &mut text,
        "Congestion controls",
        "`cc = \"name\"` and `cc_params = { .. }` of `[tcp]` or of a flow.",
        &catalogue.cc,
    );
    text.push_str(LEFT_OUT);
    section(
        &mut text,
        "Queues",
        "`queue = { kind = \"name\", .. }` of a link, or `[queue]` for all.",
        &catalogue.queue_rows(),
    );
    section(&mut text, "Schemes", "A table of this name, such as `[acns]`.", &catalogue.scheme_rows());
    phys(&mut text, &catalogue.phys);
    text
}

fn phys(text: &mut String, rows: &[CataloguePhy]) {
    let _ = writeln!(
        text,
        "\n## 802.11 PHYs\n\nIn a scenario: `phy = \"name\"` of `[wifi]`. [wifi.md](wifi.md) says what a channel does."
    );
    for row in rows {
        let _ = writeln!(text, "\n### `{}`: {}\n\nSources: {}.\n", row.name, row.title, row.sources.join("; "));
        text.push_str("| key | default | allowed |\n|---|---|---|\n");
        for (key, default, allowed) in phy_keys(row) {
            let _ = writeln!(text, "| `{key}` | {default} | {allowed} |");
        }
    }
}

/// Returns the keys of a channel's table that depend on the PHY: key, default, allowed values.
fn phy_keys(row: &CataloguePhy) -> Vec<(&'static str, String, String)> {
    let rates = |rates: &[Rate]| list(rates.iter().map(Rate::to_string));
    let mut keys = Vec::new();
    if let Some(max) = row.max_mcs {
        let left_out = row.left_out();
        let not = left_out.iter().map(|(mcs, width, streams)| format!("{mcs} at {width} MHz with {streams}"));
        let but = if left_out.is_empty() { String::new() } else { format!(", but not {} streams", list(not)) };
        keys.push(("mcs", "7".to_owned(), format!("0 to {max}{but}")));
        let widths = list(row.widths_mhz.iter().map(|width| format!("{width} MHz")));
        keys.push(("channel_width", "20 MHz".to_owned(), widths));
        keys.push(("streams", "1".to_owned(), format!("1 to {}", row.max_streams)));
        keys.push(("guard_interval", "800 ns".to_owned(), "400 ns, 800 ns".to_owned()));
    } else {
        let greatest = row.rates.last().map_or(String::new(), Rate::to_string);
        keys.push(("rate", greatest, rates(&row.rates)));
    }
    keys.push(("basic_rate", row.basic_rate.to_string(), rates(&row.basic_rates)));
    if row.short_preamble {
        keys.push(("preamble", "`long`".to_owned(), "`long`, `short`".to_owned()));
    }
    if let Some(max) = row.max_ampdu {
        keys.push(("aggregation.max_bytes", max.min(Bytes::new(65_535)).to_string(), format!("up to {max}")));
    }
    for (key, default) in [("slot", row.slot.to_string()), ("sifs", row.sifs.to_string())] {
        keys.push((key, default, "1 us to 1 ms".to_owned()));
    }
    for (key, default) in [("cw_min", row.cw_min), ("cw_max", row.cw_max)] {
        keys.push((key, default.to_string(), "a power of two less one".to_owned()));
    }
    keys
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn section(text: &mut String, title: &str, use_it: &str, rows: &[CatalogueRow]) {
    let _ = writeln!(text, "\n## {title}\n\nIn a scenario: {use_it}");
    for row in rows {
        let _ = writeln!(text, "\n### `{}`: {}\n\nSources: {}.", row.name, row.title, row.sources.join("; "));
        if row.params.is_empty() {
            continue;
        }
        text.push_str("\n| parameter | default | allowed | what it does |\n|---|---|---|---|\n");
        for param in &row.params {
            let (default, allowed) = values(param);
            let _ = writeln!(text, "| `{}` | {default} | {allowed} | {} |", param.name, param.doc.replace('|', "\\|"));
        }
    }
}

fn values(param: &CatalogueParam) -> (String, String) {
    match &param.kind {
        CatalogueKind::Number { unit, default, min, max } => {
            let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
            (format!("{default}{unit}"), format!("{min} to {max}"))
        }
        CatalogueKind::Choice { default, allowed } => {
            let words: Vec<_> = allowed.iter().map(|word| format!("`{word}`")).collect();
            (format!("`{default}`"), words.join(", "))
        }
        CatalogueKind::Switch { default } => (format!("`{default}`"), "`true`, `false`".to_owned()),
        CatalogueKind::Limit => ("-".to_owned(), "packets, bytes or time".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(names: &[&str]) -> Catalogue {
        let row = |name: &&str| CatalogueRow {
            name: (*name).to_owned(),
            title: "Title".to_owned(),
            sources: vec!["RFC 1".to_owned()],
            params: vec![CatalogueParam {
                name: "beta".to_owned(),
                doc: "What is left.".to_owned(),
                kind: CatalogueKind::Number { unit: String::new(), default: 0.7, min: 0.1, max: 0.9 },
            }],
            ..CatalogueRow::default()
        };
        Catalogue { cc: names.iter().map(row).collect(), ..Catalogue::default() }
    }

    #[test]
    fn the_page_names_every_algorithm_and_parameter() {
        let text = page(&catalogue(&["reno", "cubic"]));
        assert!(text.contains("### `reno`: Title") && text.contains("### `cubic`: Title"), "{text}");
        assert!(text.contains("| `beta` | 0.7 | 0.1 to 0.9 | What is left. |"), "{text}");
    }

    #[test]
    fn the_page_names_every_phy_with_what_it_allows() {
        let phy = CataloguePhy {
            name: "802.11b".to_owned(),
            title: "HR/DSSS".to_owned(),
            rates: vec![Rate::mbps(1), Rate::mbps(11)],
            ..CataloguePhy::default()
        };
        let text = page(&Catalogue { phys: vec![phy], ..Catalogue::default() });
        assert!(
            text.contains("### `802.11b`: HR/DSSS") && text.contains("| `rate` | 11 Mb/s | 1 Mb/s, 11 Mb/s |"),
            "{text}"
        );
    }

    #[test]
    fn an_algorithm_that_the_page_lacks_is_caught() {
        let (old, new) = (page(&catalogue(&["reno"])), page(&catalogue(&["reno", "cubic"])));
        assert_eq!(difference(&new, &new), None);
        assert!(difference(&old, &new).is_some_and(|problem| problem.starts_with("docs/algorithms.md:")));
    }
}
