//! Total access to big-endian fields of a slice: bytes outside the slice read as zero and are not written.
//!
//! Views check their lengths once, when they are created, so in practice no access is outside. Total access avoids a
//! panic if a buffer's `AsRef` returns another slice later.

/// The byte at `at`.
#[inline]
pub(crate) fn u8_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// The `N` bytes at `at`.
#[inline]
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied().unwrap_or([0; N])
}

/// The 16-bit field at `at`.
#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array_at(bytes, at))
}

/// The 32-bit field at `at`.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

/// The bytes from `from` to `to`; empty if the slice is shorter.
#[inline]
pub(crate) fn range(bytes: &[u8], from: usize, to: usize) -> &[u8] {
    bytes.get(from..to).unwrap_or(&[])
}

/// The bytes from `from` to `to` for writing; empty if the slice is shorter.
#[inline]
pub(crate) fn range_mut(bytes: &mut [u8], from: usize, to: usize) -> &mut [u8] {
    bytes.get_mut(from..to).unwrap_or_default()
}

/// Writes `value` at `at`.
#[inline]
pub(crate) fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(slot) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<N>()) {
        *slot = value;
    }
}
