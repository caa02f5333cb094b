//! Tables of columns, declared once with unit and meaning.

/// Stands in an integer column for "no value" (no threshold yet, no sample yet).
pub const NONE: u64 = u64::MAX;

/// A column's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name; ends in its unit where it has one (`_ns`, `_bytes`, `_packets`).
    pub name: &'static str,
    /// Unit: `ns`, `bytes`, `packets`, `segments`, `frames`, `flows`, `index` or empty.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// A column's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data<'a> {
    /// Integers; [`NONE`] is "no value".
    U64(&'a [u64]),
}

/// A table of columns of equal length.
pub trait Table {
    /// Name of the table.
    const NAME: &'static str;
    /// Number of rows.
    fn len(&self) -> usize;
    /// Whether there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The columns in declared order.
    fn columns(&self) -> Vec<(Column, Data<'_>)>;
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

            /// The row at `index`, if there is one.
            #[must_use]
            pub fn row(&self, index: usize) -> Option<$row> {
                Some($row { $( $field: *self.$field.get(index)?, )+ })
            }
        }

        impl $crate::table::Table for $table {
            const NAME: &'static str = $name;
            fn len(&self) -> usize {
                [$( self.$field.len() ),+].first().copied().unwrap_or(0)
            }
            fn columns(&self) -> Vec<($crate::table::Column, $crate::table::Data<'_>)> {
                vec![$( (
                    $crate::table::Column { name: stringify!($field), unit: $unit, doc: $doc },
                    $crate::table::Data::U64(&self.$field),
                ) ),+]
            }
        }
    };
}
pub(crate) use table;
