//! Sizes of transfers and responses, and the files that they and arrivals come from.

use super::Build;
use crate::check::Path;
use crate::record::{Item, Record, Value};
use crate::trace::{Refusal, lists};
use crate::types::{SizeDistribution, SizeTable, Sizes};
use narrows_units::Bytes;
use std::io::Read;
use std::sync::Arc;

/// How the rows of a file are read: from a file, or from the text in a resolved scenario.
type Readers<T> = (fn(Box<dyn Read>) -> Result<T, Refusal>, fn(&str) -> Result<T, Refusal>);

impl Build<'_> {
    /// Returns the sizes that a table gives under `key`; `None` if they are missing or wrong.
    pub(super) fn sizes(&mut self, record: &Record, key: &str, path: &Path<'_>) -> Option<Sizes> {
        match &record.given(key)?.value {
            Value::Size(size) => Some(Sizes::constant(*size)),
            Value::Table(table) => self.distribution(table, &Path::Key(path, key)),
            _ => None,
        }
    }

    fn distribution(&mut self, table: &Record, path: &Path<'_>) -> Option<Sizes> {
        let word: &str = table.get("distribution")?;
        let built_in = matches!(word, "web_search" | "data_mining" | "empirical");
        let refused = [
            ("mean", built_in, "constant, exponential and pareto"),
            ("shape", word != "pareto", "pareto"),
            ("file", word != "empirical", "empirical"),
            ("content", word != "empirical", "empirical"),
        ];
        for (key, refuse, of) in refused {
            if let Some(item) = table.given(key).filter(|_| refuse) {
                let reason = format!("has no meaning for distribution = \"{word}\"");
                self.report.add(item.place, Path::Key(path, key), &item.shown, reason, format!("only with {of}"));
                return None;
            }
        }
        let needed = if word == "empirical" { Some("file") } else { (!built_in).then_some("mean") };
        if let Some(key) = needed.filter(|key| table.given(key).is_none()) {
            let field = table.table.field(key)?;
            crate::check::missing(field, table.place, path, self.report);
            return None;
        }
        let distribution = match word {
            "constant" => SizeDistribution::Constant(table.get("mean")?),
            "exponential" => SizeDistribution::Exponential(table.get("mean")?),
            "pareto" => SizeDistribution::Pareto { mean: table.get("mean")?, shape: table.get("shape")? },
            "web_search" => SizeDistribution::WebSearch,
            "data_mining" => SizeDistribution::DataMining,
            _ => {
                let (name, points) =
                    self.rows(table, "file", path, (|file| lists::sizes(file), |text| lists::sizes_of(text)))?;
                SizeDistribution::Empirical(Arc::new(SizeTable { name, points }))
            }
        };
        Some(Sizes { distribution, max: table.get::<Option<Bytes>>("max")? })
    }

    /// Returns the name of the file under `key` and its rows, from `content` if that is given.
    pub(super) fn rows<T>(
        &mut self,
        table: &Record,
        key: &'static str,
        path: &Path<'_>,
        (read, parse): Readers<T>,
    ) -> Option<(String, T)> {
        let name: String = table.get(key)?;
        let rows = match (table.given("content"), table.get::<String>("content")) {
            (Some(item), Some(content)) => {
                let field = Path::Key(path, "content").to_string();
                parse(&content).map_err(|refusal| self.refuse(item, field, None, refusal)).ok()
            }
            _ => self.open(&name, table.given(key)?, &Path::Key(path, key), read),
        };
        Some((name, rows?))
    }

    pub(super) fn open<T>(
        &mut self,
        name: &str,
        item: &Item,
        path: &Path<'_>,
        read: fn(Box<dyn Read>) -> Result<T, Refusal>,
    ) -> Option<T> {
        match self.files.open(name) {
            Ok((shown, file)) => {
                read(file).map_err(|refusal| self.refuse(item, path.to_string(), Some(shown), refusal)).ok()
            }
            Err(reason) => {
                self.report.add(item.place, path, &item.shown, reason, "a file, relative to the scenario's directory");
                None
            }
        }
    }
}
