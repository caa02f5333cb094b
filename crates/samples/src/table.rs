//! Tables of columns, declared once with unit and meaning.

use crate::packed::{PackedColumn, append};
use crate::store::Fault;

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
}

impl Data<'_> {
    /// Calls `part` with the values, part by part in order.
    ///
    /// # Errors
    /// The error of `part`, or [`Fault`] if a store of samples fails.
    pub fn for_each_part(&self, mut part: impl FnMut(&[u64]) -> Result<(), Fault>) -> Result<(), Fault> {
        match self {
            Self::Plain(values) => part(values),
            Self::Packed(column) => column.for_each_part(part),
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
    /// Its columns in declared order.
    const COLUMNS: &'static [Column];
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

/// Declares a row type and its column-wise table from one list.
macro_rules! table {
    ($(#[$row_doc:meta])* $row:ident, $(#[$table_doc:meta])* $table:ident = $name:literal {
        $( $field:ident : $unit:literal, $doc:literal; )+
    }) => {
        $(#[$row_doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $row {
            $( #[doc = $doc] pub $field: u64, )+
        }

        $(#[$table_doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $table {
            $( #[doc = $doc] pub $field: Vec<u64>, )+
        }

        impl $table {
            /// Appends a row.
            pub fn push(&mut self, row: &$row) {
                $( self.$field.push(row.$field); )+
            }

            /// Reserves memory for exactly `rows` more rows.
            pub fn reserve(&mut self, rows: usize) {
                $( self.$field.reserve_exact(rows); )+
            }

            /// The row at `index`, if there is one.
            #[must_use]
            pub fn row(&self, index: usize) -> Option<$row> {
                Some($row { $( $field: *self.$field.get(index)?, )+ })
            }
        }

        impl $crate::table::Table for $table {
            const NAME: &'static str = $name;
            const COLUMNS: &'static [$crate::table::Column] =
                &[$( $crate::table::Column { name: stringify!($field), unit: $unit, doc: $doc } ),+];
            fn len(&self) -> usize {
                [$( self.$field.len() ),+].first().copied().unwrap_or(0)
            }
            fn columns(&self) -> Vec<($crate::table::Column, $crate::table::Data<'_>)> {
                let values = [$( $crate::table::Data::Plain(&self.$field) ),+];
                Self::COLUMNS.iter().copied().zip(values).collect()
            }
        }

        impl $crate::table::Plain for $table {
            type Row = $row;
            type Cells = [u64; [$( stringify!($field) ),+].len()];
            #[inline]
            fn cells(row: &$row) -> Self::Cells {
                [$( row.$field ),+]
            }
            fn columns_mut(&mut self) -> Vec<&mut Vec<u64>> {
                vec![$( &mut self.$field ),+]
            }
        }
    };
}
pub(crate) use table;
