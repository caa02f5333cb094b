//! What tests of this crate have in common.

#![allow(clippy::print_stderr)]

use nix::unistd::Uid;

/// Whether a test that needs root must be left out, which it says on standard error.
pub(crate) fn lacks_root() -> bool {
    let lacks = !Uid::effective().is_root();
    if lacks {
        eprintln!("skipped: needs root");
    }
    lacks || lacks_tun()
}

fn lacks_tun() -> bool {
    let lacks = !std::path::Path::new("/dev/net/tun").exists();
    if lacks {
        eprintln!("skipped: needs /dev/net/tun");
    }
    lacks
}
