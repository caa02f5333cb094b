//! Modules that use each other in a circle.
//!
//! A module uses another if a path in its code leads there; re-exports count as what they name. A file may use the
//! modules above it (`super::`, `crate::`), since it is a part of them. Test code is exempt.

use crate::manifest::Crate;
use crate::source::{after_item, is_test, is_test_attribute, walk};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Crates whose modules use each other in one direction only.
const HELD: &[&str] = &["cc", "fabric", "live", "settings", "tcp", "timeline"];

/// Segments of a path below the crate's root.
type ModulePath = Vec<String>;

/// What a module names.
#[derive(Debug, Default)]
struct Module {
    /// Paths in its code, in full.
    refers: Vec<ModulePath>,
    /// Names that `use` brings in, with the paths that they stand for.
    names: BTreeMap<String, ModulePath>,
}

type Modules = BTreeMap<ModulePath, Module>;

/// Returns a sentence for each circle of a held crate.
pub fn problems(crates: &[Crate]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for name in HELD {
        let Some(item) = crates.iter().find(|item| item.name == *name) else { continue };
        found.extend(
            circles(&read(&item.directory.join("src"))?)
                .into_iter()
                .map(|circle| format!("crates/{name}/src: modules use each other in a circle: {}", circle.join(", "))),
        );
    }
    Ok(found)
}

fn read(source: &Path) -> Result<Modules, String> {
    let mut files = Vec::new();
    walk(source, &mut files)?;
    let mut streams = BTreeMap::new();
    for file in files {
        let inside = file.strip_prefix(source).unwrap_or(&file);
        if is_test(inside) {
            continue;
        }
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let tokens: TokenStream =
            text.parse().map_err(|e: proc_macro2::LexError| format!("{}: {e}", file.display()))?;
        streams.insert(module_of(inside), tokens);
    }
    Ok(modules(streams))
}

/// The module of a file: `child/init.rs` is `child::init`, `lib.rs` the root.
fn module_of(inside: &Path) -> ModulePath {
    let mut path: ModulePath =
        inside.with_extension("").components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    path
}

fn modules(streams: BTreeMap<ModulePath, TokenStream>) -> Modules {
    let known: BTreeSet<ModulePath> = streams.keys().cloned().collect();
    let scan = |(path, tokens): (ModulePath, TokenStream)| {
        let mut module = Module::default();
        visit(tokens, &Place { path: &path, known: &known }, &mut module);
        (path, module)
    };
    streams.into_iter().map(scan).collect()
}

/// A module, and all modules of its crate.
struct Place<'a> {
    path: &'a [String],
    known: &'a BTreeSet<ModulePath>,
}

impl Place<'_> {
    /// The full path of `segments` as they stand in this module; `None` if they do not begin in this crate.
    fn full(&self, segments: &[String]) -> Option<ModulePath> {
        let supers = segments.iter().take_while(|s| *s == "super").count();
        if supers > 0 {
            let above = self.path.len().saturating_sub(supers);
            return Some([&self.path[..above], &segments[supers..]].concat());
        }
        match segments.first()?.as_str() {
            "crate" => Some(segments[1..].to_vec()),
            "self" => Some([self.path, &segments[1..]].concat()),
            child => {
                let child = [self.path, &[child.to_owned()]].concat();
                self.known.contains(&child).then(|| [self.path, segments].concat())
            }
        }
    }
}

fn visit(tokens: TokenStream, place: &Place<'_>, module: &mut Module) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at = after_item(&tokens, at + 2);
            continue;
        }
        match &tokens[at] {
            TokenTree::Ident(ident) if ident == "use" => {
                let end = after_item_of_use(&tokens, at);
                used(&tokens[at + 1..end], &[], place, module);
                at = end;
                continue;
            }
            TokenTree::Ident(_) => {
                let (segments, after) = path_at(&tokens, at);
                if segments.len() > 1
                    && let Some(full) = place.full(&segments)
                {
                    module.refers.push(full);
                }
                at = after;
                continue;
            }
            TokenTree::Group(group) => visit(group.stream(), place, module),
            _ => {}
        }
        at += 1;
    }
}

/// The path that begins at `at`, and the index after it.
fn path_at(tokens: &[TokenTree], mut at: usize) -> (ModulePath, usize) {
    let mut segments = Vec::new();
    while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
        segments.push(ident.to_string());
        at += 1;
        if !is_separator(tokens, at) {
            break;
        }
        at += 2;
    }
    (segments, at)
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    colon(tokens.get(at)) && colon(tokens.get(at + 1))
}

fn after_item_of_use(tokens: &[TokenTree], at: usize) -> usize {
    let end = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ';');
    tokens[at..].iter().position(end).map_or(tokens.len(), |n| at + n)
}

/// Records the names of a use tree: paths separated by commas, each with braces, `*` or `as` at its end.
fn used(tokens: &[TokenTree], before: &[String], place: &Place<'_>, module: &mut Module) {
    for tree in tokens.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ',')) {
        let (mut segments, after) = path_at(tree, 0);
        let alias = match &tree[after.min(tree.len())..] {
            [TokenTree::Ident(word), TokenTree::Ident(alias), ..] if word == "as" => Some(alias.to_string()),
            _ => None,
        };
        let path = [before, &segments].concat();
        if let Some(TokenTree::Group(group)) = tree.get(after)
            && group.delimiter() == Delimiter::Brace
        {
            used(&group.stream().into_iter().collect::<Vec<_>>(), &path, place, module);
            continue;
        }
        if segments.last().is_some_and(|last| last == "self") {
            segments.pop();
        }
        let path = [before, &segments].concat();
        let (Some(full), Some(last)) = (place.full(&path), path.last()) else { continue };
        module.names.insert(alias.unwrap_or_else(|| last.clone()), full.clone());
        module.refers.push(full);
    }
}

/// The module that a full path leads to, through re-exports.
fn target(modules: &Modules, path: &[String], depth: usize) -> Option<ModulePath> {
    let length = (0..=path.len()).rev().find(|&n| modules.contains_key(&path[..n]))?;
    let (module, rest) = path.split_at(length);
    if let Some(name) = rest.first()
        && let Some(stands_for) = modules.get(module).and_then(|m| m.names.get(name))
        && stands_for != path
        && depth < 8
    {
        return target(modules, &[stands_for.as_slice(), &rest[1..]].concat(), depth + 1);
    }
    Some(module.to_vec())
}

/// The circles, each as the names of its modules in order.
fn circles(modules: &Modules) -> Vec<Vec<String>> {
    let edges: BTreeMap<&ModulePath, BTreeSet<ModulePath>> = modules
        .iter()
        .map(|(path, module)| {
            let targets = module.refers.iter().filter_map(|full| target(modules, full, 0));
            (path, targets.filter(|to| !path.starts_with(to)).collect())
        })
        .collect();
    let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        modules.keys().map(|from| (from, reach(&edges, from))).collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (from, there) in &reached {
        if there.contains(from) {
            let circle = there.iter().filter(|to| reached[*to].contains(from));
            found.insert(circle.map(|path| path.join("::")).collect());
        }
    }
    found.into_iter().collect()
}

fn reach<'a>(edges: &'a BTreeMap<&ModulePath, BTreeSet<ModulePath>>, from: &ModulePath) -> BTreeSet<&'a ModulePath> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&ModulePath> = edges.get(from).into_iter().flatten().collect();
    while let Some(path) = next.pop() {
        if seen.insert(path) {
            next.extend(edges.get(path).into_iter().flatten());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let streams = files.iter().map(|(file, text)| (module_of(Path::new(file)), text.parse().unwrap())).collect();
        circles(&modules(streams))
    }

    #[test]
    fn two_modules_that_use_each_other_are_a_circle() {
        let found =
            of(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "fn f() -> super::a::A {}")]);
        assert_eq!(found, [["a", "b"]]);
    }

    #[test]
    fn a_re_export_is_no_way_around() {
        let lib = ("lib.rs", "mod row; mod list; pub use list::{find as look, List};");
        let list = ("list.rs", "use crate::row::Row;");
        assert_eq!(of(&[lib, ("row.rs", "fn f() { crate::look() }"), list]), [["list", "row"]]);
        assert_eq!(of(&[lib, ("row.rs", "use crate::{List, other::X};"), list]), [["list", "row"]]);
        assert_eq!(of(&[lib, ("row.rs", "use std::fmt;"), list]), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_part_may_use_what_it_is_a_part_of() {
        let found = of(&[("lib.rs", "mod a;"), ("a.rs", "mod part; use part::P;"), ("a/part.rs", "use super::A;")]);
        assert_eq!(found, Vec::<Vec<String>>::new());
        let found = of(&[
            ("lib.rs", "mod a;"),
            ("a.rs", "mod p; mod q;"),
            ("a/p.rs", "use super::q::{self, Q as R};"),
            ("a/q.rs", "const N: u8 = super::p::N;"),
        ]);
        assert_eq!(found, [["a::p", "a::q"]]);
    }

    #[test]
    fn tests_may_use_anything() {
        let found = of(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "#[cfg(test)]\nmod tests { use crate::a::A; }"),
        ]);
        assert_eq!(found, Vec::<Vec<String>>::new());
    }
}
