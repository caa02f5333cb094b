//! Rules among the TCP settings of a flow, and the place at which a violation is reported.

use super::Build;
use super::tcp::Said;
use crate::check::Path;
use crate::quantity;
use crate::record::Record;
use narrows_units::Duration;

/// Reports settings that break a rule.
pub(crate) struct Rules<'a, 'b, 'c> {
    build: &'a mut Build<'b>,
    said: &'a Said<'c>,
}

impl<'a, 'b, 'c> Rules<'a, 'b, 'c> {
    pub(crate) fn new(build: &'a mut Build<'b>, said: &'a Said<'c>) -> Self {
        Self { build, said }
    }

    /// Reports that `subject` breaks a rule, at the first of `keys` that the flow's table gives (for `[tcp]`: that
    /// `[tcp]` gives). If none is given, it reports the flow's stack or congestion control, unless `[tcp]` broke the
    /// rule already, which was reported.
    pub(crate) fn broken(&mut self, subject: &str, keys: &[&str], reason: &str, allowed: &str) {
        let (own, path) = (self.said.own, self.said.path);
        self.broken_in(own, path, subject, keys, reason, allowed);
    }

    /// Reports a retransmission timer whose initial or least time exceeds its largest. `times` are initial, least, most
    /// and granularity.
    pub(crate) fn timer(&mut self, times: &[Duration; 4]) {
        let own = self.said.own.and_then(|own| own.table("rto"));
        let path = Path::Key(self.said.path, "rto");
        let most = format!("at most {}", quantity::show_time(times[2]));
        for (key, time) in [("min", times[1]), ("initial", times[0])] {
            if time > times[2] {
                self.broken_in(own, &path, key, &[key, "max", "style"], "is more than max", &most);
            }
        }
    }

    fn broken_in(
        &mut self,
        own: Option<&Record>,
        path: &Path<'_>,
        subject: &str,
        keys: &[&str],
        reason: &str,
        allowed: &str,
    ) {
        let said = self.said;
        for (index, key) in keys.iter().enumerate() {
            let (item, at) = match (*key, &said.cc) {
                ("cc", Some(cc)) => (Some(cc.item), cc.path()),
                _ => (own.and_then(|own| own.given(key)), Path::Key(path, key)),
            };
            let Some(item) = item else { continue };
            let reason = if index == 0 { reason.to_owned() } else { format!("does not fit: {subject} {reason}") };
            self.build.report.add(item.place, at, &item.shown, reason, allowed);
            return;
        }
        if let (Some(given), true) = (said.stack.as_ref().or(said.cc.as_ref()), said.agreed) {
            let reason = format!("does not fit: {subject} {reason}");
            self.build.report.add(given.place(), given.path(), &given.item.shown, reason, allowed);
        }
    }
}
