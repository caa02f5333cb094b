//! What a number that an algorithm reports is: its name, unit and meaning.

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
