//! What is wrong with a script, and where.

use std::fmt;

/// An error in a script: the place, and what is allowed there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScriptError {
    /// The script's name, as given to [`super::parse`].
    pub file: String,
    /// The line, from 1; 0 if the error is about the whole file.
    pub line: u32,
    /// The column, from 1, where it is known.
    pub column: Option<u32>,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}
