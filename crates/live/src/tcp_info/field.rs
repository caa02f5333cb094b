//! What `TCP_INFO` tells of the variables of a test case.

use super::{INFINITE_SSTHRESH, Raw, TcpInfo};
use narrows_samples::NONE;
use narrows_timeline::FlowField;
use std::mem::offset_of;

/// Why the kernel does not tell a variable of a connection, neither by `TCP_INFO` nor by what changes between two
/// reads; `None` for those that it tells.
pub(crate) const fn untold(field: FlowField) -> Option<&'static str> {
    match field {
        FlowField::Lost => Some("TCP_INFO has the segments that are lost now, and no sum of them"),
        FlowField::CwndLimited => Some("TCP_INFO does not have is_cwnd_limited"),
        FlowField::Undos => Some("TCP_INFO does not count reductions that were undone"),
        _ => None,
    }
}

impl TcpInfo {
    /// Phase of loss recovery: the place in [`narrows_timeline::PHASES`] (`tcpi_ca_state`).
    pub(crate) const fn phase(&self) -> u8 {
        self.raw.ca_state
    }

    /// Whether the handshake is over, so that the values are those of a connection.
    pub(crate) const fn has_opened(&self) -> bool {
        const TCP_CLOSE: u8 = 7;
        const TCP_LISTEN: u8 = 10;
        !self.is_opening() && !matches!(self.raw.state, TCP_CLOSE | TCP_LISTEN)
    }

    /// Segments in the network: `packets_out` - `sacked_out` - `lost_out` + `retrans_out`.
    pub(crate) fn inflight_segments(&self) -> u32 {
        let raw = &self.raw;
        (raw.unacked + raw.retrans).saturating_sub(raw.sacked + raw.lost)
    }

    /// Bytes cumulatively acknowledged, without the SYN that this end sent if it `opened`.
    pub(crate) fn acked_bytes(&self, opened: bool) -> u64 {
        self.raw.bytes_acked.saturating_sub(opened.into())
    }

    /// Bytes sent for the first time.
    pub(crate) fn fresh_bytes(&self) -> u64 {
        field!(self, bytes_sent).unwrap_or(0).saturating_sub(field!(self, bytes_retrans).unwrap_or(0))
    }

    /// Returns a variable in the unit of its row, NaN without a value. `opened` says whether this end sent the SYN,
    /// `paced` whether the connection is paced. Variables that follow from several reads have no value here.
    ///
    /// Counts of bytes that the kernel has in segments (SACKed, marked) are multiples of `tcpi_snd_mss`.
    pub(crate) fn value(&self, field: FlowField, opened: bool, paced: bool) -> f64 {
        let (raw, row) = (&self.raw, self.row(opened));
        let mss = f64::from(raw.snd_mss);
        match field {
            FlowField::Cwnd => known(row.cwnd_bytes),
            FlowField::Ssthresh => known(row.ssthresh_bytes),
            FlowField::Inflight => known(row.inflight_bytes),
            FlowField::Flightsize => known(row.flightsize_bytes),
            FlowField::Srtt => known(row.srtt_ns) / 1e9,
            FlowField::Rttvar => self.srtt_ns().map_or(f64::NAN, |_| f64::from(raw.rttvar) / 1e6),
            FlowField::MinRtt => self.min_rtt_ns().map_or(f64::NAN, |ns| ns as f64 / 1e9),
            FlowField::Rto => known(row.rto_ns) / 1e9,
            FlowField::PacingRate => {
                let rate = field!(self, pacing_rate).filter(|&rate| paced && rate != u64::MAX);
                rate.map_or(f64::NAN, |bytes| 8.0 * bytes as f64)
            }
            FlowField::Delivered => self.acked_bytes(opened) as f64 + f64::from(raw.sacked) * mss,
            FlowField::Retransmitted => field!(self, bytes_retrans).map_or(f64::NAN, |bytes| bytes as f64),
            FlowField::Sent => known(row.sent_bytes),
            FlowField::Marked => field!(self, delivered_ce).map_or(f64::NAN, |segments| f64::from(segments) * mss),
            FlowField::Smss => mss,
            FlowField::Rwnd => known(row.rwnd_bytes),
            FlowField::DeliveryRate => {
                let rate = field!(self, delivery_rate).filter(|&rate| rate > 0);
                rate.map_or(f64::NAN, |bytes| 8.0 * bytes as f64)
            }
            FlowField::AppLimited => truth(raw.flags & 1 == 1),
            FlowField::Phase => f64::from(self.phase()),
            FlowField::SlowStart => truth(raw.snd_ssthresh >= INFINITE_SSTHRESH || raw.snd_cwnd < raw.snd_ssthresh),
            FlowField::Timeouts => known(row.timeouts),
            FlowField::Idle => truth(raw.unacked == 0 && field!(self, notsent_bytes).unwrap_or(0) == 0),
            // From several reads, from the receiver, or not told at all.
            FlowField::Rtt
            | FlowField::Lost
            | FlowField::Rounds
            | FlowField::CwndLimited
            | FlowField::Losses
            | FlowField::Undos
            | FlowField::Goodput => f64::NAN,
        }
    }
}

fn known(value: u64) -> f64 {
    if value == NONE { f64::NAN } else { value as f64 }
}

const fn truth(value: bool) -> f64 {
    if value { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_connection_has_the_values_of_its_rows() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[1; 5000]).unwrap();
        server.read_exact(&mut [0; 5000]).unwrap();
        server.write_all(&[1; 1]).unwrap();
        client.read_exact(&mut [0; 1]).unwrap();
        let info = TcpInfo::read(client.as_fd()).unwrap();
        let value = |field| info.value(field, true, false);
        assert!(info.has_opened() && !TcpInfo::read(listener.as_fd()).unwrap().has_opened());
        let whole = |field| value(field) as u64;
        assert_eq!([FlowField::Sent, FlowField::Delivered].map(whole), [5000, 5000]);
        assert_eq!([FlowField::Idle, FlowField::SlowStart, FlowField::Phase].map(whole), [1, 1, 0]);
        assert_eq!((info.fresh_bytes(), info.acked_bytes(true)), (5000, 5000));
        assert!((value(FlowField::Cwnd) / value(FlowField::Smss)).fract().abs() < 1e-9);
        assert!(value(FlowField::Ssthresh).is_nan() && value(FlowField::PacingRate).is_nan());
        for &field in FlowField::ALL {
            let from_elsewhere = [FlowField::Rtt, FlowField::Rounds, FlowField::Losses, FlowField::Goodput];
            if untold(field).is_some() || from_elsewhere.contains(&field) {
                assert!(value(field).is_nan(), "{field:?}");
            }
        }
    }
}
