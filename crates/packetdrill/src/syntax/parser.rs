//! From text to a script, by the grammar.

use super::build::{self, Builder};
use super::error::ScriptError;
use super::{Script, ScriptOption, lexical};
use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use std::collections::BTreeMap;

/// Longest script in bytes. The longest script of the public suites has 25,000.
pub const MAX_BYTES: usize = 1 << 20;

/// Most events of a script. The longest script of the public suites has 400.
pub const MAX_EVENTS: usize = 20_000;

/// Deepest nesting of brackets.
pub const MAX_DEPTH: usize = 32;

#[derive(pest_derive::Parser)]
#[grammar = "syntax/grammar.pest"]
#[allow(missing_docs)]
pub(super) struct Grammar;

/// Reads a script.
///
/// `file` is its name in errors. `definitions` are words with their replacements (`-D` of a command line); they replace
/// those of the script's own `--define` lines.
pub fn parse(file: &str, text: &str, definitions: &BTreeMap<String, String>) -> Result<Script, ScriptError> {
    let options = parse_options(file, text)?;
    let mut all = BTreeMap::new();
    for option in options.iter().filter(|option| option.name == "define") {
        if let Some((word, replacement)) = option.value.as_deref().and_then(|value| value.split_once('=')) {
            all.insert(word.to_owned(), replacement.to_owned());
        }
    }
    all.extend(definitions.iter().map(|(word, replacement)| (word.clone(), replacement.clone())));
    let replaced = if all.is_empty() { text.to_owned() } else { lexical::substitute(text, &all) };
    check_size(file, &replaced)?;
    if let Some(line) = lexical::too_deep(&replaced, MAX_DEPTH) {
        return Err(ScriptError { line, ..whole(file, format!("brackets nest deeper than {MAX_DEPTH} levels")) });
    }
    let mut script = read(file, &replaced, Rule::script, |builder, pair| builder.script(pair))?;
    script.options = options;
    Ok(script)
}

/// Reads only the `--name=value` lines at the top of a script.
pub fn parse_options(file: &str, text: &str) -> Result<Vec<ScriptOption>, ScriptError> {
    check_size(file, text)?;
    read(file, text, Rule::head, |builder, pair| builder.options(pair))
}

fn check_size(file: &str, text: &str) -> Result<(), ScriptError> {
    if text.len() <= MAX_BYTES {
        return Ok(());
    }
    Err(whole(file, format!("the script has {} bytes; at most {MAX_BYTES} are allowed", text.len())))
}

fn whole(file: &str, message: String) -> ScriptError {
    ScriptError { file: file.to_owned(), line: 0, column: None, message }
}

fn read<T>(
    file: &str,
    text: &str,
    rule: Rule,
    build: impl FnOnce(&Builder<'_>, build::Node<'_>) -> Result<T, ScriptError>,
) -> Result<T, ScriptError> {
    let builder = Builder::new(file, text);
    let mut pairs = Grammar::parse(rule, text).map_err(|error| syntax_error(&builder, text, &error))?;
    let pair = pairs.next().ok_or_else(|| whole(file, "the script is empty".to_owned()))?;
    build(&builder, pair)
}

/// Words a grammar error: what was expected, and what is there.
fn syntax_error(builder: &Builder<'_>, text: &str, error: &pest::error::Error<Rule>) -> ScriptError {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let mut expected: Vec<&str> = Vec::new();
    if let ErrorVariant::ParsingError { positives, .. } = &error.variant {
        for name in positives.iter().filter_map(|rule| describe(*rule)) {
            if !expected.contains(&name) {
                expected.push(name);
            }
        }
    }
    let found = text.get(at..).unwrap_or_default();
    let word: String = found.chars().take_while(|c| !c.is_whitespace()).take(30).collect();
    let found = if word.is_empty() { "the end of the line or file".to_owned() } else { format!("`{word}`") };
    let message = match expected.split_last() {
        None => format!("cannot be read from here on: {found}"),
        Some((only, [])) => format!("expected {only}, found {found}"),
        Some((last, others)) => format!("expected {} or {last}, found {found}", others.join(", ")),
    };
    builder.error_at(at, message)
}

/// Returns what a rule stands for in an error, or nothing where its name would not help.
fn describe(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::EOI => "the end of the file",
        Rule::option => "an option (`--name=value`)",
        Rule::option_name => "an option's name",
        Rule::option_value => "an option's value",
        Rule::event | Rule::when => "the time of an event",
        Rule::time | Rule::absolute => "a time in seconds",
        Rule::action => "a packet (`<` or `>`), a system call, a command in backquotes or code in `%{ }%`",
        Rule::init | Rule::cleanup | Rule::command | Rule::backquoted => "a command in backquotes",
        Rule::code => "code in `%{ }%`",
        Rule::packet | Rule::direction => "a packet (`<` or `>`)",
        Rule::ip_info => "IP fields in brackets",
        Rule::ip_field | Rule::ecn => "an IP field (`noecn`, `ect0`, `ect1`, `ect01`, `ce`, `tos`, `flowlabel`, `ttl`)",
        Rule::tcp | Rule::flags => "TCP flags (`.`, or of `FSRPUEWA` and digits of ACE)",
        Rule::ports => "ports",
        Rule::sequence => "sequence numbers (`first:last(length)`)",
        Rule::ack => "`ack`",
        Rule::window => "`win`",
        Rule::urgent => "`urg`",
        Rule::tcp_options => "TCP options in `< >`",
        Rule::tcp_option => {
            "a TCP option (`mss`, `nop`, `eol`, `wscale`, `sackOK`, `sack`, `TS`, `FO`, `FOEXP`, `md5`, `ECN`)"
        }
        Rule::sack_block => "a block (`first:last`)",
        Rule::blob => "hexadecimal digits",
        Rule::accecn_counter | Rule::accecn_name => "a counter (`e0b`, `ceb` or `e1b`)",
        Rule::udp | Rule::udp_name => "`udp`",
        Rule::icmp | Rule::icmp_name => "`icmp`",
        Rule::icmp_type => "an ICMP type",
        Rule::icmp_code => "an ICMP code",
        Rule::icmp_mtu => "`mtu`",
        Rule::icmp_id => "`id`",
        Rule::echoed => "the quoted packet in brackets",
        Rule::call | Rule::call_name => "a system call",
        Rule::arguments => "arguments",
        Rule::errno => "an error's name",
        Rule::note => "a note in parentheses",
        Rule::until | Rule::ellipsis => "`...`",
        Rule::expression | Rule::primary | Rule::alternatives => "an expression",
        Rule::member => "a member (`name=value`)",
        Rule::string | Rule::strings => "a string",
        Rule::number => "an integer",
        Rule::hexadecimal => "a hexadecimal integer",
        Rule::word | Rule::name | Rule::symbol => "a word",
        _ => return None,
    })
}
