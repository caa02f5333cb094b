//! How rows describe algorithms to people: the variables that one reports, and the page in its source file.

/// The header of a source file (its `//!` lines) as Markdown: the page of the algorithm in it. The first line is its
/// title sentence; empty without a header.
#[must_use]
pub fn header(source: &str) -> String {
    let mut page = String::new();
    for line in source.lines().take_while(|line| line.starts_with("//!")) {
        let text = line.trim_start_matches("//!");
        page.push_str(text.strip_prefix(' ').unwrap_or(text));
        page.push('\n');
    }
    page
}

/// A number that an algorithm keeps and reports. It measures the algorithm and changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name under which it is reported.
    pub name: &'static str,
    /// Unit, as shown to users; empty where it has none.
    pub unit: &'static str,
    /// What it is, in one sentence, with the paper's symbol and the profiles that report it if not all do; empty where
    /// the algorithm does not say.
    pub doc: &'static str,
    /// Words for the values 0, 1, 2 ..; empty for a quantity.
    pub words: &'static [&'static str],
}

impl Variable {
    /// A quantity.
    #[must_use]
    pub const fn new(name: &'static str, unit: &'static str, doc: &'static str) -> Self {
        Self { name, unit, doc, words: &[] }
    }

    /// A state: the values 0, 1, 2 .. stand for these words.
    #[must_use]
    pub const fn state(name: &'static str, doc: &'static str, words: &'static [&'static str]) -> Self {
        Self { name, unit: "", doc, words }
    }
}
