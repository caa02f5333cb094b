//! A scheme that only a row describes: its table is read, checked, written and documented.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{SMALL, catalogue};
use narrows_scenario::{Catalogue, Scenario, parse, reference, schema};
use narrows_settings::scheme::{Kind, Param, Rule, Scheme, Word};

static TOY: Scheme = Scheme {
    name: "toy",
    acronym: "TOY",
    title: "Scheme of a test",
    sources: &["Nobody: Nothing, 2000"],
    doc: "A scheme that does nothing.",
    params: &[
        Param::new("share", Kind::Number(0.0, 1.0), "0.75", "A share.").follows("1 - `rest`, or 0.75").alias(&["s"]),
        Param::new("rest", Kind::Number(0.0, 1.0), "0.25", "The other share.").follows("1 - `share`, or 0.25"),
        Param::new("level", Kind::Integer(1, 3), "2", "A level.").unit("levels"),
        Param::new("loud", Kind::Switch, "false", "Whether it says so."),
        Param::new("wait", Kind::Time, "3 ms", "A time."),
        Param::new("how", Kind::Choice(&[Word("well", "well done"), Word("badly", "not so well")]), "well", "How."),
        Param::new("most", Kind::Or(&Kind::Size, &[Word("none", "no bound")]), "none", "A bound."),
    ],
    rules: &[
        Rule::SumToOne("share", "rest"),
        Rule::OnlyWith { switch: "loud", number: "level", values: &[2, 3], why: "where nobody listens" },
        Rule::HoldsSegment("most"),
    ],
    ipv4_only: Some("whose bits are in IPv4"),
    router_adds: 4,
    excludes_ecn: true,
    variables: &[],
};

fn with_toy() -> Catalogue {
    let mut all = catalogue();
    all.schemes.push(&TOY);
    all
}

fn read(table: &str) -> Result<Scenario, String> {
    let text = format!("[queue]\nlimit = \"97 kB\"\n[toy]\n{table}\n{SMALL}");
    parse(&text, "test.toml", &[], &with_toy()).map_err(|problems| problems.to_string())
}

#[test]
fn a_row_is_enough_to_read_a_table_and_to_write_it_again() {
    let scenario = read("s = 0.5\nlevel = 3\nloud = true\nmost = \"64 KiB\"").unwrap();
    let json = scenario.to_json();
    let expected = serde_json::json!({
        "routers": ["r1", "r2"], "share": 0.5, "rest": 0.5, "level": 3, "loud": true, "wait_ns": 3_000_000,
        "how": "well", "most_bytes": 65_536,
    });
    assert_eq!(json["toy"], expected);
    assert!(json["acns"].is_null() && json["ngwa"].is_null());
    assert_eq!(scenario.flows[0].assist(), Some("toy"));
    let text = scenario.to_toml();
    let table = "[toy]\nenabled = true\nrouters = [\"r1\", \"r2\"]\nshare = 0.5\nrest = 0.5\nlevel = 3\nloud = true\n\
                 wait = \"3 ms\"\nhow = \"well\"\nmost = \"64 KiB\"\n";
    assert!(text.contains(table), "{text}");
    assert_eq!(parse(&text, "test.toml", &[], &with_toy()).unwrap(), scenario);
    let usual = read("").unwrap().to_json();
    assert_eq!((&usual["toy"]["rest"], &usual["toy"]["most_bytes"]), (&0.25.into(), &serde_json::Value::Null));
}

#[test]
fn its_rules_are_checked() {
    for (table, problem) in [
        ("share = 0.5\nrest = 0.6", "s + rest = 1; if one is missing, it follows from the other"),
        (
            "loud = true\nlevel = 1",
            "has no meaning in level 1, where nobody listens; allowed: false, or level = 2 or 3",
        ),
        ("most = \"100 B\"", "is less than one segment of flow"),
        ("level = 4", "a whole number from 1 to 3"),
        ("how = \"wel\"", "did you mean `well`?"),
        ("lever = 1", "enabled, routers, share, rest, level, loud, wait, how, most"),
    ] {
        let refused = read(table).unwrap_err();
        assert!(refused.contains("toy.") && refused.contains(problem), "{refused}");
    }
    let both = read("[acns]").unwrap_err();
    assert!(both.contains("conflicts with [acns]: both are enabled"), "{both}");
    let six = parse(&format!("ip = 6\n[toy]\n{SMALL}"), "test.toml", &[], &with_toy()).unwrap_err().to_string();
    assert!(six.contains("cannot be used with [toy], whose bits are in IPv4"), "{six}");
    let echo = [("tcp.ecn", "true"), ("tcp.ecn_echo", "each_mark")].map(|(key, value)| (key.into(), value.into()));
    let text = format!("[queue]\nlimit = \"97 kB\"\n[toy]\n{SMALL}");
    let marks = parse(&text, "test.toml", &echo, &with_toy()).unwrap_err().to_string();
    assert!(marks.contains("needs header bits of ECN that belong to toy"), "{marks}");
}

#[test]
fn its_table_is_documented() {
    let text = reference(&with_toy());
    assert!(text.contains("### toy\n\nA scheme that does nothing."), "{text}");
    assert!(
        text.contains(
            "| `toy` | table [toy](#toy) | no TOY | Settings of TOY in routers and at end points; not beside"
        )
    );
    let known = schema(&with_toy());
    assert_eq!(known["$defs"]["toy"]["properties"]["level"]["maximum"], 3);
    assert!(schema(&catalogue())["$defs"].get("toy").is_none());
    let row = with_toy().scheme_rows().pop().unwrap();
    assert_eq!((row.name.as_str(), row.params.len()), ("toy", 7));
    let json = with_toy().to_json();
    assert_eq!(json["schemes"][2]["parameters"][2]["unit"], "levels");
    assert_eq!(json["schemes"][2]["parameters"][6]["allowed"][1], "an amount of data");
}
