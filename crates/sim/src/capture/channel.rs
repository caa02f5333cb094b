//! Frames of 802.11 channels in captures: radiotap header, MAC header, LLC and SNAP, IP packet, FCS.

use crate::RunError;
use crate::radio::modulations;
use narrows_scenario::{Node, Wifi, WifiMode};
use narrows_units::{Duration, Rate};
use narrows_wifi::{Frame, FrameKind, Mpdu};
use narrows_wire::{
    BlockAckRepr, DataRepr, Direction, Dot11Repr, MacAddr, Packet, RadiotapAmpdu, RadiotapChannel, RadiotapFlags,
    RadiotapMcs, RadiotapRepr, RadiotapVht,
};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Power, dBm, shown for a scenario's signal of 0 dB. Scenarios give relative signal strengths, not absolute ones.
const SIGNAL_DBM: f64 = -50.0;

/// What a channel's capture contains besides the contents of frames.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChannelCapture {
    /// Name of the channel; also the file's and the interface's.
    pub(crate) name: String,
    /// Address of each station; the base station is the first.
    pub(crate) stations: Vec<MacAddr>,
    /// Antenna signal of each station's frames, dBm.
    pub(crate) signals: Vec<i8>,
    /// Address of every node of the network, for end points beyond the base station.
    pub(crate) nodes: BTreeMap<IpAddr, MacAddr>,
    /// Modulation of data frames.
    pub(crate) data: Modulation,
    /// Rate of RTS, CTS, ACK and block ACK frames.
    pub(crate) basic_rate: Rate,
    /// Whether DSSS frames above 1 Mb/s have the short preamble.
    pub(crate) short_preamble: bool,
    /// Time from the start of a data frame, and of a control frame, to the first bit of the MPDU.
    pub(crate) preambles: [Duration; 2],
    /// Whether the channel is at 5 GHz instead of 2.4 GHz.
    pub(crate) ghz5: bool,
    /// Whether data frames are QoS data frames: those in A-MPDUs are (IEEE 802.11-2016, section 9.7.3).
    pub(crate) qos: bool,
    /// Reference number of the next A-MPDU.
    pub(crate) reference: u32,
}

/// The modulation of data frames, in radiotap's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modulation {
    /// 802.11, 802.11b, 802.11a, 802.11g.
    Rate(Rate),
    /// 802.11n.
    Ht(RadiotapMcs),
    /// 802.11ac.
    Vht(RadiotapVht),
}

impl ChannelCapture {
    /// The properties of a channel in a scenario with these nodes.
    ///
    /// # Errors
    /// [`RunError::Radio`] if the PHY has no such modulation.
    pub(crate) fn new(wifi: &Wifi, nodes: &[Node]) -> Result<Self, RunError> {
        let stations = || std::iter::once(&wifi.base).chain(&wifi.stations);
        let mac = |node: usize| MacAddr::of_node(node as u32);
        let (data, control) = modulations(wifi)?;
        Ok(Self {
            name: wifi.name.clone(),
            stations: stations().map(|s| mac(s.node)).collect(),
            signals: stations().map(|s| (SIGNAL_DBM + s.signal_db).round() as i8).collect(),
            nodes: nodes.iter().enumerate().map(|(index, node)| (node.address, mac(index))).collect(),
            data: modulation(wifi),
            basic_rate: wifi.basic_rate,
            short_preamble: wifi.short_preamble,
            preambles: [data.preamble(), control.preamble()],
            // `narrows_wifi` supports 802.11n in the 5 GHz band only.
            ghz5: matches!(wifi.phy.as_str(), "802.11a" | "802.11n" | "802.11ac"),
            qos: wifi.aggregation.is_some(),
            reference: 0,
        })
    }

    /// Calls `write` with the bytes of each MPDU of a frame, preceded by the radiotap header; `out` is the buffer.
    pub(crate) fn emit(&mut self, frame: &Frame, mpdus: &[Mpdu], out: &mut Vec<u8>, mut write: impl FnMut(&[u8])) {
        let duration = duration_field(frame.duration);
        let (receiver, transmitter) = (self.mac(frame.to), self.mac(frame.from));
        let control = match frame.kind {
            FrameKind::Rts => Dot11Repr::Rts { duration, receiver, transmitter },
            FrameKind::Cts => Dot11Repr::Cts { duration, receiver },
            FrameKind::Ack => Dot11Repr::Ack { duration, receiver },
            FrameKind::BlockAck { start, bitmap } => {
                Dot11Repr::BlockAck(BlockAckRepr { duration, receiver, transmitter, tid: 0, start, bitmap })
            }
            FrameKind::Data | FrameKind::Aggregate { .. } => return self.emit_data(frame, mpdus, out, write),
        };
        let radiotap = self.radiotap(frame, Modulation::Rate(self.basic_rate), self.preambles[1]);
        out.clear();
        radiotap.emit_into(out);
        control.emit_into(out);
        write(out);
    }

    fn emit_data(&mut self, frame: &Frame, mpdus: &[Mpdu], out: &mut Vec<u8>, mut write: impl FnMut(&[u8])) {
        let mut radiotap = self.radiotap(frame, self.data, self.preambles[0]);
        for (number, mpdu) in mpdus.iter().enumerate() {
            if let FrameKind::Aggregate { .. } = frame.kind {
                radiotap.ampdu = Some(RadiotapAmpdu::new(self.reference, number + 1 == mpdus.len()));
            }
            out.clear();
            radiotap.emit_into(out);
            Dot11Repr::Data(self.data(frame, mpdu)).emit_into(out);
            write(out);
        }
        self.reference = self.reference.wrapping_add(u32::from(radiotap.ampdu.is_some()));
    }

    /// The header in front of a frame with this modulation and preamble.
    ///
    /// TSFT is the time at which the first bit of the MPDU arrives. All MPDUs of an A-MPDU have the TSFT of the first.
    fn radiotap(&self, frame: &Frame, modulation: Modulation, preamble: Duration) -> RadiotapRepr {
        let mut flags = RadiotapFlags::FCS_AT_END;
        let (frequency, band) = if self.ghz5 { (5180, RadiotapChannel::GHZ5) } else { (2412, RadiotapChannel::GHZ2) };
        let mut header = RadiotapRepr {
            tsft: Some((frame.start + preamble).as_nanos() / 1000),
            signal_dbm: self.signals.get(frame.from).copied(),
            ..RadiotapRepr::default()
        };
        let coding = match modulation {
            Modulation::Rate(rate) => {
                header.rate = u8::try_from(rate.as_bps() / 500_000).ok();
                if !is_dsss(rate) {
                    RadiotapChannel::OFDM
                } else {
                    // There is no short preamble at 1 Mb/s (IEEE 802.11-2016, section 16.2.2.3).
                    if self.short_preamble && rate > Rate::mbps(1) {
                        flags = flags.with(RadiotapFlags::SHORT_PREAMBLE);
                    }
                    RadiotapChannel::CCK
                }
            }
            Modulation::Ht(mcs) => {
                header.mcs = Some(mcs);
                RadiotapChannel::DYNAMIC
            }
            Modulation::Vht(vht) => {
                header.vht = Some(vht);
                RadiotapChannel::DYNAMIC
            }
        };
        header.flags = Some(flags);
        header.channel = Some(RadiotapChannel { frequency, flags: band | coding });
        header
    }

    /// The MAC frame of an MPDU.
    fn data(&self, frame: &Frame, mpdu: &Mpdu) -> DataRepr {
        let packet: Packet = mpdu.packet;
        let (direction, beyond) = match frame.from {
            0 => (Direction::FromDs, packet.ip.src()),
            _ => (Direction::ToDs, packet.ip.dst()),
        };
        DataRepr {
            duration: duration_field(frame.duration),
            direction,
            retry: mpdu.retry,
            receiver: self.mac(frame.to),
            transmitter: self.mac(frame.from),
            beyond: self.nodes.get(&beyond).copied().unwrap_or_default(),
            seq: mpdu.seq,
            tid: self.qos.then_some(0),
            packet,
        }
    }

    fn mac(&self, station: usize) -> MacAddr {
        self.stations.get(station).copied().unwrap_or_default()
    }
}

fn modulation(wifi: &Wifi) -> Modulation {
    match wifi.mode {
        WifiMode::Rate(rate) => Modulation::Rate(rate),
        WifiMode::Mcs { mcs, width_mhz, streams, short_guard } if wifi.phy == "802.11ac" => {
            Modulation::Vht(RadiotapVht::new(mcs as u8, streams as u8, width_mhz, short_guard))
        }
        WifiMode::Mcs { mcs, width_mhz, streams, short_guard } => {
            // The index of 802.11n counts the streams too (IEEE 802.11-2016, section 19.5).
            let index = mcs + 8 * streams.saturating_sub(1);
            Modulation::Ht(RadiotapMcs::new(index as u8, width_mhz, short_guard))
        }
    }
}

/// Whether this is a rate of DSSS or CCK: 1, 2, 5.5, 11 Mb/s.
fn is_dsss(rate: Rate) -> bool {
    matches!(rate.as_bps(), 1_000_000 | 2_000_000 | 5_500_000 | 11_000_000)
}

/// The duration field: microseconds, rounded up, at most 32,767 (IEEE 802.11-2016, sections 9.2.4.2 and 9.2.5.1).
fn duration_field(duration: Duration) -> u16 {
    duration.as_nanos().div_ceil(1000).min(0x7fff) as u16
}
