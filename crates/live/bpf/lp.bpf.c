// SPDX-License-Identifier: GPL-2.0
/*
 * TCP-LP: a flow for background transfers, which gives way before others lose packets.
 *
 * Idea
 *   The delay towards the receiver rises before a queue overflows. A smoothed delay at or above delta of its range is a sign of
 *   congestion: the window is halved. A second sign within the inference phase leaves one segment. Otherwise it is Reno.
 *   For kernels without the module: where a kernel has its own, live runs use that.
 *
 * Sources
 *   A. Kuzmanovic, E. Knightly, "TCP-LP: Low-Priority Service via End-Point Congestion Control", ToN 14(4), 2006;
 *   profile linux of crates/cc/src/algorithms/lp/linux.rs.
 *
 * State
 *   symbol                                        field           unit
 *   d, smoothed one-way delay                     sowd            eighths of a millisecond, modulo 2^32
 *   d_min, d_max, largest but one                 min, max, reserve   milliseconds, modulo 2^32
 *   rate of the receiver's clock                  remote_hz       Hz
 *   timestamps of the last sample                 remote, local   milliseconds
 *   when the window was last reduced              last_drop       milliseconds
 *   length of the inference phase                 inference       milliseconds
 *
 * Differences
 *   - From the Rust form in profile linux: none in the window.
 *   - From Linux's module: a sign reduces the window when the window may next move, not before; in recovery it does not.
 *
 * Limits
 *   One-way delays need timestamps (RFC 7323) in milliseconds. Without them it is Reno.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(delta, 150000);
PARAM(inference, 3 * MILLION);

/* Units of timestamps in a second. */
#define HZ 1000

/* Reduction that the last sign asks for, until the window may move. */
enum { LP_KEEP, LP_HALF, LP_TO_ONE };

struct lp {
	u32 sowd;
	u32 min;
	u32 max;
	u32 reserve;
	u32 remote_hz;
	u32 remote;
	u32 local;
	u32 last_drop;
	u32 inference;
	u32 frozen;
	u32 cut;
};
STATE(struct lp, remote_hz);
STATE(struct lp, frozen);

/* Adds a pair of timestamps to the estimate of the receiver's clock. */
narrows_inline void estimate_hz(struct lp *ca, u32 remote, u32 local)
{
	u32 by_remote = remote - ca->remote, by_local = local - ca->local;
	bool first = !ca->remote || !ca->local;
	u64 scaled = (u32)(ca->remote_hz << 6), measured;

	ca->remote = remote;
	ca->local = local;
	if (first || !by_remote || !by_local)
		return;
	measured = (u32)(HZ * by_remote) / by_local;
	scaled = scaled ? scaled + measured - (scaled >> 6) : measured << 6;
	ca->remote_hz = scaled >> 6;
}

/* Adds the delay that a pair of timestamps shows. */
narrows_inline void sample(struct lp *ca, u32 remote, u32 local)
{
	u32 delay;

	estimate_hz(ca, remote, local);
	if (!ca->remote_hz)
		return;
	delay = remote * (HZ / ca->remote_hz) - local;
	if (!delay)
		return;
	if (delay < ca->min)
		ca->min = delay;
	if (delay > ca->max) {
		u32 second = ca->reserve ? ca->reserve : delay;

		ca->max = delay > ca->reserve ? second : delay;
		if (delay > ca->reserve)
			ca->reserve = delay;
	}
	ca->sowd = ca->sowd ? ca->sowd + delay - (ca->sowd >> 3) : delay << 3;
}

/* Whether the smoothed delay is at or above the threshold; the sum wraps as the module's. */
narrows_inline bool sign(const struct lp *ca)
{
	u32 percent = (param_delta * 100 + MILLION / 2) / MILLION;

	return ca->sowd && ca->sowd >> 3 >= ca->min + percent * (ca->max - ca->min) / 100;
}

/* Applies the reduction that waits. */
narrows_inline void apply(struct tcp_sock *tp, struct lp *ca)
{
	if (ca->cut == LP_TO_ONE)
		tp->snd_cwnd = 1;
	else if (ca->cut == LP_HALF)
		tp->snd_cwnd = max_u64(tp->snd_cwnd / 2, 1);
	ca->cut = LP_KEEP;
}

SEC("struct_ops/lp_init")
void BPF_PROG(lp_init, struct sock *sk)
{
	struct lp *ca = inet_csk_ca(sk);

	ca->sowd = 0;
	ca->min = 0xffffffff;
	ca->max = 0;
	ca->reserve = 0;
	ca->remote_hz = 0;
	ca->remote = 0;
	ca->local = 0;
	ca->last_drop = 0;
	ca->inference = 0;
	ca->frozen = 0;
	ca->cut = LP_KEEP;
}

SEC("struct_ops/lp_pkts_acked")
void BPF_PROG(lp_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct lp *ca = inet_csk_ca(sk);
	u8 state = BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);
	u32 now = tp->tcp_mstamp / 1000, since = now - tp->rx_opt.rcv_tsecr;

	if (BPF_CORE_READ_BITFIELD(tp, rx_opt.saw_tstamp)) {
		if (ack->rtt_us > 0)
			sample(ca, tp->rx_opt.rcv_tsval, tp->rx_opt.rcv_tsecr);
		if ((s32)since > 0)
			ca->inference = since * param_inference / MILLION;
	}
	ca->frozen = ca->last_drop && now - ca->last_drop < ca->inference;
	if (!sign(ca))
		return;
	ca->min = ca->sowd >> 3;
	ca->max = ca->sowd >> 2;
	ca->reserve = ca->max;
	if (state != TCP_CA_CWR && state != TCP_CA_Recovery)
		ca->cut = ca->frozen ? LP_TO_ONE : LP_HALF;
	ca->last_drop = now;
}

SEC("struct_ops/lp_cong_avoid")
void BPF_PROG(lp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct lp *ca = inet_csk_ca(sk);

	apply(tcp_sk(sk), ca);
	if (acked && !ca->frozen)
		tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops/lp_ssthresh")
u32 BPF_PROG(lp_ssthresh, struct sock *sk)
{
	apply(tcp_sk(sk), inet_csk_ca(sk));
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/lp_undo_cwnd")
u32 BPF_PROG(lp_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops lp = {
	.init = (void *)lp_init,
	.pkts_acked = (void *)lp_pkts_acked,
	.cong_avoid = (void *)lp_cong_avoid,
	.ssthresh = (void *)lp_ssthresh,
	.undo_cwnd = (void *)lp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "lp",
};
