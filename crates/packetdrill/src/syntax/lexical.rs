//! A pass over the text before it is parsed: replaces defined words, and measures how deep brackets nest.

use std::collections::BTreeMap;

/// Returns the text with every defined word replaced, as `--define` and `-D` ask. Words within strings, backquotes,
/// code and comments stay. The text keeps its lines.
pub(super) fn substitute(text: &str, definitions: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    for token in Tokens(text) {
        let replacement = match token {
            Token::Word(word) => definitions.get(word).map(String::as_str),
            _ => None,
        };
        out.push_str(replacement.unwrap_or(token.text()));
    }
    out
}

/// Returns the line, from 1, where brackets of any kind first nest deeper than `most`.
pub(super) fn too_deep(text: &str, most: usize) -> Option<u32> {
    let (mut depth, mut line) = (0_usize, 1_u32);
    for token in Tokens(text) {
        match token {
            Token::Other("(" | "[" | "{") => depth += 1,
            Token::Other(")" | "]" | "}") => depth = depth.saturating_sub(1),
            other => line += other.text().matches('\n').count() as u32,
        }
        if depth > most {
            return Some(line);
        }
    }
    None
}

#[derive(Clone, Copy)]
enum Token<'a> {
    /// Letters, digits and underscores.
    Word(&'a str),
    /// A string, backquoted text, code, or a comment.
    Opaque(&'a str),
    /// Any other character.
    Other(&'a str),
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Opaque(text) | Self::Other(text) => text,
        }
    }
}

/// The tokens of a text. Together they are the text.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let text = self.0;
        let first = text.chars().next()?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (length, kind): (usize, fn(&'a str) -> Token<'a>) = if is_word(first) {
            (text.find(|c| !is_word(c)).unwrap_or(text.len()), Token::Word)
        } else {
            match opaque(text) {
                Some(length) => (length, Token::Opaque),
                None => (first.len_utf8(), Token::Other),
            }
        };
        let (token, rest) = text.split_at(length);
        self.0 = rest;
        Some(kind(token))
    }
}

/// Returns the length of the string, backquoted text, code or comment with which the text begins.
fn opaque(text: &str) -> Option<usize> {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '`')) {
        return Some(quoted(text, quote));
    }
    let until = |end: &str, begin: usize| text[begin..].find(end).map_or(text.len(), |at| begin + at + end.len());
    if text.starts_with("//") || text.starts_with('#') {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(until("*/", 2));
    }
    text.starts_with("%{").then(|| until("}%", 2))
}

/// Returns the length of quoted text with its quotes; a backslash takes the meaning from the next character.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined(text: &str) -> String {
        let definitions = BTreeMap::from([("A".to_owned(), "b c".to_owned()), ("N".to_owned(), "7".to_owned())]);
        substitute(text, &definitions)
    }

    #[test]
    fn words_are_replaced_outside_of_quotes_code_and_comments() {
        assert_eq!(defined("A AA (A) N"), "b c AA (b c) 7");
        assert_eq!(defined("\"A\\\"A\" `A` %{ A }% A"), "\"A\\\"A\" `A` %{ A }% b c");
        assert_eq!(defined("// A\nA /* A */ A # A"), "// A\nb c /* A */ b c # A");
        assert_eq!(defined("\"A"), "\"A");
    }

    #[test]
    fn the_line_is_that_of_the_bracket_that_is_too_deep() {
        assert_eq!(too_deep("/* \n */\n[{\n(1)}] ()", 2), Some(4));
        assert_eq!(too_deep("[{(1)}] ()", 3), None);
        assert_eq!(too_deep("`(((`", 0), None);
        assert_eq!(too_deep(")))", 0), None);
    }
}
