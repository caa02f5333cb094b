//! Files that a scenario names, from a map of the caller's.

use narrows_scenario::Files;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use wasm_bindgen::prelude::*;

/// Files by the names that scenarios use, such as `traces/drive.pps`.
#[wasm_bindgen]
#[derive(Clone, Debug, Default)]
pub struct Folder(BTreeMap<String, Vec<u8>>);

#[wasm_bindgen]
impl Folder {
    /// Makes an empty folder.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, or replaces the file of that name.
    pub fn put(&mut self, name: String, content: Vec<u8>) {
        self.0.insert(name, content);
    }
}

impl Files for Folder {
    fn open(&self, name: &str) -> Result<(String, Box<dyn Read>), String> {
        match self.0.get(name) {
            Some(content) => Ok((name.to_owned(), Box::new(Cursor::new(content.clone())))),
            None if self.0.is_empty() => Err("is no file: a page has no files but those it was given".to_owned()),
            None => {
                let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
                Err(format!("is no file; allowed: {}", names.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_refused_with_the_names_that_exist() {
        let mut folder = Folder::new();
        assert!(folder.open("a").is_err_and(|why| why.contains("no files but")));
        folder.put("b.pps".to_owned(), vec![1, 2]);
        assert!(folder.open("a").is_err_and(|why| why.ends_with("allowed: b.pps")));
        let mut content = Vec::new();
        folder.open("b.pps").unwrap().1.read_to_end(&mut content).unwrap();
        assert_eq!(content, [1, 2]);
    }
}
