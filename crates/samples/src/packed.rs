//! Tables over time, packed while they grow.
//!
//! All flows and all queues are sampled at the same times: a *frame* of rows. From one frame to the next, most columns
//! of a row stay the same or change as in all other rows, and the rest changes little. So rows are kept unpacked only
//! until there is a block of whole frames. Then each column keeps the change in the block's first row, and for each row
//! the difference from that change, in as few bytes as the largest difference needs. A column that changes equally in
//! all rows, or not at all, takes no bytes for them. Packing is lossless.
//!
//! Packing saves time more than space: touching memory for the first time costs more than writing the values.
//!
//! A table that has a [`Store`] hands over packed rows, [`Part`] by part. Parts that the store does not keep in memory
//! are in a file, so a table of any length takes only as much memory as the store allows.

use crate::part::Part;
use crate::store::{Fault, Store};
use crate::table::{Column, Data, Plain, Table};
use core::ops::Range;
use std::sync::Arc;

/// Rows after which a block ends at the next end of a frame: few enough to stay in the processor's caches.
const BLOCK_ROWS: usize = 256;

/// Rows after which a part ends at the next end of a block, if the table has a store. A part of twenty columns takes 20
/// MB unpacked.
const PART_ROWS: usize = 1 << 17;

/// How a block was packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) rows: usize,
    /// Rows of the block's last frame: each value was compared with the value this many rows earlier.
    pub(crate) stride: usize,
}

/// One column of all blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cells {
    /// Per block: the change of the first row, and the number of bytes for each row's difference from that change.
    pub(crate) moves: Vec<(u64, u8)>,
    pub(crate) bytes: Vec<u8>,
}

/// A table of samples, packed; [`unpack`](Self::unpack), [`columns`](Table::columns) and [`chunk`](Self::chunk) give
/// the values.
#[derive(Clone, Debug, Default)]
pub struct Packed<T: Plain> {
    /// Where finished parts go; without a store there are no parts.
    store: Option<Arc<dyn Store>>,
    parts: Vec<Arc<Part>>,
    /// Why rows were lost, if any were.
    fault: Option<Fault>,
    /// Blocks of the part that is not finished.
    blocks: Vec<Block>,
    columns: Vec<Cells>,
    /// The last frame of the last block, which the next block is compared with, then all rows that are in no block.
    window: Vec<T::Cells>,
    /// Rows of the window that are in a block.
    done: usize,
    /// Index in the window where the current frame begins, and the time of that frame.
    frame: usize,
    time: u64,
    /// Rows of the frame before the current one.
    stride: usize,
    rows: usize,
    /// Rows in finished parts.
    sealed: usize,
}

/// A column of a packed table.
#[derive(Clone, Debug)]
pub struct PackedColumn<'a> {
    parts: &'a [Arc<Part>],
    index: usize,
    blocks: &'a [Block],
    cells: Option<&'a Cells>,
    /// Values that are in no block.
    rest: Vec<u64>,
}

impl<T: Plain> Packed<T> {
    /// Appends a row. Rows of the same time must be consecutive.
    #[inline]
    pub fn push(&mut self, row: &T::Row) {
        self.push_cells(T::cells(row));
    }

    /// Appends a row given as its values in the order of the columns.
    #[inline]
    pub fn push_cells(&mut self, cells: T::Cells) {
        let time = cells.as_ref()[0];
        if time != self.time {
            self.end_frame();
            self.time = time;
        }
        self.window.push(cells);
        self.rows += 1;
    }

    /// Hands finished parts to `store`, from now on.
    pub fn keep_in(&mut self, store: Arc<dyn Store>) {
        self.store = Some(store);
    }

    /// Why rows were lost, if any were. The table is then incomplete and of no use.
    #[must_use]
    pub const fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// The unpacked table, with eight bytes per value.
    ///
    /// # Errors
    /// [`Fault`]: the store fails.
    pub fn unpack(&self) -> Result<T, Fault> {
        let mut table = T::default();
        for (column, (_, data)) in table.columns_mut().into_iter().zip(self.columns()) {
            *column = data.to_vec()?;
        }
        Ok(table)
    }

    /// How many chunks there are: the finished parts, and one for the remaining rows.
    #[must_use]
    pub const fn chunks(&self) -> usize {
        self.parts.len() + 1
    }

    /// Unpacks the rows of a chunk. Chunks follow each other in order; beyond the last there are no rows.
    ///
    /// # Errors
    /// [`Fault`]: the store fails.
    pub fn chunk(&self, number: usize) -> Result<T, Fault> {
        let mut table = T::default();
        let part = self.parts.get(number);
        if part.is_none() && number > self.parts.len() {
            return Ok(table);
        }
        let blocks = part.map(|part| part.blocks()).transpose()?;
        for (index, column) in table.columns_mut().into_iter().enumerate() {
            let mut add = |values: &[u64]| append(column, values);
            match (part, &blocks) {
                (Some(part), Some(blocks)) => decode(blocks, &part.cells(index)?, &mut add)?,
                _ => self.column(index).open(&mut add)?,
            }
        }
        Ok(table)
    }

    fn column(&self, index: usize) -> PackedColumn<'_> {
        let rest = self.window[self.done..].iter().map(|row| row.as_ref()[index]).collect();
        PackedColumn { parts: &self.parts, index, blocks: &self.blocks, cells: self.columns.get(index), rest }
    }

    fn end_frame(&mut self) {
        let end = self.window.len();
        if end > self.frame {
            self.stride = end - self.frame;
            self.frame = end;
            if end - self.done >= BLOCK_ROWS
                && let Err(fault) = self.pack().and_then(|()| self.seal())
            {
                // Rows that cannot be kept are dropped. The run sees the fault and ends.
                self.fault = Some(fault);
                self.blocks.clear();
                self.columns.clear();
                self.start_over();
            }
        }
    }

    /// Makes a part of the blocks if they are enough for one.
    fn seal(&mut self) -> Result<(), Fault> {
        let open = self.rows - self.sealed;
        if let (Some(store), true) = (&self.store, open >= PART_ROWS) {
            self.parts.push(Arc::new(Part::seal(&mut self.blocks, &mut self.columns, store)?));
            self.sealed = self.rows;
            self.start_over();
        }
        Ok(())
    }

    /// Restarts packing: like the first block, the next one is not compared with an earlier one.
    fn start_over(&mut self) {
        self.window.clear();
        self.done = 0;
        self.frame = 0;
    }

    /// Moves the window's rows into a block. The last frame also stays in the window, for comparison with the next
    /// block.
    fn pack(&mut self) -> Result<(), Fault> {
        let stride = self.stride;
        pad(&mut self.window, self.done, stride, T::Cells::default());
        self.done = self.done.max(stride);
        let (new, old) = (&self.window[self.done..], &self.window[self.done - stride..]);
        self.blocks.push(Block { rows: new.len(), stride });
        self.columns.resize_with(T::COLUMNS.len(), Cells::default);
        let (first, all) = moves::<T>(new, old);
        for (index, (cells, (&first, &all))) in
            self.columns.iter_mut().zip(first.as_ref().iter().zip(all.as_ref())).enumerate()
        {
            let moved = new.iter().zip(old).map(|(new, old)| new.as_ref()[index].wrapping_sub(old.as_ref()[index]));
            cells.pack(first, all, moved.map(|moved| fold(moved.wrapping_sub(first))))?;
        }
        self.window.drain(..self.window.len() - stride);
        self.done = stride;
        self.frame = stride;
        Ok(())
    }
}

/// The change of each column in the first row, and the union of the bits of all rows' differences from that change.
#[inline]
fn moves<T: Plain>(new: &[T::Cells], old: &[T::Cells]) -> (T::Cells, T::Cells) {
    let (mut first, mut all) = (T::Cells::default(), T::Cells::default());
    if let (Some(new), Some(old)) = (new.first(), old.first()) {
        for (first, (new, old)) in first.as_mut().iter_mut().zip(new.as_ref().iter().zip(old.as_ref())) {
            *first = new.wrapping_sub(*old);
        }
    }
    for (new, old) in new.iter().zip(old) {
        let moved = new.as_ref().iter().zip(old.as_ref()).map(|(new, old)| new.wrapping_sub(*old));
        for (all, (moved, first)) in all.as_mut().iter_mut().zip(moved.zip(first.as_ref())) {
            *all |= fold(moved.wrapping_sub(*first));
        }
    }
    (first, all)
}

/// Prepends `nothing` to the window, so that each of the first `stride` rows from `done` on has a row to be compared
/// with.
fn pad<V: Clone>(window: &mut Vec<V>, done: usize, stride: usize, nothing: V) {
    window.splice(..0, std::iter::repeat_n(nothing, stride.saturating_sub(done)));
}

/// Maps small numbers of either sign to small unsigned numbers (zigzag): 0, -1, 1, -2 become 0, 1, 2, 3.
#[inline]
const fn fold(value: u64) -> u64 {
    (value << 1) ^ (value.cast_signed() >> 63).cast_unsigned()
}

#[inline]
const fn unfold(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

impl Cells {
    /// Appends a block's values, which have no bits besides those of `all`.
    #[inline]
    fn pack(&mut self, first: u64, all: u64, values: impl ExactSizeIterator<Item = u64>) -> Result<(), Fault> {
        self.moves.try_reserve(1).map_err(|_| Fault::OutOfMemory)?;
        match all {
            0 => {
                self.moves.push((first, 0));
                Ok(())
            }
            1..0x100 => self.put::<1>(first, values),
            0x100..0x1_0000 => self.put::<2>(first, values),
            0x1_0000..0x1_0000_0000 => self.put::<4>(first, values),
            _ => self.put::<8>(first, values),
        }
    }

    fn put<const WIDTH: usize>(&mut self, first: u64, values: impl ExactSizeIterator<Item = u64>) -> Result<(), Fault> {
        let start = self.bytes.len();
        self.bytes.try_reserve(WIDTH * values.len()).map_err(|_| Fault::OutOfMemory)?;
        self.moves.push((first, WIDTH as u8));
        self.bytes.resize(start + WIDTH * values.len(), 0);
        for (cell, value) in self.bytes[start..].chunks_exact_mut(WIDTH).zip(values) {
            cell.copy_from_slice(&value.to_le_bytes()[..WIDTH]);
        }
        Ok(())
    }
}

fn take<const WIDTH: usize>(bytes: &[u8], first: u64, into: &mut Vec<u64>) {
    into.extend(bytes.chunks_exact(WIDTH).map(|cell| {
        let mut word = [0; 8];
        word[..WIDTH].copy_from_slice(cell);
        first.wrapping_add(unfold(u64::from_le_bytes(word)))
    }));
}

/// Calls `part` with the values of a column's blocks. The first block is not compared with an earlier one.
fn decode(blocks: &[Block], cells: &Cells, part: &mut impl FnMut(&[u64]) -> Result<(), Fault>) -> Result<(), Fault> {
    // As during packing, the window holds the frame that the block is compared with, then the block.
    let (mut window, mut bytes) = (Vec::new(), &cells.bytes[..]);
    for (&Block { rows, stride }, &(first, width)) in blocks.iter().zip(&cells.moves) {
        let done = window.len();
        pad(&mut window, done, stride, 0);
        let done = window.len();
        let (cells, later) = bytes.split_at(rows * usize::from(width));
        match width {
            0 => window.resize(done + rows, first),
            1 => take::<1>(cells, first, &mut window),
            2 => take::<2>(cells, first, &mut window),
            4 => take::<4>(cells, first, &mut window),
            _ => take::<8>(cells, first, &mut window),
        }
        for row in done..window.len() {
            window[row] = window[row].wrapping_add(window[row - stride]);
        }
        part(&window[done..])?;
        window.drain(..window.len() - stride);
        bytes = later;
    }
    Ok(())
}

/// Appends values, if there is enough memory for them.
pub(crate) fn append(column: &mut Vec<u64>, values: &[u64]) -> Result<(), Fault> {
    column.try_reserve(values.len()).map_err(|_| Fault::OutOfMemory)?;
    column.extend_from_slice(values);
    Ok(())
}

impl PackedColumn<'_> {
    /// Calls `part` with the values, part by part in order.
    ///
    /// # Errors
    /// The error of `part`, or [`Fault`] if the store fails.
    pub fn for_each_part(&self, mut part: impl FnMut(&[u64]) -> Result<(), Fault>) -> Result<(), Fault> {
        for finished in self.parts {
            decode(&finished.blocks()?, &finished.cells(self.index)?, &mut part)?;
        }
        self.open(&mut part)
    }

    /// Calls `part` with the values that are in no finished part.
    fn open(&self, part: &mut impl FnMut(&[u64]) -> Result<(), Fault>) -> Result<(), Fault> {
        if let Some(cells) = self.cells {
            decode(self.blocks, cells, part)?;
        }
        part(&self.rest)
    }
}

/// Tables are equal if their values are equal, wherever these are stored.
impl<T: Plain> PartialEq for Packed<T> {
    fn eq(&self, other: &Self) -> bool {
        let values =
            |table: &Self| table.columns().iter().map(|(_, data)| data.to_vec()).collect::<Result<Vec<_>, _>>();
        self.rows == other.rows && matches!((values(self), values(other)), (Ok(a), Ok(b)) if a == b)
    }
}

impl<T: Plain> Table for Packed<T> {
    const NAME: &'static str = T::NAME;
    const COLUMNS: &'static [Column] = T::COLUMNS;
    const SLOTS: Range<usize> = T::SLOTS;

    fn len(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> Vec<(Column, Data<'_>)> {
        T::COLUMNS.iter().enumerate().map(|(index, column)| (*column, Data::Packed(self.column(index)))).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{NONE, RouterRow, RouterSamples};
    use proptest::prelude::*;
    use std::sync::Mutex;

    /// A store that simulates a disk of `room` bytes in memory, and allows `most` bytes to stay in memory.
    #[derive(Debug, Default)]
    struct Disk {
        bytes: Mutex<Vec<u8>>,
        kept: Mutex<usize>,
        most: usize,
        room: usize,
    }

    impl Store for Disk {
        fn keep(&self, bytes: usize) -> bool {
            let mut kept = self.kept.lock().unwrap();
            let fits = *kept + bytes <= self.most;
            *kept += if fits { bytes } else { 0 };
            fits
        }
        fn release(&self, bytes: usize) {
            *self.kept.lock().unwrap() -= bytes;
        }
        fn put(&self, bytes: &[u8]) -> Result<u64, Fault> {
            let mut all = self.bytes.lock().unwrap();
            let at = all.len();
            all.extend_from_slice(bytes);
            if all.len() > self.room { Err(Fault::Disk("is full".to_owned())) } else { Ok(at as u64) }
        }
        fn get(&self, at: u64, into: &mut [u8]) -> Result<(), Fault> {
            let at = at as usize;
            into.copy_from_slice(&self.bytes.lock().unwrap()[at..at + into.len()]);
            Ok(())
        }
    }

    /// Pushes frames of uneven size, `rows` rows in total or a few more.
    fn long(rows: usize, mut push: impl FnMut(&RouterRow)) {
        let (mut made, mut frame) = (0, 0);
        while made < rows {
            for router in 0..1 + frame % 700 {
                let noise = (made * 2_654_435_761) % 1_000_003;
                let value = if made % 7 == 0 { NONE } else { noise as u64 };
                let (time_ns, router) = (1000 * frame as u64, router as u64);
                push(&RouterRow { time_ns, router, flows: made as u64, values: [0, 0, value] });
                made += 1;
            }
            frame += 1;
        }
    }

    #[test]
    fn parts_in_memory_and_away_unpack_to_the_same_rows() {
        let mut plain = RouterSamples::default();
        let mut whole = Packed::<RouterSamples>::default();
        long(5 * PART_ROWS / 2, |row| plain.push(row));
        long(5 * PART_ROWS / 2, |row| whole.push(row));
        let mut all = 0;
        for share in [4, 3, 0] {
            let most = if share == 4 { usize::MAX / 2 } else { all * share / 4 };
            let disk = Arc::new(Disk { most, room: usize::MAX, ..Disk::default() });
            let mut packed = Packed::<RouterSamples>::default();
            packed.keep_in(disk.clone());
            long(5 * PART_ROWS / 2, |row| packed.push(row));
            assert_eq!(packed.unpack().unwrap(), plain, "{most}");
            assert_eq!(packed, whole, "{most}");
            assert_eq!((packed.chunks(), packed.len()), (3, plain.time_ns.len()), "{most}");
            let mut row = 0;
            for number in 0..packed.chunks() {
                let chunk = packed.chunk(number).unwrap();
                assert_eq!(chunk.row(0), plain.row(row), "{most}, chunk {number}");
                row += chunk.time_ns.len();
                assert_eq!(chunk.row(chunk.time_ns.len() - 1), plain.row(row - 1), "{most}, chunk {number}");
            }
            assert_eq!(row, packed.len());
            all = all.max(*disk.kept.lock().unwrap());
            assert_eq!(share == 0, *disk.kept.lock().unwrap() == 0, "{most}");
            assert_eq!(share == 4, disk.bytes.lock().unwrap().is_empty(), "{most}");
            drop(packed);
            assert_eq!(*disk.kept.lock().unwrap(), 0, "what is gone counts no more");
        }
    }

    #[test]
    fn a_full_disk_is_a_fault_and_takes_no_memory() {
        let mut packed = Packed::<RouterSamples>::default();
        packed.keep_in(Arc::new(Disk { room: 100, ..Disk::default() }));
        long(5 * PART_ROWS / 2, |row| packed.push(row));
        assert_eq!(packed.fault(), Some(&Fault::Disk("is full".to_owned())));
        assert!(packed.parts.is_empty() && bytes(&packed) < 8 * 6 * PART_ROWS);
    }

    /// Packs frames with these numbers of rows and checks that they unpack to the same rows.
    fn there_and_back(frames: &[usize], value: impl Fn(usize, usize) -> u64) -> Packed<RouterSamples> {
        let (mut packed, mut plain) = (Packed::<RouterSamples>::default(), RouterSamples::default());
        for (frame, &rows) in frames.iter().enumerate() {
            for router in 0..rows {
                let row = RouterRow {
                    time_ns: 1_000_000 * frame as u64,
                    router: router as u64,
                    flows: value(frame, router),
                    ..RouterRow::default()
                };
                packed.push(&row);
                plain.push(&row);
            }
        }
        assert_eq!(packed.unpack().unwrap(), plain);
        assert_eq!(packed.len(), plain.time_ns.len());
        packed
    }

    fn bytes(packed: &Packed<RouterSamples>) -> usize {
        packed.columns.iter().map(|cells| cells.bytes.len()).sum()
    }

    #[test]
    fn what_moves_alike_takes_no_bytes_but_in_the_first_block() {
        let packed = there_and_back(&[BLOCK_ROWS; 20], |frame, _| 1500 * frame as u64);
        let rows = 19 * BLOCK_ROWS;
        assert_eq!(packed.blocks.iter().map(|block| block.rows).sum::<usize>(), rows, "the last frame may go on");
        assert_eq!(bytes(&packed), 2 * BLOCK_ROWS, "the index of the router, once");
    }

    #[test]
    fn a_value_takes_what_its_difference_needs() {
        for (most, width) in [(0x7f, 1), (0x80, 2), (0x7fff, 2), (0x8000, 4), (0x7fff_ffff, 4), (0x8000_0000, 8)] {
            let packed = there_and_back(&[BLOCK_ROWS; 3], |frame, row| if frame == 1 && row == 9 { most } else { 0 });
            assert_eq!(bytes(&packed), 2 * BLOCK_ROWS + width * BLOCK_ROWS, "{most:#x}");
        }
    }

    #[test]
    fn none_and_decreases_are_kept() {
        there_and_back(&[300; 4], |frame, row| if (frame + row) % 3 == 0 { NONE } else { 100 - frame as u64 });
        there_and_back(&[300; 4], |frame, _| [NONE, 0, 1 << 63, (1 << 63) - 1][frame]);
    }

    #[test]
    fn an_empty_table_has_its_columns() {
        let packed = there_and_back(&[], |_, _| 0);
        assert_eq!(packed.columns().len(), RouterSamples::default().columns().len());
        assert!(packed.is_empty());
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            frames in prop::collection::vec(prop_oneof![0usize..4, 0usize..700], 0..20),
            values in prop::collection::vec(prop_oneof![0u64..300, any::<u64>()], 1..9),
        ) {
            there_and_back(&frames, |frame, row| values[(3 * frame + row) % values.len()]);
        }
    }
}
