//! Link directions whose packets wait in the kernel's own queue disciplines, in place of ours.
//!
//! A direction with a discipline that Linux has too ([`table`]) gets a device with the shaper `htb` at the link's rate
//! and the discipline below it ([`device`]). To the rest of the network the device is a queue like others
//! ([`queue`]): drops, marks, delays, losses on the link and propagation are counted and done as before.

mod device;
mod message;
mod queue;
mod red;
mod table;

use crate::refusals::Refusals;
use crate::{LiveError, Tun};
use device::Device;
use narrows_fabric::Touched;
use narrows_queue::Queue;
use narrows_scenario::{Direction, Scenario};
use queue::KernelQueue;
use std::collections::BTreeMap;
use std::sync::Arc;
use table::Settings;

/// Queues that take the place of a scenario's, by the number of their direction.
pub(crate) type Queues = BTreeMap<usize, Box<dyn Queue>>;

/// The kernel's queues of a run, by the number of their direction.
#[derive(Debug, Default)]
pub(crate) struct KernelQueues(BTreeMap<usize, KernelQueueOf>);

#[derive(Debug)]
struct KernelQueueOf {
    device: Device,
    settings: Settings,
    words: String,
}

impl KernelQueues {
    /// Makes a device for each direction whose discipline Linux has.
    ///
    /// # Errors
    /// As [`judge`]; [`LiveError::Failed`] where the kernel refuses a step.
    pub(crate) fn new(scenario: &Scenario) -> Result<Self, LiveError> {
        judge(scenario)?;
        let mut made = BTreeMap::new();
        for (edge, name, direction) in directions(scenario) {
            if let Some(settings) = table::settings(direction, &field(&name))? {
                let device = Device::new(&settings, direction.rate)?;
                let words = format!("{name}: htb rate {}bit, {}", direction.rate.as_bps(), settings.words);
                made.insert(edge, KernelQueueOf { device, settings, words });
            }
        }
        Ok(Self(made))
    }

    /// Says which discipline carried which direction, one line each.
    pub(crate) fn words(&self) -> Vec<String> {
        self.0.values().map(|of| of.words.clone()).collect()
    }

    /// Takes the queues, and the devices' files by direction.
    pub(crate) fn take(&mut self, scenario: &Scenario) -> (Queues, Vec<(usize, Arc<Tun>)>) {
        let (mut queues, mut files) = (BTreeMap::new(), Vec::new());
        let mut made = std::mem::take(&mut self.0);
        for (edge, _, direction) in directions(scenario) {
            if let Some(KernelQueueOf { device, settings, .. }) = made.remove(&edge) {
                files.push((edge, device.tun()));
                let queue: Box<dyn Queue> = Box::new(KernelQueue::new(device, &settings, direction.queue.limit));
                queues.insert(edge, queue);
            }
        }
        (queues, files)
    }
}

/// Returns the kernel modules that a scenario's queues need where the kernel carries them.
#[must_use]
pub fn qdisc_modules(scenario: &Scenario) -> Vec<&'static str> {
    let found = directions(scenario).filter_map(|(_, _, direction)| table::module(direction.queue.kind));
    let mut modules: Vec<_> = std::iter::once("sch_htb").chain(found).collect();
    modules.sort_unstable();
    modules.dedup();
    modules
}

/// Rejects a scenario whose queues the kernel cannot carry, with every reason.
///
/// # Errors
/// [`LiveError::Unsupported`] with the setting; several as [`LiveError::Refused`].
pub(crate) fn judge(scenario: &Scenario) -> Result<(), LiveError> {
    let mut refusals = Refusals::default();
    let mut found = 0;
    for (_, name, direction) in directions(scenario) {
        if table::module(direction.queue.kind).is_none() {
            continue;
        }
        found += 1;
        refusals.take(table::settings(direction, &field(&name)));
        let changes = direction.changes.iter().any(|change| change.rate.is_some());
        let outages = direction.impairments.as_ref().is_some_and(|impairments| !impairments.outages.is_empty());
        for (what, given) in [("trace", direction.trace.is_some()), ("changes", changes), ("outages", outages)] {
            if given {
                refusals.add(LiveError::Unsupported {
                    field: format!("links.{name}.{what}"),
                    value: "given".to_owned(),
                    reason: "the kernel's shaper has one rate".to_owned(),
                    allowed: "a constant rate, or our own queues".to_owned(),
                });
            }
        }
    }
    if !Touched::by(scenario).edges.is_empty() {
        refusals.add(LiveError::Unsupported {
            field: "steps".to_owned(),
            value: "act on links".to_owned(),
            reason: "steps change Narrows' own links, not queues of the kernel".to_owned(),
            allowed: "our own queues, or steps that act on applications alone".to_owned(),
        });
    }
    if found == 0 {
        refusals.add(LiveError::Unsupported {
            field: "queue.kind".to_owned(),
            value: "of all links".to_owned(),
            reason: "no link has a queue discipline that the kernel can carry".to_owned(),
            allowed: table::names().collect::<Vec<_>>().join(", "),
        });
    }
    refusals.end()
}

fn field(name: &str) -> String {
    format!("links.{name}.queue")
}

/// Returns all directions with number and name: `r1->r2`.
fn directions(scenario: &Scenario) -> impl Iterator<Item = (usize, String, &Direction)> {
    let name = |node: usize| scenario.nodes[node].name.as_str();
    let both = scenario.links.iter().flat_map(move |link| {
        let (a, b) = (name(link.a), name(link.b));
        [(format!("{a}->{b}"), &link.forward), (format!("{b}->{a}"), &link.reverse)]
    });
    both.enumerate().map(|(edge, (name, direction))| (edge, name, direction))
}

#[cfg(test)]
mod tests;
