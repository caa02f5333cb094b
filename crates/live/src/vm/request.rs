//! What the host asks of the guest: one run of a scenario.

use super::bytes::{Broken, Reader, Writer};

/// Version of the bytes; another one is refused.
const VERSION: u64 = 2;

/// One run of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The scenario as resolved, as TOML; it holds the content of traces.
    pub scenario: String,
    /// Seed, as in [`Options`](crate::Options).
    pub seed: u64,
    /// Number of the run.
    pub run: u64,
    /// Programs to run during the run: a host's name, and a command line.
    pub programs: Vec<(String, String)>,
    /// Whether packets are captured.
    pub captures: bool,
    /// Whether the kernel's own queue disciplines carry links, as in [`Options`](crate::Options).
    pub kernel_qdisc: bool,
}

impl Request {
    /// Where the request lies in the guest's file system.
    pub const PATH: &'static str = "/narrows/request";

    /// Returns the request as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.number(VERSION);
        out.text(&self.scenario);
        out.number(self.seed);
        out.number(self.run);
        out.list(&self.programs, |out, (host, line)| {
            out.text(host);
            out.text(line);
        });
        out.number(u64::from(self.captures));
        out.number(u64::from(self.kernel_qdisc));
        out.into_bytes()
    }

    /// Reads a request.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Broken> {
        let mut from = Reader::new(bytes);
        if from.number()? != VERSION {
            return Err(Broken);
        }
        let read = Self {
            scenario: from.text()?,
            seed: from.number()?,
            run: from.number()?,
            programs: from.list(|from| Ok((from.text()?, from.text()?)))?,
            captures: from.number()? != 0,
            kernel_qdisc: from.number()? != 0,
        };
        from.end().map(|()| read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_comes_back() {
        let request = Request {
            scenario: "format = 1".to_owned(),
            seed: u64::MAX,
            run: 3,
            programs: vec![("s1".to_owned(), "ping d1".to_owned())],
            captures: true,
            kernel_qdisc: true,
        };
        let bytes = request.encode();
        assert_eq!(Request::decode(&bytes), Ok(request));
        assert_eq!(Request::decode(&bytes[..bytes.len() - 1]), Err(Broken));
        assert_eq!(Request::decode(&[bytes.as_slice(), &[0]].concat()), Err(Broken));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Request::decode(&bytes);
        }
    }
}
