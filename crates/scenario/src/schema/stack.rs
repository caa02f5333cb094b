//! The defaults of TCP settings that each value of `stack` selects. Settings in a file override them.

use super::{TCP, Table, Word};
use crate::catalogue::Ns2Agent;
use crate::check::plain;
use crate::problem::Place;
use crate::record::{Item, Record};
use crate::types::Stack;
use std::sync::LazyLock;

/// The values of `stack`.
pub(crate) const STACKS: &[Word] = &[
    Word("rfc", "the RFCs' recommendations"),
    Word("linux", "Linux 6.1"),
    Word("ns2", "ns-2.35: its own agents, or Agent/TCP/Linux, by which of them has the congestion control"),
];

/// A stack's defaults: each key of `[tcp]` that it sets, and the value as TOML.
#[derive(Debug)]
pub(crate) struct Habits {
    /// Title in the reference.
    pub(crate) title: &'static str,
    pub(crate) sets: &'static [(&'static str, &'static str)],
}

/// The format's defaults are those of the RFCs. This table holds only the fields whose default in the format depends on
/// other fields.
pub(crate) static RFC: Habits = Habits {
    title: "`rfc`",
    sets: &[
        ("recovery", "\"sack\""),
        ("rto", "{ style = \"rfc6298\", initial = \"1 s\", min = \"1 s\", max = \"60 s\", granularity = \"1 ms\" }"),
    ],
};

/// Linux 6.1 with its default settings. Its initial window counts segments of any size. A delayed ACK waits 40 ms at
/// first (`TCP_DELACK_MIN`). Its receive buffer counts at most 6 MiB of memory (`tcp_rmem[2]`), half of which is the
/// window (`tcp_adv_win_scale`).
pub(crate) static LINUX: Habits = Habits {
    title: "`linux`",
    sets: &[
        ("mss", "\"1460 B\""),
        ("initial_window", "10"),
        ("delayed_ack", "{ every = 2, timeout = \"40 ms\" }"),
        ("quick_ack", "true"),
        ("recovery", "\"sack\""),
        ("reduction", "\"prr_linux\""),
        ("dupthresh", "3"),
        ("limited_transmit", "true"),
        ("lost_retransmission", "true"),
        ("undo", "true"),
        ("reduce_once", "true"),
        ("full_ack_cap", "false"),
        ("impatient", "false"),
        ("tso", "true"),
        ("max_retries", "15"),
        ("sack", "true"),
        ("timestamps", "true"),
        ("timestamp_offsets", "true"),
        ("recv_buffer", "\"3 MiB\""),
        ("autotuning", "true"),
        ("idle_restart", "\"linux\""),
        ("cwnd_validation", "true"),
        ("slow_start_at_equality", "false"),
        ("pacing", "false"),
        ("rto", "{ style = \"linux\", initial = \"1 s\", min = \"200 ms\", max = \"120 s\", granularity = \"1 ms\" }"),
    ],
};

/// ns-2.35's own one-way agents. ns-2's names of their settings are `windowInit_`, `packetSize_`, `tcpTick_`,
/// `minrto_`, `singledup_` and `exit_recovery_fix_`. `Agent/TCP/Vegas` and `Agent/TCP/Reno` recover as Reno. The names
/// of the other agents imply their recovery, and agents that need SACK have it: `sack = false` is for the others, whose
/// sink sends none.
pub(crate) static NS2: Habits = Habits {
    title: "`ns2`, own agents",
    sets: &[
        ("mss", "\"1000 B\""),
        ("initial_window", "2"),
        ("delayed_ack", "false"),
        ("quick_ack", "false"),
        ("recovery", "\"reno\""),
        ("reduction", "\"immediate\""),
        ("dupthresh", "3"),
        ("limited_transmit", "true"),
        ("lost_retransmission", "false"),
        ("undo", "false"),
        ("reduce_once", "false"),
        ("full_ack_cap", "false"),
        ("impatient", "true"),
        ("tso", "false"),
        ("max_retries", "\"unlimited\""),
        ("sack", "false"),
        ("timestamps", "false"),
        ("timestamp_offsets", "false"),
        ("recv_buffer", "\"16 MiB\""),
        ("autotuning", "false"),
        ("idle_restart", "\"off\""),
        ("cwnd_validation", "false"),
        ("slow_start_at_equality", "false"),
        ("pacing", "false"),
        ("rto", "{ style = \"ns2\", initial = \"3 s\", min = \"200 ms\", max = \"60 s\", granularity = \"10 ms\" }"),
    ],
};

/// ns-2.35's `Agent/TCP/Linux`. Its timestamps take no room in a packet, so they are off here; every ACK still gives a
/// sample of the round-trip time. Its scoreboard is that of Linux 2.6: a hole is lost once more than three segments
/// above it are SACKed. Its rate halving, which spreads the reduction over a round trip, is the predecessor of PRR. Its
/// rule of one reduction per episode is not imitated: without PRR's conservation it leads to runs that lose more than
/// they deliver (docs/validation.md).
pub(crate) static NS2_LINUX: Habits = Habits {
    title: "`ns2`, Agent/TCP/Linux",
    sets: &[
        ("mss", "\"1000 B\""),
        ("initial_window", "2"),
        ("delayed_ack", "false"),
        ("quick_ack", "false"),
        ("recovery", "\"sack\""),
        ("reduction", "\"prr\""),
        ("dupthresh", "4"),
        ("limited_transmit", "true"),
        ("lost_retransmission", "true"),
        ("undo", "false"),
        ("reduce_once", "false"),
        ("full_ack_cap", "false"),
        ("impatient", "true"),
        ("tso", "false"),
        ("max_retries", "\"unlimited\""),
        ("sack", "true"),
        ("timestamps", "false"),
        ("timestamp_offsets", "false"),
        ("recv_buffer", "\"16 MiB\""),
        ("autotuning", "false"),
        ("idle_restart", "\"off\""),
        ("cwnd_validation", "false"),
        ("slow_start_at_equality", "true"),
        ("pacing", "false"),
        ("rto", "{ style = \"linux\", initial = \"3 s\", min = \"200 ms\", max = \"120 s\", granularity = \"10 ms\" }"),
    ],
};

/// The defaults of all stacks, as the reference lists them.
pub(crate) static HABITS: [&Habits; 4] = [&RFC, &LINUX, &NS2, &NS2_LINUX];

impl Habits {
    /// Returns what is set for a key of `[tcp]` or of its table `rto`, as written.
    pub(crate) fn shown(&self, table: &Table, key: &str) -> Option<String> {
        let record = self.record();
        let record = if table.name == TCP.name { Some(&record) } else { record.table("rto") };
        record.and_then(|record| record.given(key)).map(|item| item.shown.clone())
    }

    /// Returns the defaults as a checked table, to be layered below those of a file.
    fn record(&self) -> Record {
        let entry = |(key, text): &(&str, &'static str)| {
            let field = TCP.field(key)?;
            let item = Item { value: plain(&field.kind, text)?, place: Place::Nowhere, shown: (*text).to_owned() };
            Some((field.key, Place::Nowhere, item))
        };
        Record { table: &TCP, place: Place::Nowhere, entries: self.sets.iter().filter_map(entry).collect() }
    }
}

/// Returns the table of a stack's defaults. A congestion control without an ns-2 agent counts as a module of
/// `Agent/TCP/Linux`.
pub(crate) fn habits(stack: Stack, agent: Option<Ns2Agent>) -> &'static Record {
    static RECORDS: LazyLock<[Record; 4]> = LazyLock::new(|| HABITS.map(Habits::record));
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

    #[test]
    fn every_habit_is_a_setting_that_the_format_has_and_takes() {
        for habits in HABITS {
            let record = habits.record();
            let keys: Vec<&str> = record.entries.iter().map(|(key, ..)| *key).collect();
            let expected: Vec<&str> = habits.sets.iter().map(|(key, _)| *key).collect();
            assert_eq!(keys, expected, "{}: a key is unknown, or its value is not taken", habits.title);
        }
    }

    #[test]
    fn what_one_system_sets_they_all_set() {
        for (key, _) in LINUX.sets {
            assert!(NS2.shown(&TCP, key).is_some() && NS2_LINUX.shown(&TCP, key).is_some(), "{key}");
        }
        assert_eq!((NS2.sets.len(), NS2_LINUX.sets.len()), (LINUX.sets.len(), LINUX.sets.len()));
    }
}
