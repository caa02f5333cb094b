//! The default congestion control of a script's namespace, where the kernel lets a namespace choose only some.
//!
//! Outside the initial namespace, Linux accepts as `net.ipv4.tcp_congestion_control` only what is in
//! `tcp_allowed_congestion_control` (`tcp_set_default_congestion_control` in `net/ipv4/tcp_cong.c`), and that list is
//! the machine's. A socket option may choose any (`CAP_NET_ADMIN`). So a file takes the place of the sysctl: scripts
//! write and read it as they would the sysctl, and what the kernel refuses is set on each new socket.

use super::place::mount_at;
use crate::LiveError;
use narrows_packetdrill::host::HostError;
use nix::mount::MsFlags;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::RawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

const SYSCTL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const STAND_IN: &str = "/tmp/tcp_congestion_control";

/// The default congestion control.
#[derive(Debug)]
pub(super) struct Default {
    /// The kernel's setting of this namespace, opened before the stand-in was mounted over it.
    sysctl: File,
    stand_in: File,
    /// What the script has set last.
    name: String,
    /// Whether it has to be set on each socket.
    on_sockets: bool,
}

impl Default {
    /// Puts a file in the place of the sysctl, in the namespaces of the current thread.
    pub(super) fn new() -> Result<Self, LiveError> {
        let failed = |error| LiveError::failed("provide net.ipv4.tcp_congestion_control", error);
        let sysctl = OpenOptions::new().read(true).write(true).open(SYSCTL).map_err(failed)?;
        let name = crate::sysctl("ipv4/tcp_congestion_control").unwrap_or_default();
        let mut stand_in = OpenOptions::new().read(true).write(true).create_new(true).open(STAND_IN).map_err(failed)?;
        writeln!(stand_in, "{name}").map_err(failed)?;
        mount_at(Some(Path::new(STAND_IN)), Path::new(SYSCTL), None, MsFlags::MS_BIND)?;
        std::fs::remove_file(STAND_IN).map_err(failed)?;
        Ok(Self { sysctl, stand_in, name, on_sockets: false })
    }

    /// Takes over what a command of the script may have set.
    pub(super) fn refresh(&mut self) -> Result<(), HostError> {
        let mut text = [0; 64];
        let length = self.stand_in.read_at(&mut text, 0).map_err(|error| HostError::Failed(error.to_string()))?;
        let name = String::from_utf8_lossy(&text[..length]).trim().to_owned();
        if name == self.name {
            return Ok(());
        }
        let listed = |list: &str| {
            let names = crate::sysctl(&format!("ipv4/tcp_{list}_congestion_control")).unwrap_or_default();
            names.split_ascii_whitespace().any(|listed| listed == name)
        };
        if !listed("available") {
            return Err(HostError::unsupported(
                format!("net.ipv4.tcp_congestion_control={name}"),
                format!("this kernel has no congestion control `{name}` (CONFIG_TCP_CONG_{})", name.to_uppercase()),
            ));
        }
        self.on_sockets = !listed("allowed");
        if !self.on_sockets {
            self.sysctl.write_at(name.as_bytes(), 0).map_err(|error| HostError::Failed(error.to_string()))?;
        }
        self.name = name;
        Ok(())
    }

    /// Sets the default on a new socket, if the kernel does not. Sockets that are not TCP's refuse it, without effect.
    pub(super) fn apply(&self, socket: RawFd) {
        if self.on_sockets {
            // SAFETY: the name is valid for its length.
            unsafe {
                libc::setsockopt(
                    socket,
                    libc::IPPROTO_TCP,
                    libc::TCP_CONGESTION,
                    self.name.as_ptr().cast(),
                    self.name.len() as libc::socklen_t,
                );
            }
        }
    }
}
