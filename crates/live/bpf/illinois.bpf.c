// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Illinois: the increase falls and the decrease rises with the queueing delay.
 *
 * Idea
 *   alpha is 10 segments per round trip on an empty path and 0.3 on a full one, beta an eighth to a half.
 *   For kernels without the module: where a kernel has its own, live runs use that.
 *
 * Sources
 *   S. Liu, T. Basar, R. Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for high-speed networks",
 *   Performance Evaluation 65, 2008; profile linux of crates/cc/src/algorithms/illinois.rs.
 *
 * State
 *   symbol                                        field           unit
 *   alpha, beta                                   alpha, beta     1/128 segment, 1/64
 *   base, longest and sum of the round's RTTs     base, most, sum microseconds
 *   low rounds since a high one; a high one was   low, above      rounds, -
 *
 * Differences
 *   From the Rust form in profile linux: none in the window.
 *
 * Limits
 *   Round-trip times above 3.35 s count as so much.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(leaves_beta, 0);
PARAM(win_thresh, 0);
PARAM(theta, 5 * MILLION);

#define ALPHA_MAX 1280
#define ALPHA_MIN 38
#define ALPHA_ONE 128
#define BETA_MIN 8
#define BETA_MAX 32
#define RTT_MAX (0xffffffffU / ALPHA_MAX)
#define NONE 0x7fffffffU

struct illinois {
	u64 sum;
	u32 samples;
	u32 base;
	u32 most;
	u32 end;
	u32 alpha;
	u32 beta;
	u32 low;
	u32 above;
};
_Static_assert(sizeof(struct illinois) <= ICSK_CA_PRIV_SIZE, "state must fit into icsk_ca_priv");
STATE(struct illinois, alpha);
STATE(struct illinois, beta);

narrows_inline void begin(const struct tcp_sock *tp, struct illinois *ca)
{
	ca->end = tp->snd_nxt;
	ca->sum = 0;
	ca->samples = 0;
}

narrows_inline void as_reno(struct illinois *ca)
{
	ca->alpha = ALPHA_ONE;
	ca->beta = BETA_MAX;
}

/* alpha at a mean delay of `da` where the largest is `dm`. */
narrows_inline u64 alpha_of(u64 da, u64 dm)
{
	da = less_u64(da, dm / 100);
	dm -= dm / 100;
	return dm * ALPHA_MAX / max_u64(dm + da * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN, 1);
}

narrows_inline u64 beta_of(u64 da, u64 dm)
{
	u64 d2 = dm / 10, d3 = dm * 8 / 10;

	if (da <= d2)
		return BETA_MIN;
	if (da >= d3 || d3 <= d2)
		return BETA_MAX;
	return less_u64(BETA_MIN * d3 + (BETA_MAX - BETA_MIN) * da, BETA_MAX * d2) / (d3 - d2);
}

/* alpha after a round: at a low delay full, unless a high one was fewer than theta low rounds ago. */
narrows_inline void settle(struct illinois *ca, u64 da, u64 dm)
{
	if (da > dm / 100) {
		ca->above = 1;
		ca->alpha = alpha_of(da, dm);
		return;
	}
	if (ca->above) {
		ca->low++;
		if (ca->low < param_theta / MILLION)
			return;
		ca->low = 0;
		ca->above = 0;
	}
	ca->alpha = ALPHA_MAX;
}

narrows_inline void update(const struct tcp_sock *tp, struct illinois *ca)
{
	u64 least = param_win_thresh / MILLION;

	if (tp->snd_cwnd < (least ? least : 15)) {
		as_reno(ca);
	} else if (ca->samples) {
		u64 dm = less_u64(ca->most, ca->base), da = less_u64(ca->sum / ca->samples, ca->base);

		settle(ca, da, dm);
		ca->beta = beta_of(da, dm);
	}
	begin(tp, ca);
}

SEC("struct_ops/illinois_init")
void BPF_PROG(illinois_init, struct sock *sk)
{
	struct illinois *ca = inet_csk_ca(sk);

	ca->alpha = ALPHA_MAX;
	ca->beta = BETA_MAX;
	ca->base = NONE;
	ca->most = 0;
	ca->low = 0;
	ca->above = 0;
	begin(tcp_sk(sk), ca);
}

SEC("struct_ops/illinois_pkts_acked")
void BPF_PROG(illinois_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct illinois *ca = inet_csk_ca(sk);
	s32 measured = sample->rtt_us;
	u32 rtt;

	if (measured < 0)
		return;
	rtt = min_u64(measured, RTT_MAX);
	ca->base = min_u64(ca->base, rtt);
	ca->most = max_u64(ca->most, rtt);
	ca->sum += rtt;
	ca->samples++;
}

SEC("struct_ops/illinois_cong_avoid")
void BPF_PROG(illinois_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct illinois *ca = inet_csk_ca(sk);
	u64 delta, cwnd;

	if (!acked)
		return;
	if (after(tp->snd_una, ca->end))
		update(tp, ca);
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		/* The rest of the ACK is not passed on to congestion avoidance. */
		tcp_slow_start(tp, acked);
		return;
	}
	tp->snd_cwnd_cnt += acked;
	cwnd = max_u64(tp->snd_cwnd, 1);
	delta = (u64)tp->snd_cwnd_cnt * ca->alpha >> 7;
	if (delta < cwnd)
		return;
	/* An ACK adds no more than it acknowledges, however much was counted before the window fell. */
	tp->snd_cwnd = min_u64(cwnd + min_u64(delta / cwnd, acked), tp->snd_cwnd_clamp);
	tp->snd_cwnd_cnt = 0;
}

SEC("struct_ops/illinois_ssthresh")
u32 BPF_PROG(illinois_ssthresh, struct sock *sk)
{
	const struct illinois *ca = inet_csk_ca(sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd, share = cwnd * ca->beta >> 6;

	return max_u64(param_leaves_beta ? share : cwnd - share, 2);
}

SEC("struct_ops/illinois_set_state")
void BPF_PROG(illinois_set_state, struct sock *sk, u8 new_state)
{
	struct illinois *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	as_reno(ca);
	ca->low = 0;
	ca->above = 0;
	begin(tcp_sk(sk), ca);
}

SEC("struct_ops/illinois_undo_cwnd")
u32 BPF_PROG(illinois_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops illinois = {
	.init = (void *)illinois_init,
	.pkts_acked = (void *)illinois_pkts_acked,
	.cong_avoid = (void *)illinois_cong_avoid,
	.ssthresh = (void *)illinois_ssthresh,
	.set_state = (void *)illinois_set_state,
	.undo_cwnd = (void *)illinois_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "illinois",
};
