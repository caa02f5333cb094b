//! The version of the running Linux.

use nix::sys::utsname::uname;

/// First version of Linux with links for struct_ops, which end with their last file descriptor.
pub(crate) const LINKS_SINCE: (u32, u32) = (6, 4);

/// First version of Linux with tcx links for packet programs.
pub(crate) const TCX_SINCE: (u32, u32) = (6, 6);

/// Returns the kernel's release: `6.18.44-amd64`; empty if the system does not report it.
pub(crate) fn name() -> String {
    uname().map_or_else(|_| String::new(), |name| name.release().to_string_lossy().into_owned())
}

/// Returns its major and minor version.
pub(crate) fn numbers() -> Option<(u32, u32)> {
    parse(&name())
}

/// Parses the major and minor version of a release.
pub(crate) fn parse(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert_eq!(parse("6.18.44-fc"), Some((6, 18)));
        assert_eq!(parse("6.1.0-56-amd64"), Some((6, 1)));
        assert_eq!(parse("7.0-rc1"), Some((7, 0)));
        assert_eq!(parse(""), None);
        assert!(parse("6.18.1") > Some(TCX_SINCE) && parse("6.4.9") >= Some(LINKS_SINCE));
    }
}
