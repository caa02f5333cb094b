//! Congestion controls of this host: one command registers them, and they stay in use until another command removes
//! them.
//!
//! [`attach`] registers an algorithm under its own name and pins the kernel's link to it in the BPF file system. Its
//! metadata lies beside the pin (`store`). So everything has the same lifetime: it ends with [`detach`], or when the
//! machine shuts down.
//!
//! A command that fails leaves the previous state. A command that is killed may leave one of two states in between; the
//! same command, given again, completes it:
//! - Attaching pins first and makes the algorithm the default last. Killed between the two, it leaves the algorithm
//!   attached and the previous default in place.
//! - Detaching restores the default first and removes the pin last. Killed between the two, it leaves the algorithm
//!   attached and no longer the default.

mod mounting;
mod store;

use crate::bpf::{in_words, open_pinned, parameters, pin, program, register};
use crate::{LiveError, controls, rights};
use narrows_cc::Response;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};
use store::{Entry, Store};

/// Longest time that the kernel may take to release a name: it does so at once, or in a worker soon after.
const FORGETTING: Duration = Duration::from_secs(2);

/// A congestion control that we registered on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployed {
    /// Its name for `TCP_CONGESTION`.
    pub name: String,
    /// All of its parameters: `profile=paper lambda_max=3`.
    pub params: String,
    /// Whether it is the default of new connections, in the network namespace of the caller.
    pub is_default: bool,
    /// The default that it replaced, if it was made the default. Detaching restores it.
    pub replaced: Option<String>,
    /// Where its link is pinned.
    pub pin: PathBuf,
}

/// The result of [`attach`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attaching {
    /// The congestion control that is attached now.
    pub deployed: Deployed,
    /// Whether this call registered it. If not, it was registered before with these parameters.
    pub is_new: bool,
    /// Whether this call mounted the BPF file system.
    pub mounted: bool,
}

/// The result of [`detach`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detaching {
    /// The default that was restored; `None` if the algorithm was not the default.
    pub default: Option<String>,
}

/// Registers the congestion control `name` on this host; with `make_default`, new connections of the caller's network
/// namespace use it. If it is attached already with these parameters, it stays as it is.
///
/// # Errors
/// [`LiveError::Unsupported`] for an unknown name or parameter, or if it is attached with other parameters;
/// [`LiveError::Unavailable`] if something else has the name, or the machine cannot do it. On error nothing has
/// changed.
pub fn attach(name: &str, params: &[(String, String)], make_default: bool) -> Result<Attaching, LiveError> {
    let program = program(name)?;
    let row = program.row()?;
    if row.traits.response == Response::Nothing {
        return Err(LiveError::Unsupported {
            field: "congestion control".into(),
            value: name.into(),
            reason: "it does not respond to congestion, and would harm every network of this host".into(),
            allowed: "`narrows live` and simulated runs".into(),
        });
    }
    let params = parameters(row, params)?;
    let words = in_words(row, &params);
    may_attach()?;
    let store = Store::make()?;
    let mounted = store.is_mounted_now();
    let mut is_new = false;
    let entry = match standing(&store, name) {
        Some(entry) => same(entry, &words)?,
        None => {
            is_new = true;
            vacant(name)?;
            fresh(&store, name, &words, || {
                let mut registered = register(name, name, &params)?;
                pin(registered.link_mut(), &store.entry(name).link())
            })?
        }
    };
    if make_default && let Err(error) = become_default(&entry) {
        if is_new {
            entry.remove();
        }
        return Err(error);
    }
    Ok(Attaching { deployed: deployed(&entry), is_new, mounted })
}

/// Removes the congestion control `name` from this host, if we registered it. Connections that use it keep it until
/// they close. If it was the default, the one that it replaced becomes the default again.
///
/// # Errors
/// [`LiveError::Unsupported`] if we did not attach it, [`LiveError::Unavailable`] without the rights to detach.
pub fn detach(name: &str) -> Result<Detaching, LiveError> {
    may_attach()?;
    let not_ours = |ours: &[Deployed]| LiveError::Unsupported {
        field: "congestion control".into(),
        value: name.into(),
        reason: if controls::available().iter().any(|item| item == name) {
            "the kernel has it, but `narrows attach` did not register it".into()
        } else {
            "it is not attached".into()
        },
        allowed: match ours {
            [] => "nothing is attached".to_owned(),
            ours => ours.iter().map(|item| item.name.as_str()).collect::<Vec<_>>().join(", "),
        },
    };
    let Some(store) = Store::find()? else { return Err(not_ours(&[])) };
    let Some(entry) = standing(&store, name) else { return Err(not_ours(&listed(&store))) };
    let default = if controls::default().as_deref() == Some(name) { Some(put_back(&entry)?) } else { None };
    for other in store.entries() {
        // An entry that replaced this one must not restore it.
        if other.replaced().as_deref() == Some(name) {
            other.set_replaced(entry.replaced().as_deref().unwrap_or(SURE))?;
        }
    }
    entry.unpin()?;
    forgotten(name)?;
    entry.remove();
    Ok(Detaching { default })
}

/// Returns the congestion controls that we registered on this host, by name.
///
/// # Errors
/// [`LiveError::Unavailable`] without the rights to look.
pub fn attached() -> Result<Vec<Deployed>, LiveError> {
    Ok(Store::find()?.map_or_else(Vec::new, |store| listed(&store)))
}

fn listed(store: &Store) -> Vec<Deployed> {
    let standing = store.entries().into_iter().filter(is_standing);
    standing.map(|entry| deployed(&entry)).collect()
}

/// The congestion control that every kernel has.
const SURE: &str = "reno";

fn may_attach() -> Result<(), LiveError> {
    if rights::may_load() {
        return Ok(());
    }
    Err(LiveError::Unavailable {
        what: "registering congestion controls".into(),
        why: "this process may neither load eBPF programs nor change the network".into(),
        remedy: "run it as root".into(),
    })
}

/// Returns the entry attached as `name`; `None` if there is none.
fn standing(store: &Store, name: &str) -> Option<Entry> {
    Some(store.entry(name)).filter(is_standing)
}

/// Returns whether the pin is a link and the kernel has the name.
fn is_standing(entry: &Entry) -> bool {
    open_pinned(&entry.link()).is_ok() && controls::available().iter().any(|item| item == entry.name())
}

/// Returns the attached entry if its parameters are `words`.
fn same(entry: Entry, words: &str) -> Result<Entry, LiveError> {
    let standing = entry.params();
    if standing == words {
        return Ok(entry);
    }
    let name = entry.name();
    Err(LiveError::Unsupported {
        field: "parameters".into(),
        value: words.into(),
        reason: format!("{name} is attached already, with {standing}"),
        allowed: format!("the same, or others after `narrows detach {name}`"),
    })
}

/// Checks that the name is free.
fn vacant(name: &str) -> Result<(), LiveError> {
    if !controls::available().iter().any(|item| item == name) {
        return Ok(());
    }
    Err(LiveError::Unavailable {
        what: format!("the name {name}"),
        why: "a kernel module or another program has registered a congestion control of this name".into(),
        remedy: format!("remove that one first (`bpftool struct_ops list`, `modprobe -r tcp_{name}`)"),
    })
}

/// Creates an entry; `commit`, the last step, registers and pins. If a step fails, the entry is removed again.
fn fresh(
    store: &Store,
    name: &str,
    words: &str,
    commit: impl FnOnce() -> Result<(), LiveError>,
) -> Result<Entry, LiveError> {
    let entry = store.entry(name);
    entry.remove(); // left by a command that was killed before its last step
    let made = entry.create(words).and_then(|()| commit());
    match made {
        Ok(()) => Ok(entry),
        Err(error) => {
            entry.remove();
            Err(error)
        }
    }
}

/// Makes an entry the default, and stores which one it replaces.
fn become_default(entry: &Entry) -> Result<(), LiveError> {
    let now = controls::default().unwrap_or_else(|| SURE.into());
    if now == entry.name() {
        return Ok(());
    }
    entry.set_replaced(&now)?;
    controls::set_default(entry.name())
}

/// Restores the default that an entry replaced, or [`SURE`] if that is gone; returns the name.
fn put_back(entry: &Entry) -> Result<String, LiveError> {
    let before = entry.replaced().filter(|name| controls::available().contains(name));
    let name = before.unwrap_or_else(|| SURE.into());
    controls::set_default(&name)?;
    Ok(name)
}

/// Waits until the kernel has released the name.
fn forgotten(name: &str) -> Result<(), LiveError> {
    let until = Instant::now() + FORGETTING;
    while controls::available().iter().any(|item| item == name) {
        if Instant::now() > until {
            return Err(LiveError::failed(
                format!("remove {name}"),
                "the kernel still lists it: something else holds it",
            ));
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn deployed(entry: &Entry) -> Deployed {
    let is_default = controls::default().as_deref() == Some(entry.name());
    Deployed {
        name: entry.name().to_owned(),
        params: entry.params(),
        is_default,
        replaced: entry.replaced().filter(|_| is_default),
        pin: entry.link(),
    }
}
