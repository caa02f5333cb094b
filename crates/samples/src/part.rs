//! A finished part of a packed table: bytes, either in memory or in a store.

use crate::packed::{Block, Cells};
use crate::store::{Bytes, Fault, Store};
use std::sync::Arc;

/// Bytes of a block in the first section: its rows and its stride.
const BLOCK: usize = 16;
/// Bytes of a block in a column's section: the change of its first row, and the width of its cells.
const MOVE: usize = 9;

/// Whole blocks. The first is not compared with an earlier one, so a part can be unpacked alone.
#[derive(Debug)]
pub(crate) struct Part {
    blocks: usize,
    /// Where each column's section ends; the section of the blocks comes first.
    ends: Vec<usize>,
    bytes: Bytes,
}

impl Part {
    /// Moves all blocks out of a table into a part.
    pub(crate) fn seal(blocks: &mut Vec<Block>, columns: &mut [Cells], store: &Arc<dyn Store>) -> Result<Self, Fault> {
        let size: usize = columns.iter().map(|cells| MOVE * cells.moves.len() + cells.bytes.len()).sum();
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size + BLOCK * blocks.len()).map_err(|_| Fault::OutOfMemory)?;
        for block in blocks.iter() {
            bytes.extend_from_slice(&(block.rows as u64).to_le_bytes());
            bytes.extend_from_slice(&(block.stride as u64).to_le_bytes());
        }
        let mut ends = Vec::with_capacity(columns.len());
        for cells in columns.iter_mut() {
            for (first, width) in cells.moves.drain(..) {
                bytes.extend_from_slice(&first.to_le_bytes());
                bytes.push(width);
            }
            bytes.append(&mut cells.bytes);
            ends.push(bytes.len());
        }
        let count = blocks.len();
        blocks.clear();
        Ok(Self { blocks: count, ends, bytes: Bytes::new(bytes, store)? })
    }

    /// Its blocks.
    pub(crate) fn blocks(&self) -> Result<Vec<Block>, Fault> {
        let bytes = self.bytes.read(0, BLOCK * self.blocks)?;
        Ok(bytes
            .chunks_exact(BLOCK)
            .map(|cell| Block { rows: word(cell) as usize, stride: word(&cell[8..]) as usize })
            .collect())
    }

    /// The cells of a column.
    pub(crate) fn cells(&self, column: usize) -> Result<Cells, Fault> {
        let end = self.ends.get(column).copied().unwrap_or_default();
        let start = column.checked_sub(1).map_or(BLOCK * self.blocks, |before| self.ends[before]);
        let mut bytes = self.bytes.read(start, end - start)?;
        let cells = bytes.split_off(MOVE * self.blocks);
        let moves = bytes.chunks_exact(MOVE).map(|cell| (word(cell), cell[8])).collect();
        Ok(Cells { moves, bytes: cells })
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(word)
}
