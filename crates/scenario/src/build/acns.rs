//! ACNS: its routers and parameters.

use super::Build;
use super::nodes::Nodes;
use crate::check::Path;
use crate::record::{OrWord, Record};
use crate::types::Acns;

const TOP: Path<'static> = Path::Key(&Path::Root, "acns");

/// Largest distance of the sum of the weights from 1: decimal fractions are not exact.
const NEAR: f64 = 1e-9;

impl Build<'_> {
    /// Reads `[acns]`: its parameters, if it is on and correct. A table that is off is checked too, so that switching
    /// it on reveals no new problems.
    pub(crate) fn acns(&mut self, nodes: &Nodes) -> Option<Acns> {
        let record = self.root.table("acns")?;
        let scheme = self.acns_scheme(record, nodes);
        scheme.filter(|_| self.schemes.acns == Some(true))
    }

    fn acns_scheme(&mut self, record: &Record, nodes: &Nodes) -> Option<Acns> {
        let (priority_weight, age_weight) = self.weights(record)?;
        let routers = self.scheme_routers(record, nodes, &TOP);
        let thresholds = [
            record.get::<f64>("freeze_threshold")?,
            record.get("fallback_threshold")?,
            record.get("loss_fallback_threshold")?,
            record.get("loss_decrease_threshold")?,
        ];
        self.ordered(record, "freeze_threshold", "fallback_threshold", (thresholds[0], thresholds[1]));
        self.ordered(record, "loss_fallback_threshold", "loss_decrease_threshold", (thresholds[2], thresholds[3]));
        Some(Acns {
            routers: routers?,
            formula: record.get("formula")?,
            priority_weight,
            age_weight,
            freeze_threshold: thresholds[0],
            fallback_threshold: thresholds[1],
            loss_fallback_threshold: thresholds[2],
            loss_decrease_threshold: thresholds[3],
            trend_count: record.get("trend_count")?,
            trend_sigma: record.get("trend_sigma")?,
            p_max_observed: record.get::<OrWord<u64>>("p_max")?.value().is_none(),
            idle_timeout: record.get("idle_timeout")?,
            max_flows: record.get("max_flows")?,
            command_scope: record.get("command_scope")?,
            ipv6: record.get("ipv6")?,
            obey: record.get("obey")?,
        })
    }

    fn weights(&mut self, record: &Record) -> Option<(f64, f64)> {
        let (priority, age) = (record.given("priority_weight"), record.given("age_weight"));
        Some(match (priority, age) {
            (None, None) => (0.8, 0.2),
            (Some(_), None) => {
                let weight: f64 = record.get("priority_weight")?;
                (weight, 1.0 - weight)
            }
            (None, Some(_)) => {
                let weight: f64 = record.get("age_weight")?;
                (1.0 - weight, weight)
            }
            (Some(item), Some(other)) => {
                let weights = (record.get::<f64>("priority_weight")?, record.get::<f64>("age_weight")?);
                if (weights.0 + weights.1 - 1.0).abs() > NEAR {
                    let reason = format!("and age_weight {} do not add up to 1", other.shown);
                    let allowed = "v_p + v_a = 1; what is not given follows from the other";
                    self.report.add(item.place, Path::Key(&TOP, "priority_weight"), &item.shown, reason, allowed);
                }
                weights
            }
        })
    }

    fn ordered(&mut self, record: &Record, low: &str, high: &str, (lower, upper): (f64, f64)) {
        if lower <= upper {
            return;
        }
        let key = if record.given(low).is_some() { low } else { high };
        let (place, shown) = record.given(key).map_or((record.place, ""), |item| (item.place, &item.shown));
        let (reason, allowed) = if key == low {
            (format!("is more than {high}"), format!("at most {upper}"))
        } else {
            (format!("is less than {low}"), format!("at least {lower}"))
        };
        self.report.add(place, Path::Key(&TOP, key), shown, reason, allowed);
    }
}
