//! The words of scenario files for the types' values: `to_toml` and `to_json` write them, and the parser reads them.

use crate::record::{FromValue, ToValue, Value};
use crate::types::{
    Arrivals, Decimated, Distribution, EcnEcho, Held, IdleRestart, IpOptions, IpVersion, JitterDistribution,
    JitterOrder, LinuxVersion, NodeKind, OutageQueue, RateLimited, ReceiverCc, RecoveryKind, RecoveryStyle, Reduction,
    RtoStyle, Selected, SizeDistribution, SlowStart, Stack, Traffic, WifiQueues, WorkloadKind,
};

/// A type whose values are words in scenario files.
pub trait Word {
    /// Returns the word for this value.
    fn word(&self) -> &'static str;
}

/// A type whose values are only words.
pub(crate) trait FromWord: Sized {
    /// Returns the value that `word` stands for.
    fn from_word(word: &str) -> Option<Self>;
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
    Traffic {
        Self::Bulk { .. } => "bulk",
        Self::RateLimited { .. } => "rate",
        Self::OnOff { .. } => "on_off",
        Self::RequestResponse { .. } => "request_response",
        Self::Video(_) => "video",
        Self::Page(_) => "page",
        Self::Datagrams { .. } => "udp",
        Self::Frames { .. } => "frames",
    }
    WorkloadKind {
        Self::Transfers => "transfers",
        Self::Requests { .. } => "requests",
        Self::Pages { .. } => "pages",
    }
    SizeDistribution {
        Self::Constant(_) => "constant",
        Self::Exponential(_) => "exponential",
        Self::Pareto { .. } => "pareto",
        Self::WebSearch => "web_search",
        Self::DataMining => "data_mining",
        Self::Empirical(_) => "empirical",
    }
    Arrivals {
        Self::Poisson(_) => "poisson",
        Self::Constant(_) => "constant",
        Self::Trace(_) => "trace",
    }
}

/// Like [`words`], for types whose values are only words: the parser converts words to these types.
macro_rules! plain_words {
    ($($type:ty { $($variant:ident => $word:literal),+ $(,)? })+) => {
        $(
            words! { $type { $(Self::$variant => $word),+ } }

            impl FromWord for $type {
                fn from_word(word: &str) -> Option<Self> {
                    match word {
                        $($word => Some(Self::$variant),)+
                        _ => None,
                    }
                }
            }

            impl FromValue for $type {
                fn from_value(value: &Value) -> Option<Self> {
                    if let Value::Word(word) = value { Self::from_word(word) } else { None }
                }
            }

            impl ToValue for $type {
                fn to_value(&self) -> Value {
                    Value::Word(self.word())
                }
            }
        )+
    };
}

plain_words! {
    IpOptions { Keep => "keep", Drop => "drop", Strip => "strip", Copy => "copy" }
    NodeKind { Host => "host", Router => "router" }
    Distribution { Constant => "constant", Exponential => "exponential", Pareto => "pareto" }
    Stack { Rfc => "rfc", Linux => "linux", Ns2 => "ns2" }
    RecoveryKind {
        RtoOnly => "rto_only",
        Tahoe => "tahoe",
        Reno => "reno",
        NewReno => "newreno",
        Sack => "sack",
        Fack => "fack",
        Rack => "rack",
    }
    RecoveryStyle { Rfc => "rfc", Linux => "linux" }
    Reduction { Immediate => "immediate", Prr => "prr", PrrLinux => "prr_linux" }
    EcnEcho { UntilCwr => "until_cwr", EachMark => "each_mark" }
    IdleRestart { Off => "off", Rfc5681 => "rfc5681", Linux => "linux" }
    RateLimited {
        CwndLimited => "cwnd_limited",
        MaxFlight => "max_flight",
        Rfc7661 => "rfc7661",
        Unlimited => "unlimited",
    }
    ReceiverCc { None => "none", Rledbat => "rledbat" }
    SlowStart {
        Own => "own",
        Standard => "standard",
        HyStart => "hystart",
        HyStartPlusPlus => "hystart++",
        Search => "search",
        Limited => "limited",
    }
    LinuxVersion { V6_1 => "linux-6.1", V6_12 => "linux-6.12", V6_18 => "linux-6.18", V7_2 => "linux-7.2" }
    RtoStyle { Rfc6298 => "rfc6298", Linux => "linux", Ns2 => "ns2" }
    JitterDistribution { Uniform => "uniform", Normal => "normal", Pareto => "pareto", ParetoNormal => "paretonormal" }
    JitterOrder { Free => "free", Kept => "kept" }
    Selected { Ahead => "ahead", Behind => "behind" }
    OutageQueue { Keep => "keep", Drop => "drop" }
    Held { All => "all", Acks => "acks" }
    Decimated { Cumulative => "cumulative", All => "all" }
    WifiQueues { Shared => "shared", PerStation => "per_station" }
}

/// Returns the number of an IP version.
pub(crate) const fn ip_number(ip: IpVersion) -> u64 {
    match ip {
        IpVersion::V4 => 4,
        IpVersion::V6 => 6,
    }
}
