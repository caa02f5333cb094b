//! Live runs that a test may rely on: those whose conditions raise no doubts.

#[path = "../skips/mod.rs"]
pub mod skips;

/// Runs made before a test is skipped.
const TRIES: usize = 3;

/// Returns the value of a run without doubts. `run` returns its value and its doubts, and is repeated while there are
/// some. Returns `None`, with the reason on standard error, if each of three runs has doubts.
pub fn trusted<T>(mut run: impl FnMut() -> (T, Vec<String>)) -> Option<T> {
    let mut doubts = Vec::new();
    for _ in 0..TRIES {
        let made = run();
        if made.1.is_empty() {
            return Some(made.0);
        }
        doubts = made.1;
    }
    skips::skip(format_args!("none of {TRIES} runs is to be trusted; of the last: {}", doubts.join("; ")));
    None
}

#[test]
fn a_doubted_run_is_repeated_three_times_at_most() {
    let mut made = 0;
    let mut of = |trusted_from: usize| {
        made = 0;
        trusted(|| {
            made += 1;
            (made, if made < trusted_from { vec!["late".to_owned()] } else { Vec::new() })
        })
    };
    assert_eq!([of(1), of(3), of(4)], [Some(1), Some(3), None]);
    assert_eq!(made, TRIES);
}
