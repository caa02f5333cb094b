//! Numbers of the socket interface: options, flags and events, as Linux has them on x86-64 and arm64.

/// Levels of socket options.
pub mod level {
    /// `SOL_IP`.
    pub const IP: i32 = 0;
    /// `SOL_SOCKET`.
    pub const SOCKET: i32 = 1;
    /// `SOL_TCP`.
    pub const TCP: i32 = 6;
    /// `SOL_IPV6`.
    pub const IPV6: i32 = 41;
}

/// Options at `SOL_SOCKET`.
pub mod so {
    /// `SO_REUSEADDR`.
    pub const REUSEADDR: i32 = 2;
    /// `SO_ERROR`.
    pub const ERROR: i32 = 4;
    /// `SO_BROADCAST`.
    pub const BROADCAST: i32 = 6;
    /// `SO_SNDBUF`.
    pub const SNDBUF: i32 = 7;
    /// `SO_RCVBUF`.
    pub const RCVBUF: i32 = 8;
    /// `SO_KEEPALIVE`.
    pub const KEEPALIVE: i32 = 9;
    /// `SO_PRIORITY`.
    pub const PRIORITY: i32 = 12;
    /// `SO_LINGER`.
    pub const LINGER: i32 = 13;
    /// `SO_REUSEPORT`.
    pub const REUSEPORT: i32 = 15;
    /// `SO_RCVLOWAT`.
    pub const RCVLOWAT: i32 = 18;
    /// `SO_SNDBUFFORCE`.
    pub const SNDBUFFORCE: i32 = 32;
    /// `SO_RCVBUFFORCE`.
    pub const RCVBUFFORCE: i32 = 33;
    /// `SO_MARK`.
    pub const MARK: i32 = 36;
    /// `SO_TIMESTAMPING`.
    pub const TIMESTAMPING: i32 = 37;
    /// `SO_MAX_PACING_RATE`.
    pub const MAX_PACING_RATE: i32 = 47;
    /// `SO_INCOMING_CPU`.
    pub const INCOMING_CPU: i32 = 49;
    /// `SO_ZEROCOPY`.
    pub const ZEROCOPY: i32 = 60;
}

/// Options at `SOL_TCP`.
pub mod tcp {
    /// `TCP_NODELAY`.
    pub const NODELAY: i32 = 1;
    /// `TCP_MAXSEG`.
    pub const MAXSEG: i32 = 2;
    /// `TCP_CORK`.
    pub const CORK: i32 = 3;
    /// `TCP_KEEPIDLE`.
    pub const KEEPIDLE: i32 = 4;
    /// `TCP_KEEPINTVL`.
    pub const KEEPINTVL: i32 = 5;
    /// `TCP_KEEPCNT`.
    pub const KEEPCNT: i32 = 6;
    /// `TCP_SYNCNT`.
    pub const SYNCNT: i32 = 7;
    /// `TCP_LINGER2`.
    pub const LINGER2: i32 = 8;
    /// `TCP_DEFER_ACCEPT`.
    pub const DEFER_ACCEPT: i32 = 9;
    /// `TCP_WINDOW_CLAMP`.
    pub const WINDOW_CLAMP: i32 = 10;
    /// `TCP_INFO`.
    pub const INFO: i32 = 11;
    /// `TCP_QUICKACK`.
    pub const QUICKACK: i32 = 12;
    /// `TCP_CONGESTION`.
    pub const CONGESTION: i32 = 13;
    /// `TCP_MD5SIG`.
    pub const MD5SIG: i32 = 14;
    /// `TCP_USER_TIMEOUT`.
    pub const USER_TIMEOUT: i32 = 18;
    /// `TCP_FASTOPEN`.
    pub const FASTOPEN: i32 = 23;
    /// `TCP_TIMESTAMP`.
    pub const TIMESTAMP: i32 = 24;
    /// `TCP_NOTSENT_LOWAT`.
    pub const NOTSENT_LOWAT: i32 = 25;
    /// `TCP_FASTOPEN_CONNECT`.
    pub const FASTOPEN_CONNECT: i32 = 30;
    /// `TCP_FASTOPEN_KEY`.
    pub const FASTOPEN_KEY: i32 = 33;
    /// `TCP_FASTOPEN_NO_COOKIE`.
    pub const FASTOPEN_NO_COOKIE: i32 = 34;
    /// `TCP_INQ`, also the type of its control message (`TCP_CM_INQ`).
    pub const INQ: i32 = 36;
    /// `TCP_TX_DELAY`.
    pub const TX_DELAY: i32 = 37;
}

/// Options at `SOL_IP` and `SOL_IPV6`.
pub mod ip {
    /// `IP_TOS`.
    pub const TOS: i32 = 1;
    /// `IP_TTL`.
    pub const TTL: i32 = 2;
    /// `IP_MTU_DISCOVER`.
    pub const MTU_DISCOVER: i32 = 10;
    /// `IP_RECVERR`, also the type of its control message.
    pub const RECVERR: i32 = 11;
    /// `IP_MTU`.
    pub const MTU: i32 = 14;
    /// `IP_FREEBIND`.
    pub const FREEBIND: i32 = 15;
    /// `IPV6_MTU_DISCOVER`.
    pub const V6_MTU_DISCOVER: i32 = 23;
    /// `IPV6_RECVERR`, also the type of its control message.
    pub const V6_RECVERR: i32 = 25;
    /// `IPV6_V6ONLY`.
    pub const V6_ONLY: i32 = 26;
    /// `IPV6_TCLASS`.
    pub const V6_TCLASS: i32 = 67;
    /// `IP_PMTUDISC_DONT`: datagrams may be fragmented.
    pub const PMTUDISC_DONT: i64 = 0;
}

/// Flags of calls that send and receive.
pub mod msg {
    /// `MSG_OOB`.
    pub const OOB: i32 = 0x1;
    /// `MSG_PEEK`.
    pub const PEEK: i32 = 0x2;
    /// `MSG_TRUNC`.
    pub const TRUNC: i32 = 0x20;
    /// `MSG_DONTWAIT`.
    pub const DONTWAIT: i32 = 0x40;
    /// `MSG_EOR`.
    pub const EOR: i32 = 0x80;
    /// `MSG_WAITALL`.
    pub const WAITALL: i32 = 0x100;
    /// `MSG_ERRQUEUE`.
    pub const ERRQUEUE: i32 = 0x2000;
    /// `MSG_NOSIGNAL`.
    pub const NOSIGNAL: i32 = 0x4000;
    /// `MSG_MORE`.
    pub const MORE: i32 = 0x8000;
    /// `MSG_ZEROCOPY`.
    pub const ZEROCOPY: i32 = 0x400_0000;
    /// `MSG_FASTOPEN`.
    pub const FASTOPEN: i32 = 0x2000_0000;
}

/// Events of `poll` and `epoll`.
pub mod event {
    /// `POLLIN`.
    pub const IN: u32 = 0x001;
    /// `POLLPRI`.
    pub const PRI: u32 = 0x002;
    /// `POLLOUT`.
    pub const OUT: u32 = 0x004;
    /// `POLLERR`, reported in any case.
    pub const ERR: u32 = 0x008;
    /// `POLLHUP`, reported in any case.
    pub const HUP: u32 = 0x010;
    /// `POLLNVAL`.
    pub const NVAL: u32 = 0x020;
    /// `POLLRDNORM`.
    pub const RDNORM: u32 = 0x040;
    /// `POLLWRNORM`.
    pub const WRNORM: u32 = 0x100;
    /// `POLLRDHUP`.
    pub const RDHUP: u32 = 0x2000;
    /// `EPOLLEXCLUSIVE`.
    pub const EXCLUSIVE: u32 = 1 << 28;
    /// `EPOLLONESHOT`.
    pub const ONESHOT: u32 = 1 << 30;
    /// `EPOLLET`.
    pub const EDGE: u32 = 1 << 31;
}

/// Operations of `epoll_ctl`.
pub mod epoll {
    /// `EPOLL_CTL_ADD`.
    pub const ADD: i32 = 1;
    /// `EPOLL_CTL_DEL`.
    pub const DEL: i32 = 2;
    /// `EPOLL_CTL_MOD`.
    pub const MOD: i32 = 3;
}

/// Commands and flags of `fcntl`, and requests of `ioctl`.
pub mod file {
    /// `F_GETFL`.
    pub const GETFL: i32 = 3;
    /// `F_SETFL`.
    pub const SETFL: i32 = 4;
    /// `O_RDWR`.
    pub const RDWR: i32 = 0o2;
    /// `O_NONBLOCK`, also `SOCK_NONBLOCK`.
    pub const NONBLOCK: i32 = 0o4000;
    /// `SIOCINQ`.
    pub const SIOCINQ: u64 = 0x541b;
    /// `SIOCOUTQ`.
    pub const SIOCOUTQ: u64 = 0x5411;
    /// `SIOCOUTQNSD`.
    pub const SIOCOUTQNSD: u64 = 0x894b;
}

/// Address families and socket types.
pub mod family {
    /// `AF_INET`.
    pub const INET: i32 = 2;
    /// `AF_INET6`.
    pub const INET6: i32 = 10;
    /// `SOCK_STREAM`.
    pub const STREAM: i32 = 1;
    /// `IPPROTO_TCP`.
    pub const TCP: i32 = 6;
}

/// What `shutdown` closes.
pub mod shut {
    /// `SHUT_RD`.
    pub const READ: i32 = 0;
    /// `SHUT_WR`.
    pub const WRITE: i32 = 1;
    /// `SHUT_RDWR`.
    pub const BOTH: i32 = 2;
}

/// Values in extended socket errors and timestamps.
pub mod report {
    /// `SO_EE_ORIGIN_TIMESTAMPING`.
    pub const ORIGIN_TIMESTAMPING: u8 = 4;
    /// `SO_EE_ORIGIN_ZEROCOPY`.
    pub const ORIGIN_ZEROCOPY: u8 = 5;
    /// `SO_EE_CODE_ZEROCOPY_COPIED`.
    pub const ZEROCOPY_COPIED: u8 = 1;
    /// `SCM_TSTAMP_SND`.
    pub const TSTAMP_SND: u32 = 0;
    /// `SCM_TSTAMP_SCHED`.
    pub const TSTAMP_SCHED: u32 = 1;
    /// `SCM_TSTAMP_ACK`.
    pub const TSTAMP_ACK: u32 = 2;
    /// `SOF_TIMESTAMPING_TX_SOFTWARE`.
    pub const TX_SOFTWARE: u32 = 1 << 1;
    /// `SOF_TIMESTAMPING_OPT_ID`.
    pub const OPT_ID: u32 = 1 << 7;
    /// `SOF_TIMESTAMPING_TX_SCHED`.
    pub const TX_SCHED: u32 = 1 << 8;
    /// `SOF_TIMESTAMPING_TX_ACK`.
    pub const TX_ACK: u32 = 1 << 9;
}
