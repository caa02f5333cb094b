//! The memory that guest and host share: how far the run is, and its result.

use crate::LiveError;
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// First word of the memory once the guest has set it up.
const MAGIC: u64 = u64::from_le_bytes(*b"NARROWS1");

/// Where the payload begins, in bytes.
const PAYLOAD: usize = 4096;

/// The device whose second bar is the memory: QEMU's ivshmem-plain, by vendor and number (docs/specs/ivshmem-spec).
const DEVICE: (&str, &str) = ("0x1af4", "0x1110");

/// How far the guest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It starts, or nothing has been written.
    Starting,
    /// The scenario runs.
    Running,
    /// The payload is complete.
    Done,
}

/// The head of the memory, as the host reads it at any time: words of 64 bits, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// How far the guest is.
    pub state: State,
    /// Scenario time in nanoseconds.
    pub now_ns: u64,
    /// The guest's own time since it began, in nanoseconds.
    pub uptime_ns: u64,
    /// Bytes of the payload, once it is complete.
    pub length: u64,
}

impl Header {
    /// Bytes of the head; the payload follows.
    pub const SIZE: usize = PAYLOAD;

    /// Reads the head; a guest that has not written any counts as [`State::Starting`].
    #[must_use]
    pub fn read(memory: &[u8]) -> Self {
        let word = |index: usize| {
            let bytes = memory.get(8 * index..8 * index + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes)
        };
        let state = match word(1) {
            1 if word(0) == MAGIC => State::Running,
            2 if word(0) == MAGIC => State::Done,
            _ => State::Starting,
        };
        Self { state, now_ns: word(2), uptime_ns: word(3), length: word(4) }
    }
}

/// The memory as the guest has it.
#[derive(Debug)]
pub(super) struct Region {
    start: *mut u8,
    size: usize,
}

// SAFETY: words are written atomically, and the payload by the one owner of a `&mut Region`.
unsafe impl Sync for Region {}

impl Region {
    /// Finds the device and maps its memory.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if this machine has no such device, or it cannot be mapped.
    pub(super) fn map() -> Result<Self, LiveError> {
        let failed =
            |reason: &dyn ToString| LiveError::failed("map the memory shared with the host", reason.to_string());
        let path = find().ok_or_else(|| failed(&"there is no such device"))?;
        // The sysfs attribute `enable` turns on decoding of the device's memory.
        fs::write(path.join("enable"), "1").map_err(|error| failed(&error))?;
        let file =
            File::options().read(true).write(true).open(path.join("resource2")).map_err(|error| failed(&error))?;
        let size = file.metadata().map_err(|error| failed(&error))?.len() as usize;
        if size <= PAYLOAD {
            return Err(failed(&"it is too small"));
        }
        // SAFETY: a fresh mapping of the whole file, checked below.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(failed(&std::io::Error::last_os_error()));
        }
        let region = Self { start: start.cast(), size };
        region.word(0).store(MAGIC, Ordering::SeqCst);
        Ok(region)
    }

    /// Records the scenario time and the guest's time.
    pub(super) fn running(&self, now_ns: u64, uptime_ns: u64) {
        self.word(2).store(now_ns, Ordering::SeqCst);
        self.word(3).store(uptime_ns, Ordering::SeqCst);
        self.word(1).store(1, Ordering::SeqCst);
    }

    /// Hands over the payload.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if it does not fit.
    pub(super) fn done(&mut self, payload: &[u8]) -> Result<(), LiveError> {
        if payload.len() > self.size - PAYLOAD {
            let reason = format!(
                "{} MB of samples do not fit into {} MB of shared memory; sample less often",
                payload.len() >> 20,
                self.size >> 20
            );
            return Err(LiveError::failed("hand over the result", reason));
        }
        // SAFETY: the range was checked, and the source is no part of the mapping.
        unsafe { std::ptr::copy_nonoverlapping(payload.as_ptr(), self.start.add(PAYLOAD), payload.len()) };
        self.word(4).store(payload.len() as u64, Ordering::SeqCst);
        self.word(1).store(2, Ordering::SeqCst);
        Ok(())
    }

    const fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the mapping is aligned to pages, larger than a page, and lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.start.cast::<u64>().add(index)) }
    }
}

/// The directory of the device in sysfs.
fn find() -> Option<PathBuf> {
    let is = |path: &PathBuf, name: &str, value: &str| {
        fs::read_to_string(path.join(name)).is_ok_and(|found| found.trim() == value)
    };
    let mut devices: Vec<_> =
        fs::read_dir("/sys/bus/pci/devices").ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    devices.sort();
    devices.into_iter().find(|path| is(path, "vendor", DEVICE.0) && is(path, "device", DEVICE.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_word_by_word() {
        assert_eq!(Header::read(&[]).state, State::Starting);
        let words = [MAGIC, 2, 7, 8, 9];
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        assert_eq!(Header::read(&bytes), Header { state: State::Done, now_ns: 7, uptime_ns: 8, length: 9 });
        assert_eq!(Header::read(&[&[0; 8], &bytes[8..]].concat()).state, State::Starting);
    }
}
