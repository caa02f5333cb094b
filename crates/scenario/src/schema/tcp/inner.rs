//! The tables inside `[tcp]`: delayed ACKs, pacing, careful resume and the retransmission timer.

use crate::record::{Record, ToValue, Value};
use crate::schema::{Field, Kind, LARGE, LONG, Need, SOME_TIME, Table, Word};
use crate::types::{CarefulResume, DelayedAck, Misbehavior, Pacing, RtoConfig};

/// Delayed acknowledgments.
pub(crate) static DELAYED_ACK: Table = Table {
    name: "tcp.delayed_ack",
    doc: "Delayed acknowledgments; `delayed_ack = false` acknowledges every segment at once.",
    groups: &[&[
        Field::new(
            "every",
            Kind::Integer(1, 1000),
            Need::Default("2"),
            "Full segments per ACK (RFC 5681, section 4.2).",
        ),
        Field::new(
            "timeout",
            Kind::Time(1, 500_000_000),
            Need::Default("200 ms"),
            "Longest delay of an ACK (RFC 1122, section 4.2.3.2).",
        ),
    ]],
};

/// A receiver that misbehaves.
pub(crate) static MISBEHAVIOR: Table = Table {
    name: "tcp.misbehavior",
    doc: "How the receiver breaks the rules (Savage et al., \"TCP Congestion Control with a Misbehaving Receiver\", \
          1999). The keys can be combined. `misbehavior = {}` is an honest receiver. See \
          [Misbehaving receivers](misbehaving-receivers.md).",
    groups: &[&[
        Field::new(
            "ack_division",
            Kind::Integer(1, 1000),
            Need::Default("1"),
            "ACK division: each ACK of new data leaves as this many ACKs, each of an equal part of the octets.",
        ),
        Field::new(
            "duplicate_acks",
            Kind::Integer(0, 1000),
            Need::Default("0"),
            "DupACK spoofing: duplicates that follow each ACK of new data.",
        ),
        Field::new(
            "optimistic_acks",
            Kind::Size(0, LARGE),
            Need::Default("0 B"),
            "Optimistic ACKing: ACKs run up to this far ahead of the highest octet that has arrived. The lead begins with \
             nothing and grows by what arrives; where the sender refuses an ACK, it falls back. Losses are concealed: \
             nothing is sent again, and lost data does not count as delivered.",
        ),
        Field::new(
            "conceal_ce",
            Kind::Switch,
            Need::Default("false"),
            "CE marks are not echoed, neither by ECE nor in AccECN's counters.",
        ),
    ]],
};

/// Pacing.
pub(crate) static PACING: Table = Table {
    name: "tcp.pacing",
    doc: "Pacing where the congestion control sets no rate of its own: segments leave at these percentages of `cwnd \
          / SRTT`, as Linux's internal pacing does; the first ten segments are not paced. `pacing = {}` takes \
          Linux's numbers.",
    groups: &[&[
        Field::new(
            "slow_start",
            Kind::Integer(1, 1000),
            Need::Default("200"),
            "Percent while cwnd is less than half of ssthresh (Linux's tcp_pacing_ss_ratio).",
        )
        .unit("percent"),
        Field::new(
            "avoidance",
            Kind::Integer(1, 1000),
            Need::Default("120"),
            "Percent otherwise (Linux's tcp_pacing_ca_ratio).",
        )
        .unit("percent"),
    ]],
};

/// Careful resume.
pub(crate) static CAREFUL_RESUME: Table = Table {
    name: "tcp.careful_resume",
    doc: "What an earlier connection on the same path left (RFC 9959). Once the initial window is acknowledged at a \
          round-trip time of more than half and at most ten times `saved_rtt`, cwnd jumps to half of `saved_cwnd`, paced \
          over a round-trip time.",
    groups: &[&[
        Field::new(
            "saved_cwnd",
            Kind::Size(1, LARGE),
            Need::Required,
            "Bytes that the earlier connection had delivered in a round-trip time.",
        ),
        Field::new("saved_rtt", SOME_TIME, Need::Required, "Its smallest round-trip time."),
    ]],
};

/// The retransmission timer.
pub(crate) static RTO: Table = Table {
    name: "tcp.rto",
    doc: "The retransmission timer (RFC 6298). Defaults depend on `style`.",
    groups: &[&[
        Field::new(
            "style",
            Kind::Choice(&[
                Word("rfc6298", "RFC 6298"),
                Word("linux", "Linux: the minimum applies to the variance term"),
                Word("ns2", "ns-2: whole ticks of the granularity"),
            ]),
            Need::ByStack(["rfc6298", "linux", "ns2", "linux"]),
            "Arithmetic of the timer.",
        ),
        Field::new(
            "initial",
            SOME_TIME,
            Need::DescribedByStack("1 s; ns2: 3 s", ["1 s", "1 s", "3 s", "3 s"]),
            "Timeout before the first RTT sample.",
        ),
        Field::new(
            "min",
            Kind::Time(0, LONG),
            Need::DescribedByStack("1 s; linux and ns2: 200 ms", ["1 s", "200 ms", "200 ms", "200 ms"]),
            "Floor.",
        ),
        Field::new(
            "max",
            SOME_TIME,
            Need::DescribedByStack("60 s; linux: 120 s", ["60 s", "120 s", "60 s", "120 s"]),
            "Ceiling.",
        ),
        Field::new(
            "granularity",
            SOME_TIME,
            Need::DescribedByStack("1 ms; ns2: 10 ms", ["1 ms", "1 ms", "10 ms", "10 ms"]),
            "Clock granularity G.",
        ),
    ]],
};

impl ToValue for DelayedAck {
    fn to_value(&self) -> Value {
        match *self {
            Self::Off => Value::Off,
            Self::On { every, timeout } => {
                Value::Table(Record::of(&DELAYED_ACK, [("every", every.to_value()), ("timeout", timeout.to_value())]))
            }
        }
    }
}

impl ToValue for Pacing {
    fn to_value(&self) -> Value {
        match *self {
            Self::Off => Value::Off,
            Self::Ratio { slow_start, avoidance } => Value::Table(Record::of(
                &PACING,
                [("slow_start", slow_start.to_value()), ("avoidance", avoidance.to_value())],
            )),
        }
    }
}

impl ToValue for Option<CarefulResume> {
    fn to_value(&self) -> Value {
        match *self {
            None => Value::Off,
            Some(CarefulResume { saved_cwnd, saved_rtt }) => Value::Table(Record::of(
                &CAREFUL_RESUME,
                [("saved_cwnd", saved_cwnd.to_value()), ("saved_rtt", saved_rtt.to_value())],
            )),
        }
    }
}

impl ToValue for Option<Misbehavior> {
    fn to_value(&self) -> Value {
        match *self {
            None => Value::Off,
            Some(Misbehavior { ack_division, duplicate_acks, optimistic_acks, conceal_ce }) => {
                Value::Table(Record::of(
                    &MISBEHAVIOR,
                    [
                        ("ack_division", ack_division.to_value()),
                        ("duplicate_acks", duplicate_acks.to_value()),
                        ("optimistic_acks", optimistic_acks.to_value()),
                        ("conceal_ce", conceal_ce.to_value()),
                    ],
                ))
            }
        }
    }
}

impl ToValue for RtoConfig {
    fn to_value(&self) -> Value {
        let values = [
            ("style", self.style.to_value()),
            ("initial", self.initial.to_value()),
            ("min", self.min.to_value()),
            ("max", self.max.to_value()),
            ("granularity", self.granularity.to_value()),
        ];
        Value::Table(Record::of(&RTO, values))
    }
}
