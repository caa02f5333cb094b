//! The host's sysctls: names, kinds and defaults of `net.ipv4.tcp_*`, and what this host does with each.
//!
//! A setting is a row of [`TABLE`]. Values are checked by the row's kind. Settings that cannot matter here are accepted
//! and have the reason in their row; a name without a row is an error.

use core::fmt;
use std::collections::BTreeMap;

/// What values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An integer in this range.
    Integer(i64, i64),
    /// Three integers: minimum, default and maximum.
    Triple,
    /// A word.
    Word,
}

/// What the host does with a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Connections and sockets follow it.
    Obeyed,
    /// It changes nothing here, for this reason.
    Idle(&'static str),
}

struct Row(&'static str, Kind, &'static str, Effect);

const ANY: Kind = Kind::Integer(i64::MIN, i64::MAX);
const SWITCH: Kind = Kind::Integer(0, 1);
const COUNT: Kind = Kind::Integer(0, 1 << 31);

/// Defaults are those of Linux 7.2 on a machine with plenty of memory.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    Row("ip_local_port_range", Kind::Word, "32768 60999", Effect::Idle("ephemeral ports begin at 32768")),
    Row("ip_no_pmtu_disc", Kind::Integer(0, 3), "0", Effect::Idle("path MTU discovery is per socket here")),
    Row("tcp_abc", ANY, "0", Effect::Idle("removed from Linux")),
    Row("tcp_adv_win_scale", ANY, "1", Effect::Idle("the window follows the measured overhead since Linux 6.6")),
    Row("tcp_abort_on_overflow", SWITCH, "0", Effect::Idle("a full queue drops the handshake's last ACK")),
    Row("tcp_app_win", ANY, "31", Effect::Idle("its default reserves nothing")),
    Row("tcp_autocorking", SWITCH, "1", Effect::Idle("the device of this host holds back no packet")),
    Row("tcp_base_mss", COUNT, "1024", Effect::Idle("the path MTU is not probed")),
    Row("tcp_challenge_ack_limit", COUNT, "2147483647", Effect::Idle("unlimited by default")),
    Row("tcp_congestion_control", Kind::Word, "cubic", Effect::Obeyed),
    Row("tcp_default_init_rwnd", ANY, "20", Effect::Idle("removed from Linux")),
    Row("tcp_dsack", SWITCH, "1", Effect::Obeyed),
    Row("tcp_early_retrans", Kind::Integer(0, 4), "3", Effect::Obeyed),
    Row("tcp_ecn", Kind::Integer(0, 5), "2", Effect::Obeyed),
    Row("tcp_ecn_fallback", SWITCH, "1", Effect::Obeyed),
    Row("tcp_ecn_option", Kind::Integer(0, 3), "2", Effect::Obeyed),
    Row("tcp_ecn_option_beacon", Kind::Integer(0, 3), "3", Effect::Obeyed),
    Row("tcp_fack", ANY, "0", Effect::Idle("without effect in Linux since 4.15")),
    Row("tcp_fastopen", Kind::Integer(0, 0x7fff_ffff), "1", Effect::Obeyed),
    Row("tcp_fastopen_blackhole_timeout_sec", COUNT, "0", Effect::Idle("Fast Open is never switched off")),
    Row("tcp_fastopen_key", Kind::Word, "00000000-00000000-00000000-00000000", Effect::Obeyed),
    Row("tcp_fin_timeout", Kind::Integer(1, 1 << 31), "60", Effect::Obeyed),
    Row("tcp_frto", Kind::Integer(0, 2), "2", Effect::Obeyed),
    Row("tcp_init_cwnd", ANY, "10", Effect::Idle("not a setting of Linux; the route has initcwnd")),
    Row("tcp_invalid_ratelimit", COUNT, "500", Effect::Obeyed),
    Row("tcp_keepalive_intvl", Kind::Integer(1, 1 << 31), "75", Effect::Obeyed),
    Row("tcp_keepalive_probes", Kind::Integer(1, 1 << 31), "9", Effect::Obeyed),
    Row("tcp_keepalive_time", Kind::Integer(1, 1 << 31), "7200", Effect::Obeyed),
    Row("tcp_limit_output_bytes", COUNT, "4194304", Effect::Idle("packets leave the device at once")),
    Row("tcp_linear_timeouts", ANY, "0", Effect::Idle("off by default for sockets")),
    Row("tcp_max_syn_backlog", COUNT, "4096", Effect::Obeyed),
    Row("tcp_max_tw_buckets", COUNT, "262144", Effect::Idle("TIME-WAIT is never cut short for memory")),
    Row("tcp_mem", Kind::Triple, "190000 250000 380000", Effect::Idle("memory is plentiful")),
    Row("tcp_migrate_req", SWITCH, "0", Effect::Idle("SO_REUSEPORT groups are not migrated")),
    Row("tcp_min_rtt_wlen", COUNT, "300", Effect::Idle("the minimum RTT is kept for the connection's life")),
    Row("tcp_min_snd_mss", Kind::Integer(1, 65_535), "48", Effect::Idle("48, as by default")),
    Row("tcp_min_tso_segs", Kind::Integer(1, 65_535), "2", Effect::Obeyed),
    Row("tcp_moderate_rcvbuf", SWITCH, "1", Effect::Obeyed),
    Row("tcp_mtu_probe_floor", COUNT, "48", Effect::Idle("the path MTU is not probed")),
    Row("tcp_mtu_probing", Kind::Integer(0, 2), "0", Effect::Idle("the path MTU is not probed")),
    Row("tcp_no_metrics_save", SWITCH, "0", Effect::Idle("no metrics are saved between connections")),
    Row("tcp_notsent_lowat", Kind::Integer(0, 0xffff_ffff), "4294967295", Effect::Obeyed),
    Row("tcp_orphan_retries", COUNT, "0", Effect::Idle("orphans are given up by tcp_retries2")),
    Row("tcp_pacing_ca_ratio", COUNT, "120", Effect::Obeyed),
    Row("tcp_pacing_ss_ratio", COUNT, "200", Effect::Obeyed),
    Row("tcp_pingpong_thresh", Kind::Integer(1, 255), "1", Effect::Idle("1, as by default")),
    Row("tcp_plb_enabled", SWITCH, "0", Effect::Idle("flow labels are not changed")),
    Row("tcp_probe_interval", COUNT, "600", Effect::Idle("a path MTU is not searched again")),
    Row("tcp_probe_threshold", COUNT, "8", Effect::Idle("no probes of the path MTU are sent")),
    Row("tcp_recovery", Kind::Integer(0, 7), "1", Effect::Idle("RACK, as by default")),
    Row("tcp_reflect_tos", SWITCH, "0", Effect::Idle("off by default")),
    Row("tcp_reordering", Kind::Integer(1, 300), "3", Effect::Obeyed),
    Row("tcp_retrans_collapse", SWITCH, "1", Effect::Idle("segments are not merged for retransmission")),
    Row("tcp_retries1", COUNT, "3", Effect::Idle("routes are not probed again")),
    Row("tcp_retries2", COUNT, "15", Effect::Obeyed),
    Row("tcp_rfc1337", SWITCH, "0", Effect::Idle("off by default")),
    Row("tcp_rmem", Kind::Triple, "4096 131072 33554432", Effect::Obeyed),
    Row("tcp_rto_max_ms", Kind::Integer(1_000, 120_000), "120000", Effect::Obeyed),
    Row("tcp_rto_min_us", COUNT, "200000", Effect::Obeyed),
    Row("tcp_sack", SWITCH, "1", Effect::Obeyed),
    Row("tcp_shrink_window", SWITCH, "0", Effect::Idle("off by default")),
    Row("tcp_slow_start_after_idle", SWITCH, "1", Effect::Obeyed),
    Row("tcp_syn_linear_timeouts", COUNT, "4", Effect::Obeyed),
    Row("tcp_syn_retries", Kind::Integer(1, 127), "6", Effect::Obeyed),
    Row("tcp_synack_retries", Kind::Integer(0, 255), "5", Effect::Obeyed),
    Row("tcp_syncookies", Kind::Integer(0, 2), "1", Effect::Idle("a SYN beyond tcp_max_syn_backlog is dropped")),
    Row("tcp_thin_linear_timeouts", SWITCH, "0", Effect::Idle("off by default")),
    Row("tcp_timestamps", Kind::Integer(0, 2), "1", Effect::Obeyed),
    Row("tcp_tso_rtt_log", COUNT, "9", Effect::Obeyed),
    Row("tcp_tso_win_divisor", COUNT, "3", Effect::Obeyed),
    Row("tcp_tw_reuse", Kind::Integer(0, 2), "2", Effect::Idle("ephemeral ports do not run out")),
    Row("tcp_window_scaling", SWITCH, "1", Effect::Obeyed),
    Row("tcp_wmem", Kind::Triple, "4096 16384 4194304", Effect::Obeyed),
    Row("tcp_workaround_signed_windows", SWITCH, "0", Effect::Idle("off by default")),
];

/// A setting that cannot be set, or its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SysctlError {
    /// There is no such setting.
    Unknown(String),
    /// The value is not one that the setting takes.
    BadValue {
        /// The setting.
        name: &'static str,
        /// The value as given.
        value: String,
        /// What is allowed.
        allowed: String,
    },
}

impl fmt::Display for SysctlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "`{name}` is no sysctl of this host"),
            Self::BadValue { name, value, allowed } => write!(f, "net.ipv4.{name} = `{value}`: allowed is {allowed}"),
        }
    }
}

impl core::error::Error for SysctlError {}

/// The values of all settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctls {
    values: BTreeMap<&'static str, String>,
}

impl Default for Sysctls {
    fn default() -> Self {
        Self { values: TABLE.iter().map(|Row(name, _, default, _)| (*name, (*default).to_owned())).collect() }
    }
}

/// The part of a setting's name that the table has: without `/proc/sys/` and `net.ipv4.`.
fn short(name: &str) -> String {
    let dotted = name.trim_start_matches("/proc/sys/").replace('/', ".");
    dotted.trim_start_matches("net.ipv4.").to_owned()
}

impl Kind {
    fn allowed(self) -> String {
        match self {
            Self::Integer(i64::MIN, _) => "an integer".to_owned(),
            Self::Integer(min, max) => format!("an integer from {min} to {max}"),
            Self::Triple => "three integers: minimum, default and maximum".to_owned(),
            Self::Word => "a word".to_owned(),
        }
    }

    /// The value as the table keeps it, or `None` if the setting does not take it.
    fn normal(self, value: &str) -> Option<String> {
        match self {
            Self::Word => (!value.trim().is_empty()).then(|| value.trim().to_owned()),
            Self::Integer(min, max) => {
                let n = integer(value.trim())?;
                (min..=max).contains(&n).then(|| n.to_string())
            }
            Self::Triple => {
                let parts: Option<Vec<i64>> = value.split_whitespace().map(integer).collect();
                let parts = parts.filter(|parts| parts.len() == 3 && parts.iter().all(|n| *n > 0))?;
                Some(parts.iter().map(i64::to_string).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// Reads a decimal or hexadecimal integer.
fn integer(text: &str) -> Option<i64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Sysctls {
    /// Sets a setting by its name, such as `net.ipv4.tcp_sack` or `/proc/sys/net/ipv4/tcp_sack`.
    ///
    /// # Errors
    /// [`SysctlError`] if there is no such setting, or it does not take the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SysctlError> {
        let key = short(name);
        let Some(Row(name, kind, ..)) = TABLE.iter().find(|row| row.0 == key) else {
            return Err(SysctlError::Unknown(name.to_owned()));
        };
        let normal = kind.normal(value).ok_or_else(|| SysctlError::BadValue {
            name,
            value: value.to_owned(),
            allowed: kind.allowed(),
        })?;
        self.values.insert(name, normal);
        Ok(())
    }

    /// The value of a setting as text; `None` if there is no such setting.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(short(name).as_str()).map(String::as_str)
    }

    /// Why a setting has no effect on this host; `None` if it has one, or is unknown.
    #[must_use]
    pub fn idle_reason(name: &str) -> Option<&'static str> {
        let key = short(name);
        match TABLE.iter().find(|row| row.0 == key)?.3 {
            Effect::Idle(reason) => Some(reason),
            Effect::Obeyed => None,
        }
    }

    /// The value of an integer setting of the table.
    pub(crate) fn number(&self, name: &str) -> i64 {
        self.values.get(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// Whether a switch of the table is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.number(name) != 0
    }

    /// Minimum, default and maximum of a setting of the table.
    pub(crate) fn triple(&self, name: &str) -> [u64; 3] {
        let mut parts =
            self.values.get(name).map_or("", String::as_str).split(' ').map(|part| part.parse().unwrap_or(0));
        [(); 3].map(|()| parts.next().unwrap_or(0))
    }

    /// The word that a setting of the table holds.
    pub(crate) fn word(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_named_with_dots_or_as_a_file() {
        let mut sysctls = Sysctls::default();
        for name in ["net.ipv4.tcp_sack", "net/ipv4/tcp_sack", "/proc/sys/net/ipv4/tcp_sack", "tcp_sack"] {
            sysctls = Sysctls::default();
            assert_eq!(sysctls.set(name, " 0 "), Ok(()));
            assert_eq!(sysctls.get(name), Some("0"));
        }
        assert!(!sysctls.is_on("tcp_sack"));
        assert_eq!(sysctls.set("tcp_rmem", "4096 540000\t15728640"), Ok(()));
        assert_eq!(sysctls.triple("tcp_rmem"), [4096, 540_000, 15_728_640]);
        assert_eq!(sysctls.set("tcp_fastopen", "0x70403"), Ok(()));
        assert_eq!(sysctls.number("tcp_fastopen"), 0x70403);
    }

    #[test]
    fn a_wrong_name_or_value_is_an_error_that_says_what_is_allowed() {
        let mut sysctls = Sysctls::default();
        assert_eq!(
            sysctls.set("net.ipv4.tcp_magic", "1").unwrap_err().to_string(),
            "`net.ipv4.tcp_magic` is no sysctl of this host"
        );
        assert_eq!(
            sysctls.set("net.ipv4.tcp_sack", "2").unwrap_err().to_string(),
            "net.ipv4.tcp_sack = `2`: allowed is an integer from 0 to 1"
        );
        assert!(sysctls.set("tcp_rmem", "4096 540000").is_err());
    }

    #[test]
    fn every_default_is_a_value_that_its_setting_takes() {
        for Row(name, kind, default, _) in TABLE {
            assert_eq!(kind.normal(default).as_deref(), Some(*default), "{name}");
        }
    }
}
