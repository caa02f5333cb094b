//! Messages of libbpf, kept for the error that they explain.

use libbpf_rs::{PrintLevel, set_print};
use std::cell::Cell;
use std::sync::Once;

/// Number of lines of the verifier's log that an error includes: the last lines name the instruction and what is wrong
/// with it.
const TAIL: usize = 6;

thread_local! {
    /// What libbpf printed in this thread; it calls back in the thread that called it.
    static SAID: Cell<String> = const { Cell::new(String::new()) };
}

fn keep(_level: PrintLevel, text: String) {
    let mut said = SAID.take();
    said.push_str(&text);
    SAID.set(said);
}

/// Runs `step` without messages of libbpf on stderr; returns the result and the messages.
pub(crate) fn quiet<T>(step: impl FnOnce() -> T) -> (T, String) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_print(Some((PrintLevel::Info, keep)));
    });
    SAID.set(String::new());
    let result = step();
    (result, SAID.take())
}

/// Extracts the reason from libbpf's messages: the first complaint, and the end of the verifier's log if there is one.
pub(crate) fn why(said: &str) -> String {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    // A hook that was left out for this kernel is no complaint (`variables::leave_out_missing_hooks`).
    let complains = |line: &&str| {
        ["fail", "rror", "not found"].iter().any(|word| line.contains(word)) && !line.contains("skipping it")
    };
    let mut reason = lines().map(bare).find(complains).unwrap_or("").to_owned();
    let verifier: Vec<&str> = lines()
        .skip_while(|line| !line.contains("BEGIN PROG LOAD LOG"))
        .skip(1)
        .take_while(|line| !line.contains("END PROG LOAD LOG"))
        .filter(|line| !line.starts_with("processed "))
        .collect();
    if !verifier.is_empty() {
        let tail = &verifier[verifier.len().saturating_sub(TAIL)..];
        reason.push_str("; the verifier: ");
        reason.push_str(&tail.join(" | "));
    }
    reason
}

/// Strips libbpf's own prefix from a line.
fn bare(line: &str) -> &str {
    line.strip_prefix("libbpf: ").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_first_complaint_and_the_end_of_the_verifiers_log() {
        let said = "libbpf: loading object 'x'\n\
            libbpf: prog 'grow': BPF program load failed: Permission denied\n\
            libbpf: prog 'grow': -- BEGIN PROG LOAD LOG --\n\
            0: R1=ctx() R10=fp0\n1: (79) r2 = *(u64 *)(r1 +0)\n2: (7b) *(u64 *)(r2 +8) = r3\n\
            R3 !read_ok\nprocessed 3 insns (limit 1000000)\n\
            -- END PROG LOAD LOG --\n\
            libbpf: prog 'grow': failed to load: -13\n";
        let reason = why(said);
        assert!(
            reason.starts_with("prog 'grow': BPF program load failed: Permission denied; the verifier: "),
            "{reason}"
        );
        assert!(reason.ends_with("R3 !read_ok"), "{reason}");
    }

    #[test]
    fn silence_gives_no_reason() {
        assert_eq!(why(""), "");
        assert_eq!(why("libbpf: loading object 'x'\n"), "");
        let lacks = "extern (func ksym) 'f': not found in kernel or module BTFs";
        assert_eq!(why(&format!("libbpf: loading object 'x'\nlibbpf: {lacks}\n")), lacks);
        let skipped = "libbpf: struct_ops x: member y not found in kernel, skipping it as it's set to zero\n";
        assert_eq!(why(skipped), "");
        assert_eq!(why(&format!("{skipped}libbpf: {lacks}\n")), lacks);
    }
}
