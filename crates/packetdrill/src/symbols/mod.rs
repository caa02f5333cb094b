//! Linux's symbols by name: constants of the socket calls, and the names of errors.
//!
//! Values are those of Linux's generic ABI (x86-64, arm64), from its `uapi` headers.

/// Declares the constants, and the table in which scripts look them up.
macro_rules! symbols {
    ($table:ident: $type:ty, $doc:literal; $($name:ident = $value:literal,)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of Linux.")]
            pub const $name: $type = $value;
        )*
        #[doc = $doc]
        pub(super) const $table: &[(&str, i64)] = &[$((stringify!($name), $name as i64),)*];
    };
}

mod constants;
mod errors;

use crate::call::Errno;
use constants::SYMBOLS;
use errors::ERRORS;

pub use constants::*;
pub use errors::*;

/// Returns the value of a symbol: a constant or an error's number.
///
/// Names with upper bits set (`EPOLLET`) are negative as `i32`; their 32 bits are meant.
pub fn value(name: &str) -> Option<i64> {
    let constant = SYMBOLS.binary_search_by(|(symbol, _)| (*symbol).cmp(name)).ok().map(|at| SYMBOLS[at].1);
    constant.or_else(|| ERRORS.iter().find(|(symbol, _)| *symbol == name).map(|(_, value)| *value))
}

/// Returns an error's number by its name.
pub fn errno(name: &str) -> Option<Errno> {
    ERRORS.iter().find(|(symbol, _)| *symbol == name).map(|(_, value)| Errno(*value as i32))
}

/// Returns an error's name, such as `EAGAIN`.
pub fn errno_name(errno: Errno) -> Option<&'static str> {
    ERRORS.iter().find(|(_, value)| *value == i64::from(errno.0)).map(|(symbol, _)| *symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_alphabetical_order() {
        assert!(SYMBOLS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn names_and_numbers_agree() {
        assert_eq!(value("AF_INET6"), Some(10));
        assert_eq!(value("EAGAIN"), Some(11));
        assert_eq!(errno_name(Errno(11)), Some("EAGAIN"));
        assert_eq!(errno("EWOULDBLOCK"), Some(Errno(11)));
        assert_eq!(value("O_WHATEVER"), None);
    }
}
