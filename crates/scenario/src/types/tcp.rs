//! One flow's TCP settings after stack and flow defaults are merged.

use narrows_settings::Config;
pub use narrows_settings::{
    CarefulResume, DelayedAck, EcnEcho, IdleRestart, InitialWindow, LinuxVersion, Misbehavior, Pacing, RateLimited,
    ReceiverCc, RecoveryKind, RecoveryStyle, Reduction, RtoConfig, RtoStyle, SlowStart,
};
use narrows_units::Rate;
use std::ops::Deref;

/// TCP settings of a flow, both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// The system whose defaults apply; they are already merged into the settings below.
    pub stack: Stack,
    /// Congestion control, by its name in the registry.
    pub cc: String,
    /// Its parameters.
    pub cc_params: Vec<(String, ParamValue)>,
    /// Name of the scheme at the end points; `None` for none.
    pub assist: Option<String>,
    /// What the receiving end has instead; `None` where it is as the sending one.
    pub peer: Peer,
    /// Rate at which the receiving application reads; `None` is without delay.
    pub read_rate: Option<Rate>,
    /// All other settings, as a connection takes them. [`Tcp`] dereferences to it.
    pub config: Config,
}

/// What the end that a flow goes to has in place of [`Tcp`]'s settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Its scheme, or its lack of one.
    pub assist: Option<Option<String>>,
    /// The ECN that it agrees to.
    pub ecn: Option<PeerEcn>,
}

/// The ECN that one end has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerEcn {
    /// None.
    Off,
    /// Classic ECN (RFC 3168).
    Classic,
    /// AccECN (RFC 9768).
    Accurate,
}

impl Tcp {
    /// The scheme at the end that the flow goes to.
    #[must_use]
    pub fn peer_assist(&self) -> Option<&str> {
        self.peer.assist.as_ref().unwrap_or(&self.assist).as_deref()
    }

    /// The settings of the end that the flow goes to.
    #[must_use]
    pub fn peer_config(&self) -> Config {
        let mut config = self.config;
        if let Some(ecn) = self.peer.ecn {
            config.ecn = ecn != PeerEcn::Off;
            config.accurate_ecn = ecn == PeerEcn::Accurate;
        }
        config
    }
}

impl Deref for Tcp {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.config
    }
}

/// A system whose defaults a flow uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// The RFCs' recommendations.
    Rfc,
    /// Linux; `kernel` has the version.
    Linux,
    /// ns-2.35.
    Ns2,
}

/// A value of an algorithm's parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// A number in the parameter's unit.
    Number(f64),
    /// A word.
    Choice(String),
    /// On or off.
    Switch(bool),
}
