//! The counters of a run's scheme: which columns of the tables they fill, and their names.

use crate::table::{Column, Data, Table};

/// A column of the results that a scheme names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Name, unit and meaning, from the scheme's row.
    pub column: Column,
    /// The place of its values in the row's array; `None` if the run has not this scheme.
    pub slot: Option<usize>,
    /// Value of all rows if the run has not this scheme: 0, or [`NONE`](crate::NONE) for what is not a count.
    pub absent: u64,
}

/// The columns of a run's tables that schemes name.
///
/// Tables list the columns of all schemes, so results have the same columns whatever scheme runs. Only those of the
/// scheme that runs are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Of flows over time.
    pub flows: Vec<Counter>,
    /// Of router agents over time.
    pub routers: Vec<Counter>,
    /// Of flows over the whole run.
    pub flow_totals: Vec<Counter>,
    /// Of router agents over the whole run.
    pub router_totals: Vec<Counter>,
}

/// Returns a table's columns with their values: in place of the nameless columns those of `counters`.
#[must_use]
pub fn named<'a, T: Table>(table: &'a T, counters: &[Counter]) -> Vec<(Column, Data<'a>)> {
    let counters = if T::SLOTS.is_empty() { &[] } else { counters };
    let mut before = table.columns();
    let rows = table.len();
    let after = before.split_off(T::SLOTS.end);
    let slots = before.split_off(T::SLOTS.start);
    let of_slot = |counter: &Counter| match counter.slot.and_then(|slot| slots.get(slot)) {
        Some((_, data)) => (counter.column, data.clone()),
        None => (counter.column, Data::Same(counter.absent, rows)),
    };
    before.into_iter().chain(counters.iter().map(of_slot)).chain(after).collect()
}

/// Returns a row's value of the counter of this name; `None` if no scheme has it.
#[must_use]
pub fn value(row: &[u64], counters: &[Counter], name: &str) -> Option<u64> {
    let counter = counters.iter().find(|counter| counter.column.name == name)?;
    Some(counter.slot.and_then(|slot| row.get(slot).copied()).unwrap_or(counter.absent))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{FlowRow, FlowSamples, NONE, Packed, QueueSamples};

    const fn counter(name: &'static str, slot: Option<usize>, absent: u64) -> Counter {
        Counter { column: Column { name, unit: "", doc: "" }, slot, absent }
    }

    const COUNTERS: [Counter; 3] =
        [counter("second", Some(1), 0), counter("missing", None, NONE), counter("first", Some(0), 0)];

    #[test]
    fn named_columns_stand_in_place_of_the_nameless_ones() {
        let mut table = Packed::<FlowSamples>::default();
        for time_ns in 0..10_000 {
            table.push(&FlowRow { time_ns, counters: [1, 2, 3], arrived_bytes: 4, ..FlowRow::default() });
        }
        for whole in [named(&table, &COUNTERS), named(&table.unpack().unwrap(), &COUNTERS)] {
            let names: Vec<_> = whole.iter().map(|(column, _)| column.name).collect();
            assert_eq!(names[15..], ["timeouts", "second", "missing", "first", "arrived_bytes"]);
            for ((_, data), value) in whole[16..].iter().zip([2, NONE, 1, 4]) {
                assert_eq!(data.to_vec().unwrap(), vec![value; 10_000]);
            }
        }
        assert!(named(&table, &[]).iter().all(|(column, _)| !column.name.is_empty()));
    }

    #[test]
    fn a_table_without_slots_stays_as_it_is() {
        let queues = QueueSamples::default();
        let names = |columns: &[(Column, Data<'_>)]| columns.iter().map(|(column, _)| *column).collect::<Vec<_>>();
        assert_eq!(names(&named(&queues, &COUNTERS)), names(&queues.columns()));
    }

    #[test]
    fn a_value_is_found_by_its_name() {
        assert_eq!(value(&[7, 8], &COUNTERS, "second"), Some(8));
        assert_eq!(value(&[7, 8], &COUNTERS, "missing"), Some(NONE));
        assert_eq!(value(&[7, 8], &COUNTERS, "third"), None);
    }
}
