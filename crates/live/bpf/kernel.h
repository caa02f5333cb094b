/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What our programs read of the kernel: its types, cut down to the fields that are used, and the helpers of ours.
 *
 * The kernel's types are found again at load time: libbpf matches fields by their names against the running kernel's BTF
 * (CO-RE), so the order and the offsets here mean nothing, and a field may be added wherever it is needed. The interface to user
 * space, which is not matched, is in uapi.h.
 *
 * The same program also compiles with the machine's own C compiler, with NARROWS_NATIVE defined: native/shim.h then takes the
 * place of libbpf's headers, and a test feeds the program what a connection saw (crates/live/tests/parity.rs).
 *
 * Rules for programs: no floating point, no signed division, no loop without a bound. Parameters are PARAM()s.
 */
#ifndef NARROWS_KERNEL_H
#define NARROWS_KERNEL_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __sum16;
typedef __u32 __wsum;
#ifndef NARROWS_NATIVE
typedef _Bool bool;
#define true 1
#define false 0
#else
#include <stdbool.h>
#endif

#include "uapi.h"

#ifdef NARROWS_NATIVE
#define NARROWS_CO_RE
#else
#define NARROWS_CO_RE __attribute__((preserve_access_index))
#endif

/* Phases of loss recovery (include/uapi/linux/tcp.h), and what a congestion control is told of (include/net/tcp.h). */
enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};
enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_CWND_RESTART = 1,
	CA_EVENT_COMPLETE_CWR = 2,
	CA_EVENT_LOSS = 3,
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};
enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1,
	CA_ACK_WIN_UPDATE = 2,
	CA_ACK_ECE = 4,
};
enum {
	/* tcp_congestion_ops.flags. Without the first, no network namespace but the host's may choose the algorithm by its
	 * sysctl, and refusing it leaks a reference in the kernel. */
	TCP_CONG_NON_RESTRICTED = 1,
	TCP_CONG_NEEDS_ECN = 2,
	/* tcp_sock.ecn_flags: ACKs carry ECE until a CWR arrives. */
	TCP_ECN_DEMAND_CWR = 4,
	/* inet_connection_sock.icsk_ack.pending: a delayed ACK waits for its timer; an ACK must go out now. */
	ICSK_ACK_TIMER = 2,
	ICSK_ACK_NOW = 16,
	/* "No slow-start threshold yet" (include/net/tcp.h). */
	TCP_INFINITE_SSTHRESH = 0x7fffffff,
	/* Initial window of a connection without another setting (RFC 6928), in segments. */
	TCP_INIT_CWND = 10,
	/* Bytes of icsk_ca_priv that a congestion control has for itself. */
	ICSK_CA_PRIV_SIZE = 13 * 8,
};

struct ns_common {
	unsigned int inum;
} NARROWS_CO_RE;
struct net {
	struct ns_common ns;
} NARROWS_CO_RE;
typedef struct {
	struct net *net;
} NARROWS_CO_RE possible_net_t;
struct in6_addr {
	union {
		__u8 u6_addr8[16];
		__be16 u6_addr16[8];
		__be32 u6_addr32[4];
	} in6_u;
} NARROWS_CO_RE;
struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} NARROWS_CO_RE;
struct sock {
	struct sock_common __sk_common;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
} NARROWS_CO_RE;
struct inet_sock {
	struct sock sk;
} NARROWS_CO_RE;
struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u32 icsk_rto;
	__u8 icsk_ca_state : 5;
	__u8 icsk_retransmits;
	__u8 icsk_backoff;
	const struct tcp_congestion_ops *icsk_ca_ops;
	struct {
		__u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[13];
} NARROWS_CO_RE;
struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr; /* without the offset of our clock */
	u16 saw_tstamp : 1;
} NARROWS_CO_RE;
struct tcp_rack {
	u64 mstamp;
	u32 rtt_us;
} NARROWS_CO_RE;
struct minmax_sample {
	u32 t;
	u32 v;
} NARROWS_CO_RE;
struct minmax {
	struct minmax_sample s[3];
} NARROWS_CO_RE;
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_wnd;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 prr_out;
	u32 lost_out;
	u32 sacked_out;
	u8 is_cwnd_limited : 1;
	u32 rttvar_us;
	u32 retrans_out;
	u32 lost;
	u32 snd_ssthresh;
	struct minmax rtt_min;
	u32 data_segs_out;
	u64 bytes_sent;
	u32 write_seq;
	u8 ecn_flags;
	u64 tcp_clock_cache;
	u64 tcp_mstamp;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u32 srtt_us; /* eight times the smoothed round-trip time */
	u32 packets_out;
	u32 delivered;
	u32 delivered_ce;
	u32 app_limited;
	u32 rcv_wnd;
	u32 max_packets_out;
	u64 bytes_acked;
	struct tcp_rack rack;
	struct tcp_options_received rx_opt;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_cwnd_stamp;
	u32 prior_cwnd;
	u32 prr_delivered;
	u32 prior_ssthresh;
	u32 high_seq;
	u32 undo_marker;
	u64 bytes_retrans;
	u32 total_retrans;
} NARROWS_CO_RE;
struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us; /* negative: none */
	u32 in_flight;
} NARROWS_CO_RE;
struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	bool is_app_limited;
} NARROWS_CO_RE;

/* A struct_ops map's value: libbpf fits it to the kernel's struct by the names of its members. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	/* Linux 7.2 has it in place of cwnd_event(CA_EVENT_TX_START), 6.12 does not. The loader takes it out where the kernel has
	 * no such member. */
	void (*cwnd_event_tx_start)(struct sock *sk);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

#ifdef NARROWS_NATIVE
#include "native/shim.h"
#else
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_endian.h>

/* Calls what BPF_PROG defined as `name`, from a program that is built on it. */
#define NARROWS_CALL_(name, args...) ____##name(0, args)
#define NARROWS_CALL(name, args...) NARROWS_CALL_(name, args)

/* Tells a function of the kernel's of an event, by whichever of its two hooks the kernel has. */
#define NARROWS_TELL(hook, sk, event)                                                                                  \
	do {                                                                                                           \
		if (!bpf_ksym_exists(hook##_tx_start))                                                                 \
			hook(sk, event);                                                                               \
		else if ((event) == CA_EVENT_TX_START)                                                                 \
			hook##_tx_start(sk);                                                                           \
	} while (0)

/*
 * A parameter: read-only data named "param_" and the registry's name for it, set before the program is loaded.
 * Its unit is that of the registry, in whole numbers: a number in millionths (so that decimal ones are exact), a choice by its
 * place among the allowed words, a switch as 0 or 1.
 */
#define PARAM(name, value) const volatile __u64 param_##name = (value)

/* A field of a congestion control's state that tests look at, where the program is compiled natively; nothing here. */
#define STATE(type, field) _Static_assert(sizeof(((type *)0)->field) <= 8, "a number")

extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) __ksym;
extern void cubictcp_init(struct sock *sk) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym __weak;
extern void cubictcp_cwnd_event_tx_start(struct sock *sk) __ksym __weak;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern void bbr_init(struct sock *sk) __ksym;
extern void bbr_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) __ksym;
extern u32 bbr_sndbuf_expand(struct sock *sk) __ksym;
extern u32 bbr_undo_cwnd(struct sock *sk) __ksym;
extern void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym __weak;
extern void bbr_cwnd_event_tx_start(struct sock *sk) __ksym __weak;
extern u32 bbr_ssthresh(struct sock *sk) __ksym;
extern u32 bbr_min_tso_segs(struct sock *sk) __ksym;
extern void bbr_set_state(struct sock *sk, u8 new_state) __ksym;
#endif

/* Millionths in one: the unit of PARAM()s that are numbers. */
#define MILLION 1000000ULL

/* The hook of a start after a pause for a congestion control whose cwnd_event answers that event too. */
#define TX_START_HOOK(name)                                                                                            \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(name##_cwnd_event_tx_start, struct sock *sk)                                                     \
	{                                                                                                              \
		NARROWS_CALL(name##_cwnd_event, sk, CA_EVENT_TX_START);                                                \
	}

#define narrows_inline static inline __attribute__((always_inline, unused))

/* A function that the verifier reads on its own, once: it knows the types of pointers to it and nothing of numbers. */
#ifdef NARROWS_NATIVE
#define narrows_function static __attribute__((noinline, unused))
#else
#define narrows_function __attribute__((noinline))
#endif

narrows_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

narrows_inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

/* The congestion control's own memory in the socket: ICSK_CA_PRIV_SIZE bytes, of any content before init. */
narrows_inline void *inet_csk_ca(const struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

/* Sequence numbers wrap (RFC 9293, section 3.4). */
narrows_inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

narrows_inline bool after(__u32 a, __u32 b)
{
	return before(b, a);
}

narrows_inline u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

narrows_inline u64 max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

narrows_inline u64 clamp_u64(u64 x, u64 least, u64 most)
{
	return min_u64(max_u64(x, least), most);
}

/* a - b, or 0 where that would be negative. */
narrows_inline u64 less_u64(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* x * part / whole rounded down, exactly, for part <= whole: without the 128 bits that the product may take. */
narrows_inline u64 share_u64(u64 x, u32 part, u32 whole)
{
	u64 of = whole ? whole : 1;

	return x / of * part + x % of * part / of;
}

/*
 * The largest integer whose square is not above x: Newton's steps from the next power of two, each of which squares the error.
 * Almost without branches, since the verifier walks along each of them.
 */
narrows_inline u64 sqrt_u64(u64 x)
{
	u64 top = x, bit, bits;
	u64 root;

	if (!x)
		return 0;
	/* Each line asks whether the upper half of what is left holds a one. */
	bit = ((top >> 32) + 0xffffffff) >> 32 << 5;
	top >>= bit;
	bits = bit;
	bit = ((top >> 16) + 0xffff) >> 16 << 4;
	top >>= bit;
	bits += bit;
	bit = ((top >> 8) + 0xff) >> 8 << 3;
	top >>= bit;
	bits += bit;
	bit = ((top >> 4) + 0xf) >> 4 << 2;
	top >>= bit;
	bits += bit;
	bits += ((top >> 2) + 0x3) >> 2 << 1;
	/* Between the root and twice the root: the relative error is 1 at most, then 1/4, 1/40, 3e-4, 5e-8, 1e-15. */
	root = 2ULL << (bits >> 1);
	root = (root + x / root) >> 1;
	root = (root + x / root) >> 1;
	root = (root + x / root) >> 1;
	root = (root + x / root) >> 1;
	root = (root + x / root) >> 1;
	return root - (root > x / root);
}

/* Whether cwnd is below ssthresh, Linux's reading of slow start (RFC 5681 leaves equality free). */
narrows_inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/*
 * Whether the window may grow: cwnd was what stopped the sender last, or in slow start less than twice what was in use would
 * be granted. The rule of the kernel's tcp_is_cwnd_limited(), which programs cannot call; RFC 7661 argues for it.
 */
narrows_inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

#endif /* NARROWS_KERNEL_H */
