//! The interface through which a running simulation reports.

use crate::{Fault, FlowRow, QueueRow, RouterRow, StateRow, SubqueueRow};

/// Receives samples as they are taken. A probe that is off costs nothing: `ENABLED` is a constant.
pub trait Probe {
    /// Whether the simulation should make rows at all.
    const ENABLED: bool;
    /// A flow's sample.
    fn flow(&mut self, row: &FlowRow);
    /// A queue's sample.
    fn queue(&mut self, row: &QueueRow);
    /// A router agent's sample.
    fn router(&mut self, row: &RouterRow);
    /// A variable's sample.
    fn state(&mut self, row: &StateRow);
    /// A sub-queue's sample.
    fn subqueue(&mut self, row: &SubqueueRow);
    /// Why samples were lost, if any were. The run then ends.
    fn fault(&self) -> Option<&Fault> {
        None
    }
}

/// A probe that is off.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    const ENABLED: bool = false;
    fn flow(&mut self, _row: &FlowRow) {}
    fn queue(&mut self, _row: &QueueRow) {}
    fn router(&mut self, _row: &RouterRow) {}
    fn state(&mut self, _row: &StateRow) {}
    fn subqueue(&mut self, _row: &SubqueueRow) {}
}

impl Probe for crate::Samples {
    const ENABLED: bool = true;
    fn flow(&mut self, row: &FlowRow) {
        self.flows.push(row);
    }
    fn queue(&mut self, row: &QueueRow) {
        self.queues.push(row);
    }
    fn router(&mut self, row: &RouterRow) {
        self.routers.push(row);
    }
    fn state(&mut self, row: &StateRow) {
        self.state.push(row);
    }
    fn subqueue(&mut self, row: &SubqueueRow) {
        self.subqueues.push(row);
    }
    fn fault(&self) -> Option<&Fault> {
        let tables = [self.flows.fault(), self.queues.fault(), self.routers.fault()];
        let optional = [self.state.fault(), self.subqueues.fault()];
        tables.into_iter().chain(optional).flatten().next()
    }
}
