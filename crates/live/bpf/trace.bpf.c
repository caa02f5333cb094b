/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the senders of a run do, ACK by ACK.
 *
 * Idea
 *   Three of the kernel's tracepoints, each with the socket at hand: a segment came to an established connection
 *   (tcp_probe), a segment was sent again (tcp_retransmit_skb), the phase of loss recovery changes (tcp_cong_state_set).
 *   Each writes one record of the sender's state into a ring buffer, which src/trace.rs empties.
 *
 * Sources
 *   include/trace/events/tcp.h (where they stand: net/ipv4/tcp_input.c, tcp_rcv_established(); tcp_output.c,
 *   __tcp_retransmit_skb(); include/net/tcp.h and tcp_input.c, tcp_set_ca_state()).
 *
 * State
 *   namespaces   the network namespaces to watch, by number
 *   senders      the flows to watch, and which of their ends sends the data
 *   records      the ring buffer
 *   overruns     records that found no room in it
 *
 * Differences
 *   tcp_probe comes before the kernel looks at the segment: a record shows the state that the ACKs before left behind.
 *   The ring wakes nobody: the reader comes by every few milliseconds, which spares a wake-up per ACK.
 *
 * Limits
 *   tcp_cong_state_set is Linux 5.18 or later; src/trace.rs leaves out what the kernel lacks.
 *
 * Vectors
 *   crates/live/src/trace/tests.rs
 */
#include "kernel.h"

/* Which ports belong to which flow: crates/fabric/src/flow_id.rs. */
#define CLIENT_BASE 10000
#define CLIENT_PORTS 50000
#define SERVER_BASE 1000

/* What this program alone reads: libbpf matches a type without what follows the three underscores. */
struct tcp_sock___trace {
	u16 total_rto; /* since Linux 6.7 */
} NARROWS_CO_RE;
struct inet_connection_sock___trace {
	__u32 icsk_rto_min;
} NARROWS_CO_RE;

/* bpf_ringbuf_submit: wake nobody. */
#define BPF_RB_NO_WAKEUP 1

enum kind {
	KIND_SEGMENT = 0,
	KIND_RETRANSMISSION = 1,
	KIND_PHASE = 2,
};

/* As src/trace/record.rs reads it. */
struct record {
	u64 time_ns; /* CLOCK_MONOTONIC */
	u64 bytes_sent;
	u64 bytes_acked;
	u64 bytes_retrans;
	u32 flow;
	u32 snd_cwnd; /* segments, as all counts of packets */
	u32 snd_ssthresh;
	u32 srtt_us; /* eight times it */
	u32 rtt_us;
	u32 rto; /* jiffies, as the next */
	u32 rto_min;
	u32 snd_wnd;
	u32 flightsize; /* bytes */
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 mss;
	u32 delivered;
	u32 data_segs_out;
	u32 total_retrans;
	u32 total_rto; /* all ones where the kernel does not count them */
	u8 kind;
	u8 phase; /* enum tcp_ca_state; of KIND_PHASE, the new one */
	u8 unused[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u8);
} namespaces SEC(".maps");

/* By flow; the value is 1 where the server sends the data. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, u8);
} senders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} overruns SEC(".maps");

/* Whether the socket is the sending end of a flow of ours, and which flow that is. */
static bool is_sender(const struct sock *sk, u32 *flow)
{
	u32 namespace = sk->__sk_common.skc_net.net->ns.inum;
	u32 local = sk->__sk_common.skc_num;
	u32 remote = bpf_ntohs(sk->__sk_common.skc_dport);
	bool server = local < CLIENT_BASE;
	u32 client_port = server ? remote : local;
	u32 server_port = server ? local : remote;
	u8 *sends;

	if (!bpf_map_lookup_elem(&namespaces, &namespace))
		return false;
	if (client_port < CLIENT_BASE || server_port < SERVER_BASE || server_port >= CLIENT_BASE)
		return false;
	*flow = (server_port - SERVER_BASE) * CLIENT_PORTS + (client_port - CLIENT_BASE);
	sends = bpf_map_lookup_elem(&senders, flow);
	return sends && *sends == server;
}

static void overrun(void)
{
	u32 zero = 0;
	u64 *count = bpf_map_lookup_elem(&overruns, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
}

/* Writes a record. */
static void note(const struct sock *sk, u8 kind, u8 phase)
{
	const struct inet_connection_sock___trace *timers;
	const struct inet_connection_sock *icsk;
	const struct tcp_sock___trace *counts;
	struct tcp_sock *tp;
	struct record *record;
	u32 flow;

	if (!is_sender(sk, &flow))
		return;
	tp = bpf_skc_to_tcp_sock((void *)sk);
	if (!tp)
		return;
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		overrun();
		return;
	}
	icsk = &tp->inet_conn;
	timers = (const void *)tp;
	counts = (const void *)tp;
	record->time_ns = bpf_ktime_get_ns();
	record->bytes_sent = tp->bytes_sent;
	record->bytes_acked = tp->bytes_acked;
	record->bytes_retrans = tp->bytes_retrans;
	record->flow = flow;
	record->snd_cwnd = tp->snd_cwnd;
	record->snd_ssthresh = tp->snd_ssthresh;
	record->srtt_us = tp->srtt_us;
	record->rtt_us = tp->rack.rtt_us;
	record->rto = icsk->icsk_rto;
	record->rto_min = timers->icsk_rto_min;
	record->snd_wnd = tp->snd_wnd;
	record->flightsize = tp->snd_nxt - tp->snd_una;
	record->packets_out = tp->packets_out;
	record->sacked_out = tp->sacked_out;
	record->lost_out = tp->lost_out;
	record->retrans_out = tp->retrans_out;
	record->mss = tp->mss_cache;
	record->delivered = tp->delivered;
	record->data_segs_out = tp->data_segs_out;
	record->total_retrans = tp->total_retrans;
	record->total_rto = bpf_core_field_exists(counts->total_rto) ? counts->total_rto : 0xffffffff;
	record->kind = kind;
	record->phase = kind == KIND_PHASE ? phase : BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	__builtin_memset(record->unused, 0, sizeof(record->unused));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(segment, struct sock *sk)
{
	note(sk, KIND_SEGMENT, 0);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(retransmission, const struct sock *sk)
{
	note(sk, KIND_RETRANSMISSION, 0);
	return 0;
}

SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(phase, struct sock *sk, const u8 ca_state)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	/* The socket still has the old phase; being set again is no change. */
	if (tp && BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) != ca_state)
		note(sk, KIND_PHASE, ca_state);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
