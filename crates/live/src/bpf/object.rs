//! An eBPF object: opened from bytes, its constants set, loaded past the kernel's verifier.

use super::{log, variables};
use crate::LiveError;
use crate::release;
use libbpf_rs::{ErrorKind, Map, MapCore as _, MapMut, Object, ObjectBuilder, OpenObject, ProgramMut};
use std::os::fd::AsFd as _;
use std::path::Path;

/// An object that was read but is not yet in the kernel: its constants can be set.
#[derive(Debug)]
pub struct Opened {
    object: OpenObject,
    name: String,
}

impl Opened {
    /// Opens the object in `bytes`, which clang compiled from a `.bpf.c` file; errors call it `name`.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the bytes are no object.
    pub fn new(name: &str, bytes: &[u8]) -> Result<Self, LiveError> {
        let open = || ObjectBuilder::default().name(name).and_then(|builder| builder.open_memory(bytes));
        let (opened, said) = log::quiet(open);
        let object = opened
            .map_err(|error| LiveError::failed(format!("open the eBPF object \"{name}\""), reason(&error, &said)))?;
        Ok(Self { object, name: name.to_owned() })
    }

    /// Sets the whole number `variable` (`const volatile` in C; 1, 2, 4 or 8 bytes).
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the object has no such constant or the value does not fit into it.
    pub fn set_number(&mut self, variable: &str, value: u64) -> Result<(), LiveError> {
        variables::set_number(&mut self.object, variable, value)
    }

    /// Whether the object has a constant of this name.
    #[must_use]
    pub fn has(&self, variable: &str) -> bool {
        variables::has(&self.object, variable)
    }

    /// Sets the array or structure `variable` (`const volatile` in C) from its bytes in native order.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the object has no such constant or its size differs.
    pub fn set_bytes(&mut self, variable: &str, value: &[u8]) -> Result<(), LiveError> {
        variables::set_bytes(&mut self.object, variable, value)
    }

    /// Sets the name under which sockets will find the struct_ops `map`: 1 to 15 bytes.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if there is no such map or the name does not fit.
    pub fn set_registered_name(&mut self, map: &str, name: &str) -> Result<(), LiveError> {
        variables::set_registered_name(&mut self.object, map, name)
    }

    /// Uses the map `name` of a loaded object instead of one of its own; both objects have it.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if one of them has no such map, or the two differ.
    pub fn share_map(&mut self, name: &str, with: &Loaded) -> Result<(), LiveError> {
        let map = with.map(name)?;
        let what = format!("use the map \"{name}\" of the eBPF object \"{}\"", with.name);
        let mut own = self.object.maps_mut().find(|own| own.name() == name);
        let own = own.as_mut().ok_or_else(|| LiveError::failed(what.clone(), "there is none of that name here"))?;
        own.reuse_fd(map.as_fd()).map_err(|error| LiveError::failed(what, error))
    }

    /// Excludes the program `name` from loading, for a kernel that lacks what it hooks. Does nothing if there is no
    /// such program.
    pub fn leave_out(&mut self, name: &str) {
        for mut program in self.object.progs_mut() {
            if program.name() == name {
                program.set_autoload(false);
            }
        }
    }

    /// Excludes the struct_ops `map` and its programs from loading, for a kernel without struct_ops links where the
    /// rest of the object is enough. Does nothing if there is no such map.
    pub fn leave_out_control(&mut self, map: &str) {
        for mut found in self.object.maps_mut() {
            if found.name() == map {
                // Fails only once the object is loaded, which consumes `self`.
                let _ = found.set_autocreate(false);
            }
        }
    }

    /// Loads the object into the kernel, whose verifier checks every program.
    ///
    /// # Errors
    /// [`LiveError::Unavailable`] if the machine lacks something needed (rights, type information, a kernel function);
    /// the reason is libbpf's first complaint and the end of the verifier's log.
    pub fn load(mut self) -> Result<Loaded, LiveError> {
        variables::leave_out_missing_hooks(&mut self.object)?;
        let name = self.name;
        let (loaded, said) = log::quiet(|| self.object.load());
        loaded.map(|object| Loaded { object, name: name.clone() }).map_err(|error| unavailable(&name, &error, &said))
    }
}

/// An object in the kernel. Nothing of it runs before it is attached.
#[derive(Debug)]
pub struct Loaded {
    object: Object,
    name: String,
}

impl Loaded {
    /// Returns the name that errors use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the map `name` of the object.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if it has none of that name.
    pub fn map(&self, name: &str) -> Result<Map<'_>, LiveError> {
        self.object.maps().find(|map| map.name() == name).ok_or_else(|| self.lacks("map", name))
    }

    /// Returns the map `name` of the object, to be attached.
    pub(super) fn map_mut(&mut self, name: &str) -> Result<MapMut<'_>, LiveError> {
        let lacks = self.lacks("map", name);
        self.object.maps_mut().find(|map| map.name() == name).ok_or(lacks)
    }

    /// Returns the program `name` of the object.
    pub(super) fn program(&self, name: &str) -> Result<ProgramMut<'_>, LiveError> {
        self.object.progs_mut().find(|program| program.name() == name).ok_or_else(|| self.lacks("program", name))
    }

    fn lacks(&self, kind: &str, name: &str) -> LiveError {
        LiveError::failed(format!("use the eBPF object \"{}\"", self.name), format!("it has no {kind} \"{name}\""))
    }
}

/// Returns the reason of a failure: libbpf's message, or else the error itself.
pub(super) fn reason(error: &libbpf_rs::Error, said: &str) -> String {
    let why = log::why(said);
    if why.is_empty() { error.to_string() } else { why }
}

/// The remedy for a root user whom the kernel refuses.
pub(crate) const ELSEWHERE: &str = "run as root on the machine itself: a container or a security module forbids it";

/// Returns the error for a failure to load, with its remedy on this machine.
fn unavailable(name: &str, error: &libbpf_rs::Error, said: &str) -> LiveError {
    // libbpf tries the simplest program first; if that fails, rights are missing, even for root.
    if crate::rights::may_load() && error.kind() == ErrorKind::PermissionDenied && said.contains("probe_loading") {
        return LiveError::Unavailable {
            what: format!("the eBPF object \"{name}\""),
            why: "the kernel lets this process load no eBPF program".into(),
            remedy: ELSEWHERE.into(),
        };
    }
    let remedy = if !crate::rights::may_load() {
        "run as root, or with the capabilities CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"
    } else if !Path::new(TYPES).exists() {
        "use a kernel with type information (CONFIG_DEBUG_INFO_BTF=y)"
    } else if release::numbers() < Some(release::LINKS_SINCE) {
        "use Linux 6.4 or later, which has struct_ops links, or one of the kernel's own congestion controls"
    } else {
        "`narrows doctor` shows what this kernel supports"
    };
    LiveError::Unavailable {
        what: format!("the eBPF object \"{name}\""),
        why: reason(error, said),
        remedy: remedy.into(),
    }
}

/// The kernel's own type information, to which programs are adapted as they are loaded.
pub(crate) const TYPES: &str = "/sys/kernel/btf/vmlinux";
