//! What sources may not contain: unsafe code and, below `sim::run`, access to the outside world.

use crate::manifest::Crate;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::path::{Path, PathBuf};

/// Modules of `std` that reach for the clock, files, the environment, threads, the network or other programs.
const OUTSIDE_WORLD: &[&str] = &["time", "fs", "env", "thread", "net", "process", "os"];

/// Types of `std::net` that are plain values (addresses), hence allowed.
const VALUES_OF_NET: &[&str] =
    &["IpAddr", "Ipv4Addr", "Ipv6Addr", "SocketAddr", "SocketAddrV4", "SocketAddrV6", "AddrParseError"];

/// Where the outside world is allowed: a crate, and its modules (none given: all).
const OPEN: &[(&str, &[&str])] =
    &[("sim", &["run", "capture", "spill", "parts"]), ("fabric", &["pcap"]), ("live", &[]), ("py", &[])];

/// Where unsafe code is allowed.
const UNSAFE: &[&str] = &["live", "py", "web"];

/// Returns every place in `crates/*/src` that breaks a rule. Test code is exempt.
pub fn problems(root: &Path, crates: &[Crate]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for item in crates {
        let source = item.directory.join("src");
        for file in files(&source)? {
            let inside = file.strip_prefix(&source).unwrap_or(&file);
            let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            let breaches = scan(&text, may_use_world(&item.name, inside), UNSAFE.contains(&item.name.as_str()))
                .map_err(|e| format!("{shown}: {e}"))?;
            found.extend(breaches.into_iter().map(|(line, what)| format!("{shown}:{line}: {what}")));
        }
    }
    Ok(found)
}

/// Returns the Rust files below a crate's `src` in order, without those of tests.
pub fn files(source: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    walk(source, &mut files)?;
    files.retain(|file| !is_test(file.strip_prefix(source).unwrap_or(file)));
    files.sort();
    Ok(files)
}

/// Adds the Rust files below a directory.
pub(crate) fn walk(directory: &Path, into: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", directory.display()))?.path();
        if path.is_dir() {
            walk(&path, into)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

/// Whether a file is a test module: `tests.rs`, `*_tests.rs`, or anything below `tests/`.
pub(crate) fn is_test(inside: &Path) -> bool {
    let stem = inside.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    stem == "tests" || stem.ends_with("_tests") || inside.components().any(|c| c.as_os_str() == "tests")
}

fn may_use_world(name: &str, inside: &Path) -> bool {
    let Some((_, modules)) = OPEN.iter().find(|(open, _)| *open == name) else { return false };
    let module = inside.components().next().map(|c| c.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
    modules.is_empty() || modules.contains(&module.trim_end_matches(".rs"))
}

/// Returns the line and the rule of each violation in one file.
fn scan(text: &str, world: bool, unsafe_code: bool) -> Result<Vec<(usize, String)>, String> {
    let tokens: TokenStream = text.parse().map_err(|e: proc_macro2::LexError| e.to_string())?;
    let mut found = Vec::new();
    visit(tokens, &Rules { world, unsafe_code }, &mut found);
    Ok(found)
}

struct Rules {
    world: bool,
    unsafe_code: bool,
}

fn visit(tokens: TokenStream, rules: &Rules, found: &mut Vec<(usize, String)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at = after_item(&tokens, at + 2);
            continue;
        }
        match &tokens[at] {
            TokenTree::Ident(ident) if ident == "unsafe" && !rules.unsafe_code => {
                found.push((ident.span().start().line, format!("unsafe code; allowed only in {}", UNSAFE.join(", "))));
            }
            TokenTree::Ident(ident) if ident == "std" && !rules.world => {
                if let [TokenTree::Punct(a), TokenTree::Punct(b), next, rest @ ..] = &tokens[at + 1..]
                    && (a.as_char(), b.as_char()) == (':', ':')
                {
                    check_path(next, rest, found);
                }
            }
            TokenTree::Group(group) => visit(group.stream(), rules, found),
            _ => {}
        }
        at += 1;
    }
}

/// Checks what follows `std::`: a module, or several in braces.
fn check_path(next: &TokenTree, rest: &[TokenTree], found: &mut Vec<(usize, String)>) {
    match next {
        TokenTree::Ident(ident) => {
            let name = ident.to_string();
            if OUTSIDE_WORLD.contains(&name.as_str()) && !(name == "net" && is_value_of_net(rest)) {
                found.push((
                    ident.span().start().line,
                    format!("std::{name}; only sim::run, sim::capture, sim::spill, sim::parts, fabric::pcap, live and py may"),
                ));
            }
        }
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            for (index, token) in inner.iter().enumerate() {
                let first = index == 0 || matches!(&inner[index - 1], TokenTree::Punct(p) if p.as_char() == ',');
                if first && matches!(token, TokenTree::Ident(_)) {
                    check_path(token, &inner[index + 1..], found);
                }
            }
        }
        _ => {}
    }
}

/// Whether `::X` or `::{X, Y}` names only plain values of `std::net`.
fn is_value_of_net(rest: &[TokenTree]) -> bool {
    let [TokenTree::Punct(_), TokenTree::Punct(_), named, ..] = rest else { return false };
    let value = |token: &TokenTree| VALUES_OF_NET.contains(&token.to_string().as_str());
    match named {
        TokenTree::Group(group) => group.stream().into_iter().all(|t| matches!(t, TokenTree::Punct(_)) || value(&t)),
        token => value(token),
    }
}

/// Whether the tokens begin with `#[cfg(test)]`.
pub(crate) fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(group), ..] = tokens else { return false };
    hash.as_char() == '#' && group.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// Returns the index after the item that begins at `at`: after its body in braces, or its semicolon.
pub(crate) fn after_item(tokens: &[TokenTree], mut at: usize) -> usize {
    while at < tokens.len() {
        let end = match &tokens[at] {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(punct) => punct.as_char() == ';',
            _ => false,
        };
        at += 1;
        if end {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(text: &str) -> Vec<usize> {
        scan(text, false, false).unwrap().into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn the_clock_is_caught_however_it_is_named() {
        assert_eq!(lines("fn f() {\n  let t = std::time::Instant::now();\n}"), [2]);
        assert_eq!(lines("use std::time::Duration;"), [1]);
        assert_eq!(lines("use std::{\n  fmt,\n  time::Instant,\n};"), [3]);
        assert_eq!(lines("fn f() { assert!(std::env::var(\"X\").is_ok()); }"), [1]);
    }

    #[test]
    fn words_in_comments_and_strings_are_free() {
        assert_eq!(lines("// std::time, unsafe\n/// unsafe\nfn f() -> &'static str { \"unsafe std::fs\" }"), NONE);
        assert_eq!(lines("use std::{fmt, collections::BTreeMap};\nfn time() {}"), NONE);
    }

    #[test]
    fn unsafe_is_caught_and_may_be_allowed() {
        let text = "fn f() {\n    unsafe { g() }\n}";
        assert_eq!(lines(text), [2]);
        assert_eq!(scan(text, false, true), Ok(Vec::new()));
    }

    #[test]
    fn addresses_are_values_but_sockets_are_not() {
        assert_eq!(lines("use std::net::{IpAddr, Ipv4Addr};\nuse std::net::Ipv6Addr;"), NONE);
        assert_eq!(lines("use std::net::{IpAddr, UdpSocket};"), [1]);
    }

    #[test]
    fn test_code_is_free_and_what_follows_it_is_not() {
        assert_eq!(lines("#[cfg(test)]\nmod tests { use std::fs; }\nuse std::fs;"), [3]);
        assert_eq!(lines("#[cfg(test)]\nmod tests;\nuse std::thread;"), [3]);
    }

    #[test]
    fn only_the_named_modules_of_sim_may_look_outside() {
        assert!(may_use_world("sim", Path::new("run.rs")));
        assert!(may_use_world("sim", Path::new("run/batch.rs")));
        assert!(!may_use_world("sim", Path::new("event.rs")));
        assert!(!may_use_world("tcp", Path::new("run.rs")));
        assert!(may_use_world("py", Path::new("lib.rs")));
    }
}
