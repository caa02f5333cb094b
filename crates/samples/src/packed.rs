//! Tables over time that stay small while they grow.
//!
//! All flows and all queues are sampled at once, every so often: a *frame* of rows. From one frame to the next most columns
//! of a row stay as they are or move as in all other rows, and the rest moves by little. So rows are kept plainly only until
//! a block of whole frames is there; then of each column is kept how far it moved in the block's first row, and how much
//! further or less far in each row, in as few bytes as the most of these needs. A column that moves everywhere alike, or
//! nowhere, takes no bytes at all. Nothing is lost: unpacked, the values are what they were.
//!
//! It is for time more than for space: memory that is touched for the first time costs more than what is written into it.

use crate::table::{Column, Data, Plain, Table};

/// Rows after which a block ends with its frame: few enough that they stay in the processor's caches.
const BLOCK_ROWS: usize = 256;

/// How a block was packed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    rows: usize,
    /// Rows of its last frame: a value was compared with that of so many rows before.
    stride: usize,
}

/// One column of all blocks.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cells {
    /// Per block how far the first row moved, and in how many bytes each row says how it differs in that.
    moves: Vec<(u64, u8)>,
    bytes: Vec<u8>,
}

/// A table of samples, packed; [`unpack`](Self::unpack) and [`columns`](Table::columns) give the values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packed<T: Plain> {
    blocks: Vec<Block>,
    columns: Vec<Cells>,
    /// The last frame of the last block, for the next one to be compared with, and then all rows that are in no block.
    window: Vec<T::Cells>,
    /// Rows of the window that are in a block.
    done: usize,
    /// Where in the window the frame begins that rows are now put into, and its time.
    frame: usize,
    time: u64,
    /// Rows of the frame before it.
    stride: usize,
    rows: usize,
}

/// A column of a packed table.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedColumn<'a> {
    blocks: &'a [Block],
    cells: Option<&'a Cells>,
    /// What is in no block.
    rest: Vec<u64>,
}

impl<T: Plain> Packed<T> {
    /// Appends a row. Rows of one time come one after the other.
    #[inline]
    pub fn push(&mut self, row: &T::Row) {
        let cells = T::cells(row);
        let time = cells.as_ref()[0];
        if time != self.time {
            self.end_frame();
            self.time = time;
        }
        self.window.push(cells);
        self.rows += 1;
    }

    /// The table with every value in its place: eight bytes each.
    #[must_use]
    pub fn unpack(&self) -> T {
        let mut table = T::default();
        for (column, (_, data)) in table.columns_mut().into_iter().zip(self.columns()) {
            *column = data.to_vec();
        }
        table
    }

    fn end_frame(&mut self) {
        let end = self.window.len();
        if end > self.frame {
            self.stride = end - self.frame;
            self.frame = end;
            if end - self.done >= BLOCK_ROWS {
                self.pack();
            }
        }
    }

    /// Moves the window's rows into a block, but for the last frame, which stays to compare with.
    fn pack(&mut self) {
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
            cells.pack(first, all, moved.map(|moved| fold(moved.wrapping_sub(first))));
        }
        self.window.drain(..self.window.len() - stride);
        self.done = stride;
        self.frame = stride;
    }
}

/// How far each column moved in the first row, and all the bits that tell by how much other rows differ in that.
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

/// Puts nothing where the first `stride` rows of the window from `done` on have none to be compared with.
fn pad<V: Clone>(window: &mut Vec<V>, done: usize, stride: usize, nothing: V) {
    window.splice(..0, std::iter::repeat_n(nothing, stride.saturating_sub(done)));
}

/// Small numbers of either sign as small numbers (zigzag): 0, -1, 1, -2 become 0, 1, 2, 3.
#[inline]
const fn fold(value: u64) -> u64 {
    (value << 1) ^ (value.cast_signed() >> 63).cast_unsigned()
}

#[inline]
const fn unfold(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

impl Cells {
    /// Keeps a block's values, which have no bits but those of `all`.
    #[inline]
    fn pack(&mut self, first: u64, all: u64, values: impl ExactSizeIterator<Item = u64>) {
        match all {
            0 => self.moves.push((first, 0)),
            1..0x100 => self.put::<1>(first, values),
            0x100..0x1_0000 => self.put::<2>(first, values),
            0x1_0000..0x1_0000_0000 => self.put::<4>(first, values),
            _ => self.put::<8>(first, values),
        }
    }

    fn put<const WIDTH: usize>(&mut self, first: u64, values: impl ExactSizeIterator<Item = u64>) {
        self.moves.push((first, WIDTH as u8));
        let start = self.bytes.len();
        self.bytes.resize(start + WIDTH * values.len(), 0);
        for (cell, value) in self.bytes[start..].chunks_exact_mut(WIDTH).zip(values) {
            cell.copy_from_slice(&value.to_le_bytes()[..WIDTH]);
        }
    }
}

fn take<const WIDTH: usize>(bytes: &[u8], first: u64, into: &mut Vec<u64>) {
    into.extend(bytes.chunks_exact(WIDTH).map(|cell| {
        let mut word = [0; 8];
        word[..WIDTH].copy_from_slice(cell);
        first.wrapping_add(unfold(u64::from_le_bytes(word)))
    }));
}

impl PackedColumn<'_> {
    /// Hands over the values, part by part in order.
    pub fn for_each_part(&self, mut part: impl FnMut(&[u64])) {
        let (moves, mut bytes) = self.cells.map_or((&[][..], &[][..]), |cells| (&cells.moves[..], &cells.bytes[..]));
        // As when it was packed: what the block is compared with, and then the block.
        let mut window = Vec::new();
        for (&Block { rows, stride }, &(first, width)) in self.blocks.iter().zip(moves) {
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
            part(&window[done..]);
            window.drain(..window.len() - stride);
            bytes = later;
        }
        part(&self.rest);
    }
}

impl<T: Plain> Table for Packed<T> {
    const NAME: &'static str = T::NAME;
    const COLUMNS: &'static [Column] = T::COLUMNS;

    fn len(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> Vec<(Column, Data<'_>)> {
        let column = |(index, column): (usize, &Column)| {
            let rest = self.window[self.done..].iter().map(|row| row.as_ref()[index]).collect();
            (*column, Data::Packed(PackedColumn { blocks: &self.blocks, cells: self.columns.get(index), rest }))
        };
        T::COLUMNS.iter().enumerate().map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NONE, RouterRow, RouterSamples};
    use proptest::prelude::*;

    /// Puts frames of so many rows in and checks that they come out.
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
        assert_eq!(packed.unpack(), plain);
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
