//! A toy TCP setting that exists only in this crate's tests: one row beside the real ones. The tests check everything
//! that is derived from a row.

use super::{Field, Kind, Lens, Need};
use crate::record::{FromValue, Value};
use narrows_units::Duration;

/// The time that a connection waits where the toy is on.
const LONG: Duration = Duration::from_secs(480);

/// The row. It fills a field of `narrows_settings::Config` for which the format has no key.
pub(super) const ROWS: &[Field] = &[Field::new(
    "toy_wait",
    Kind::Switch,
    Need::ByStack(["false", "true", "false", "true"]),
    "Whether TIME-WAIT lasts twice as long.",
)
.lens(Lens {
    get: |tcp| Value::Switch(tcp.time_wait == LONG),
    set: Some(|tcp, value| {
        if bool::from_value(value)? {
            tcp.config.time_wait = LONG;
        }
        Some(())
    }),
})];

mod tests {
    use super::*;
    use crate::catalogue::{Catalogue, CatalogueRow};
    use crate::{Problems, Scenario, Tcp, json_schema, parse, reference};
    use std::collections::BTreeMap;

    const NET: &str = "
        [topology]
        kind = \"dumbbell\"
        bottleneck = { rate = \"10 Mb/s\", delay = \"20 ms\" }
        access = { rate = \"1 Gb/s\", delay = \"1 ms\" }
        [[flows]]
        from = \"s1\"
        to = \"d1\"
    ";

    fn catalogue() -> Catalogue {
        let cubic = CatalogueRow { name: "cubic".to_owned(), ..CatalogueRow::default() };
        let queues = narrows_queue::registry::registry().iter().map(|row| &row.about).collect();
        Catalogue { cc: vec![cubic], queues, ..Catalogue::default() }
    }

    fn read(lines: &str, overrides: &[(&str, &str)]) -> Result<Scenario, Problems> {
        let overrides: Vec<_> = overrides.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        parse(&format!("{NET}{lines}\n"), "toy.toml", &overrides, &catalogue())
    }

    fn tcp(lines: &str) -> Tcp {
        read(lines, &[]).unwrap().flows[0].tcp().unwrap().as_ref().clone()
    }

    #[test]
    fn a_row_alone_makes_a_setting_that_files_and_overrides_set() {
        assert_ne!(tcp("").time_wait, LONG);
        assert_eq!(tcp("tcp = { toy_wait = true }").time_wait, LONG, "in a flow");
        assert_eq!(tcp("[tcp]\ntoy_wait = true").time_wait, LONG, "for all flows");
        let set = read("", &[("tcp.toy_wait", "true")]).unwrap();
        assert_eq!(set.flows[0].tcp().unwrap().time_wait, LONG, "on the command line");
        assert_eq!(tcp("stack = \"linux\"").time_wait, LONG, "by a stack");
        assert_ne!(tcp("stack = \"linux\"\ntcp = { toy_wait = false }").time_wait, LONG, "a file wins over its stack");
    }

    #[test]
    fn a_row_alone_makes_the_check() {
        let said = read("tcp = { toy_wait = 3 }", &[]).unwrap_err().to_string();
        assert!(said.contains("flows[0].tcp.toy_wait: 3 is not a switch; allowed: true or false"), "{said}");
        let said = read("tcp = { toy_wiat = true }", &[]).unwrap_err().to_string();
        assert!(said.contains("toy_wait"), "a key that is near it is suggested: {said}");
    }

    #[test]
    fn a_row_alone_writes_toml_that_reads_back() {
        let scenario = read("tcp = { toy_wait = true }", &[]).unwrap();
        let text = scenario.to_toml();
        assert!(text.contains("\ntoy_wait = true\n"), "{text}");
        assert_eq!(parse(&text, "toy.toml", &[], &catalogue()), Ok(scenario));
    }

    #[test]
    fn a_row_alone_makes_json_schema_and_reference() {
        let scenario = read("stack = \"linux\"", &[]).unwrap();
        assert_eq!(scenario.to_json()["flows"][0]["tcp"]["toy_wait"], true);
        let shared: serde_json::Value = serde_json::from_str(&scenario.to_shared_json()).unwrap();
        assert_eq!(shared["tcps"][0]["toy_wait"], true);
        let schema = json_schema::schema(&Catalogue::default());
        let row = &schema["$defs"]["tcp"]["properties"]["toy_wait"];
        assert_eq!(row["type"], "boolean");
        assert_eq!(row["description"], "Whether TIME-WAIT lasts twice as long. Default: false.");
        let docs = reference(&Catalogue::default());
        let row = "| `toy_wait` | `true` or `false` | `false` | Whether TIME-WAIT lasts twice as long. |";
        assert!(docs.contains(row), "among the keys of [tcp]");
        assert!(docs.contains("| `toy_wait` | `false` | `true` | `false` | `true` |"), "among what stacks set");
    }

    #[test]
    fn a_row_alone_shows_the_setting_to_the_live_comparison() {
        let of = |lines: &str| {
            let settings = tcp(lines).settings();
            settings.into_iter().find(|setting| setting.name == "toy_wait").unwrap()
        };
        let (rfc, linux) = (of(""), of("stack = \"linux\""));
        assert_eq!((rfc.value.as_str(), linux.value.as_str()), ("false", "true"));
        assert!(!rfc.honoured, "unless its row says that Linux takes it");
    }

    #[test]
    fn every_setting_is_read_as_it_was_put() {
        for lines in ["", "stack = \"linux\"", "stack = \"ns2\"", "tcp = { max_retries = 3, pacing = {} }"] {
            let tcp = tcp(lines);
            let mut copy = Tcp { config: narrows_settings::Config::default(), read_rate: None, ..tcp.clone() };
            let values: BTreeMap<&str, Value> =
                tcp.record().entries.into_iter().map(|(key, _, item)| (key, item.value)).collect();
            for field in super::super::TCP.fields() {
                let lens = field.lens.unwrap();
                if let Some(set) = lens.set {
                    set(&mut copy, &values[field.key]).unwrap();
                    assert_eq!(crate::write::words(&(lens.get)(&copy)), crate::write::words(&values[field.key]));
                }
            }
        }
    }
}
