#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Exchanges of segments between two end points and a deterministic network, in virtual time.

mod accurate_ecn;
mod bursts;
mod capped;
mod capped_ends;
mod closing;
mod delayed_ack;
mod ecn;
mod episodes;
mod flow_control;
mod frto;
mod full;
mod full_acks;
mod handshake;
mod harness;
mod idle;
mod limits;
mod linux_receiver;
mod loss;
mod lost_retransmission;
mod measuring;
mod merged;
mod misbehaving;
mod pacing;
mod rack;
mod reduction;
mod rledbat;
mod scheme;
mod small_queue;
mod spurious;
mod starts;
mod tlp;
mod transfer;
mod vectors;
mod window_cap;
