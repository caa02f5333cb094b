//! Who owns the header bits of a connection: what the two SYNs agree on (RFC 3168, section 6.1.1; RFC 9768, section
//! 3.1).
//!
//! AE, CWR and ECE of both SYNs, and what they agree on (RFC 9768, table 2):
//!
//! | client | server | SYN | SYN-ACK | agreed |
//! |---|---|---|---|---|
//! | AccECN | AccECN | 111 | 010, 011, 100 or 110: the SYN arrived as Not-ECT, ECT(1), ECT(0) or CE | AccECN |
//! | AccECN | reserved | 111 | 101 | AccECN, as if the SYN's IP header was not changed |
//! | AccECN | classic | 111 | 001 | classic ECN |
//! | AccECN | none | 111 | 000 | nothing |
//! | AccECN | broken | 111 | 111 | nothing |
//! | classic, nonce | AccECN | 011 | 001 | classic ECN |
//! | none | AccECN | 000 | 000 | nothing |
//!
//! A server answers the other five values of a SYN as it answers 111 (section 3.1.3).

use super::bits::{HeaderBits, encoded};
use crate::assist::{Agreement, Assist};
use narrows_settings::Config;
use narrows_wire::{Ecn, TcpFlags};

const ECN_SETUP: TcpFlags = TcpFlags::ECE.with(TcpFlags::CWR);

/// What the peer's SYN offers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// Its flags.
    pub(crate) flags: TcpFlags,
    /// Its IP-ECN field.
    pub(crate) ecn: Ecn,
}

/// What the peer's SYN-ACK answers to our offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What is agreed.
    pub(crate) agreement: Agreement,
    /// With which IP-ECN field our SYN arrived, if the answer says so.
    pub(crate) reported: Option<Ecn>,
}

/// Whether a scheme writes bits of ECN, so that the handshake must agree on it.
pub(crate) fn negotiates(assist: &dyn Assist) -> bool {
    assist.bits().excludes(HeaderBits::CLASSIC_ECN)
}

/// Flags beside SYN with which we offer a scheme or ECN.
pub(crate) fn offer(config: &Config, assist: Option<&dyn Assist>) -> TcpFlags {
    match assist.filter(|assist| negotiates(*assist)) {
        Some(assist) => assist.offer(),
        None if config.ecn && config.accurate_ecn => TcpFlags::ACE,
        None if config.ecn => ECN_SETUP,
        None => TcpFlags::NONE,
    }
}

/// Flags beside SYN and ACK of an AccECN answer: they report the IP-ECN field of the SYN.
pub(crate) fn mirrors(ecn: Ecn) -> TcpFlags {
    TcpFlags::NONE.with_ace(encoded(ecn))
}

/// Answers a peer's SYN: returns what is agreed, and the flags of the answer beside SYN and ACK.
pub(crate) fn accept(
    config: &Config,
    assist: Option<&mut (dyn Assist + 'static)>,
    syn: Offer,
) -> (Agreement, TcpFlags) {
    let Offer { flags, ecn } = syn;
    match assist.filter(|assist| negotiates(&**assist)) {
        Some(assist) => assist.accept(flags, config.ecn),
        None if config.ecn && config.accurate_ecn => match flags.ace() {
            0b000 => (Agreement::Nothing, TcpFlags::NONE),
            0b011 => (Agreement::Ecn, TcpFlags::ECE),
            _ => (Agreement::AccurateEcn, mirrors(ecn)),
        },
        None if config.ecn && flags.has(ECN_SETUP) => (Agreement::Ecn, TcpFlags::ECE),
        None => (Agreement::Nothing, TcpFlags::NONE),
    }
}

/// Returns what is agreed when a SYN-ACK with the flags `syn_ack` answers our offer.
pub(crate) fn agreed(config: &Config, assist: Option<&mut (dyn Assist + 'static)>, syn_ack: TcpFlags) -> Answer {
    let plain = |agreement| Answer { agreement, reported: None };
    match assist.filter(|assist| negotiates(&**assist)) {
        Some(assist) => plain(assist.agreed(syn_ack)),
        None if config.ecn && config.accurate_ecn => {
            let accurate = |reported| Answer { agreement: Agreement::AccurateEcn, reported };
            match syn_ack.ace() {
                0b001 => plain(Agreement::Ecn),
                0b010 => accurate(Some(Ecn::NotEct)),
                0b011 => accurate(Some(Ecn::Ect1)),
                0b100 => accurate(Some(Ecn::Ect0)),
                0b101 => accurate(None),
                0b110 => accurate(Some(Ecn::Ce)),
                _ => plain(Agreement::Nothing),
            }
        }
        // A peer that sets both bits mirrors reserved bits and does not know ECN.
        None if config.ecn && syn_ack.has(TcpFlags::ECE) && !syn_ack.has(TcpFlags::CWR) => plain(Agreement::Ecn),
        None => plain(Agreement::Nothing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(ecn: bool, accurate_ecn: bool) -> Config {
        Config { ecn, accurate_ecn, ..Config::default() }
    }

    fn flags(ace: u8) -> TcpFlags {
        TcpFlags::NONE.with_ace(ace)
    }

    #[test]
    fn a_peer_that_mirrors_both_bits_does_not_know_ecn() {
        let config = config(true, false);
        assert_eq!(agreed(&config, None, ECN_SETUP).agreement, Agreement::Nothing);
        assert_eq!(agreed(&config, None, TcpFlags::ECE).agreement, Agreement::Ecn);
        let setup = |flags| accept(&config, None, Offer { flags, ecn: Ecn::NotEct });
        assert_eq!(setup(ECN_SETUP), (Agreement::Ecn, TcpFlags::ECE));
        assert_eq!(setup(TcpFlags::ECE).0, Agreement::Nothing);
        assert_eq!(setup(flags(0b111)), (Agreement::Ecn, TcpFlags::ECE), "a classic server and an AccECN client");
    }

    #[test]
    fn a_client_reads_each_answer_by_table_2() {
        let config = config(true, true);
        assert_eq!(offer(&config, None), flags(0b111));
        let accurate = |reported| (Agreement::AccurateEcn, reported);
        let expected = [
            (Agreement::Nothing, None),
            (Agreement::Ecn, None),
            accurate(Some(Ecn::NotEct)),
            accurate(Some(Ecn::Ect1)),
            accurate(Some(Ecn::Ect0)),
            accurate(None),
            accurate(Some(Ecn::Ce)),
            (Agreement::Nothing, None),
        ];
        for (ace, (agreement, reported)) in (0..).zip(expected) {
            assert_eq!(agreed(&config, None, flags(ace)), Answer { agreement, reported }, "{ace:#05b}");
        }
    }

    #[test]
    fn a_server_answers_each_syn_by_table_2() {
        let answer = |ace, ecn| accept(&config(true, true), None, Offer { flags: flags(ace), ecn });
        assert_eq!(answer(0b000, Ecn::NotEct), (Agreement::Nothing, TcpFlags::NONE));
        assert_eq!(answer(0b011, Ecn::NotEct), (Agreement::Ecn, flags(0b001)));
        for ace in [0b111, 0b001, 0b010, 0b100, 0b101, 0b110] {
            for (ecn, code) in [(Ecn::NotEct, 0b010), (Ecn::Ect1, 0b011), (Ecn::Ect0, 0b100), (Ecn::Ce, 0b110)] {
                assert_eq!(answer(ace, ecn), (Agreement::AccurateEcn, flags(code)), "{ace:#05b}");
            }
        }
        let off = |ace| accept(&config(false, false), None, Offer { flags: flags(ace), ecn: Ecn::NotEct });
        assert_eq!(off(0b111), (Agreement::Nothing, TcpFlags::NONE));
    }
}
