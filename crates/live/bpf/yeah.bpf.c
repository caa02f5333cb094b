// SPDX-License-Identifier: GPL-2.0
/*
 * YeAH-TCP: Scalable TCP while the queue is short, Reno and a little less once it is not.
 *
 * Idea
 *   Q segments of the flow wait in queues. Up to alpha of them, and with little delay, the window grows as Scalable TCP's. Beyond,
 *   it grows as Reno's and gives back what waits, not below what a Reno flow would have.
 *   For kernels without the module: where a kernel has its own, live runs use that.
 *
 * Sources
 *   A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007;
 *   crates/cc/src/algorithms/yeah.rs.
 *
 * State
 *   symbol                                        field           unit
 *   BaseRTT, the round's smallest RTT             base, min       microseconds and one
 *   where the round ends                          end             sequence number
 *   Q at the end of the last round                queue           segments
 *   rounds in slow mode; 0 is fast mode           slow            rounds
 *   window of a Reno flow                         reno            segments
 *   rounds in fast mode                           fast            rounds
 *
 * Differences
 *   From the Rust form: none in the window.
 *
 * Limits
 *   Parameters are whole numbers.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(alpha, 80 * MILLION);
PARAM(gamma, MILLION);
PARAM(delta, 3 * MILLION);
PARAM(epsilon, MILLION);
PARAM(phy, 8 * MILLION);
PARAM(rho, 16 * MILLION);
PARAM(zeta, 50 * MILLION);

#define NONE 0x7fffffffU
/* Smallest estimate of a Reno flow's window. */
#define LEAST 2
/* Segments acknowledged for one more in fast mode, at most. */
#define SCALABLE 100

struct yeah {
	u32 base;
	u32 min;
	u32 samples;
	u32 end;
	u32 queue;
	u32 slow;
	u32 reno;
	u32 fast;
	u32 open;
};
STATE(struct yeah, queue);
STATE(struct yeah, reno);

/* A parameter as a whole number. */
narrows_inline u64 whole(u64 millionths)
{
	return millionths / MILLION;
}

/* Begins a round that ends when what has been sent so far is acknowledged. */
narrows_inline void begin(const struct tcp_sock *tp, struct yeah *ca)
{
	ca->end = tp->snd_nxt;
	ca->min = NONE;
	ca->samples = 0;
}

/* Chooses the mode at the end of a round with more than two samples. */
narrows_inline void decide(struct tcp_sock *tp, struct yeah *ca)
{
	u64 base = ca->base, rtt = max_u64(ca->min, 1), delay = rtt - base;
	u64 cwnd = tp->snd_cwnd, now = cwnd;
	bool full;

	ca->queue = cwnd * delay / rtt;
	full = ca->queue > whole(param_alpha);
	if (!full && delay <= base / max_u64(whole(param_phy), 1)) {
		ca->slow = 0;
		ca->fast++;
		if (ca->fast > whole(param_zeta)) {
			ca->reno = LEAST;
			ca->fast = 0;
		}
		return;
	}
	if (full && cwnd > ca->reno) {
		u64 off = min_u64(ca->queue / max_u64(whole(param_gamma), 1), cwnd >> (whole(param_epsilon) & 63));

		now = max_u64(less_u64(cwnd, off), ca->reno);
		tp->snd_cwnd = min_u64(cwnd, now);
		tp->snd_ssthresh = tp->snd_cwnd;
	}
	ca->reno = ca->reno <= LEAST ? max_u64(now / 2, LEAST) : ca->reno + 1;
	ca->slow++;
}

SEC("struct_ops/yeah_init")
void BPF_PROG(yeah_init, struct sock *sk)
{
	struct yeah *ca = inet_csk_ca(sk);

	ca->base = NONE;
	ca->queue = 0;
	ca->slow = 0;
	ca->reno = LEAST;
	ca->fast = 0;
	ca->open = 1;
	begin(tcp_sk(sk), ca);
}

SEC("struct_ops/yeah_pkts_acked")
void BPF_PROG(yeah_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct yeah *ca = inet_csk_ca(sk);
	s32 measured = sample->rtt_us;
	u32 rtt;

	if (measured < 0)
		return;
	/* One more, so that none is zero. */
	rtt = (u32)measured + 1;
	ca->base = min_u64(ca->base, rtt);
	ca->min = min_u64(ca->min, rtt);
	ca->samples++;
}

SEC("struct_ops/yeah_cong_avoid")
void BPF_PROG(yeah_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah *ca = inet_csk_ca(sk);

	if (!acked || !tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, ca->slow ? tp->snd_cwnd : min_u64(tp->snd_cwnd, SCALABLE), acked);
	if (after(tp->snd_una, ca->end)) {
		if (ca->samples > 2)
			decide(tp, ca);
		begin(tp, ca);
	}
}

SEC("struct_ops/yeah_ssthresh")
u32 BPF_PROG(yeah_ssthresh, struct sock *sk)
{
	struct yeah *ca = inet_csk_ca(sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd, half = max_u64(cwnd / 2, LEAST), off = half;

	if (ca->slow < whole(param_rho))
		off = max_u64(max_u64(min_u64(ca->queue, half), cwnd >> (whole(param_delta) & 63)), 1);
	ca->fast = 0;
	ca->reno = max_u64(ca->reno / 2, LEAST);
	return max_u64(less_u64(cwnd, off), 2);
}

SEC("struct_ops/yeah_set_state")
void BPF_PROG(yeah_set_state, struct sock *sk, u8 new_state)
{
	struct yeah *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Open && !ca->open)
		begin(tcp_sk(sk), ca);
	ca->open = new_state == TCP_CA_Open;
}

SEC("struct_ops/yeah_cwnd_event")
void BPF_PROG(yeah_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct yeah *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART) {
		ca->base = NONE;
		begin(tcp_sk(sk), ca);
	}
}
TX_START_HOOK(yeah)

SEC("struct_ops/yeah_undo_cwnd")
u32 BPF_PROG(yeah_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops yeah = {
	.init = (void *)yeah_init,
	.pkts_acked = (void *)yeah_pkts_acked,
	.cong_avoid = (void *)yeah_cong_avoid,
	.ssthresh = (void *)yeah_ssthresh,
	.set_state = (void *)yeah_set_state,
	.cwnd_event = (void *)yeah_cwnd_event,
	.cwnd_event_tx_start = (void *)yeah_cwnd_event_tx_start,
	.undo_cwnd = (void *)yeah_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "yeah",
};
