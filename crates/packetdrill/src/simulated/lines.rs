//! Command lines as words, pipelines and lists: the part of `sh` that scripts use.
//!
//! Quotes, comments, `\` before a line's end, `;`, `&&`, `||`, `|`, redirections, `$((..))` and `${..}`. There are no
//! loops, functions or substitutions of commands.

/// What decides whether a pipeline runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Always.
    Any,
    /// The one before succeeded (`&&`).
    Success,
    /// The one before failed (`||`).
    Failure,
}

/// Commands whose outputs are the next one's inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pipeline {
    pub(super) after: After,
    /// Each command's words; redirections are left out.
    pub(super) commands: Vec<Vec<String>>,
}

/// A piece of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `;` or the end of a line.
    End,
    And,
    Or,
    Pipe,
}

/// Reads command lines.
///
/// # Errors
/// What is wrong or not supported.
pub(super) fn parse(text: &str) -> Result<Vec<Pipeline>, String> {
    let mut pipelines = Vec::new();
    let mut after = After::Any;
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    for token in tokens(text)?.into_iter().chain([Token::End]) {
        let next = match token {
            Token::Word(word) => {
                if let Some(command) = commands.last_mut() {
                    command.push(word);
                }
                continue;
            }
            Token::Pipe => {
                commands.push(Vec::new());
                continue;
            }
            Token::End => After::Any,
            Token::And => After::Success,
            Token::Or => After::Failure,
        };
        let whole = core::mem::replace(&mut commands, vec![Vec::new()]);
        if whole.iter().all(|command| !command.is_empty()) {
            pipelines.push(Pipeline { after, commands: whole });
            after = next;
        } else if whole.len() > 1 {
            return Err("a pipe needs a command on both sides".to_owned());
        } else if next != After::Any {
            return Err("`&&` and `||` need a command on both sides".to_owned());
        }
    }
    Ok(pipelines)
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied();
    let mut tokens = Vec::new();
    let mut i = 0;
    while let Some(c) = at(i) {
        match (c, at(i + 1)) {
            ('\\', Some('\n')) => i += 2,
            ('\n' | ';', _) => {
                tokens.push(Token::End);
                i += 1;
            }
            (c, _) if c.is_whitespace() => i += 1,
            ('#', _) => {
                while at(i).is_some_and(|c| c != '\n') {
                    i += 1;
                }
            }
            ('&', Some('&')) => {
                tokens.push(Token::And);
                // A list goes on in the next line.
                i += 2;
                while at(i).is_some_and(char::is_whitespace) {
                    i += 1;
                }
            }
            ('|', Some('|')) => {
                tokens.push(Token::Or);
                i += 2;
                while at(i).is_some_and(|c| c.is_whitespace() || c == '\\') {
                    i += 1;
                }
            }
            ('|', _) => {
                tokens.push(Token::Pipe);
                i += 1;
            }
            ('&', Some('>')) | ('>' | '<', _) => i = after_redirection(&chars, i),
            (c, Some('>')) if c.is_ascii_digit() => i = after_redirection(&chars, i),
            ('&' | '`' | '(' | ')', _) => return Err(format!("`{c}` is not supported in command lines")),
            _ => {
                let (word, end) = word(&chars, i)?;
                tokens.push(Token::Word(word));
                i = end;
            }
        }
    }
    Ok(tokens)
}

/// Where a redirection that begins at `i` ends.
fn after_redirection(chars: &[char], mut i: usize) -> usize {
    let at = |i: usize| chars.get(i).copied();
    while at(i).is_some_and(|c| matches!(c, '&' | '>' | '<') || c.is_ascii_digit()) {
        i += 1;
    }
    if i > 0 && at(i - 1).is_some_and(|c| c.is_ascii_digit()) {
        // To another descriptor: `2>&1`.
        return i;
    }
    while at(i).is_some_and(|c| c == ' ') {
        i += 1;
    }
    while at(i).is_some_and(|c| !c.is_whitespace() && !matches!(c, ';' | '|' | '&')) {
        i += 1;
    }
    i
}

/// Reads a word; returns where it ends.
fn word(chars: &[char], mut i: usize) -> Result<(String, usize), String> {
    let at = |i: usize| chars.get(i).copied();
    let mut out = String::new();
    let mut quote = None;
    while let Some(c) = at(i) {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '$') => {
                let end = expansion(chars, i, &mut out)?;
                i = end;
                continue;
            }
            (None, '\\') if at(i + 1) == Some('\n') => break,
            (None | Some('"'), '\\') => {
                i += 1;
                out.extend(at(i));
            }
            (None, c) if c.is_whitespace() || matches!(c, ';' | '|' | '&' | '>' | '<') => break,
            (_, c) => out.push(c),
        }
        i += 1;
    }
    if quote.is_some() { Err("a quote is not closed".to_owned()) } else { Ok((out, i)) }
}

/// Expands what begins with `$` at `i`; returns where it ends. The only variable is the process number, which names
/// files of helper scripts.
fn expansion(chars: &[char], i: usize, out: &mut String) -> Result<usize, String> {
    let rest: String = chars.get(i..).unwrap_or_default().iter().collect();
    if let Some(inner) = rest.strip_prefix("$((") {
        let end = inner.find("))").ok_or("`$((` is not closed")?;
        out.push_str(&product(inner.get(..end).unwrap_or_default())?.to_string());
        return Ok(i + 3 + inner.get(..end).unwrap_or_default().chars().count() + 2);
    }
    for variable in ["${PPID}", "$PPID", "${PACKETDRILL_PID}", "$PACKETDRILL_PID"] {
        if rest.starts_with(variable) {
            out.push_str("PPID");
            return Ok(i + variable.chars().count());
        }
    }
    Err(format!("`{}` is not supported; known are $((..)) and ${{PPID}}", rest.chars().take(16).collect::<String>()))
}

/// A product of integers: `15*1024*1024`.
fn product(text: &str) -> Result<i64, String> {
    let mut value: i64 = 1;
    for factor in text.split('*') {
        let factor: i64 =
            factor.trim().parse().map_err(|_| format!("`$(({text}))` is not supported; known are products"))?;
        value = value.checked_mul(factor).ok_or_else(|| format!("`$(({text}))` is too large"))?;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<Vec<String>>> {
        parse(text).unwrap().into_iter().map(|pipeline| pipeline.commands).collect()
    }

    #[test]
    fn lines_quotes_comments_and_products() {
        let text =
            "# Buffers.\nsysctl -q a=\"1 2 $((15*1024*1024))\" \\\n  b=2 > /dev/null 2>&1 # why\ntc x; ip 'y z'\n";
        assert_eq!(
            words(text),
            [vec![vec!["sysctl", "-q", "a=1 2 15728640", "b=2"]], vec![vec!["tc", "x"]], vec![vec!["ip", "y z"]]]
        );
        assert_eq!(words("/tmp/restore_${PPID}.sh"), [vec![vec!["/tmp/restore_PPID.sh"]]]);
    }

    #[test]
    fn pipelines_and_lists() {
        let parsed = parse("nstat | grep -q \" 3 \" && a || b\n&> /dev/null c").unwrap();
        let after: Vec<After> = parsed.iter().map(|pipeline| pipeline.after).collect();
        assert_eq!(after, [After::Any, After::Success, After::Failure, After::Any]);
        assert_eq!(parsed[0].commands, [vec!["nstat"], vec!["grep", "-q", " 3 "]]);
    }

    #[test]
    fn what_is_not_supported_is_an_error() {
        for text in ["a `b`", "echo $HOME", "a \"b", "x & y", "| a", "&& a", "a=$((1+2))", "$((9999999999*9999999999))"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
