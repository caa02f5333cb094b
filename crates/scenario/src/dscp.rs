//! Names of differentiated services codepoints (IANA's registry; RFC 2474, 2597, 3246, 5865, 8622).

/// Names and numbers.
pub(crate) const NAMES: &[(&str, u8)] = &[
    ("CS0", 0),
    ("DF", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

/// The number of a name.
pub(crate) fn by_name(name: &str) -> Option<u8> {
    NAMES.iter().find(|row| row.0.eq_ignore_ascii_case(name.trim())).map(|row| row.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assured_forwarding_follows_its_formula() {
        for class in 1..=4_u8 {
            for drop in 1..=3_u8 {
                assert_eq!(
                    by_name(&format!("af{class}{drop}")),
                    Some(8 * class + 2 * drop),
                    "RFC 2597: AFxy = 8x + 2y"
                );
            }
        }
        assert_eq!(by_name("EF"), Some(46));
        assert_eq!(by_name("best"), None);
    }
}
