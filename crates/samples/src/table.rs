//! Tables of columns, declared once with unit and meaning.

use crate::packed::{PackedColumn, append};
use crate::store::Fault;
use core::ops::Range;

/// Means "no value" in an integer column (no threshold yet, no sample yet).
pub const NONE: u64 = u64::MAX;

/// A column's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name; ends in its unit if it has one (`_ns`, `_bytes`, `_packets`).
    pub name: &'static str,
    /// Unit: `ns`, `bytes`, `packets`, `segments`, `frames`, `flows`, `index` or empty.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// A column's values: integers, where [`NONE`] means "no value".
#[derive(Clone, Debug)]
pub enum Data<'a> {
    /// As they are.
    Plain(&'a [u64]),
    /// Packed.
    Packed(PackedColumn<'a>),
    /// One value in this many rows.
    Same(u64, usize),
}

/// Values that [`Data::Same`] repeats at a time: 64 KiB.
const AT_ONCE: usize = 1 << 13;

impl Data<'_> {
    /// Calls `part` with the values, part by part in order.
    ///
    /// # Errors
    /// The error of `part`, or [`Fault`] if a store of samples fails.
    pub fn for_each_part(&self, mut part: impl FnMut(&[u64]) -> Result<(), Fault>) -> Result<(), Fault> {
        match self {
            Self::Plain(values) => part(values),
            Self::Packed(column) => column.for_each_part(part),
            Self::Same(value, rows) => {
                let values = vec![*value; (*rows).min(AT_ONCE)];
                (0..*rows).step_by(AT_ONCE).try_for_each(|done| part(&values[..(rows - done).min(AT_ONCE)]))
            }
        }
    }

    /// The values.
    ///
    /// # Errors
    /// [`Fault`]: a store of samples fails, or there is not enough memory.
    pub fn to_vec(&self) -> Result<Vec<u64>, Fault> {
        let mut all = Vec::new();
        self.for_each_part(|values| append(&mut all, values))?;
        Ok(all)
    }
}

/// A table of columns of equal length.
pub trait Table {
    /// Name of the table.
    const NAME: &'static str;
    /// Its columns in declared order. The columns in [`SLOTS`](Self::SLOTS) have no names.
    const COLUMNS: &'static [Column];
    /// Columns for the counters of a run's scheme; [`named`](crate::named) gives them names.
    const SLOTS: Range<usize> = 0..0;
    /// Number of rows.
    fn len(&self) -> usize;
    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The columns in declared order, with their values.
    fn columns(&self) -> Vec<(Column, Data<'_>)>;
}

/// A table whose values are in memory, not packed.
pub trait Plain: Table + Default {
    /// Its rows.
    type Row;
    /// The values of a row: an array.
    type Cells: AsRef<[u64]> + AsMut<[u64]> + Copy + Default;
    /// The values of a row in the order of the columns.
    fn cells(row: &Self::Row) -> Self::Cells;
    /// The columns' values.
    fn columns_mut(&mut self) -> Vec<&mut Vec<u64>>;
}

/// Returns the columns of a table: `before`, then nameless ones, then `after`.
pub(crate) const fn join<const WIDTH: usize>(before: &[Column], after: &[Column]) -> [Column; WIDTH] {
    let mut columns = [Column { name: "", unit: "", doc: "" }; WIDTH];
    let mut at = 0;
    while at < before.len() {
        columns[at] = before[at];
        at += 1;
    }
    at = 0;
    while at < after.len() {
        columns[WIDTH - after.len() + at] = after[at];
        at += 1;
    }
    columns
}

/// Declares a row type and its column-wise table from one list. `[counters; N];` reserves columns for up to N counters
/// of a scheme.
macro_rules! table {
    ($(#[$row_doc:meta])* $row:ident, $(#[$table_doc:meta])* $table:ident = $name:literal {
        $( $field:ident : $unit:literal, $doc:literal; )*
        $( [$slots:ident; $count:expr]; $( $later:ident : $later_unit:literal, $later_doc:literal; )* )?
    }) => {
        $(#[$row_doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $row {
            $( #[doc = $doc] pub $field: u64, )*
            $(
                /// Counters of the run's scheme, in the order of its row; those that it does not have are zero.
                pub $slots: [u64; $count],
                $( #[doc = $later_doc] pub $later: u64, )*
            )?
        }

        $(#[$table_doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $table {
            $( #[doc = $doc] pub $field: Vec<u64>, )*
            $(
                /// Counters of the run's scheme, in the order of its row.
                pub $slots: [Vec<u64>; $count],
                $( #[doc = $later_doc] pub $later: Vec<u64>, )*
            )?
        }

        impl $table {
            /// Number of columns.
            const WIDTH: usize = Self::BEFORE.len() + Self::LATER.len() $( + $count )?;
            /// Columns before the slots.
            const BEFORE: &'static [$crate::table::Column] =
                &[$( $crate::table::Column { name: stringify!($field), unit: $unit, doc: $doc } ),*];
            /// Columns after the slots.
            const LATER: &'static [$crate::table::Column] = &[$($(
                $crate::table::Column { name: stringify!($later), unit: $later_unit, doc: $later_doc }
            ),*)?];

            /// Appends a row.
            pub fn push(&mut self, row: &$row) {
                $( self.$field.push(row.$field); )*
                $(
                    self.$slots.iter_mut().zip(row.$slots).for_each(|(column, value)| column.push(value));
                    $( self.$later.push(row.$later); )*
                )?
            }

            /// Reserves memory for exactly `rows` more rows.
            pub fn reserve(&mut self, rows: usize) {
                use $crate::table::Plain as _;
                self.columns_mut().into_iter().for_each(|column| column.reserve_exact(rows));
            }

            /// The row at `index`, if there is one.
            #[must_use]
            pub fn row(&self, index: usize) -> Option<$row> {
                use $crate::table::Table as _;
                if index >= self.len() {
                    return None;
                }
                Some($row {
                    $( $field: *self.$field.get(index)?, )*
                    $(
                        $slots: core::array::from_fn(|slot| self.$slots[slot][index]),
                        $( $later: *self.$later.get(index)?, )*
                    )?
                })
            }
        }

        impl $crate::table::Table for $table {
            const NAME: &'static str = $name;
            const COLUMNS: &'static [$crate::table::Column] =
                &$crate::table::join::<{ Self::WIDTH }>(Self::BEFORE, Self::LATER);
            const SLOTS: core::ops::Range<usize> = Self::BEFORE.len()..Self::WIDTH - Self::LATER.len();
            fn len(&self) -> usize {
                let fixed: &[&Vec<u64>] = &[$( &self.$field ),*];
                let first = fixed.first().map(|column| column.len());
                $( let first = first.or_else(|| self.$slots.first().map(Vec::len)); )?
                first.unwrap_or(0)
            }
            fn columns(&self) -> Vec<($crate::table::Column, $crate::table::Data<'_>)> {
                #[allow(unused_mut, reason = "a table without slots adds no columns")]
                let mut values: Vec<&[u64]> = vec![$( &self.$field ),*];
                $(
                    values.extend(self.$slots.iter().map(Vec::as_slice));
                    $( values.push(&self.$later); )*
                )?
                Self::COLUMNS.iter().copied().zip(values.into_iter().map($crate::table::Data::Plain)).collect()
            }
        }

        impl $crate::table::Plain for $table {
            type Row = $row;
            type Cells = [u64; Self::WIDTH];
            #[inline]
            fn cells(row: &$row) -> Self::Cells {
                let mut cells = [0; Self::WIDTH];
                let (before, _rest) = cells.split_at_mut(Self::BEFORE.len());
                before.copy_from_slice(&[$( row.$field ),*]);
                $(
                    let (slots, _later) = _rest.split_at_mut($count);
                    slots.copy_from_slice(&row.$slots);
                    _later.copy_from_slice(&[$( row.$later ),*]);
                )?
                cells
            }
            fn columns_mut(&mut self) -> Vec<&mut Vec<u64>> {
                #[allow(unused_mut, reason = "a table without slots adds no columns")]
                let mut columns: Vec<&mut Vec<u64>> = vec![$( &mut self.$field ),*];
                $(
                    columns.extend(&mut self.$slots);
                    $( columns.push(&mut self.$later); )*
                )?
                columns
            }
        }
    };
}
pub(crate) use table;
