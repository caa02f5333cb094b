//! Quantities that cannot be mixed up: time, bytes, packets, rates, probabilities and sequence numbers.
//!
//! Every quantity is an integer in one unit (nanoseconds, bytes, packets, bits per second) except
//! [`Probability`]. There is no `From<u64>`: a value is always built by naming its unit, as in
//! `Rate::mbps(10)` or `Duration::from_millis(2)`.

mod amount;
mod exact;
mod probability;
mod rate;
mod seq;
mod time;
mod variable;

pub use amount::{Bytes, Packets};
pub use probability::{Probability, ProbabilityError};
pub use rate::{Rate, Serialiser};
pub use seq::SeqNum;
pub use time::{Duration, Instant};
pub use variable::{Variable, header};
