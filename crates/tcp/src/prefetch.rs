//! Prefetches single cache lines of a value, without reading any.

use core::ops::Range;
use prefetch_index::prefetch_index;

/// The size of a cache line, in bytes.
const LINE: usize = 64;

/// Prefetches these cache lines of a value, by their numbers from its beginning.
#[inline(always)]
pub fn prefetch_lines<T: ?Sized>(value: &T, lines: Range<usize>) {
    // The library prefetches any address relative to a slice, and this is one of octets.
    static BASE: &[u8] = &[0];
    let first = core::ptr::from_ref(value).cast::<u8>().addr().wrapping_sub(BASE.as_ptr().addr());
    for line in lines {
        prefetch_index(BASE, first.wrapping_add(line * LINE));
    }
}
