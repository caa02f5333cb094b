//! An optional offset packed into a `u64`.

/// An offset in a stream, or none: `u64::MAX` stands for none, because no stream is that long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaybeOffset(u64);

impl MaybeOffset {
    /// No offset.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// The given offset.
    #[inline]
    pub(crate) const fn at(offset: u64) -> Self {
        Self(offset)
    }

    /// The offset as an `Option`.
    #[inline]
    pub(crate) const fn get(self) -> Option<u64> {
        if self.0 == u64::MAX { None } else { Some(self.0) }
    }
}

impl Default for MaybeOffset {
    fn default() -> Self {
        Self::NONE
    }
}
