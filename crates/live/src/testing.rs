//! What tests of this crate have in common.

#![allow(clippy::print_stderr, clippy::unwrap_used)]

use narrows_scenario::Scenario;
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

/// A dumbbell of one pair, 10 Mb/s and 10 ms one way, with the given rest of its file.
pub(crate) fn scenario(rest: &str) -> Scenario {
    scenario_under("", rest)
}

/// The same with a first line.
pub(crate) fn scenario_under(first: &str, rest: &str) -> Scenario {
    let text = format!(
        "{first}\nduration = \"1 s\"\nsampling = \"10 ms\"\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"10 Mb/s\", delay = \"8 ms\" }}\n\
         access = {{ rate = \"100 Mb/s\", delay = \"1 ms\" }}\n{rest}\n"
    );
    narrows_scenario::parse(&text, "test.toml", &[], &narrows_fabric::catalogue()).unwrap()
}
