//! Words of scenario files for the values of the types: what `to_toml` and `to_json` write, and the parser reads.

use crate::types::{
    AcnsFormula, AcnsIpv6, AcnsScope, Distribution, EcnEcho, IdleRestart, IpVersion, NodeKind, Queue, Recovery,
    Reduction, RtoStyle, Traffic,
};

/// A type whose values are words in scenario files.
pub(crate) trait Word {
    /// The word.
    fn word(&self) -> &'static str;
}

macro_rules! words {
    ($($type:ty { $($pattern:pat => $word:literal),+ $(,)? })+) => {
        $(impl Word for $type {
            fn word(&self) -> &'static str {
                match self { $($pattern => $word),+ }
            }
        })+
    };
}

words! {
    NodeKind { Self::Host => "host", Self::Router => "router" }
    Queue { Self::DropTail { .. } => "droptail", Self::Red { .. } => "red" }
    Traffic {
        Self::Bulk { .. } => "bulk",
        Self::RateLimited { .. } => "rate",
        Self::OnOff { .. } => "on_off",
        Self::RequestResponse { .. } => "request_response",
        Self::Udp { .. } => "udp",
    }
    Distribution { Self::Constant => "constant", Self::Exponential => "exponential", Self::Pareto => "pareto" }
    Recovery {
        Self::RtoOnly => "rto_only",
        Self::Tahoe => "tahoe",
        Self::Reno => "reno",
        Self::NewReno => "newreno",
        Self::Sack => "sack",
        Self::Fack => "fack",
    }
    Reduction { Self::Immediate => "immediate", Self::Prr => "prr", Self::PrrLinux => "prr_linux" }
    IdleRestart { Self::Off => "off", Self::Rfc5681 => "rfc5681", Self::Linux => "linux" }
    EcnEcho { Self::UntilCwr => "until_cwr", Self::EachMark => "each_mark" }
    RtoStyle { Self::Rfc6298 => "rfc6298", Self::Linux => "linux", Self::Ns2 => "ns2" }
    AcnsFormula { Self::Dcnet2013 => "dcnet2013", Self::Thesis2013 => "thesis2013" }
    AcnsScope { Self::Window => "window", Self::Ack => "ack" }
    AcnsIpv6 { Self::Extension => "extension", Self::FlowLabel => "flow_label" }
}

/// The number of an IP version.
pub(crate) const fn ip_number(ip: IpVersion) -> u64 {
    match ip {
        IpVersion::V4 => 4,
        IpVersion::V6 => 6,
    }
}
