//! Scenario files: types, parsing, validation and JSON Schema, independent of any engine.
//!
//! The schema (`schema/`) is data: tables, fields, allowed values, defaults and descriptions.
//! The parser, the JSON Schema for editors and the reference in `docs/scenario.md` all read it:
//!
//! ```text
//! text -> tree (places) -> overrides -> check (kinds, ranges) -> build (rules among fields) -> Scenario
//! ```

mod build;
mod catalogue;
mod check;
mod dscp;
mod json;
mod json_case;
mod json_schema;
mod json_shared;
mod problem;
mod quantity;
mod record;
mod reference;
mod reference_conditions;
mod schema;
mod set;
mod size;
mod suggest;
mod toml_text;
mod trace;
mod tree;
mod types;
mod words;
mod write;

pub use build::Choices;
pub use catalogue::{
    Catalogue, CatalogueKind, CatalogueMcs, CatalogueParam, CataloguePhy, CatalogueRow, CatalogueVariable, Ns2Agent,
};
pub use json_case::{case_json, outcome_json, series_json};
pub use json_schema::{SCHEMA_ID, schema};
pub use problem::{Problem, ProblemKind, Problems, SET_PATH};
pub use reference::reference;
pub use size::Size;
pub use toml_text::Texts;
pub use trace::{Deliveries, Files, MOST_ROWS, NoFiles, OPPORTUNITY, Refusal, Step, Trace, read as read_trace};
pub use tree::{Part, places};
pub use types::*;
pub use words::Word;
pub use write::Setting;

use problem::{Place, Report};
use tree::Tree;

/// Reads a scenario.
///
/// `path` names the file in problems; its stem is the scenario's default name. `overrides` are pairs of path and value
/// (`links[0].rate`, `5 Mb/s`), applied in order; a value is TOML or a bare word. `catalogue` lists the available
/// congestion controls, queues and schemes. Traces that are in files of their own need [`parse_with`].
///
/// # Errors
/// [`Problems`]: all problems, in line order. If the text is not TOML, only its syntax errors.
pub fn parse(
    text: &str,
    path: &str,
    overrides: &[(String, String)],
    catalogue: &Catalogue,
) -> Result<Scenario, Problems> {
    parse_with(text, path, overrides, catalogue, &NoFiles)
}

/// Reads a scenario as [`parse`] does, and the traces that it names from `files`.
///
/// # Errors
/// As for [`parse`]. A problem of a trace names the trace's file and line.
pub fn parse_with(
    text: &str,
    path: &str,
    overrides: &[(String, String)],
    catalogue: &Catalogue,
    files: &dyn Files,
) -> Result<Scenario, Problems> {
    parse_told(text, path, overrides, catalogue, files).map(|(scenario, _)| scenario)
}

/// Reads a scenario as [`parse_with`] does, and tells what in it is legal but odd: warnings in the order of the file.
///
/// # Errors
/// As for [`parse_with`].
pub fn parse_told(
    text: &str,
    path: &str,
    overrides: &[(String, String)],
    catalogue: &Catalogue,
    files: &dyn Files,
) -> Result<(Scenario, Vec<Problem>), Problems> {
    Document::read(text, path).parse(overrides, catalogue, files)
}

/// The text of a scenario file that is read, and not checked yet: it is checked for each set of overrides.
#[derive(Debug)]
pub struct Document {
    path: String,
    /// The tree, or the syntax errors.
    tree: Result<Tree, Problems>,
}

impl Document {
    /// Reads a text; [`parse`](Self::parse) reports its syntax errors. `path` is as for [`parse_told`].
    #[must_use]
    pub fn read(text: &str, path: &str) -> Self {
        let mut report = Report::new(path);
        let tree = tree::read(text, &mut report);
        let tree = if report.is_empty() { Ok(tree) } else { Err(report.into_problems()) };
        Self { path: path.to_owned(), tree }
    }

    /// Returns what [`parse_told`] returns for this text.
    ///
    /// # Errors
    /// As for [`parse_told`].
    pub fn parse(
        &self,
        overrides: &[(String, String)],
        catalogue: &Catalogue,
        files: &dyn Files,
    ) -> Result<(Scenario, Vec<Problem>), Problems> {
        let mut tree = self.tree.clone()?;
        let path = &self.path;
        let mut report = Report::new(path);
        if overrides.is_empty() {
            tree.needs_settings(&mut report);
        }
        if !report.is_empty() {
            return Err(report.into_problems());
        }
        let root = schema::root(&catalogue.schemes);
        set::apply(&mut tree, root, overrides, &mut report);
        let root = check::table(root, (&tree, Place::Nowhere), &check::Path::Root, catalogue, &mut report);
        drop(tree);
        let scenario = build::scenario(&root, path, (catalogue, files), &mut report);
        let warnings = report.take_warnings();
        let built = scenario.map(|scenario| (scenario, warnings));
        finish(built, report, "the scenario could not be built; please report this with the file")
    }
}

/// Returns the TCP settings of a flow for which only `choices` are given: the defaults that [`parse`] resolves for such
/// a `[tcp]` table.
///
/// # Errors
/// [`Problems`]: the congestion control is not in the catalogue, or the choices contradict each other.
pub fn defaults(choices: &Choices<'_>, catalogue: &Catalogue) -> Result<Tcp, Problems> {
    let mut report = Report::new("defaults");
    let tcp = build::defaults(choices, catalogue, &mut report);
    finish(tcp, report, "the defaults could not be built; please report this")
}

/// Returns the built value if there are no problems. `unknown` is reported if nothing was built and no problem is
/// known.
fn finish<T>(built: Option<T>, mut report: Report, unknown: &str) -> Result<T, Problems> {
    match built {
        Some(built) if report.is_empty() => Ok(built),
        _ => {
            if report.is_empty() {
                report.add(Place::Nowhere, "", "", unknown, "");
            }
            Err(report.into_problems())
        }
    }
}
