//! An optional offset packed into a `u64`.

/// An offset in a stream, or none: no stream is as long as the number that stands for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaybeOffset(u64);

impl MaybeOffset {
    /// None.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// This one.
    #[inline]
    pub(crate) const fn at(offset: u64) -> Self {
        Self(offset)
    }

    /// As an option.
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
