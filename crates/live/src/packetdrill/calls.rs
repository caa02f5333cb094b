//! System calls of a script, made with real structures.

use narrows_packetdrill::call::{
    Address, CallResult, Control, Data, EpollEvent, Errno, Form, Output, Room, SystemCall,
};
use narrows_packetdrill::host::Fd;
use std::ffi::CString;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::{Mutex, PoisonError};

/// Buffers of zero-copy sends: the kernel reads them after the call, until the data are acknowledged, so they stay as
/// they are until the sockets are closed.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<Vec<Vec<u8>>>);

impl Kept {
    fn keep(&self, buffers: Vec<Vec<u8>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(buffers);
    }
}

/// Makes a system call in the calling thread, and returns when it returns.
pub(super) fn make(call: &SystemCall, kept: &Kept) -> CallResult {
    match call {
        &SystemCall::Socket { domain, kind, protocol } => {
            // SAFETY: a plain system call.
            plain(i64::from(unsafe { libc::socket(domain, kind, protocol) }))
        }
        SystemCall::Bind { fd, address } => {
            let address = Name::new(Some(*address));
            // SAFETY: the address is valid for its length, or null.
            plain(i64::from(unsafe { libc::bind(fd.0, address.pointer(), address.length) }))
        }
        &SystemCall::Listen { fd, backlog } => {
            // SAFETY: a plain system call.
            plain(i64::from(unsafe { libc::listen(fd.0, backlog) }))
        }
        &SystemCall::Accept { fd } => accept(fd),
        SystemCall::Connect { fd, address } => {
            let address = Name::new(Some(*address));
            // SAFETY: the address is valid for its length, or null.
            plain(i64::from(unsafe { libc::connect(fd.0, address.pointer(), address.length) }))
        }
        &SystemCall::Receive { form, fd, ref buffers, control, flags } => receive(form, fd, buffers, control, flags),
        &SystemCall::Send { form, fd, ref buffers, address, ref control, flags } => {
            send(form, fd, buffers, address, control, flags, kept)
        }
        &SystemCall::Close { fd } => {
            // SAFETY: the script's file is closed by the script alone.
            plain(i64::from(unsafe { libc::close(fd.0) }))
        }
        &SystemCall::Shutdown { fd, how } => {
            // SAFETY: a plain system call.
            plain(i64::from(unsafe { libc::shutdown(fd.0, how) }))
        }
        &SystemCall::GetOption { fd, level, option, length } => get_option(fd, level, option, length),
        &SystemCall::SetOption { fd, level, option, ref value, length } => {
            let mut value = value.clone();
            value.resize(length.max(1), 0);
            // SAFETY: the value is valid for its length.
            let result =
                unsafe { libc::setsockopt(fd.0, level, option, value.as_ptr().cast(), length as libc::socklen_t) };
            plain(i64::from(result))
        }
        &SystemCall::Ioctl { fd, request } => {
            let mut value: libc::c_int = 0;
            // SAFETY: the requests of scripts write one integer.
            let result = unsafe { libc::ioctl(fd.0, request as libc::Ioctl, &raw mut value) };
            with(i64::from(result), || Output::Integer(i64::from(value)))
        }
        &SystemCall::Fcntl { fd, command, argument } => {
            // SAFETY: the commands of scripts take an integer, or nothing.
            plain(i64::from(unsafe { libc::fcntl(fd.0, command, argument.unwrap_or(0)) }))
        }
        SystemCall::Poll { entries, timeout } => poll(entries, *timeout),
        &SystemCall::EpollCreate { size } => {
            // SAFETY: a plain system call.
            plain(i64::from(unsafe { libc::epoll_create(size) }))
        }
        &SystemCall::EpollControl { epoll, operation, fd, event } => {
            let mut event = event.map(|event| libc::epoll_event { events: event.events, u64: event.data });
            let event = event.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
            // SAFETY: the event is valid, or null.
            plain(i64::from(unsafe { libc::epoll_ctl(epoll.0, operation, fd.0, event) }))
        }
        &SystemCall::EpollWait { epoll, maximum, timeout } => epoll_wait(epoll, maximum, timeout),
        SystemCall::Pipe => {
            let mut files = [-1; 2];
            // SAFETY: there is room for two descriptors.
            let result = unsafe { libc::pipe(files.as_mut_ptr()) };
            with(i64::from(result), || Output::Files(Fd(files[0]), Fd(files[1])))
        }
        SystemCall::Open { path, flags } => {
            // A path with a zero byte ends there, as in C.
            let path = path.split('\0').next().unwrap_or_default();
            let path = CString::new(path).unwrap_or_default();
            // SAFETY: the path ends with zero. The mode matters only for files that are made.
            plain(i64::from(unsafe { libc::open(path.as_ptr(), *flags, 0o600) }))
        }
        &SystemCall::Splice { from, to, length, flags } => {
            let none = std::ptr::null_mut;
            // SAFETY: without offsets, the files' own positions are used.
            plain(unsafe { libc::splice(from.0, none(), to.0, none(), length, flags as libc::c_uint) } as i64)
        }
        &SystemCall::SendFile { to, from, offset, count } => {
            let mut offset = offset;
            let pointer = offset.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
            // SAFETY: the offset is valid, or null.
            let result = unsafe { libc::sendfile(to.0, from.0, pointer, count) } as i64;
            with(result, || offset.map_or(Output::None, Output::Integer))
        }
    }
}

/// Returns the result of a call without output; reads `errno` first.
fn plain(result: i64) -> CallResult {
    with(result, || Output::None)
}

/// Returns the result of a call, with what it wrote if it did not fail; reads `errno` first.
fn with(result: i64, output: impl FnOnce() -> Output) -> CallResult {
    if result < 0 {
        return CallResult::error(Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)));
    }
    CallResult::with(result, output())
}

/// A `struct sockaddr` argument with its length.
struct Name {
    storage: Option<libc::sockaddr_storage>,
    length: libc::socklen_t,
}

impl Name {
    fn new(address: Option<Address>) -> Self {
        // SAFETY: all bytes zero are a valid address, of family AF_UNSPEC.
        let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
        let length = match address {
            None | Some(Address::Null) => return Self { storage: None, length: 0 },
            Some(Address::Unspecified) => size_of::<libc::sockaddr>(),
            Some(Address::Inet(SocketAddr::V4(v4))) => {
                let inet = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
                    sin_zero: [0; 8],
                };
                // SAFETY: the storage is large enough, and aligned, for every address.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(inet) };
                size_of::<libc::sockaddr_in>()
            }
            Some(Address::Inet(SocketAddr::V6(v6))) => {
                let inet = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                // SAFETY: as above.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(inet) };
                size_of::<libc::sockaddr_in6>()
            }
        };
        Self { storage: Some(storage), length: length as libc::socklen_t }
    }

    fn pointer(&self) -> *const libc::sockaddr {
        self.storage.as_ref().map_or(std::ptr::null(), |storage| std::ptr::from_ref(storage).cast())
    }
}

/// Reads an address that the kernel has written.
fn address(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let pointer = std::ptr::from_ref(storage);
    match libc::c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says which structure this is.
            let inet = unsafe { pointer.cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(u32::from_be(inet.sin_addr.s_addr));
            Some(SocketAddr::V4(SocketAddrV4::new(ip, u16::from_be(inet.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let inet = unsafe { pointer.cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(inet.sin6_addr.s6_addr);
            Some(SocketAddr::V6(SocketAddrV6::new(ip, u16::from_be(inet.sin6_port), 0, 0)))
        }
        _ => None,
    }
}

fn accept(fd: Fd) -> CallResult {
    // SAFETY: all bytes zero are a valid address.
    let mut peer: libc::sockaddr_storage = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the pointers are to room for an address, and to its length.
    let result = unsafe { libc::accept(fd.0, (&raw mut peer).cast(), &raw mut length) };
    with(i64::from(result), || address(&peer).map_or(Output::None, Output::Address))
}

/// Pieces of memory as the kernel takes them. A null pointer keeps its length.
fn pieces<'a>(buffers: impl Iterator<Item = (Option<&'a mut [u8]>, usize)>) -> Vec<libc::iovec> {
    buffers
        .map(|(bytes, length)| libc::iovec {
            iov_base: bytes.map_or(std::ptr::null_mut(), |bytes| bytes.as_mut_ptr().cast()),
            iov_len: length,
        })
        .collect()
}

fn receive(form: Form, fd: Fd, rooms: &[Room], control: usize, flags: i32) -> CallResult {
    let mut buffers: Vec<Option<Vec<u8>>> = rooms
        .iter()
        .map(|room| match room {
            Room::Buffer(length) => Some(vec![0; *length]),
            Room::Null(_) => None,
        })
        .collect();
    let lengths = rooms.iter().map(Room::len);
    let mut pieces = pieces(buffers.iter_mut().map(Option::as_deref_mut).zip(lengths));
    let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    let first = pieces.first().copied().unwrap_or(none);
    let mut from = Name::new(Some(Address::Unspecified));
    // SAFETY: all bytes zero are a valid message.
    let mut message: libc::msghdr = unsafe { zeroed() };
    let mut control = vec![0_u64; control.div_ceil(8)];
    // SAFETY: each piece is valid for its length, or a null pointer, which the kernel refuses; so are the address and
    // the message.
    let result = unsafe {
        match form {
            Form::Plain => libc::read(fd.0, first.iov_base, first.iov_len),
            Form::Vector => libc::readv(fd.0, pieces.as_ptr(), pieces.len() as libc::c_int),
            Form::Flags => libc::recv(fd.0, first.iov_base, first.iov_len, flags),
            Form::Address => {
                from.length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
                let pointer = from.pointer().cast_mut();
                libc::recvfrom(fd.0, first.iov_base, first.iov_len, flags, pointer, &raw mut from.length)
            }
            Form::Message => {
                message.msg_iov = pieces.as_mut_ptr();
                message.msg_iovlen = pieces.len() as _;
                if !control.is_empty() {
                    message.msg_control = control.as_mut_ptr().cast();
                    message.msg_controllen = (control.len() * 8) as _;
                }
                libc::recvmsg(fd.0, &raw mut message, flags)
            }
        }
    } as i64;
    with(result, || {
        let mut bytes: Vec<u8> = buffers.into_iter().flatten().flatten().collect();
        bytes.truncate(result as usize);
        match form {
            Form::Message => Output::Message { bytes, control: controls(&message), flags: message.msg_flags },
            _ => Output::Bytes(bytes),
        }
    })
}

/// Reads the control messages of a message that the kernel has filled.
fn controls(message: &libc::msghdr) -> Vec<Control> {
    let mut controls = Vec::new();
    // SAFETY: the kernel has written the control messages and their length; each message's data end within them, since
    // `cmsg_len` counts from the header's begin to the end of the data.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = next.as_ref() {
            let data = libc::CMSG_DATA(next);
            #[allow(clippy::unnecessary_cast, reason = "musl has another type here")]
            let length = (header.cmsg_len as usize).saturating_sub(data as usize - next as usize);
            controls.push(Control {
                level: header.cmsg_level,
                kind: header.cmsg_type,
                data: std::slice::from_raw_parts(data, length).to_vec(),
            });
            next = libc::CMSG_NXTHDR(message, next);
        }
    }
    controls
}

fn send(
    form: Form,
    fd: Fd,
    data: &[Data],
    to: Option<Address>,
    control: &[Control],
    flags: i32,
    kept: &Kept,
) -> CallResult {
    let mut buffers: Vec<Option<Vec<u8>>> = data
        .iter()
        .map(|data| match data {
            Data::Bytes(bytes) => Some(bytes.clone()),
            Data::Zeros(length) => Some(vec![0; *length]),
            Data::Null(_) => None,
        })
        .collect();
    let lengths = data.iter().map(Data::len);
    let mut pieces = pieces(buffers.iter_mut().map(Option::as_deref_mut).zip(lengths));
    let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    let first = pieces.first().copied().unwrap_or(none);
    let to = Name::new(to);
    let mut control = packed(control);
    // SAFETY: all bytes zero are a valid message.
    let mut message: libc::msghdr = unsafe { zeroed() };
    // SAFETY: each piece is valid for its length, or a null pointer, which the kernel refuses; so are the address and
    // the message. With MSG_ZEROCOPY the kernel reads the pieces later too: they are kept below.
    let result = unsafe {
        match form {
            Form::Plain => libc::write(fd.0, first.iov_base, first.iov_len),
            Form::Vector => libc::writev(fd.0, pieces.as_ptr(), pieces.len() as libc::c_int),
            Form::Flags => libc::send(fd.0, first.iov_base, first.iov_len, flags),
            Form::Address => libc::sendto(fd.0, first.iov_base, first.iov_len, flags, to.pointer(), to.length),
            Form::Message => {
                message.msg_name = to.pointer().cast_mut().cast();
                message.msg_namelen = to.length;
                message.msg_iov = pieces.as_mut_ptr();
                message.msg_iovlen = pieces.len() as _;
                if control.1 > 0 {
                    message.msg_control = control.0.as_mut_ptr().cast();
                    message.msg_controllen = control.1 as _;
                }
                libc::sendmsg(fd.0, &raw const message, flags)
            }
        }
    } as i64;
    let result = plain(result);
    if flags & libc::MSG_ZEROCOPY != 0 {
        kept.keep(buffers.into_iter().flatten().collect());
    }
    result
}

/// Writes control messages one after the other, as the kernel takes them; returns them with their length in bytes.
fn packed(controls: &[Control]) -> (Vec<u64>, usize) {
    // SAFETY: CMSG_SPACE computes a length.
    let space = |control: &Control| unsafe { libc::CMSG_SPACE(control.data.len() as libc::c_uint) as usize };
    let length = controls.iter().map(space).sum();
    let mut buffer = vec![0_u64; usize::div_ceil(length, 8)];
    // SAFETY: all bytes zero are a valid message.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_control = buffer.as_mut_ptr().cast();
    message.msg_controllen = length as _;
    // SAFETY: the buffer has room for all messages, so the next header is never null where there is one to write.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(&raw const message);
        for control in controls {
            let Some(header) = next.as_mut() else { break };
            header.cmsg_level = control.level;
            header.cmsg_type = control.kind;
            header.cmsg_len = libc::CMSG_LEN(control.data.len() as libc::c_uint) as _;
            std::ptr::copy_nonoverlapping(control.data.as_ptr(), libc::CMSG_DATA(next), control.data.len());
            next = libc::CMSG_NXTHDR(&raw const message, next);
        }
    }
    (buffer, length)
}

fn get_option(fd: Fd, level: i32, option: i32, length: usize) -> CallResult {
    let mut value = vec![0; length.max(1)];
    let mut length = length as libc::socklen_t;
    // SAFETY: the pointers are to a buffer of at least `length` bytes, and to that length.
    let result = unsafe { libc::getsockopt(fd.0, level, option, value.as_mut_ptr().cast(), &raw mut length) };
    with(i64::from(result), || {
        value.truncate(length as usize);
        Output::Option(value)
    })
}

fn poll(entries: &[(Fd, i16)], timeout: i32) -> CallResult {
    let mut entries: Vec<_> =
        entries.iter().map(|&(fd, events)| libc::pollfd { fd: fd.0, events, revents: 0 }).collect();
    // SAFETY: the entries are valid for their number.
    let result = unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, timeout) };
    with(i64::from(result), || Output::Ready(entries.iter().map(|entry| entry.revents).collect()))
}

fn epoll_wait(epoll: Fd, maximum: i32, timeout: i32) -> CallResult {
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; maximum.clamp(1, 1 << 16) as usize];
    // SAFETY: there is room for as many events as are asked for; a number out of range is refused before any is
    // written.
    let result = unsafe { libc::epoll_wait(epoll.0, events.as_mut_ptr(), maximum.min(1 << 16), timeout) };
    with(i64::from(result), || {
        let found = events[..result as usize].iter();
        Output::Events(found.map(|event| EpollEvent { events: event.events, data: event.u64 }).collect())
    })
}
