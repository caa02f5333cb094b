// SPDX-License-Identifier: GPL-2.0
/*
 * BIC: a binary search for the window of the last loss, and a probe beyond it.
 *
 * Idea
 *   A round covers a quarter of the distance to W_max, at most S_max segments. Beyond W_max the window leaves it slowly, then faster.
 *   For kernels without the module: where a kernel has its own, live runs use that.
 *
 * Sources
 *   L. Xu, K. Harfoush, I. Rhee, "Binary increase congestion control (BIC) for fast long-distance networks", INFOCOM 2004; profile
 *   linux of crates/cc/src/algorithms/bic.rs.
 *
 * State
 *   symbol                                        field           unit
 *   segments acknowledged for one more            count           segments
 *   W_max                                         last_max        segments
 *   window and time of the last computation       last_cwnd, at   segments, microseconds
 *   segments that an ACK covers, filtered         ratio           1/16
 *
 * Differences
 *   From the Rust form in profile linux: none in the window; profiles nominal and ns2 are not here.
 *
 * Limits
 *   Parameters are whole numbers but beta, in 1/1024.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(beta, 799805);
PARAM(max_increment, 16 * MILLION);
PARAM(low_window, 14 * MILLION);
PARAM(smooth_part, 20 * MILLION);
PARAM(fast_convergence, 1);

/* A round covers 1/B of the distance. */
#define B 4
#define RATIO_SHIFT 4

struct bic {
	u64 at;
	u32 count;
	u32 last_max;
	u32 last_cwnd;
	u32 ratio;
};
STATE(struct bic, count);
STATE(struct bic, last_max);
STATE(struct bic, ratio);

narrows_inline void forget(struct bic *ca)
{
	ca->at = 0;
	ca->count = 0;
	ca->last_max = 0;
	ca->last_cwnd = 0;
	ca->ratio = 2 << RATIO_SHIFT;
}

/* Segments for one more at a window of `cwnd` after a loss at `last_max` (0: none yet), before the correction. */
narrows_inline u64 count_of(u64 cwnd, u64 last_max)
{
	u64 most = max_u64(param_max_increment / MILLION, 1), smooth = cwnd * (param_smooth_part / MILLION) / B;
	u64 steepest = cwnd / most, count;

	if (cwnd < last_max) {
		u64 distance = (last_max - cwnd) / B;

		count = distance > most ? steepest : distance <= 1 ? smooth : cwnd / distance;
	} else {
		u64 over = cwnd - last_max;

		if (over < B)
			count = smooth;
		else
			count = over < most * (B - 1) ? cwnd * (B - 1) / over : steepest;
	}
	/* Before the first loss W_max is unknown, so the window grows by 5 % per round at least. */
	return last_max ? count : min_u64(count, 20);
}

narrows_inline void update(struct bic *ca, u64 cwnd, u64 now)
{
	if (ca->last_cwnd == cwnd && now - ca->at <= 31250)
		return;
	ca->last_cwnd = cwnd;
	ca->at = now;
	if (cwnd <= param_low_window / MILLION)
		ca->count = cwnd;
	else
		ca->count = max_u64((count_of(cwnd, ca->last_max) << RATIO_SHIFT) / max_u64(ca->ratio, 1), 1);
}

SEC("struct_ops/bic_init")
void BPF_PROG(bic_init, struct sock *sk)
{
	forget(inet_csk_ca(sk));
}

SEC("struct_ops/bic_pkts_acked")
void BPF_PROG(bic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct bic *ca = inet_csk_ca(sk);

	if (BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state) == TCP_CA_Open)
		ca->ratio += sample->pkts_acked - (ca->ratio >> RATIO_SHIFT);
}

SEC("struct_ops/bic_cong_avoid")
void BPF_PROG(bic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bic *ca = inet_csk_ca(sk);

	if (!acked || !tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	update(ca, max_u64(tp->snd_cwnd, 1), tp->tcp_mstamp);
	tcp_cong_avoid_ai(tp, max_u64(ca->count, 1), acked);
}

SEC("struct_ops/bic_ssthresh")
u32 BPF_PROG(bic_ssthresh, struct sock *sk)
{
	struct bic *ca = inet_csk_ca(sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd, beta = (param_beta * 1024 + MILLION / 2) / MILLION;

	ca->last_max = param_fast_convergence && cwnd < ca->last_max ? cwnd * (1024 + beta) / 2048 : cwnd;
	if (cwnd <= param_low_window / MILLION)
		beta = 512;
	return max_u64(cwnd * beta / 1024, 2);
}

SEC("struct_ops/bic_set_state")
void BPF_PROG(bic_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		forget(inet_csk_ca(sk));
}

SEC("struct_ops/bic_undo_cwnd")
u32 BPF_PROG(bic_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops bic = {
	.init = (void *)bic_init,
	.pkts_acked = (void *)bic_pkts_acked,
	.cong_avoid = (void *)bic_cong_avoid,
	.ssthresh = (void *)bic_ssthresh,
	.set_state = (void *)bic_set_state,
	.undo_cwnd = (void *)bic_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bic",
};
