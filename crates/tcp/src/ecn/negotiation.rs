//! Who owns the header bits of a connection: what the two SYNs agree on (RFC 3168, section 6.1.1).

use super::bits::HeaderBits;
use crate::assist::{Agreement, Assist};
use narrows_settings::Config;
use narrows_wire::TcpFlags;

const ECN_SETUP: TcpFlags = TcpFlags::ECE.with(TcpFlags::CWR);

/// Whether a scheme writes bits of ECN, so that the handshake must agree on it.
pub(crate) fn negotiates(assist: &dyn Assist) -> bool {
    assist.bits().excludes(HeaderBits::CLASSIC_ECN)
}

/// Flags beside SYN with which we offer a scheme or ECN.
pub(crate) fn offer(config: &Config, assist: Option<&dyn Assist>) -> TcpFlags {
    match assist.filter(|assist| negotiates(*assist)) {
        Some(assist) => assist.offer(),
        None if config.ecn => ECN_SETUP,
        None => TcpFlags::NONE,
    }
}

/// Answers a SYN with the flags `syn`: returns what is agreed, and the flags of the answer beside SYN and ACK.
pub(crate) fn accept(
    config: &Config,
    assist: Option<&mut (dyn Assist + 'static)>,
    syn: TcpFlags,
) -> (Agreement, TcpFlags) {
    match assist.filter(|assist| negotiates(&**assist)) {
        Some(assist) => assist.accept(syn, config.ecn),
        None if config.ecn && syn.has(ECN_SETUP) => (Agreement::Ecn, TcpFlags::ECE),
        None => (Agreement::Nothing, TcpFlags::NONE),
    }
}

/// Returns what is agreed when a SYN-ACK with the flags `syn_ack` answers our offer.
pub(crate) fn agreed(config: &Config, assist: Option<&mut (dyn Assist + 'static)>, syn_ack: TcpFlags) -> Agreement {
    match assist.filter(|assist| negotiates(&**assist)) {
        Some(assist) => assist.agreed(syn_ack),
        // A peer that sets both bits mirrors reserved bits and does not know ECN.
        None if config.ecn && syn_ack.has(TcpFlags::ECE) && !syn_ack.has(TcpFlags::CWR) => Agreement::Ecn,
        None => Agreement::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_mirrors_both_bits_does_not_know_ecn() {
        let config = Config { ecn: true, ..Config::default() };
        assert_eq!(agreed(&config, None, ECN_SETUP), Agreement::Nothing);
        assert_eq!(agreed(&config, None, TcpFlags::ECE), Agreement::Ecn);
        assert_eq!(accept(&config, None, ECN_SETUP), (Agreement::Ecn, TcpFlags::ECE));
        assert_eq!(accept(&config, None, TcpFlags::ECE).0, Agreement::Nothing);
    }
}
