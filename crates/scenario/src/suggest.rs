//! Finds what a wrong value probably means. Here: the known name that is closest to an unknown one.

pub(crate) mod tables;
pub(crate) mod units;

/// Returns the known word that differs least from `word`, if it differs little.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = word.chars().take(64).flat_map(char::to_lowercase).collect();
    let bound = (typed.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let letters: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
        if letters.len().abs_diff(typed.len()) > bound {
            continue;
        }
        let steps = distance(&typed, &letters);
        if steps <= bound && best.is_none_or(|(least, _)| steps < least) {
            best = Some((steps, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns `, did you mean ...?` or nothing.
pub(crate) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!(", did you mean `{near}`?"))
}

/// Damerau-Levenshtein distance without repeated edits: insertions, deletions, substitutions, swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut before: Vec<usize> = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(width);
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_word_and_nonsense_finds_none() {
        let known = ["rate", "delay", "queue", "initial_window"];
        assert_eq!(nearest("raet", known), Some("rate"));
        assert_eq!(nearest("dely", known), Some("delay"));
        assert_eq!(nearest("initialwindow", known), Some("initial_window"));
        assert_eq!(nearest("Rate", known), Some("rate"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("", known), None);
    }
}
