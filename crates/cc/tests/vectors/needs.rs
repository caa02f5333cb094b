//! What algorithms request of the connection, as the callbacks of Linux's `tcp_congestion_ops` show it.

use narrows_cc::{Needs, Params, registry};

/// The algorithms that request something. Linux gives `cong_control` to BBR alone, and `pkts_acked` or `in_ack_event`
/// to those that measure. Of ours, `none` (no congestion window), Compound (in Windows), LEDBAT and LEDBAT++ are not in
/// Linux.
fn requested(name: &str) -> Needs {
    let none = Needs::default();
    match name {
        "bbr" => Needs { rates: true, window_in_recovery: true, ..none },
        "bbr3" | "vivace" => Needs { losses: true, rates: true, window_in_recovery: true, ..none },
        "bic" | "cdg" | "c2tcp" | "compound" | "htcp" | "illinois" | "ledbat" | "ledbat_pp" | "lp" | "vegas"
        | "veno" | "westwood" | "yeah" => Needs { acks: true, ..none },
        "dctcp" => Needs { acks: true, loss_after_echo: true, ..none },
        "prague" => Needs { window_in_recovery: true, loss_after_echo: true, ..none },
        "copa" | "swift" => Needs { window_in_recovery: true, ..none },
        "nv" => Needs { acks: true, rates: true, ..none },
        "none" => Needs { sending: true, window_in_recovery: true, ..none },
        _ => none,
    }
}

#[test]
fn an_algorithm_requests_what_it_uses_and_nothing_else() {
    for row in registry() {
        assert_eq!((row.build)(&Params::default()).needs(), requested(row.name), "{}", row.name);
    }
}
