//! Which live features this machine supports, found by trying; for each unsupported one, the reason and the fix.
//!
//! Every probe leaves the machine as it was: what it creates is in namespaces of its own or is closed at once. One
//! probe briefly registers a congestion control, under a name unique to this process.

#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod network;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is present and works.
    Ok,
    /// Some of it works.
    Partly,
    /// It does not work here.
    Missing,
    /// It is not known: finding out needs rights that this process lacks.
    Unknown,
}

impl Status {
    /// The status as a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Partly => "partly",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }
}

/// One check of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What is checked.
    pub name: &'static str,
    /// The result.
    pub status: Status,
    /// What was found: a version, names.
    pub found: String,
    /// What Narrows needs it for.
    pub purpose: &'static str,
    /// Why it is not ok; empty if it is.
    pub why: String,
    /// What would change that; empty if nothing needs to change.
    pub remedy: String,
}

impl Check {
    /// Makes a check whose result is ok.
    fn ok(name: &'static str, purpose: &'static str, found: impl Into<String>) -> Self {
        Self { name, status: Status::Ok, found: found.into(), purpose, why: String::new(), remedy: String::new() }
    }

    /// Clears what was found.
    fn without_finding(mut self) -> Self {
        self.found = String::new();
        self
    }

    /// Sets another status, its reason and its remedy.
    fn but(mut self, status: Status, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        self.status = status;
        self.why = why.into();
        self.remedy = remedy.into();
        self
    }
}

/// Runs all checks, in the order in which one depends on another; takes a fraction of a second.
#[cfg(target_os = "linux")]
#[must_use]
pub fn doctor() -> Vec<Check> {
    let mut checks = kernel::checks();
    checks.extend(network::checks());
    let needed =
        |name: &str| checks.iter().find(|check| check.name == name).map_or(Status::Unknown, |check| check.status);
    let live = backend(
        "live runs",
        "a scenario on this kernel's own TCP (narrows live)",
        &[("rights", needed("rights")), ("namespaces", needed("namespaces")), ("TUN", needed("TUN"))],
    );
    let programs = backend(
        "eBPF algorithms",
        "agile_sd and others in live runs, and on this host (narrows attach)",
        &[
            ("rights", needed("rights")),
            ("BTF", needed("BTF")),
            ("bpf()", needed("bpf()")),
            ("struct_ops", needed("struct_ops")),
            ("links", needed("links")),
        ],
    );
    let mut all =
        vec![Check::ok("simulator", "every scenario, on any machine", env!("CARGO_PKG_VERSION")), live, programs];
    all.append(&mut checks);
    all
}

/// Runs all checks: without Linux only the simulator is available.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn doctor() -> Vec<Check> {
    let live = Check::ok("live runs", "a scenario on the kernel's own TCP (narrows live)", std::env::consts::OS);
    let simulator = Check::ok("simulator", "every scenario, on any machine", env!("CARGO_PKG_VERSION"));
    vec![simulator, live.but(Status::Missing, "they need Linux", "run it on Linux, as root")]
}

/// Makes the check of a backend, whose status is the worst of those that it needs.
#[cfg(target_os = "linux")]
fn backend(name: &'static str, purpose: &'static str, needs: &[(&str, Status)]) -> Check {
    let check = Check::ok(name, purpose, "");
    let lacking = |wanted: Status| {
        let names: Vec<&str> = needs.iter().filter(|(_, status)| *status == wanted).map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let below = "see that check below";
    if let Some(names) = lacking(Status::Missing) {
        return check.but(Status::Missing, format!("missing: {names}"), below);
    }
    if let Some(names) = lacking(Status::Unknown) {
        return check.but(Status::Unknown, format!("not known: {names}"), below);
    }
    if let Some(names) = lacking(Status::Partly) {
        return check.but(Status::Partly, format!("partly: {names}"), below);
    }
    check
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_right_says_why_and_what_would_change_it() {
        for check in doctor() {
            assert!(!check.purpose.is_empty(), "{check:?}");
            let right = check.status == Status::Ok;
            assert_eq!(check.why.is_empty(), right, "{check:?}");
            assert_eq!(check.remedy.is_empty(), right, "{check:?}");
        }
    }

    #[test]
    fn names_are_unique() {
        let checks = doctor();
        for (i, check) in checks.iter().enumerate() {
            assert!(checks[..i].iter().all(|other| other.name != check.name), "{}", check.name);
        }
    }

    #[test]
    fn a_backend_is_as_good_as_the_worst_it_needs() {
        let of = |second| backend("x", "y", &[("a", Status::Ok), ("b", second)]);
        assert_eq!(of(Status::Ok).status, Status::Ok);
        assert_eq!(of(Status::Partly).status, Status::Partly);
        assert_eq!(of(Status::Unknown).why, "not known: b");
        assert_eq!(of(Status::Missing).why, "missing: b");
    }

    #[test]
    fn probes_leave_no_congestion_control() {
        assert!(!doctor().is_empty());
        let own = crate::bpf::unique_name("probe");
        let own = &own[..own.len() - 2]; // without the running number
        assert!(!crate::controls::available().iter().any(|name| name.starts_with(own)));
    }
}
