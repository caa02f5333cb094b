//! Where packed parts of a table go when memory is short.

use std::fmt::Debug;
use std::sync::Arc;

/// Why samples could not be kept or read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The system gave no memory.
    OutOfMemory,
    /// A file could not be written or read: the system's reason.
    Disk(String),
    /// The reader of the samples was asked to stop.
    Stopped,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OutOfMemory => write!(f, "the system gave no memory for the samples"),
            Self::Stopped => write!(f, "the reading of samples was stopped"),
            Self::Disk(reason) => write!(f, "the samples' temporary file: {reason}"),
        }
    }
}

impl std::error::Error for Fault {}

/// Storage outside memory, which also decides how much stays in memory.
///
/// Whether a part is kept or put away only affects where its bytes are.
pub trait Store: Debug + Send + Sync {
    /// Whether `bytes` more bytes may stay in memory. If so, they count until they are [`release`](Self::release)d.
    fn keep(&self, bytes: usize) -> bool;

    /// Returns bytes that [`keep`](Self::keep) granted.
    fn release(&self, bytes: usize);

    /// Puts bytes away; returns where they are.
    ///
    /// # Errors
    /// [`Fault::Disk`], for example if the disk is full.
    fn put(&self, bytes: &[u8]) -> Result<u64, Fault>;

    /// Reads back the bytes from `at` on.
    ///
    /// # Errors
    /// [`Fault::Disk`].
    fn get(&self, at: u64, into: &mut [u8]) -> Result<(), Fault>;
}

/// Bytes that stay in memory and count as such while they exist.
#[derive(Debug)]
pub(crate) struct Kept {
    bytes: Vec<u8>,
    store: Arc<dyn Store>,
}

/// Bytes in memory or in a store.
#[derive(Debug)]
pub(crate) enum Bytes {
    Kept(Kept),
    Away { store: Arc<dyn Store>, at: u64 },
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.store.release(self.bytes.len());
    }
}

impl Bytes {
    /// Keeps bytes in memory if the store allows it, and puts them away otherwise.
    pub(crate) fn new(bytes: Vec<u8>, store: &Arc<dyn Store>) -> Result<Self, Fault> {
        let store = Arc::clone(store);
        if store.keep(bytes.len()) {
            return Ok(Self::Kept(Kept { bytes, store }));
        }
        let at = store.put(&bytes)?;
        Ok(Self::Away { store, at })
    }

    /// Reads `length` bytes from `start` on.
    pub(crate) fn read(&self, start: usize, length: usize) -> Result<Vec<u8>, Fault> {
        let mut into = Vec::new();
        into.try_reserve_exact(length).map_err(|_| Fault::OutOfMemory)?;
        match self {
            Self::Kept(kept) => into.extend_from_slice(kept.bytes.get(start..start + length).unwrap_or_default()),
            Self::Away { store, at } => {
                into.resize(length, 0);
                store.get(at + start as u64, &mut into)?;
            }
        }
        Ok(into)
    }
}
