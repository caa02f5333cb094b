//! Loss recovery and ECN of a flow, which depend on each other, on the congestion control and on the scheme.

use super::Build;
use super::cc::Chosen;
use super::rules::Rules;
use super::tcp::Said;
use crate::record::{FromValue, Layers, Value};
use crate::schema::TCP;
use crate::types::{EcnEcho, PeerEcn, RecoveryKind, Reduction};
use crate::words::FromWord;

/// Settings of loss recovery and ECN.
pub(super) struct Answer {
    pub(super) sack: bool,
    pub(super) recovery: RecoveryKind,
    pub(super) frto: bool,
    pub(super) reduction: Reduction,
    pub(super) ecn: EcnOffer,
    pub(super) ecn_echo: EcnEcho,
    pub(super) ect1: bool,
}

/// The kind of ECN that a flow offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EcnOffer {
    Off,
    Classic,
    Accurate,
}

impl Build<'_> {
    /// Builds the settings of loss recovery and ECN, which may depend on the congestion control; `assist` is the scheme
    /// at the end points, if it is known.
    pub(super) fn answer(
        &mut self,
        said: &Said<'_>,
        chosen: Option<&Chosen<'_>>,
        layers: &Layers<'_>,
        assist: Option<&Option<String>>,
    ) -> Option<Answer> {
        let explicit = Layers::new(&TCP, said.tables());
        let row = chosen.map(|chosen| chosen.row);
        let needs_sack = |recovery| matches!(recovery, RecoveryKind::Sack | RecoveryKind::Fack | RecoveryKind::Rack);
        let implied = row.and_then(|row| RecoveryKind::from_word(row.recovery.as_deref()?));
        let meant = if explicit.given("recovery").is_some() { Some(explicit.get("recovery")?) } else { implied };
        let sack = match explicit.given("sack") {
            Some(_) => explicit.get("sack")?,
            None => layers.get("sack")? || meant.is_some_and(needs_sack),
        };
        let recovery = match (meant, layers.get("recovery")?) {
            (Some(meant), _) => meant,
            (None, habit) if needs_sack(habit) && !sack => RecoveryKind::NewReno,
            (None, habit) => habit,
        };
        let l4s = row.is_some_and(|row| row.l4s);
        let offer = match explicit.given("ecn") {
            None if l4s => EcnOffer::Accurate,
            _ => layers.get("ecn")?,
        };
        let ecn = offer != EcnOffer::Off;
        let scoreboard = needs_sack(recovery);
        let reduction = match explicit.given("reduction") {
            Some(_) => explicit.get("reduction")?,
            None if scoreboard || ecn => layers.get("reduction")?,
            None => Reduction::Immediate,
        };
        let needs_ecn = row.is_some_and(|row| row.needs_ecn);
        let ecn_echo = match explicit.given("ecn_echo") {
            Some(_) => explicit.get("ecn_echo")?,
            None if needs_ecn => EcnEcho::EachMark,
            None => EcnEcho::UntilCwr,
        };
        let ect1 = match explicit.given("ect1") {
            Some(_) => explicit.get("ect1")?,
            None => l4s && ecn,
        };
        let scheme = assist.and_then(Option::as_ref).filter(|name| self.excludes_ecn(name));
        let cc = format!("cc = {:?}", row.map_or("", |row| &row.name));
        let mut rules = Rules::new(self, said);
        if scoreboard && !sack {
            let reason = "needs sack = true";
            match explicit.given("recovery") {
                Some(_) => {
                    rules.broken("recovery", &["recovery", "sack"], reason, "another recovery, or sack = true");
                }
                None => rules.broken(&cc, &["cc", "sack"], reason, "another one, or sack = true"),
            }
        }
        if reduction != Reduction::Immediate && !scoreboard && !ecn {
            let keys = ["reduction", "sack", "recovery", "ecn"];
            let reason = "needs recovery by sack, fack or rack, or ecn = true";
            rules.broken("reduction", &keys, reason, "\"immediate\", such a recovery, or ecn = true");
        }
        let fast = !matches!(recovery, RecoveryKind::Tahoe | RecoveryKind::RtoOnly);
        let asked = explicit.given("frto").is_some();
        let frto = layers.get("frto")? && (fast || asked);
        if frto && !fast {
            rules.broken("frto", &["frto", "recovery"], "needs fast recovery", "false, or another recovery");
        }
        if ect1 && !ecn {
            rules.broken("ect1", &["ect1", "ecn"], "needs ecn = true", "false, or ecn = true");
        }
        if l4s && offer != EcnOffer::Accurate {
            rules.broken(&cc, &["cc", "ecn"], "needs ecn = \"accurate\"", "another one, or ecn = \"accurate\"");
        }
        if l4s && ecn && !ect1 {
            rules.broken(&cc, &["cc", "ect1"], "needs ect1 = true", "another one, or ect1 = true");
        }
        if needs_ecn && !ecn {
            rules.broken(&cc, &["cc", "ecn"], "needs ecn = true", "another one, or ecn = true");
        } else if ecn_echo == EcnEcho::EachMark && !ecn {
            rules.broken("ecn_echo", &["ecn_echo", "ecn"], "needs ecn = true", "\"until_cwr\", or ecn = true");
        } else if let Some(scheme) = scheme {
            // With `ecn = true` alone the scheme's handshake may fall back to ECN, so that is no contradiction.
            let reason = format!("needs header bits of ECN that belong to {scheme}");
            if needs_ecn || l4s {
                rules.broken(&cc, &["cc", "assist"], &reason, "another one, or assist = \"none\"");
            } else if offer == EcnOffer::Accurate {
                rules.broken("ecn", &["ecn", "assist"], &reason, "true, false, or assist = \"none\"");
            } else if ecn_echo == EcnEcho::EachMark {
                rules.broken("ecn_echo", &["ecn_echo", "assist"], &reason, "\"until_cwr\", or assist = \"none\"");
            } else if ect1 {
                rules.broken("ect1", &["ect1", "assist"], &reason, "false, or assist = \"none\"");
            }
        }
        Some(Answer { sack, recovery, frto, reduction, ecn: offer, ecn_echo, ect1 })
    }
}

impl FromValue for PeerEcn {
    fn from_value(value: &Value) -> Option<Self> {
        EcnOffer::from_value(value).map(|offer| match offer {
            EcnOffer::Off => Self::Off,
            EcnOffer::Classic => Self::Classic,
            EcnOffer::Accurate => Self::Accurate,
        })
    }
}

impl FromValue for EcnOffer {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Switch(false) | Value::Word("off") => Some(Self::Off),
            Value::Switch(true) | Value::Word("classic") => Some(Self::Classic),
            Value::Word("accurate") => Some(Self::Accurate),
            _ => None,
        }
    }
}
