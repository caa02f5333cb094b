//! Error numbers of system calls, as Linux has them on x86-64 and arm64.

use core::fmt;
use narrows_tcp::Failure;

/// Declares the numbers with their names and messages.
macro_rules! errnos {
    ($($name:ident = $number:literal, $message:literal;)*) => {
        impl Errno {
            $(#[doc = $message] pub const $name: Self = Self($number);)*

            /// The name, such as `EINVAL`; `None` for a number that no call here returns.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// The message of `strerror`.
            #[must_use]
            pub const fn message(self) -> &'static str {
                match self.0 {
                    $($number => $message,)*
                    _ => "Unknown error",
                }
            }
        }
    };
}

/// Why a system call failed: a positive error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(i32);

errnos! {
    EPERM = 1, "Operation not permitted";
    ENOENT = 2, "No such file or directory";
    EINTR = 4, "Interrupted system call";
    EBADF = 9, "Bad file descriptor";
    EAGAIN = 11, "Resource temporarily unavailable";
    ENOMEM = 12, "Cannot allocate memory";
    EACCES = 13, "Permission denied";
    EFAULT = 14, "Bad address";
    EEXIST = 17, "File exists";
    EINVAL = 22, "Invalid argument";
    EMFILE = 24, "Too many open files";
    ENOTTY = 25, "Inappropriate ioctl for device";
    ESPIPE = 29, "Illegal seek";
    EPIPE = 32, "Broken pipe";
    ENOMSG = 42, "No message of desired type";
    ENONET = 64, "Machine is not on the network";
    EPROTO = 71, "Protocol error";
    ENOTSOCK = 88, "Socket operation on non-socket";
    EDESTADDRREQ = 89, "Destination address required";
    EMSGSIZE = 90, "Message too long";
    ENOPROTOOPT = 92, "Protocol not available";
    EPROTONOSUPPORT = 93, "Protocol not supported";
    EOPNOTSUPP = 95, "Operation not supported";
    EAFNOSUPPORT = 97, "Address family not supported by protocol";
    EADDRINUSE = 98, "Address already in use";
    EADDRNOTAVAIL = 99, "Cannot assign requested address";
    ENETUNREACH = 101, "Network is unreachable";
    ECONNABORTED = 103, "Software caused connection abort";
    ECONNRESET = 104, "Connection reset by peer";
    ENOBUFS = 105, "No buffer space available";
    EISCONN = 106, "Transport endpoint is already connected";
    ENOTCONN = 107, "Transport endpoint is not connected";
    ETIMEDOUT = 110, "Connection timed out";
    ECONNREFUSED = 111, "Connection refused";
    EHOSTDOWN = 112, "Host is down";
    EHOSTUNREACH = 113, "No route to host";
    EALREADY = 114, "Operation already in progress";
    EINPROGRESS = 115, "Operation now in progress";
}

impl Errno {
    /// The error of this number.
    #[must_use]
    pub const fn new(number: i32) -> Self {
        Self(number)
    }

    /// The number, positive.
    #[must_use]
    pub const fn number(self) -> i32 {
        self.0
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.message()),
            None => write!(f, "error {}", self.0),
        }
    }
}

impl core::error::Error for Errno {}

impl From<Failure> for Errno {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Reset => Self::ECONNRESET,
            Failure::Refused => Self::ECONNREFUSED,
            Failure::BrokenPipe => Self::EPIPE,
            Failure::TimedOut => Self::ETIMEDOUT,
            Failure::HostUnreachable => Self::EHOSTUNREACH,
            Failure::NetworkUnreachable => Self::ENETUNREACH,
            Failure::ProtocolUnreachable => Self::ENOPROTOOPT,
            Failure::TooLong => Self::EMSGSIZE,
            Failure::SourceRoute => Self::EOPNOTSUPP,
            Failure::HostDown => Self::EHOSTDOWN,
            Failure::Isolated => Self::ENONET,
            Failure::Forbidden => Self::EACCES,
            Failure::Parameter => Self::EPROTO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_those_of_linux() {
        for (errno, number, name) in [(Errno::EAGAIN, 11, "EAGAIN"), (Errno::EINPROGRESS, 115, "EINPROGRESS")] {
            assert_eq!((errno.number(), errno.name()), (number, Some(name)));
        }
        assert_eq!(Errno::EPIPE.to_string(), "EPIPE (Broken pipe)");
        assert_eq!(Errno::new(77).to_string(), "error 77");
    }
}
