//! Attaching programs: an attachment is released when its value is dropped.

use super::log;
use super::object::{Loaded, reason};
use crate::LiveError;
use libbpf_rs::{AsRawLibbpf as _, Link, MapCore as _, MapType, ProgramMut, TC_EGRESS, TC_INGRESS, TcHookBuilder};
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::ptr::NonNull;

/// Which packets of a device a program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Incoming packets.
    Ingress,
    /// Outgoing packets.
    Egress,
}

/// How a packet program is attached to its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hook {
    /// A tcx link (Linux 6.6), or a filter if the kernel has no tcx.
    #[default]
    Newest,
    /// A filter of the device (clsact), as on a kernel before 6.6.
    Filter,
}

/// An attachment that is released on drop.
#[derive(Debug)]
pub struct Attached {
    /// The kernel's link, which ends with its last file descriptor. `None` for the filter of a kernel without tcx: a
    /// filter belongs to its device, could only be removed from the device's own namespace, and ends with both.
    _link: Option<Link>,
}

impl Loaded {
    /// Attaches the struct_ops `map` by a link: the kernel registers the congestion control under the name that was
    /// set.
    ///
    /// # Errors
    /// [`LiveError::Unavailable`] if the name is taken or the kernel has no struct_ops links.
    pub fn attach_struct_ops(&mut self, map: &str) -> Result<Link, LiveError> {
        let object = self.name().to_owned();
        let mut found = self.map_mut(map)?;
        if found.map_type() != MapType::StructOps {
            return Err(LiveError::failed(format!("register \"{map}\" of \"{object}\""), "it is no struct_ops"));
        }
        let (link, said) = log::quiet(|| found.attach_struct_ops());
        link.map_err(|error| LiveError::Unavailable {
            what: format!("a congestion control of the eBPF object \"{object}\""),
            why: if error.kind() == libbpf_rs::ErrorKind::AlreadyExists {
                "its name is registered already".into()
            } else {
                reason(&error, &said)
            },
            remedy: "use Linux 6.4 or later, with struct_ops links, and a name that is not in use".into(),
        })
    }

    /// Attaches the program `name` to the hook that its section names, such as a tracepoint.
    ///
    /// # Errors
    /// [`LiveError::Unavailable`] if the kernel refuses.
    pub fn attach(&self, name: &str) -> Result<Attached, LiveError> {
        let program = self.program(name)?;
        let (link, said) = log::quiet(|| program.attach());
        link.map(|link| Attached { _link: Some(link) }).map_err(|error| LiveError::Unavailable {
            what: format!("the eBPF program \"{name}\""),
            why: reason(&error, &said),
            remedy: "`narrows doctor` shows what this kernel supports".into(),
        })
    }

    /// Attaches the program `name` to packets of the device `ifindex` of the calling thread's network namespace.
    ///
    /// Uses a tcx link (Linux 6.6); the program's section is `tcx/ingress` or `tcx/egress`. On a kernel without tcx it
    /// uses a filter of the device (clsact), which ends with the device. So this is for devices of namespaces that we
    /// made. An attached program returns TCX_NEXT (-1) for packets that it lets pass, which is TC_ACT_UNSPEC for a
    /// filter.
    ///
    /// # Errors
    /// [`LiveError::Unavailable`] if the kernel accepts neither, or not what `hook` requires.
    pub fn attach_packets(
        &self,
        name: &str,
        ifindex: i32,
        direction: Direction,
        hook: Hook,
    ) -> Result<Attached, LiveError> {
        let program = self.program(name)?;
        let refused = match hook {
            Hook::Newest => match attach_tcx(&program, ifindex) {
                Ok(link) => return Ok(Attached { _link: Some(link) }),
                // A kernel without such links returns EINVAL. Any other error would also prevent a filter.
                Err((refused, said)) if refused.raw_os_error() != Some(libc::EINVAL) => {
                    return Err(no_hook(name, ifindex, &tcx_reason(&refused, &said)));
                }
                Err((refused, said)) => format!("{}; as a filter: ", tcx_reason(&refused, &said)),
            },
            Hook::Filter => String::new(),
        };
        attach_filter(&program, ifindex, direction)
            .map(|()| Attached { _link: None })
            .map_err(|why| no_hook(name, ifindex, &format!("{refused}{why}")))
    }
}

/// Returns the error of a device that accepts no packet program.
fn no_hook(name: &str, ifindex: i32, why: &str) -> LiveError {
    LiveError::Unavailable {
        what: format!("the eBPF program \"{name}\" on packets of device {ifindex}"),
        why: why.to_owned(),
        remedy: "use Linux 6.6 or later, or a kernel with clsact (CONFIG_NET_CLS_ACT)".into(),
    }
}

/// Returns why there is no tcx link: libbpf's message, or else the kernel's error.
fn tcx_reason(refused: &io::Error, said: &str) -> String {
    let why = log::why(said);
    if why.is_empty() { refused.to_string() } else { why }
}

/// Attaches by a tcx link; the error is the kernel's, with libbpf's messages.
fn attach_tcx(program: &ProgramMut<'_>, ifindex: i32) -> Result<Link, (io::Error, String)> {
    let attach = || {
        // SAFETY: the program is loaded and alive; a null pointer means no options.
        let link = unsafe {
            libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), ifindex, std::ptr::null())
        };
        NonNull::new(link).ok_or_else(io::Error::last_os_error)
    };
    let (link, said) = log::quiet(attach);
    // SAFETY: libbpf made the link and passes its ownership on.
    link.map(|link| unsafe { Link::from_ptr(link) }).map_err(|error| (error, said))
}

/// Attaches as a filter; the error is a reason.
fn attach_filter(program: &ProgramMut<'_>, ifindex: i32, direction: Direction) -> Result<(), String> {
    let point = match direction {
        Direction::Ingress => TC_INGRESS,
        Direction::Egress => TC_EGRESS,
    };
    let mut builder = TcHookBuilder::new(program.as_fd());
    let mut hook = builder.ifindex(ifindex).replace(false).handle(1).priority(1).hook(point);
    let (attached, said) = log::quiet(|| hook.create().and_then(|mut hook| hook.attach()));
    attached.map(|_| ()).map_err(|error| reason(&error, &said))
}

/// Pins a link in bpffs, so that it outlives this process.
///
/// # Errors
/// [`LiveError::Failed`] with the system's reason.
pub(crate) fn pin(link: &mut Link, path: &Path) -> Result<(), LiveError> {
    let (pinned, said) = log::quiet(|| link.pin(path));
    pinned.map_err(|error| LiveError::failed(format!("pin {}", path.display()), reason(&error, &said)))
}

/// Opens the link that is pinned at `path`.
///
/// # Errors
/// [`LiveError::Failed`] if there is none.
pub(crate) fn open_pinned(path: &Path) -> Result<Link, LiveError> {
    let (opened, said) = log::quiet(|| Link::open(path));
    opened.map_err(|error| LiveError::failed(format!("open {}", path.display()), reason(&error, &said)))
}
