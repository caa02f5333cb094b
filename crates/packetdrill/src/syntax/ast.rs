//! A script as a value: options, commands, and events with their times and lines.
//!
//! Times are those of the script. Sequence numbers are relative to the initial sequence number of their direction, as
//! the script writes them.

use narrows_units::Duration;
use std::net::IpAddr;

/// A whole script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The `--name=value` lines at the top.
    pub options: Vec<ScriptOption>,
    /// The command before the first event.
    pub init: Option<Command>,
    /// The events in the order of the file.
    pub events: Vec<Event>,
    /// The command without a time after the last event.
    pub cleanup: Option<Command>,
}

/// One `--name=value` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// The name without dashes.
    pub name: String,
    /// The value, where there is one.
    pub value: Option<String>,
    /// Where.
    pub line: u32,
}

/// A command line in backquotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The text between the backquotes.
    pub text: String,
    /// The line where it begins.
    pub line: u32,
}

/// Something that is done or expected at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The time as written.
    pub when: When,
    /// What is done or expected.
    pub action: Action,
    /// The line where the event begins.
    pub line: u32,
}

/// The time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// `0.5`: so long after the start of the script.
    At(Duration),
    /// `+0.5`: so long after the event before.
    After(Duration),
    /// `*`: at any time (outbound packets only).
    Any,
    /// `0.5~0.6`: within these bounds, from the start of the script (outbound packets only).
    Between(Duration, Duration),
    /// `+0.5~+0.6`: within these bounds, from the event before (outbound packets only).
    AfterBetween(Duration, Duration),
}

/// What an event does or expects.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A packet that arrives at the host or is expected from it.
    Packet(Packet),
    /// A system call with the result expected.
    Call(Call),
    /// A command line.
    Command(String),
    /// Code between `%{` and `}%`, without the blanks at both ends.
    Code(String),
}

/// Whether a packet goes to the host or comes from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `<`: the executor injects it.
    Inbound,
    /// `>`: the executor expects it.
    Outbound,
}

/// A packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// To or from the host.
    pub direction: Direction,
    /// Fields of the IP header that the script gives.
    pub ip: IpInfo,
    /// What the IP packet carries.
    pub body: Body,
}

/// Fields of the IP header that the script gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpInfo {
    /// The ECN field or the whole TOS byte; unset, an inbound packet has 0 and an outbound one is not checked.
    pub tos: Option<Tos>,
    /// IPv6 flow label (20 bits).
    pub flow_label: Option<u32>,
    /// TTL or hop limit.
    pub ttl: Option<u8>,
}

/// The ECN field, or the TOS byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tos {
    /// `noecn`, `ect0`, `ect1`, `ce`: the two bits of ECN.
    Ecn(u8),
    /// `ect01`: ECT(0) or ECT(1) (outbound packets only).
    AnyEct,
    /// `tos 0x10`: the whole byte.
    Byte(u8),
}

/// What an IP packet carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp(Datagram),
    /// An ICMP message.
    Icmp(Icmp),
}

/// Ports as a script may give them: `1234 > 80`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The sender's.
    pub source: u16,
    /// The receiver's.
    pub destination: u16,
}

/// A TCP segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Ports, where the script gives them; they then choose the connection.
    pub ports: Option<Ports>,
    /// The flags.
    pub flags: Flags,
    /// First sequence number, relative to the initial one (SYN packets: absolute).
    pub start: u32,
    /// Payload in bytes.
    pub length: u32,
    /// Acknowledgment number; unset, the field is 0.
    pub ack: Option<u32>,
    /// The window field as it is on the wire, unscaled; unset, it is not checked.
    pub window: Option<u16>,
    /// The urgent pointer; unset, 0.
    pub urgent: Option<u16>,
    /// The options.
    pub options: TcpOptions,
}

/// TCP flags of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `F`.
    pub fin: bool,
    /// `S`.
    pub syn: bool,
    /// `R`.
    pub rst: bool,
    /// `P`.
    pub psh: bool,
    /// `.`: the ACK flag.
    pub ack: bool,
    /// `U`.
    pub urg: bool,
    /// `A` (AE), `W` (CWR), `E` (ECE), as a number of three bits in this order: AE is 4. A digit gives the number.
    pub ace: u8,
    /// The ACE field was written as a digit.
    pub ace_as_number: bool,
}

/// TCP options of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOptions {
    /// `<...>`: not checked (outbound packets only).
    Any,
    /// These, in this order.
    List(Vec<TcpOption>),
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// `nop`.
    Nop,
    /// `eol`.
    Eol,
    /// `mss 1460`.
    Mss(u16),
    /// `wscale 7`.
    WindowScale(u8),
    /// `sackOK`.
    SackPermitted,
    /// `sack 1:1001 2001:3001`.
    Sack(Vec<(u32, u32)>),
    /// `TS val 100 ecr 200`.
    Timestamps {
        /// TSval.
        value: u32,
        /// TSecr.
        echo: u32,
    },
    /// `FO cookie`: TCP Fast Open (RFC 7413); an empty cookie is a request.
    FastOpen(Vec<u8>),
    /// `FOEXP cookie`: Fast Open by the experimental option 254.
    FastOpenExperimental(Vec<u8>),
    /// `md5 digest` (RFC 2385).
    Md5(Vec<u8>),
    /// `ECN e0b 1 ceb 0 e1b 1`: the option of AccECN (RFC 9768).
    AccEcn {
        /// Whether ECT(1) comes first (kind 174) or ECT(0) (kind 172).
        ect1_first: bool,
        /// One to three counters of 24 bits, in the order of the option.
        counters: Vec<u32>,
    },
    /// An option that the language has no word for; only in packets that a host sent.
    Unknown {
        /// The kind.
        kind: u8,
        /// The bytes behind kind and length.
        data: Vec<u8>,
    },
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Ports, where the script gives them.
    pub ports: Option<Ports>,
    /// Payload in bytes.
    pub length: u16,
}

/// An ICMP message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// The type by its name: `unreachable`, `time_exceeded`, `packet_too_big`, `echo_request` ..
    pub kind: String,
    /// The code by its name: `frag_needed`, `host_unreachable` ..
    pub code: Option<String>,
    /// The next hop's MTU.
    pub mtu: Option<u32>,
    /// The identifier of an echo message.
    pub id: Option<u16>,
    /// The packet that the message quotes.
    pub echoed: Echoed,
}

/// The packet that an ICMP message quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Echoed {
    /// Not given: the connection's TCP header with sequence number 0.
    #[default]
    Default,
    /// `[1:1001(1000)]`: a TCP segment.
    Tcp {
        /// First sequence number, relative.
        start: u32,
        /// Payload in bytes.
        length: u32,
    },
    /// `[udp (1000)]`: a UDP datagram with so much payload.
    Udp(u16),
    /// `[raw (1000)]`: so many bytes of payload, without a header.
    Raw(u16),
}

/// A system call with the result expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name.
    pub name: String,
    /// The arguments.
    pub arguments: Vec<Expression>,
    /// The return value expected.
    pub result: Expression,
    /// The error expected, by its name.
    pub errno: Option<String>,
    /// What the script writes in parentheses after the result; a comment.
    pub note: Option<String>,
    /// When a call that blocks is to return: the time after `...`, from the same origin as the event's own.
    pub until: Option<Duration>,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// `...`.
    Ellipsis,
    /// `42` or `0x2a`.
    Integer(i64),
    /// A symbol: `AF_INET`.
    Word(String),
    /// `"text"` with its escapes resolved; `"text"...` is cut off in the script.
    String(Vec<u8>),
    /// `a|b`.
    Or(Box<Expression>, Box<Expression>),
    /// `name = value`.
    Assign(String, Box<Expression>),
    /// `[a, b]`.
    List(Vec<Expression>),
    /// `{a, b}`: members without names, such as an iovec's.
    Group(Vec<Expression>),
    /// `{name=a, name=b}`: a structure's members by name, in order. `msg_iov(2)=` keeps its count in parentheses.
    Struct(Vec<Member>),
    /// `name(a)`: `inet_addr("192.0.2.1")`, `htons(80)`.
    Function(String, Box<Expression>),
    /// An address, from `inet_addr` or `inet6_addr`.
    Address(IpAddr),
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// A count in parentheses after the name.
    pub count: Option<Expression>,
    /// Its value.
    pub value: Expression,
}

impl TcpOption {
    /// Returns the option's length on the wire in bytes, with kind and length.
    pub fn wire_length(&self) -> usize {
        match self {
            Self::Nop | Self::Eol => 1,
            Self::Mss(_) => 4,
            Self::WindowScale(_) => 3,
            Self::SackPermitted => 2,
            Self::Sack(blocks) => 2 + 8 * blocks.len(),
            Self::Timestamps { .. } => 10,
            Self::FastOpen(cookie) => 2 + cookie.len(),
            Self::FastOpenExperimental(cookie) => 4 + cookie.len(),
            Self::Md5(digest) => 2 + digest.len(),
            Self::AccEcn { counters, .. } => 2 + 3 * counters.len(),
            Self::Unknown { data, .. } => 2 + data.len(),
        }
    }
}
