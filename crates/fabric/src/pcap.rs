//! Packet captures: pcapng files through the `pcap-file` library, with times in nanoseconds.

mod deliveries;

pub use deliveries::{Deliveries, UnreadableCapture, Wanted};

use narrows_queue::{DropReason, Dropped, NO_SUBQUEUE};
use narrows_units::Instant;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::{DataLink, PcapError};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest IP packet that is captured completely; no packet is longer.
pub const SNAPLEN: u32 = 65_575;

/// Why a capture cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot write the capture {}: {reason}", path.display())]
pub struct PcapFailure {
    /// The file.
    pub path: PathBuf,
    /// The system's reason.
    pub reason: String,
}

/// Unique names for the files of links in `dir`: one for each link, named after its ends, such as `N0-R1.pcapng`.
#[derive(Debug)]
pub struct PcapNames<'a> {
    dir: &'a Path,
    taken: Vec<PathBuf>,
    /// Names of files of drops, which are not made in every run and number no others.
    drops: Vec<PathBuf>,
}

impl<'a> PcapNames<'a> {
    /// Names in `dir`, none of them taken yet.
    #[must_use]
    pub const fn new(dir: &'a Path) -> Self {
        Self { dir, taken: Vec::new(), drops: Vec::new() }
    }

    /// The file of this name, or one with a number appended if that is taken.
    pub fn free(&mut self, name: &str) -> PathBuf {
        let mut path = self.dir.join(format!("{name}.pcapng"));
        if self.taken.contains(&path) || self.drops.contains(&path) {
            path = self.dir.join(format!("{name}-{}.pcapng", self.taken.len()));
        }
        self.taken.push(path.clone());
        path
    }

    /// Opens the file of the link between two nodes: raw IP (LINKTYPE_RAW, 101), with an interface for each direction.
    ///
    /// # Errors
    /// [`PcapFailure`] if it cannot be written.
    pub fn link(&mut self, a: &str, b: &str) -> Result<PcapFile, PcapFailure> {
        let path = self.free(&format!("{a}-{b}"));
        PcapFile::create(path, DataLink::RAW, SNAPLEN, &[format!("{a}->{b}"), format!("{b}->{a}")])
    }

    /// The file of the packets that the queues of the link between two nodes drop, such as `N0-R1.drops.pcapng`. It is
    /// made when the first packet is dropped.
    pub fn drops(&mut self, a: &str, b: &str) -> DropFile {
        let mut path = self.dir.join(format!("{a}-{b}.drops.pcapng"));
        if self.taken.contains(&path) || self.drops.contains(&path) {
            path = self.dir.join(format!("{a}-{b}.drops-{}.pcapng", self.drops.len()));
        }
        self.drops.push(path.clone());
        DropFile { path, interfaces: [format!("{a}->{b}"), format!("{b}->{a}")], file: None }
    }
}

/// Packets that the queues of one link dropped: raw IP, with an interface for each direction. The comment of a packet
/// has the reason, and the sub-queue that it belonged to.
#[derive(Debug)]
pub struct DropFile {
    path: PathBuf,
    interfaces: [String; 2],
    file: Option<PcapFile>,
}

impl DropFile {
    /// Writes a packet that the queue of a direction (0 or 1) dropped.
    ///
    /// # Errors
    /// [`PcapFailure`] if the file cannot be written.
    pub fn write(&mut self, direction: u32, at: Instant, bytes: &[u8], dropped: &Dropped) -> Result<(), PcapFailure> {
        if self.file.is_none() {
            self.file = Some(PcapFile::create(self.path.clone(), DataLink::RAW, SNAPLEN, &self.interfaces)?);
        }
        let comment = Cow::Owned(told_of(dropped));
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_with(direction, at, bytes, vec![EnhancedPacketOption::Comment(comment)])
    }

    /// Writes out buffered data.
    ///
    /// # Errors
    /// [`PcapFailure`] if the file cannot be written.
    pub fn finish(self) -> Result<(), PcapFailure> {
        self.file.map_or(Ok(()), PcapFile::finish)
    }
}

/// Packets that queues marked and that have not left yet, with the sub-queues they belong to. `K` identifies a packet;
/// equal ones are told apart by their order.
#[derive(Debug)]
pub struct Marks<K>(BTreeMap<K, VecDeque<u32>>);

impl<K> Default for Marks<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Marks<K> {
    /// Keeps the sub-queue of a packet until it leaves.
    pub fn note(&mut self, packet: K, subqueue: u32) {
        self.0.entry(packet).or_default().push_back(subqueue);
    }

    /// Returns and forgets the sub-queue of a packet that leaves or is dropped, if it was marked.
    pub fn take(&mut self, packet: &K) -> Option<u32> {
        let waiting = self.0.get_mut(packet)?;
        let subqueue = waiting.pop_front();
        if waiting.is_empty() {
            self.0.remove(packet);
        }
        subqueue
    }

    /// Whether no marked packet waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Why a packet was dropped, in words.
fn told_of(dropped: &Dropped) -> String {
    let reason = match dropped.reason {
        DropReason::Overflow => "dropped: no room",
        DropReason::Early => "dropped early by the AQM",
        DropReason::Forced => "dropped by rule",
    };
    match dropped.subqueue {
        NO_SUBQUEUE => format!("{reason}, in front of the queue"),
        number => format!("{reason}, sub-queue {number}"),
    }
}

/// One pcapng file, open for writing.
pub struct PcapFile {
    path: PathBuf,
    writer: PcapNgWriter<BufWriter<File>>,
}

impl std::fmt::Debug for PcapFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PcapFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl PcapFile {
    /// Opens a file for IP packets (LINKTYPE_RAW, 101), as [`create`](Self::create) does.
    ///
    /// # Errors
    /// [`PcapFailure`] if the file cannot be written.
    pub fn raw_ip(path: PathBuf, interfaces: &[String]) -> Result<Self, PcapFailure> {
        Self::create(path, DataLink::RAW, SNAPLEN, interfaces)
    }

    /// Opens a file with an interface for each name. Times are in nanoseconds. The caller must cut packets longer than
    /// `snaplen` bytes.
    ///
    /// # Errors
    /// [`PcapFailure`] if the file cannot be written.
    pub fn create(path: PathBuf, linktype: DataLink, snaplen: u32, interfaces: &[String]) -> Result<Self, PcapFailure> {
        let fail = |reason: String| PcapFailure { path: path.clone(), reason };
        let file = File::create(&path).map_err(|e| fail(e.to_string()))?;
        let mut writer = PcapNgWriter::new(BufWriter::new(file)).map_err(|e| fail(told(&e)))?;
        for name in interfaces {
            let options =
                vec![InterfaceDescriptionOption::IfName(Cow::Borrowed(name)), InterfaceDescriptionOption::IfTsResol(9)];
            let block = InterfaceDescriptionBlock { linktype, snaplen, options };
            writer.write_pcapng_block(block).map_err(|e| fail(told(&e)))?;
        }
        Ok(Self { path, writer })
    }

    /// Writes a packet of the interface with this number.
    ///
    /// # Errors
    /// [`PcapFailure`] with the system's reason, such as a full disk.
    pub fn write(&mut self, interface_id: u32, at: Instant, bytes: &[u8]) -> Result<(), PcapFailure> {
        self.write_with(interface_id, at, bytes, Vec::new())
    }

    /// Writes a packet that leaves a queue, with a comment if the queue marked it: `marked` is its sub-queue.
    ///
    /// # Errors
    /// [`PcapFailure`] with the system's reason, such as a full disk.
    pub fn write_leaving(
        &mut self,
        interface_id: u32,
        at: Instant,
        bytes: &[u8],
        marked: Option<u32>,
    ) -> Result<(), PcapFailure> {
        let comment = |number| EnhancedPacketOption::Comment(Cow::Owned(format!("marked CE, sub-queue {number}")));
        self.write_with(interface_id, at, bytes, marked.map(comment).into_iter().collect())
    }

    fn write_with(
        &mut self,
        interface_id: u32,
        at: Instant,
        bytes: &[u8],
        options: Vec<EnhancedPacketOption<'_>>,
    ) -> Result<(), PcapFailure> {
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: bytes.len() as u32,
            data: Cow::Borrowed(bytes),
            options,
        };
        match self.writer.write_pcapng_block(block) {
            Ok(_) => Ok(()),
            Err(e) => Err(PcapFailure { path: self.path.clone(), reason: told(&e) }),
        }
    }

    /// Writes out buffered data.
    ///
    /// # Errors
    /// [`PcapFailure`] if the file cannot be written.
    pub fn finish(self) -> Result<(), PcapFailure> {
        use std::io::Write;
        let Self { path, writer } = self;
        writer.into_inner().flush().map_err(|e| PcapFailure { path, reason: e.to_string() })
    }
}

/// The system's reason, such as a full disk, if there is one: the library's own message is "Error reading bytes".
fn told(error: &PcapError) -> String {
    if let PcapError::IoError(system) = error { system.to_string() } else { error.to_string() }
}
