//! What applications ask of their flows.

use narrows_units::Bytes;

/// What an application does when it is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing now.
    Nothing,
    /// Offers bytes to the connection; [`Bytes::MAX`] means without end.
    Write(Bytes),
    /// Offers the last bytes and closes.
    WriteAndClose(Bytes),
    /// Withdraws data that was not sent yet.
    Withdraw,
    /// Sends one datagram.
    Datagram {
        /// Its payload.
        payload: Bytes,
        /// Whether it is the last one of its frame; always, where there are no frames.
        last: bool,
    },
}
