//! Values as bytes: whole numbers of 64 bits, little-endian, and texts with their length in front.

/// Bytes that are not what was expected: cut off, or of another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes from the guest are damaged or of another version")]
pub struct Broken;

/// Writes values one after the other.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn number(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn real(&mut self, value: f64) {
        self.number(value.to_bits());
    }

    pub(crate) fn numbers(&mut self, values: &[u64]) {
        values.iter().for_each(|&value| self.number(value));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Writes the number of items, and each of them by `write`.
    pub(crate) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|item| write(self, item));
    }

    pub(crate) fn texts<T: AsRef<str>>(&mut self, texts: &[T]) {
        self.list(texts, |out, text| out.text(text.as_ref()));
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads values in the order in which they were written.
#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Broken> {
        let (first, rest) = self.0.split_first_chunk().ok_or(Broken)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*first))
    }

    pub(crate) fn real(&mut self) -> Result<f64, Broken> {
        self.number().map(f64::from_bits)
    }

    /// Reads a number that counts values of at least `size` bytes each, which must be there: it may be used to reserve
    /// memory.
    pub(crate) fn count(&mut self, size: usize) -> Result<usize, Broken> {
        let count = usize::try_from(self.number()?).map_err(|_| Broken)?;
        if count > self.0.len() / size.max(1) { Err(Broken) } else { Ok(count) }
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Broken> {
        let length = self.count(1)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Broken)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<String, Broken> {
        std::str::from_utf8(self.bytes()?).map(str::to_owned).map_err(|_| Broken)
    }

    pub(crate) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T, Broken>) -> Result<Vec<T>, Broken> {
        // Every item takes eight bytes at least.
        (0..self.count(8)?).map(|_| read(self)).collect()
    }

    pub(crate) fn texts(&mut self) -> Result<Vec<String>, Broken> {
        self.list(Self::text)
    }

    /// Checks that nothing is left.
    pub(crate) const fn end(&self) -> Result<(), Broken> {
        if self.0.is_empty() { Ok(()) } else { Err(Broken) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let mut out = Writer::default();
        out.number(7);
        out.real(-0.5);
        out.text("naïve");
        out.texts(&["a", ""]);
        out.bytes(&[1, 2]);
        let bytes = out.into_bytes();
        let mut back = Reader::new(&bytes);
        assert_eq!((back.number(), back.real(), back.text()), (Ok(7), Ok(-0.5), Ok("naïve".to_owned())));
        assert_eq!(back.texts(), Ok(vec!["a".to_owned(), String::new()]));
        assert_eq!((back.bytes(), back.end()), (Ok(&[1, 2][..]), Ok(())));
    }

    #[test]
    fn a_length_beyond_the_end_is_refused() {
        let mut out = Writer::default();
        out.number(u64::MAX);
        let bytes = out.into_bytes();
        assert_eq!(Reader::new(&bytes).bytes(), Err(Broken));
        assert_eq!(Reader::new(&bytes).texts(), Err(Broken));
        assert_eq!(Reader::new(&bytes[..7]).number(), Err(Broken));
        assert_eq!(Reader::new(&bytes).end(), Err(Broken));
    }
}
