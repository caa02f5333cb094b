//! The systems whose TCP defaults a flow can use. Each setting's row holds its defaults; settings in a file override
//! them.

use super::{Kind, TCP, Table, Word};
use crate::catalogue::Ns2Agent;
use crate::check::plain;
use crate::problem::Place;
use crate::record::{Item, Record, Value};
use crate::types::Stack;
use std::sync::LazyLock;

/// The values of `stack`.
pub(crate) const STACKS: &[Word] = &[
    Word("rfc", "the RFCs' recommendations"),
    Word("linux", "Linux, the newest of `kernel`"),
    Word("ns2", "ns-2.35: the agent that has the congestion control, its own or Agent/TCP/Linux"),
];

/// Titles of the columns of defaults, in the order of [`Need::ByStack`](super::Need::ByStack).
pub(crate) static COLUMNS: [&str; 4] = [
    // The RFCs' recommendations.
    "`rfc`",
    // Linux 7.2 with its default settings; `kernel` gives the receive window of earlier versions. Its initial window
    // counts segments of any size. A delayed ACK waits 40 ms at first (`TCP_DELACK_MIN`). Its receive buffer counts at
    // most 6 MiB of memory (`tcp_rmem[2]`); here half of that is the window, as `tcp_adv_win_scale` made it before 6.6.
    "`linux`",
    // ns-2.35's own one-way agents. ns-2's names of their settings are `windowInit_`, `packetSize_`, `tcpTick_`,
    // `minrto_`, `singledup_` and `exit_recovery_fix_`. `Agent/TCP/Vegas` and `Agent/TCP/Reno` recover as Reno. The
    // names of the other agents imply their recovery. Agents that need SACK use it; `sack = false` applies to the
    // others, whose sink sends no SACK.
    "`ns2`, own agents",
    // ns-2.35's `Agent/TCP/Linux`. Its timestamps take no room in a packet, so they are off here; every ACK still gives
    // a sample of the round-trip time. Its scoreboard is that of Linux 2.6: a hole is lost once more than three
    // segments above it are SACKed. Its rate halving, which spreads the reduction over a round trip, is the predecessor
    // of PRR. Its rule of one reduction per episode is left out: without PRR's conservation, runs lose more than they
    // deliver (docs/validation.md).
    "`ns2`, Agent/TCP/Linux",
];

/// Returns the defaults of a column as a checked table, to be layered below those of a file.
fn record(table: &'static Table, column: usize) -> Record {
    let mut entries = Vec::new();
    for field in table.fields() {
        let value = match (field.need.by_stack(column), &field.kind) {
            (Some(text), kind) => plain(kind, text),
            (None, Kind::Table(inner)) => Some(Value::Table(record(inner, column))),
            (None, _) => None,
        };
        entries.extend(value.map(|value| (field.key, Place::Nowhere, Item::bare(value))));
    }
    Record { table, place: Place::Nowhere, entries }
}

/// Returns the table of a stack's defaults. A congestion control without an ns-2 agent counts as a module of
/// `Agent/TCP/Linux`.
pub(crate) fn habits(stack: Stack, agent: Option<Ns2Agent>) -> &'static Record {
    static RECORDS: LazyLock<[Record; 4]> = LazyLock::new(|| [0, 1, 2, 3].map(|column| record(&TCP, column)));
    let [rfc, linux, own, tcp_linux] = &*RECORDS;
    match (stack, agent) {
        (Stack::Rfc, _) => rfc,
        (Stack::Linux, _) => linux,
        (Stack::Ns2, Some(Ns2Agent::Own)) => own,
        (Stack::Ns2, _) => tcp_linux,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::RTO;

    #[test]
    fn every_default_by_stack_is_a_value_that_its_setting_takes() {
        for field in TCP.fields().chain(RTO.fields()) {
            for column in 0..COLUMNS.len() {
                let text = field.need.by_stack(column);
                assert!(text.is_none_or(|text| plain(&field.kind, text).is_some()), "{}: {text:?}", field.key);
            }
        }
    }

    #[test]
    fn all_of_the_timer_s_defaults_depend_on_the_stack() {
        assert!(RTO.fields().all(|field| field.need.by_stack(0).is_some()));
    }
}
