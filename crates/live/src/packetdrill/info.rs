//! The state of a TCP socket as named integers: `struct tcp_info`, the congestion control's own information, and the
//! memory of the socket.

use narrows_packetdrill::host::TcpInfo;
use std::io;
use std::os::fd::RawFd;

/// A field of a structure: its name, the bit at which it begins, and its width in bits.
type Field = (&'static str, usize, usize);

/// The fields of `struct tcp_info` (`include/uapi/linux/tcp.h` of Linux 7.2), in order. Newer kernels append to it; an
/// older one fills less.
const TCP_INFO: &[Field] = &[
    ("tcpi_state", 0, 8),
    ("tcpi_ca_state", 8, 8),
    ("tcpi_retransmits", 16, 8),
    ("tcpi_probes", 24, 8),
    ("tcpi_backoff", 32, 8),
    ("tcpi_options", 40, 8),
    ("tcpi_snd_wscale", 48, 4),
    ("tcpi_rcv_wscale", 52, 4),
    ("tcpi_delivery_rate_app_limited", 56, 1),
    ("tcpi_fastopen_client_fail", 57, 2),
    ("tcpi_rto", 64, 32),
    ("tcpi_ato", 96, 32),
    ("tcpi_snd_mss", 128, 32),
    ("tcpi_rcv_mss", 160, 32),
    ("tcpi_unacked", 192, 32),
    ("tcpi_sacked", 224, 32),
    ("tcpi_lost", 256, 32),
    ("tcpi_retrans", 288, 32),
    ("tcpi_fackets", 320, 32),
    ("tcpi_last_data_sent", 352, 32),
    ("tcpi_last_ack_sent", 384, 32),
    ("tcpi_last_data_recv", 416, 32),
    ("tcpi_last_ack_recv", 448, 32),
    ("tcpi_pmtu", 480, 32),
    ("tcpi_rcv_ssthresh", 512, 32),
    ("tcpi_rtt", 544, 32),
    ("tcpi_rttvar", 576, 32),
    ("tcpi_snd_ssthresh", 608, 32),
    ("tcpi_snd_cwnd", 640, 32),
    ("tcpi_advmss", 672, 32),
    ("tcpi_reordering", 704, 32),
    ("tcpi_rcv_rtt", 736, 32),
    ("tcpi_rcv_space", 768, 32),
    ("tcpi_total_retrans", 800, 32),
    ("tcpi_pacing_rate", 832, 64),
    ("tcpi_max_pacing_rate", 896, 64),
    ("tcpi_bytes_acked", 960, 64),
    ("tcpi_bytes_received", 1024, 64),
    ("tcpi_segs_out", 1088, 32),
    ("tcpi_segs_in", 1120, 32),
    ("tcpi_notsent_bytes", 1152, 32),
    ("tcpi_min_rtt", 1184, 32),
    ("tcpi_data_segs_in", 1216, 32),
    ("tcpi_data_segs_out", 1248, 32),
    ("tcpi_delivery_rate", 1280, 64),
    ("tcpi_busy_time", 1344, 64),
    ("tcpi_rwnd_limited", 1408, 64),
    ("tcpi_sndbuf_limited", 1472, 64),
    ("tcpi_delivered", 1536, 32),
    ("tcpi_delivered_ce", 1568, 32),
    ("tcpi_bytes_sent", 1600, 64),
    ("tcpi_bytes_retrans", 1664, 64),
    ("tcpi_dsack_dups", 1728, 32),
    ("tcpi_reord_seen", 1760, 32),
    ("tcpi_rcv_ooopack", 1792, 32),
    ("tcpi_snd_wnd", 1824, 32),
    ("tcpi_rcv_wnd", 1856, 32),
    ("tcpi_rehash", 1888, 32),
    ("tcpi_total_rto", 1920, 16),
    ("tcpi_total_rto_recoveries", 1936, 16),
    ("tcpi_total_rto_time", 1952, 32),
    ("tcpi_received_ce", 1984, 32),
    ("tcpi_delivered_e1_bytes", 2016, 32),
    ("tcpi_delivered_e0_bytes", 2048, 32),
    ("tcpi_delivered_ce_bytes", 2080, 32),
    ("tcpi_received_e1_bytes", 2112, 32),
    ("tcpi_received_e0_bytes", 2144, 32),
    ("tcpi_received_ce_bytes", 2176, 32),
    ("tcpi_ecn_mode", 2208, 2),
    ("tcpi_accecn_opt_seen", 2210, 2),
    ("tcpi_accecn_fail_mode", 2212, 4),
    ("tcpi_options2", 2216, 24),
];

/// `struct tcp_bbr_info` of `include/uapi/linux/inet_diag.h`.
const BBR: &[Field] = &[
    ("bbr_bw_lo", 0, 32),
    ("bbr_bw_hi", 32, 32),
    ("bbr_min_rtt", 64, 32),
    ("bbr_pacing_gain", 96, 32),
    ("bbr_cwnd_gain", 128, 32),
];

/// `struct tcp_dctcp_info`.
const DCTCP: &[Field] = &[
    ("dctcp_enabled", 0, 16),
    ("dctcp_ce_state", 16, 16),
    ("dctcp_alpha", 32, 32),
    ("dctcp_ab_ecn", 64, 32),
    ("dctcp_ab_tot", 96, 32),
];

/// `struct tcpvegas_info`.
const VEGAS: &[Field] =
    &[("tcpv_enabled", 0, 32), ("tcpv_rttcnt", 32, 32), ("tcpv_rtt", 64, 32), ("tcpv_minrtt", 96, 32)];

/// The values of `SO_MEMINFO` (`include/uapi/linux/sock_diag.h`).
const MEMORY: &[Field] = &[
    ("SK_MEMINFO_RMEM_ALLOC", 0, 32),
    ("SK_MEMINFO_RCVBUF", 32, 32),
    ("SK_MEMINFO_WMEM_ALLOC", 64, 32),
    ("SK_MEMINFO_SNDBUF", 96, 32),
    ("SK_MEMINFO_FWD_ALLOC", 128, 32),
    ("SK_MEMINFO_WMEM_QUEUED", 160, 32),
    ("SK_MEMINFO_OPTMEM", 192, 32),
    ("SK_MEMINFO_BACKLOG", 224, 32),
    ("SK_MEMINFO_DROPS", 256, 32),
];

/// Reads the state of a TCP socket.
///
/// # Errors
/// Those of `getsockopt(2)`: `ENOTSOCK`, `EBADF`.
pub(super) fn read(socket: RawFd) -> io::Result<TcpInfo> {
    let mut fields = Vec::new();
    append(&mut fields, TCP_INFO, &option(socket, libc::IPPROTO_TCP, libc::TCP_INFO)?);
    let control = option(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION).unwrap_or_default();
    let layout = match control.split(|byte| *byte == 0).next() {
        Some(b"bbr") => BBR,
        Some(b"dctcp") => DCTCP,
        Some(b"nv" | b"vegas" | b"veno" | b"yeah" | b"illinois" | b"westwood") => VEGAS,
        _ => &[],
    };
    if !layout.is_empty() {
        append(&mut fields, layout, &option(socket, libc::IPPROTO_TCP, libc::TCP_CC_INFO).unwrap_or_default());
    }
    append(&mut fields, MEMORY, &option(socket, libc::SOL_SOCKET, libc::SO_MEMINFO).unwrap_or_default());
    Ok(TcpInfo(fields))
}

/// Reads a socket option whose length the kernel knows.
fn option(socket: RawFd, level: libc::c_int, name: libc::c_int) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 512];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the pointers are to a buffer of `length` bytes and to that length.
    let result = unsafe { libc::getsockopt(socket, level, name, bytes.as_mut_ptr().cast(), &raw mut length) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    bytes.truncate(length as usize);
    Ok(bytes)
}

/// Appends the fields that the kernel has filled.
fn append(fields: &mut Vec<(&'static str, u64)>, layout: &[Field], bytes: &[u8]) {
    fields
        .extend(layout.iter().filter_map(|&(name, begin, width)| bits(bytes, begin, width).map(|value| (name, value))));
}

/// Reads a field; `None` if the structure is too short for it. Bit fields begin at the low bit of a byte, as compilers
/// for little-endian machines place them.
fn bits(bytes: &[u8], begin: usize, width: usize) -> Option<u64> {
    let first = begin / 8;
    let field = bytes.get(first..(begin + width).div_ceil(8))?;
    if begin.is_multiple_of(8) && width.is_multiple_of(8) && width != 24 {
        let mut whole = [0; 8];
        return if cfg!(target_endian = "little") {
            whole[..field.len()].copy_from_slice(field);
            Some(u64::from_le_bytes(whole))
        } else {
            whole[8 - field.len()..].copy_from_slice(field);
            Some(u64::from_be_bytes(whole))
        };
    }
    let mut whole = [0; 8];
    whole[..field.len()].copy_from_slice(field);
    Some((u64::from_le_bytes(whole) >> (begin % 8)) & ((1 << width) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    #[test]
    fn the_kernel_s_state_has_its_names() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = read(stream.as_raw_fd()).unwrap();
        assert_eq!(info.get("tcpi_state"), Some(1));
        assert!(info.get("tcpi_snd_cwnd").unwrap() > 0);
        assert!(info.get("tcpi_snd_mss").unwrap() >= 536);
        assert!(info.get("SK_MEMINFO_RCVBUF").unwrap() > 0);
        assert_eq!(read(listener.as_raw_fd()).unwrap().get("tcpi_state"), Some(10));
        assert!(read(-1).is_err());
    }

    #[test]
    fn fields_follow_one_another() {
        for pair in TCP_INFO.windows(2) {
            let [(name, begin, width), (next, after, _)] = pair else { unreachable!() };
            // Bits 59 to 63 of the structure are unused.
            assert!(begin + width == *after || *after == 64, "{name}, {next}");
        }
        assert_eq!(bits(&[0xa7], 0, 4), Some(7));
        assert_eq!(bits(&[0xa7], 4, 4), Some(10));
        assert_eq!(bits(&[0xa7], 8, 8), None);
        assert_eq!(bits(&[1, 2, 3], 0, 24), Some(0x03_0201));
    }
}
