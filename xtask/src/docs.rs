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
