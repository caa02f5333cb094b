// SPDX-License-Identifier: GPL-2.0
/*
 * H-TCP: the increase rises with the time since the last loss, the decrease leaves a full link.
 *
 * Idea
 *   alpha is Reno's in the first second after a loss and grows with its square from then on. beta is RTTmin / RTTmax, while the
 *   throughput stays the same.
 *   For kernels without the module: where a kernel has its own, live runs use that.
 *
 * Sources
 *   D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004; profile linux of
 *   crates/cc/src/algorithms/htcp.rs.
 *
 * State
 *   symbol                                        field           unit
 *   alpha, beta                                   alpha, beta     1/128 segment, 1/128
 *   RTTmin, RTTmax                                min, max        milliseconds
 *   throughput: now, largest, at the last loss    rate, most, old segments per second
 *   its sample: segments, since                   packets, since  segments, milliseconds
 *   last loss                                     last            milliseconds
 *   what an undo restores                         was_last, ..
 *
 * Differences
 *   From the Rust form in profile linux: none in the window.
 *
 * Limits
 *   Round-trip times by srtt (`rtt_from_srtt`) are not here.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(rtt_scaling, 1);
PARAM(bandwidth_switch, 1);

#define ONE 128
#define BETA_MIN 64
#define BETA_MAX 102
#define HZ 1000

struct htcp {
	u32 last;
	u32 max;
	u32 old;
	u32 was_last;
	u32 was_max;
	u32 was_old;
	u32 alpha;
	u32 beta;
	u32 min;
	u32 most;
	u32 rate;
	u32 packets;
	u32 since;
	u32 acked;
	u8 adaptive;
	u8 congested;
	u8 saved;
};
_Static_assert(sizeof(struct htcp) <= ICSK_CA_PRIV_SIZE, "state must fit into icsk_ca_priv");
STATE(struct htcp, alpha);
STATE(struct htcp, beta);
STATE(struct htcp, max);

/* The connection's clock in milliseconds, which wraps. */
narrows_inline u32 ticks(const struct tcp_sock *tp)
{
	return (u32)(tp->tcp_mstamp / 1000);
}

narrows_inline void measure_rtt(struct htcp *ca, u32 rtt, bool open)
{
	if (!ca->min || rtt < ca->min)
		ca->min = rtt;
	if (!open)
		return;
	ca->max = max_u64(ca->max, ca->min);
	/* A larger jump has another cause than a queue that fills. */
	if (rtt <= ca->max + 20)
		ca->max = max_u64(ca->max, rtt);
}

/* Over about a window. */
narrows_inline void measure_rate(const struct tcp_sock *tp, struct htcp *ca, u32 segments, u8 state)
{
	u32 now = ticks(tp), time = now - ca->since;
	u64 rate;

	if (state != TCP_CA_Open && state != TCP_CA_Disorder) {
		ca->packets = 0;
		ca->since = now;
		return;
	}
	ca->packets += segments;
	if (ca->packets < less_u64(tp->snd_cwnd, max_u64(ca->alpha / ONE, 1)) || time < ca->min || !ca->min)
		return;
	rate = (u64)ca->packets * HZ / max_u64(time, 1);
	if ((now - ca->last) / ca->min <= 3) {
		ca->rate = rate;
		ca->most = rate;
	} else {
		ca->rate = (3 * (u64)ca->rate + rate) / 4;
		ca->most = max_u64(ca->most, ca->rate);
	}
	ca->packets = 0;
	ca->since = now;
}

narrows_inline void update_alpha(const struct tcp_sock *tp, struct htcp *ca)
{
	u64 over = less_u64(ticks(tp) - ca->last, HZ), factor = 1;

	if (over)
		factor = 1 + (10 * over + (over / 2) * (over / 2) / HZ) / HZ;
	if (param_rtt_scaling && ca->min)
		factor = max_u64(factor * 8 / clamp_u64(HZ * 8 / (10 * (u64)ca->min), 4, 80), 1);
	ca->alpha = factor * 2 * (ONE - ca->beta);
}

narrows_inline void update_beta(struct htcp *ca)
{
	ca->beta = BETA_MIN;
	if (param_bandwidth_switch) {
		u64 now = 5 * (u64)ca->most, old = ca->old;

		ca->old = ca->most;
		if (now < 4 * old || now > 6 * old) {
			ca->adaptive = 0;
			return;
		}
	}
	if (ca->adaptive && ca->min > 10 && ca->max)
		ca->beta = clamp_u64((u64)ca->min * ONE / ca->max, BETA_MIN, BETA_MAX);
	else
		ca->adaptive = 1;
}

SEC("struct_ops/htcp_init")
void BPF_PROG(htcp_init, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	__builtin_memset(ca, 0, sizeof(*ca));
	ca->alpha = ONE;
	ca->beta = BETA_MIN;
	ca->acked = 1;
	ca->last = ticks(tcp_sk(sk));
	ca->since = ca->last;
}

SEC("struct_ops/htcp_pkts_acked")
void BPF_PROG(htcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct htcp *ca = inet_csk_ca(sk);
	u8 state = BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);
	s32 measured = sample->rtt_us;

	if (state == TCP_CA_Open)
		ca->acked = sample->pkts_acked;
	if (measured > 0)
		measure_rtt(ca, ((u32)measured + 999) / 1000, state == TCP_CA_Open);
	if (param_bandwidth_switch)
		measure_rate(tcp_sk(sk), ca, sample->pkts_acked, state);
}

SEC("struct_ops/htcp_cong_avoid")
void BPF_PROG(htcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);

	if (!acked || !tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	if ((u64)tp->snd_cwnd_cnt * ca->alpha / ONE >= tp->snd_cwnd) {
		if (tp->snd_cwnd < tp->snd_cwnd_clamp)
			tp->snd_cwnd++;
		tp->snd_cwnd_cnt = 0;
		update_alpha(tp, ca);
	} else {
		tp->snd_cwnd_cnt += ca->acked;
	}
	ca->acked = 1;
}

SEC("struct_ops/htcp_ssthresh")
u32 BPF_PROG(htcp_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);

	ca->was_last = ca->last;
	ca->was_max = ca->max;
	ca->was_old = ca->old;
	ca->saved = 1;
	update_beta(ca);
	update_alpha(tp, ca);
	if (ca->min && ca->max > ca->min)
		ca->max = ca->min + (u64)(ca->max - ca->min) * 95 / 100;
	return max_u64((u64)tp->snd_cwnd * ca->beta / ONE, 2);
}

SEC("struct_ops/htcp_set_state")
void BPF_PROG(htcp_set_state, struct sock *sk, u8 new_state)
{
	struct htcp *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Open) {
		if (ca->congested)
			ca->last = ticks(tcp_sk(sk));
		ca->congested = 0;
	} else if (new_state != TCP_CA_Disorder) {
		ca->last = ticks(tcp_sk(sk));
		ca->congested = 1;
	}
}

SEC("struct_ops/htcp_undo_cwnd")
u32 BPF_PROG(htcp_undo_cwnd, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	if (ca->saved) {
		ca->last = ca->was_last;
		ca->max = ca->was_max;
		ca->old = ca->was_old;
		ca->saved = 0;
	}
	ca->congested = 0;
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops htcp = {
	.init = (void *)htcp_init,
	.pkts_acked = (void *)htcp_pkts_acked,
	.cong_avoid = (void *)htcp_cong_avoid,
	.ssthresh = (void *)htcp_ssthresh,
	.set_state = (void *)htcp_set_state,
	.undo_cwnd = (void *)htcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "htcp",
};
