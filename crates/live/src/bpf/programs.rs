//! The table of congestion controls that exist as eBPF programs, and the encoding of their parameters.

use super::Opened;
use crate::LiveError;
use narrows_cc::{self as cc, Param, ParamKind, ParamValue, Params, Row};

/// A congestion control as an eBPF program.
///
/// Its parameters are 64-bit constants `param_NAME` for the registry's NAME: a number in millionths, a word as its
/// index among those allowed, a switch as 0 or 1 (`PARAM` in `bpf/kernel.h`).
#[derive(Debug)]
pub struct Program {
    /// Its name in the registry of congestion controls, whose parameters it takes.
    pub name: &'static str,
    /// The object that clang compiled from its source.
    pub(super) object: &'static [u8],
    /// The variable of `struct tcp_congestion_ops` in it.
    pub(super) ops: &'static str,
    /// The profile that it has, if it has one alone and the registry's row has several.
    pub(super) profile: Option<&'static str>,
}

/// The program of `bpf/NAME.bpf.c`, whose `struct tcp_congestion_ops` has its name.
macro_rules! program {
    ($name:literal, $profile:expr) => {
        Program {
            name: $name,
            object: include_bytes!(concat!("../../bpf/objects/", $name, ".bpf.o")),
            ops: $name,
            profile: $profile,
        }
    };
}

/// All programs, by name.
const PROGRAMS: &[Program] = &[
    program!("agile_sd", None),
    program!("bic", Some("linux")),
    program!("compound", None),
    program!("dctcp", Some("linux")),
    program!("highspeed", Some("linux")),
    program!("htcp", Some("linux")),
    program!("hybla", Some("linux")),
    program!("illinois", Some("linux")),
    program!("lp", Some("linux")),
    program!("scalable", Some("linux")),
    program!("vegas", Some("linux")),
    program!("veno", Some("linux")),
    program!("westwood", Some("linux")),
    program!("yeah", None),
];

/// Returns the congestion controls that exist as eBPF programs.
#[must_use]
pub fn programs() -> &'static [Program] {
    PROGRAMS
}

/// Returns the program of this name.
///
/// # Errors
/// [`LiveError::Unsupported`] with the existing names, if there is none.
pub fn program(name: &str) -> Result<&'static Program, LiveError> {
    PROGRAMS.iter().find(|program| program.name == name).ok_or_else(|| LiveError::Unsupported {
        field: "congestion control".into(),
        value: name.into(),
        reason: "Narrows has no eBPF program of this name".into(),
        allowed: PROGRAMS.iter().map(|program| program.name).collect::<Vec<_>>().join(", "),
    })
}

impl Program {
    /// Returns the registry's row.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if there is none, which a test excludes.
    pub fn row(&self) -> Result<&'static Row, LiveError> {
        cc::find(self.name).ok_or_else(|| LiveError::failed(format!("find {}", self.name), "it has no row"))
    }

    /// Opens the object and sets its parameters; those not given take their defaults.
    ///
    /// # Errors
    /// [`LiveError::Unsupported`] if a parameter is given that the program does not have, with a value other than its
    /// default.
    pub(super) fn open(&self, params: &Params) -> Result<Opened, LiveError> {
        self.open_in(self.name, self.object, params)
    }

    /// Does the same with another object, which errors call `name` and which includes this program.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn open_in(&self, name: &str, object: &[u8], params: &Params) -> Result<Opened, LiveError> {
        let row = self.row()?;
        let mut opened = Opened::new(name, object)?;
        for param in row.params {
            let variable = format!("param_{}", param.name);
            let value = constant(row, param, params);
            if opened.has(&variable) {
                opened.set_number(&variable, value)?;
            } else if value != constant(row, param, &Params::default()) && !self.has_alone(row, param, params) {
                return Err(LiveError::Unsupported {
                    field: "parameter".into(),
                    value: param.name.into(),
                    reason: format!("the eBPF program of {} supports its default alone", self.name),
                    allowed: taken(row, &opened).join(", "),
                });
            }
        }
        Ok(opened)
    }

    /// Whether `params` ask for the one profile that the program has.
    fn has_alone(&self, row: &Row, param: &Param, params: &Params) -> bool {
        let choice = matches!(param.kind, ParamKind::Choice { .. });
        choice && param.name == "profile" && self.profile == Some(params.choice(row, param.name))
    }
}

/// Returns the names of the parameters that the object has.
fn taken(row: &Row, opened: &Opened) -> Vec<&'static str> {
    let names = row.params.iter().map(|param| param.name);
    names.filter(|name| opened.has(&format!("param_{name}"))).collect()
}

/// Millionths in one: parameters that are numbers have this unit.
const MILLION: f64 = 1e6;

/// Returns a parameter's value as the program encodes it.
fn constant(row: &Row, param: &Param, params: &Params) -> u64 {
    match param.kind {
        ParamKind::Number { .. } => (params.number(row, param.name) * MILLION).round() as u64,
        ParamKind::Choice { allowed, .. } => {
            let word = params.choice(row, param.name);
            allowed.iter().position(|item| *item == word).unwrap_or(0) as u64
        }
        ParamKind::Switch { .. } => u64::from(params.switch(row, param.name)),
    }
}

/// Formats every parameter of `row` with its value, as words of a command line: `profile=paper lambda_max=3`.
#[must_use]
pub fn in_words(row: &Row, params: &Params) -> String {
    let word = |param: &Param| match param.kind {
        ParamKind::Number { .. } => format!("{}={}", param.name, params.number(row, param.name)),
        ParamKind::Choice { .. } => format!("{}={}", param.name, params.choice(row, param.name)),
        ParamKind::Switch { .. } => format!("{}={}", param.name, params.switch(row, param.name)),
    };
    row.params.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Parses parameters of `row` from words of a command line, each a name and a value.
///
/// # Errors
/// [`LiveError::Unsupported`] for an unknown name or a value that is not allowed; the error says what is allowed.
pub fn parameters(row: &Row, words: &[(String, String)]) -> Result<Params, LiveError> {
    let mut values = Vec::new();
    for (name, word) in words {
        let refuse = |reason: String, allowed: String| LiveError::Unsupported {
            field: "parameter".into(),
            value: format!("{name}={word}"),
            reason,
            allowed,
        };
        let Some(param) = row.params.iter().find(|param| param.name == name) else {
            let names: Vec<&str> = row.params.iter().map(|param| param.name).collect();
            let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(refuse(format!("{} has no such parameter", row.name), allowed));
        };
        let value = read(param, word).filter(|value| row.check(name, value).is_ok());
        let value = value.ok_or_else(|| refuse(format!("{name} cannot be {word}"), param.kind.to_string()))?;
        values.push((name.clone(), value));
    }
    Ok(Params::new(values))
}

/// Parses a word as a value of the kind that `param` takes.
fn read(param: &Param, word: &str) -> Option<ParamValue> {
    match param.kind {
        ParamKind::Number { .. } => word.parse().ok().map(ParamValue::Number),
        ParamKind::Choice { .. } => Some(ParamValue::Choice(word.to_owned())),
        ParamKind::Switch { .. } => word.parse().ok().map(ParamValue::Switch),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agile_sd(words: &[(&str, &str)]) -> Result<Params, LiveError> {
        let words: Vec<_> = words.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect();
        parameters(cc::find("agile_sd").unwrap(), &words)
    }

    #[test]
    fn a_parameter_out_of_its_range_is_refused_with_the_range() {
        let error = agile_sd(&[("lambda_max", "200")]).unwrap_err().to_string();
        assert_eq!(
            error,
            "parameter: lambda_max=200: lambda_max cannot be 200; allowed: a number from 1 to 100 segments per RTT"
        );
        let error = agile_sd(&[("lambda_max", "fast")]).unwrap_err().to_string();
        assert!(error.contains("a number from 1 to 100"), "{error}");
        let error = agile_sd(&[("profile", "other")]).unwrap_err().to_string();
        assert!(error.ends_with("allowed: one of: paper, module"), "{error}");
    }

    #[test]
    fn a_parameter_that_is_none_is_refused_with_those_there_are() {
        let error = agile_sd(&[("lambda", "3")]).unwrap_err().to_string();
        assert!(error.contains("agile_sd has no such parameter; allowed: profile, lambda_max"), "{error}");
    }

    #[test]
    fn words_become_values_of_the_parameters_kind() {
        let row = cc::find("agile_sd").unwrap();
        let params = agile_sd(&[("lambda_max", "4.5"), ("profile", "module")]).unwrap();
        assert!((params.number(row, "lambda_max") - 4.5).abs() < 1e-12);
        assert_eq!(params.choice(row, "profile"), "module");
    }

    #[test]
    fn parameters_in_the_programs_units() {
        let row = cc::find("agile_sd").unwrap();
        let params = agile_sd(&[("lambda_max", "4.5"), ("profile", "module")]).unwrap();
        let of = |name: &str| constant(row, row.params.iter().find(|param| param.name == name).unwrap(), &params);
        assert_eq!(of("lambda_max"), 4_500_000);
        assert_eq!(of("beta1"), 900_000);
        assert_eq!(of("profile"), 1);
        assert_eq!(in_words(row, &params), "profile=module lambda_max=4.5 beta1=0.9 beta2=0");
    }

    #[test]
    fn every_program_is_of_a_registered_congestion_control() {
        for program in programs() {
            assert!(program.row().is_ok(), "{}", program.name);
            // The kernel's names have 15 bytes, and attaching uses the algorithm's own.
            assert!(program.name.len() <= super::super::register::NAME_MAX, "{}", program.name);
        }
    }
}
