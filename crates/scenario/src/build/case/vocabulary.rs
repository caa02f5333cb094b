//! The flows and links that conditions may name, and the variables of their congestion controls.

use super::super::Build;
use crate::catalogue::CatalogueVariable;
use crate::types::{Flow, Link, Node, SlowStart, Tcp};
use narrows_settings::{RLEDBAT_VARIABLES, ReceiverCc};
use narrows_timeline::{Declared, FlowWords, LinkWords, Vocabulary};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Variables of congestion controls by name, and whether slow start is replaced and a window resumed.
type Known<'a> = BTreeMap<(&'a str, bool, bool), Arc<[Declared]>>;

impl Build<'_> {
    /// Returns the names of a scenario's links and flows, before the flow under test and the bottleneck are known.
    pub(super) fn vocabulary(&self, nodes: &[Node], links: &[Link], flows: &[Flow]) -> Vocabulary {
        let name = |index: usize| nodes.get(index).map_or("", |node| node.name.as_str());
        let links = links.iter().map(|link| LinkWords { name: format!("{}-{}", name(link.a), name(link.b)).into() });
        let mut known: Known<'_> = BTreeMap::new();
        let flows = flows.iter().map(|flow| FlowWords {
            name: flow.name.as_str().into(),
            control: flow.tcp().map(|tcp| (Arc::from(&*tcp.cc), self.declared(tcp, &mut known))),
            receiver: flow.tcp().filter(|tcp| tcp.config.receiver_cc == ReceiverCc::Rledbat).map(|_| rledbat()),
        });
        Vocabulary { flows: flows.collect(), links: links.collect(), bottleneck: None, under_test: 0 }
    }

    /// Returns the variables of a sender: of its congestion control, its slow start, its resumed window and the scheme.
    fn declared<'b>(&self, tcp: &'b Tcp, known: &mut Known<'b>) -> Arc<[Declared]> {
        let starts = !matches!(tcp.slow_start, SlowStart::Own | SlowStart::Standard);
        let resumes = tcp.careful_resume.is_some();
        let list = known.entry((&*tcp.cc, starts, resumes)).or_insert_with(|| {
            let catalogue = self.catalogue;
            let own = catalogue.find_cc(&tcp.cc).map_or(&[][..], |row| &row.variables);
            let start = if starts { &catalogue.start_variables[..] } else { &[] };
            let resume = if resumes { &catalogue.resume_variables[..] } else { &[] };
            let scheme: Vec<CatalogueVariable> =
                self.schemes.enabled().map_or_else(Vec::new, |row| row.variables.iter().map(Into::into).collect());
            own.iter().chain(start).chain(resume).chain(&scheme).map(declared).collect()
        });
        Arc::clone(list)
    }
}

/// rLEDBAT's variables.
fn rledbat() -> (Arc<str>, Arc<[Declared]>) {
    let declared = RLEDBAT_VARIABLES.iter().map(|variable| declared(&variable.into())).collect();
    (Arc::from("rledbat"), declared)
}

fn declared(variable: &CatalogueVariable) -> Declared {
    Declared { name: variable.name.clone(), unit: variable.unit.clone(), words: variable.words.clone() }
}
