//! Network-assisted schemes: which tables there are, whether they are on, and what they have in common.

use super::Build;
use super::nodes::Nodes;
use crate::check::Path;
use crate::record::{Record, Value};
use crate::types::NodeKind;

/// Names of the schemes that have their own tables, and of these tables.
pub(crate) const ACNS: &str = "acns";
/// See [`ACNS`].
pub(crate) const NGWA: &str = "ngwa";

/// Whether the tables of schemes are switched on; `None` where the file has no such table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Schemes {
    pub(crate) acns: Option<bool>,
    pub(crate) ngwa: Option<bool>,
}

impl Schemes {
    /// The tables of a file.
    pub(crate) fn new(root: &Record) -> Self {
        // A wrong switch has been reported; the scheme then counts as off.
        let on = |key| root.table(key).map(|record| record.get::<bool>("enabled").unwrap_or(false));
        Self { acns: on(ACNS), ngwa: on(NGWA) }
    }

    /// Whether the scheme of this name is on; `None` if it has no table or the name is unknown.
    pub(crate) fn of(self, name: &str) -> Option<bool> {
        match name {
            ACNS => self.acns,
            NGWA => self.ngwa,
            _ => None,
        }
    }

    /// Returns the name of the scheme that is on.
    pub(crate) fn enabled(self) -> Option<&'static str> {
        [ACNS, NGWA].into_iter().find(|name| self.of(name) == Some(true))
    }
}

impl Build<'_> {
    /// Refuses two schemes at once: each would write the window, and flows would not know which is theirs.
    pub(super) fn one_scheme(&mut self) {
        if self.schemes.acns != Some(true) || self.schemes.ngwa != Some(true) {
            return;
        }
        let Some(record) = self.root.table(NGWA) else { return };
        let top = Path::Key(&Path::Root, NGWA);
        let reason = "stands beside [acns], and both are enabled";
        let allowed = "one scheme: enabled = false in [acns] or in [ngwa], or no such table";
        match record.given("enabled") {
            Some(item) => self.report.add(item.place, Path::Key(&top, "enabled"), &item.shown, reason, allowed),
            None => self.report.add(record.place, top, "", reason, allowed),
        }
    }

    /// Returns the routers that a scheme's table lists; all routers if the table has no list.
    pub(super) fn scheme_routers(&mut self, record: &Record, nodes: &Nodes, top: &Path<'_>) -> Option<Vec<usize>> {
        let is_router = |index: usize| nodes.list.get(index).is_some_and(|node| node.kind == NodeKind::Router);
        let Some(item) = record.given("routers") else {
            return Some((0..nodes.list.len()).filter(|index| is_router(*index)).collect());
        };
        let Value::Names(names) = &item.value else { return None };
        let at = Path::Key(top, "routers");
        let mut routers = Vec::with_capacity(names.len());
        for (index, item) in names.iter().enumerate() {
            let Value::Text(name) = &item.value else { continue };
            let path = Path::Index(&at, index);
            let Some(node) = nodes.expect(name, (item.place, &path), self.report) else { continue };
            if !is_router(node) {
                self.report.add(item.place, path, &item.shown, "is a host", "names of routers");
            } else if routers.contains(&node) {
                self.report.add(item.place, path, &item.shown, "is listed twice", "each router once");
            } else {
                routers.push(node);
            }
        }
        Some(routers)
    }
}
