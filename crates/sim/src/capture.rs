//! Packet captures, written through the `pcap-file` library: one pcapng file per link and one per 802.11 channel.
//!
//! On a link, a packet is captured when its transmission starts, on the interface of its direction. So a packet that
//! the link corrupts is in the file. One that the queue marked has a comment with its sub-queue. One that a queue drops
//! is in a file of drops instead, with the reason.
//! The link type is raw IP (LINKTYPE_RAW, 101).
//!
//! On a channel, every frame is captured when its preamble starts, as by a monitor that receives every transmitter
//! well. Frames that collide, or that are corrupted at their receivers (frame error rate), are in the file too, with a
//! correct FCS. Each MPDU of an A-MPDU is a separate frame. The link type is 802.11 with radiotap headers
//! (LINKTYPE_IEEE802_11_RADIOTAP, 127).
//!
//! A caller that reads packets during the run gets the same as values instead: [`Packets`].

mod channel;
mod packets;
#[cfg(test)]
mod tests;

pub(crate) use channel::ChannelCapture;
pub use packets::Packets;

use crate::RunError;
use narrows_fabric::{DropFile, Marks, PcapFile, PcapNames, SNAPLEN};
use narrows_queue::Dropped;
use narrows_units::Instant;
use narrows_wifi::{Frame, Mpdu};
use narrows_wire::Packet;
use pcap_file::DataLink;
use std::path::Path;
use std::sync::Arc;

/// Longest frame that is captured whole: radiotap header, QoS data header, LLC and SNAP, IP packet, FCS.
const CHANNEL_SNAPLEN: u32 = 48 + 26 + 8 + SNAPLEN + 4;

/// The open files of a run, and who else receives its packets.
pub(crate) struct Capture {
    watcher: Option<Arc<dyn Packets>>,
    links: Vec<PcapFile>,
    drops: Vec<DropFile>,
    channels: Vec<(ChannelCapture, PcapFile)>,
    bytes: Vec<u8>,
    /// Marked packets in queues, by direction and bytes.
    marks: Marks<(usize, Vec<u8>)>,
    /// The sub-queue of the packet that is leaving, if it was marked before a router agent changed it.
    leaving: Option<u32>,
    failed: Option<RunError>,
}

impl Capture {
    /// Opens a file per link in `dir`, named after the link's ends, such as `N0-R1.pcapng`, and one per channel, named
    /// after the channel.
    ///
    /// # Errors
    /// [`RunError::Capture`] if a file cannot be written.
    pub(crate) fn create(
        dir: &Path,
        links: &[(String, String)],
        channels: Vec<ChannelCapture>,
    ) -> Result<Self, RunError> {
        let mut names = PcapNames::new(dir);
        let drops = links.iter().map(|(a, b)| names.drops(a, b)).collect();
        let links = links.iter().map(|(a, b)| names.link(a, b)).collect::<Result<_, _>>()?;
        let channel = |facts: ChannelCapture| {
            let kind = DataLink::IEEE802_11_RADIOTAP;
            let output =
                PcapFile::create(names.free(&facts.name), kind, CHANNEL_SNAPLEN, std::slice::from_ref(&facts.name))?;
            Ok::<_, RunError>((facts, output))
        };
        let channels = channels.into_iter().map(channel).collect::<Result<_, _>>()?;
        Ok(Self { links, drops, channels, ..Self::new(None) })
    }

    /// Writes no files and hands the packets to `watcher`.
    pub(crate) fn watched(watcher: Arc<dyn Packets>) -> Self {
        Self::new(Some(watcher))
    }

    fn new(watcher: Option<Arc<dyn Packets>>) -> Self {
        Self {
            watcher,
            links: Vec::new(),
            drops: Vec::new(),
            channels: Vec::new(),
            bytes: Vec::new(),
            marks: Marks::default(),
            leaving: None,
            failed: None,
        }
    }

    /// Remembers that the queue of direction `edge` marked a packet.
    pub(crate) fn note_mark(&mut self, edge: usize, packet: &Packet, subqueue: u32) {
        if self.links.is_empty() {
            return;
        }
        let mut bytes = Vec::new();
        packet.emit_into(&mut bytes);
        self.marks.note((edge, bytes), subqueue);
    }

    /// Recognises a packet that leaves the queue of direction `edge`, before a router agent changes it.
    pub(crate) fn recognise(&mut self, edge: usize, packet: &Packet) {
        self.leaving = self.mark_of(edge, packet);
    }

    fn mark_of(&mut self, edge: usize, packet: &Packet) -> Option<u32> {
        if self.marks.is_empty() {
            return None;
        }
        let mut bytes = Vec::new();
        packet.emit_into(&mut bytes);
        self.marks.take(&(edge, bytes))
    }

    /// Writes a packet whose transmission on direction `edge` starts at `at`. The first error is kept for
    /// [`finish`](Self::finish).
    pub(crate) fn record(&mut self, edge: usize, packet: &Packet, at: Instant) {
        if let Some(watcher) = &self.watcher {
            return watcher.departed(edge, packet, at);
        }
        if self.failed.is_some() {
            return;
        }
        let marked = self.leaving.take().or_else(|| self.mark_of(edge, packet));
        self.bytes.clear();
        packet.emit_into(&mut self.bytes);
        let Some(output) = self.links.get_mut(edge / 2) else { return };
        self.failed = output.write_leaving((edge % 2) as u32, at, &self.bytes, marked).err().map(RunError::from);
    }

    /// Writes a packet that the queue of direction `edge` dropped at `at`. The first error is kept for
    /// [`finish`](Self::finish).
    pub(crate) fn record_drop(&mut self, edge: usize, dropped: &Dropped, at: Instant) {
        if let Some(watcher) = &self.watcher {
            return watcher.dropped(edge, dropped, at);
        }
        if self.failed.is_some() {
            return;
        }
        // A packet may be marked first and dropped later.
        self.mark_of(edge, &dropped.packet);
        self.bytes.clear();
        dropped.packet.emit_into(&mut self.bytes);
        let Some(output) = self.drops.get_mut(edge / 2) else { return };
        self.failed = output.write((edge % 2) as u32, at, &self.bytes, dropped).err().map(RunError::from);
    }

    /// Hands over a packet that was lost on direction `edge` at `at`, after its transmission. It is in the link's file.
    pub(crate) fn note_corrupted(&self, edge: usize, packet: &Packet, at: Instant) {
        if let Some(watcher) = &self.watcher {
            watcher.corrupted(edge, packet, at);
        }
    }

    /// Writes a frame that starts on channel number `channel`, with the MPDUs that it carries. The first error is kept
    /// for [`finish`](Self::finish).
    pub(crate) fn record_frame(&mut self, channel: usize, frame: &Frame, mpdus: &[Mpdu]) {
        if let Some(watcher) = &self.watcher {
            return watcher.frame(channel, frame, mpdus);
        }
        let Some((facts, output)) = self.channels.get_mut(channel) else { return };
        let failed = &mut self.failed;
        facts.emit(frame, mpdus, &mut self.bytes, |bytes| {
            if failed.is_none() {
                *failed = output.write(0, frame.start, bytes).err().map(RunError::from);
            }
        });
    }

    /// Writes out buffered data.
    ///
    /// # Errors
    /// [`RunError::Capture`] with the first error since the files were opened.
    pub(crate) fn finish(self) -> Result<(), RunError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let channels = self.channels.into_iter().map(|(_, output)| output);
        self.drops.into_iter().try_for_each(DropFile::finish)?;
        Ok(self.links.into_iter().chain(channels).try_for_each(PcapFile::finish)?)
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture")
            .field("links", &self.links.len())
            .field("channels", &self.channels.len())
            .finish_non_exhaustive()
    }
}
