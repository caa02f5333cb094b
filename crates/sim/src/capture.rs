//! Packet captures: one pcapng file per link, written through the `pcap-file` library.
//!
//! A packet is captured when its transmission starts, on the interface of its direction; so a packet that the link
//! corrupts is in the file, and one that a queue drops is not. The link type is raw IP (LINKTYPE_RAW, 101).

use crate::RunError;
use narrows_units::Instant;
use narrows_wire::Packet;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::{DataLink, PcapError};
use std::borrow::Cow;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest packet that is captured whole; every IP packet is.
const SNAPLEN: u32 = 65_575;

/// The open files of a run, one per link.
pub(crate) struct Capture {
    files: Vec<(PathBuf, PcapNgWriter<BufWriter<File>>)>,
    bytes: Vec<u8>,
    failed: Option<RunError>,
}

impl Capture {
    /// Opens a file per link in `dir`, named by the link's ends, such as `N0-R1.pcapng`.
    ///
    /// # Errors
    /// [`RunError::Capture`] where a file cannot be written.
    pub(crate) fn create(dir: &Path, links: &[(String, String)]) -> Result<Self, RunError> {
        let mut files = Vec::with_capacity(links.len());
        for (number, (a, b)) in links.iter().enumerate() {
            let mut path = dir.join(format!("{a}-{b}.pcapng"));
            if files.iter().any(|(other, _)| *other == path) {
                path = dir.join(format!("{a}-{b}-{number}.pcapng"));
            }
            let fail = |reason: String| RunError::Capture { path: path.clone(), reason };
            let file = File::create(&path).map_err(|e| fail(e.to_string()))?;
            let mut writer = PcapNgWriter::new(BufWriter::new(file)).map_err(|e| fail(told(&e)))?;
            for (from, to) in [(a, b), (b, a)] {
                let block = InterfaceDescriptionBlock {
                    linktype: DataLink::RAW,
                    snaplen: SNAPLEN,
                    options: vec![
                        InterfaceDescriptionOption::IfName(Cow::Owned(format!("{from}->{to}"))),
                        InterfaceDescriptionOption::IfTsResol(9),
                    ],
                };
                writer.write_pcapng_block(block).map_err(|e| fail(told(&e)))?;
            }
            files.push((path, writer));
        }
        Ok(Self { files, bytes: Vec::new(), failed: None })
    }

    /// Writes one packet that starts onto direction `edge` at `at`. The first error is kept for [`finish`](Self::finish).
    pub(crate) fn record(&mut self, edge: usize, packet: &Packet, at: Instant) {
        if self.failed.is_some() {
            return;
        }
        self.bytes.clear();
        packet.emit_into(&mut self.bytes);
        let Some((path, writer)) = self.files.get_mut(edge / 2) else { return };
        let block = EnhancedPacketBlock {
            interface_id: (edge % 2) as u32,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: self.bytes.len() as u32,
            data: Cow::Borrowed(&self.bytes),
            options: Vec::new(),
        };
        if let Err(e) = writer.write_pcapng_block(block) {
            self.failed = Some(RunError::Capture { path: path.clone(), reason: told(&e) });
        }
    }

    /// Writes out what is buffered.
    ///
    /// # Errors
    /// [`RunError::Capture`] with the first error since the files were opened.
    pub(crate) fn finish(self) -> Result<(), RunError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        for (path, writer) in self.files {
            use std::io::Write;
            writer.into_inner().flush().map_err(|e| RunError::Capture { path: path.clone(), reason: e.to_string() })?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").field("files", &self.files.len()).finish_non_exhaustive()
    }
}

/// The system's reason, such as a full disk, where there is one: the library itself calls it "Error reading bytes".
fn told(error: &PcapError) -> String {
    if let PcapError::IoError(system) = error { system.to_string() } else { error.to_string() }
}
