//! The engine as a WebAssembly module: conversion, changes of a scenario's text, and a log of packets. `web/src/engine`
//! declares its contents for TypeScript.
//!
//! A run is one call that returns when the run has ended. The page makes it in a Web Worker, hears of its progress
//! through `narrowsHost.progress`, and stops it by ending the worker.

#![allow(unsafe_code, clippy::disallowed_types, reason = "the macros of wasm-bindgen expand to unsafe code and Rc")]

mod edit;
mod files;
mod host;
mod objects;
mod own;
mod packets;
mod run;

pub use edit::{append, remove, set};
pub use files::Folder;
pub use run::Run;

use js_sys::{Array, Reflect};
use narrows_scenario::{CatalogueKind, CatalogueParam, CatalogueRow, Part, Problem};
use narrows_sim::{Algorithms, Options, Packets, Progress, RunError};
use objects::{object, strings};
use own::{Classes, Failure, KINDS, PHASES, VALUES};
use std::collections::BTreeSet;
use std::sync::Arc;
use wasm_bindgen::prelude::*;

/// Reports panics to the page; called once, when the module has been loaded.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|info| host::panicked(&info.to_string())));
}

/// A validated scenario.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Scenario {
    scenario: narrows_scenario::Scenario,
    warnings: Vec<Problem>,
    own: BTreeSet<String>,
}

#[wasm_bindgen]
impl Scenario {
    /// Its name.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn name(&self) -> String {
        self.scenario.name.clone()
    }

    /// Simulated time, ns.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn duration_ns(&self) -> f64 {
        self.scenario.duration.as_nanos() as f64
    }

    /// Seed of its random streams.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.scenario.seed
    }

    /// What is legal but odd: objects as those that [`parse`] throws.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn warnings(&self) -> JsValue {
        problems(&self.warnings)
    }

    /// Counts of nodes, links and flows, and of the rows that sampling will yield.
    #[must_use]
    pub fn size(&self) -> JsValue {
        let size = self.scenario.size();
        object([
            ("nodes", (size.nodes as f64).into()),
            ("links", (size.links as f64).into()),
            ("flows", (size.flows as f64).into()),
            ("flow_rows", (size.flow_rows as f64).into()),
            ("queue_rows", (size.queue_rows as f64).into()),
            ("router_rows", (size.router_rows as f64).into()),
            ("state_rows", (size.state_rows as f64).into()),
        ])
    }

    /// The scenario as TOML with every default shown.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.scenario.to_toml()
    }

    /// The resolved scenario (nodes, links, flows) as JSON. Parts that flows or links share are listed once.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.scenario.to_shared_json()
    }

    /// The nodes that the packets of each flow pass: arrays of indices, both ends included.
    ///
    /// # Errors
    /// The scenario is too large.
    pub fn paths(&self) -> Result<JsValue, JsError> {
        let found = narrows_sim::paths(&self.scenario, &Progress::default()).map_err(|why| failed(&why))?;
        let path = |nodes: Vec<usize>| -> JsValue {
            nodes.into_iter().map(|node| JsValue::from_f64(node as f64)).collect::<Array>().into()
        };
        Ok(found.into_iter().map(path).collect::<Array>().into())
    }
}

fn failed(why: &RunError) -> JsError {
    JsError::new(&why.to_string())
}

fn problems(problems: &[Problem]) -> JsValue {
    let one = |problem: &Problem| {
        object([
            ("path", JsValue::from_str(&problem.path)),
            ("line", problem.line.map_or(JsValue::NULL, |line| JsValue::from_f64(line as f64))),
            ("field", JsValue::from_str(&problem.field)),
            ("value", JsValue::from_str(&problem.value)),
            ("allowed", JsValue::from_str(&problem.allowed)),
            ("message", JsValue::from_str(&problem.message())),
        ])
    };
    problems.iter().map(one).collect::<Array>().into()
}

/// Reads a row of `own`: `name`, `title`, and `params`, objects with `name`, `doc` and `value`, a number or a switch.
fn foreign_row(row: &JsValue) -> CatalogueRow {
    let get = |of: &JsValue, key: &str| Reflect::get(of, &key.into()).unwrap_or(JsValue::UNDEFINED);
    let word = |of: &JsValue, key: &str| get(of, key).as_string().unwrap_or_default();
    let param = |param: JsValue| {
        let value = get(&param, "value");
        let kind = match value.as_bool() {
            Some(default) => CatalogueKind::Switch { default },
            None => CatalogueKind::Number {
                unit: String::new(),
                default: value.as_f64().unwrap_or_default(),
                min: f64::MIN,
                max: f64::MAX,
            },
        };
        CatalogueParam { name: word(&param, "name"), doc: word(&param, "doc"), kind }
    };
    let params = Array::from(&get(row, "params")).iter().map(param).collect();
    let own_start = Some("is an algorithm of your own, which has its slow start itself".to_owned());
    CatalogueRow { name: word(row, "name"), title: word(row, "title"), params, own_start, ..CatalogueRow::default() }
}

/// Parses and validates a scenario, which may also name the congestion controls of `own`.
///
/// `path` names the file in problems. `overrides` are paths and values in turn: `["links[0].rate", "5 Mb/s"]`.
///
/// # Errors
/// Throws an array of objects with `path`, `line`, `field`, `value`, `allowed` and `message`: all problems at once.
#[wasm_bindgen]
pub fn parse(
    toml: &str,
    path: &str,
    overrides: Vec<String>,
    own: Option<Array>,
    files: Option<Folder>,
) -> Result<Scenario, JsValue> {
    let rows: Vec<CatalogueRow> = own.iter().flat_map(Array::iter).map(|row| foreign_row(&row)).collect();
    let names = rows.iter().map(|row| row.name.clone()).collect();
    let mut catalogue = narrows_sim::catalogue();
    catalogue.cc.extend(rows);
    let overrides: Vec<(String, String)> =
        overrides.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    let files = files.unwrap_or_default();
    match narrows_scenario::parse_told(toml, path, &overrides, &catalogue, &files) {
        Ok((scenario, warnings)) => Ok(Scenario { scenario, warnings, own: names }),
        Err(found) => Err(problems(&found.0)),
    }
}

/// Runs a scenario to its end. With `packets`, the run also logs every packet, which takes longer.
///
/// # Errors
/// Throws an error with the reason: the scenario is too large, or a congestion control of the page's failed.
#[wasm_bindgen]
pub fn run(scenario: &Scenario, seed: u64, number: u32, packets: bool) -> Result<Run, JsError> {
    let progress = Arc::new(Progress::observed(host::progress));
    let failure = Failure::new(&progress);
    let own: Option<Arc<dyn Algorithms>> =
        (!scenario.own.is_empty()).then(|| Arc::new(Classes::new(scenario.own.clone(), Arc::clone(&failure))) as _);
    let log = packets.then(|| Arc::new(packets::Log::default()));
    let watcher: Option<Arc<dyn Packets>> = log.clone().map(|log| log as _);
    let options = Options {
        seed,
        run: u64::from(number),
        progress: Some(&progress),
        algorithms: own.as_ref(),
        packets: watcher.as_ref(),
        ..Options::default()
    };
    let outcome = narrows_sim::run(&scenario.scenario, &options);
    if let Some(fault) = failure.fault() {
        return Err(JsError::new(&fault));
    }
    outcome.map(|outcome| Run::new(outcome, log)).map_err(|why| failed(&why))
}

/// Congestion controls, queues and schemes with their parameters, as JSON.
#[wasm_bindgen]
#[must_use]
pub fn catalogue() -> String {
    narrows_sim::catalogue().to_json().to_string()
}

/// JSON Schema of scenario files.
#[wasm_bindgen]
#[must_use]
pub fn schema() -> String {
    narrows_scenario::schema(&narrows_sim::catalogue()).to_string()
}

/// The path and the line of each key and each element of an array in a TOML document: arrays of a path (strings and
/// numbers) and a line.
#[wasm_bindgen]
#[must_use]
pub fn places(toml: &str) -> JsValue {
    let part = |part| match part {
        Part::Key(key) => JsValue::from_str(&key),
        Part::Index(index) => JsValue::from_f64(index as f64),
    };
    let one = |(path, line): (Vec<Part>, usize)| -> JsValue {
        let path: Array = path.into_iter().map(part).collect();
        [path.into(), JsValue::from_f64(line as f64)].into_iter().collect::<Array>().into()
    };
    narrows_scenario::places(toml).into_iter().map(one).collect::<Array>().into()
}

/// What `narrowsHost.call` gets: `values`, the names of its numbers in order; `kinds` and `phases`, the words that
/// `kind` and `phase` index.
#[wasm_bindgen]
#[must_use]
pub fn hooks() -> JsValue {
    object([("values", strings(&VALUES)), ("kinds", strings(&KINDS)), ("phases", strings(&PHASES))])
}

/// The released version of the engine.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
