// SPDX-License-Identifier: GPL-2.0
/*
 * Vegas: keeps between alpha and beta segments of the flow in queues.
 *
 * Idea
 *   Once per round trip the smallest round-trip time says how many segments wait: with fewer than alpha the window grows by a
 *   segment, with more than beta it shrinks by one. Slow start ends at gamma. Where there is nothing to measure it is Reno.
 *   For kernels without the module: where a kernel has its own, live runs use that.
 *
 * Sources
 *   L. Brakmo, L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", JSAC 13(8), 1995; profile linux of
 *   crates/cc/src/algorithms/vegas.rs.
 *
 * State
 *   symbol                                        field           unit
 *   BaseRTT, the round's smallest RTT             base, min       microseconds and one
 *   where the round ends                          end             sequence number
 *   Diff                                          diff            segments
 *   whether Vegas decides                         doing           -
 *
 * Differences
 *   From the Rust form in profile linux: none in the window.
 *
 * Limits
 *   Not the rule of Linux 2.6.22 (`last_round`).
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(alpha, 0);
PARAM(beta, 0);
PARAM(gamma, MILLION);

#define NONE 0x7fffffffU

struct vegas {
	u32 base;
	u32 min;
	u32 samples;
	u32 end;
	u32 diff;
	u32 doing;
};
STATE(struct vegas, diff);
STATE(struct vegas, doing);

/* Begins a round that ends when what has been sent so far is acknowledged. */
narrows_inline void begin(const struct tcp_sock *tp, struct vegas *ca)
{
	ca->end = tp->snd_nxt;
	ca->min = NONE;
	ca->samples = 0;
}

/* At the end of a round with more than two samples. */
narrows_inline void decide(struct tcp_sock *tp, struct vegas *ca, u32 acked, bool limited)
{
	u64 alpha = param_alpha ? param_alpha : 2 * MILLION, beta = param_beta ? param_beta : 4 * MILLION;
	u64 base = max_u64(ca->base, 1), rtt = max_u64(ca->min, 1);
	u64 cwnd = tp->snd_cwnd, diff = cwnd * (rtt - base) / base;

	ca->diff = diff;
	diff *= MILLION;
	if (tcp_in_slow_start(tp)) {
		if (diff > param_gamma) {
			tp->snd_cwnd = min_u64(cwnd, cwnd * base / rtt + 1);
			tp->snd_ssthresh = min_u64(tp->snd_ssthresh, tp->snd_cwnd);
		} else if (limited) {
			tcp_slow_start(tp, acked);
		}
	} else if (diff > beta) {
		tp->snd_cwnd = less_u64(cwnd, 1);
		tp->snd_ssthresh = min_u64(tp->snd_ssthresh, tp->snd_cwnd);
	} else if (diff < alpha && limited && tp->snd_cwnd < tp->snd_cwnd_clamp) {
		tp->snd_cwnd++;
	}
	if (tp->snd_cwnd < 2)
		tp->snd_cwnd = 2;
	/* A threshold far below the window would make a timeout expensive. */
	tp->snd_ssthresh = max_u64(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}

SEC("struct_ops/vegas_init")
void BPF_PROG(vegas_init, struct sock *sk)
{
	struct vegas *ca = inet_csk_ca(sk);

	ca->base = NONE;
	ca->diff = 0;
	ca->doing = 1;
	begin(tcp_sk(sk), ca);
}

SEC("struct_ops/vegas_pkts_acked")
void BPF_PROG(vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas *ca = inet_csk_ca(sk);
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

SEC("struct_ops/vegas_cong_avoid")
void BPF_PROG(vegas_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *ca = inet_csk_ca(sk);
	bool limited = tcp_is_cwnd_limited(sk);

	if (!acked)
		return;
	if (!ca->doing) {
		tcp_reno_cong_avoid(sk, ack, acked);
	} else if (after(tp->snd_una, ca->end)) {
		/* With two samples or fewer, both may come from delayed ACKs. */
		if (ca->samples > 2)
			decide(tp, ca, acked, limited);
		else
			tcp_reno_cong_avoid(sk, ack, acked);
		begin(tp, ca);
	} else if (tcp_in_slow_start(tp) && limited) {
		tcp_slow_start(tp, acked);
	}
}

SEC("struct_ops/vegas_ssthresh")
u32 BPF_PROG(vegas_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/vegas_set_state")
void BPF_PROG(vegas_set_state, struct sock *sk, u8 new_state)
{
	struct vegas *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Open) {
		ca->doing = 0;
	} else if (!ca->doing) {
		ca->doing = 1;
		begin(tcp_sk(sk), ca);
	}
}

SEC("struct_ops/vegas_cwnd_event")
void BPF_PROG(vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct vegas *ca = inet_csk_ca(sk);

	/* Samples from before an idle time are stale. */
	if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART) {
		ca->base = NONE;
		begin(tcp_sk(sk), ca);
	}
}
TX_START_HOOK(vegas)

SEC("struct_ops/vegas_undo_cwnd")
u32 BPF_PROG(vegas_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops vegas = {
	.init = (void *)vegas_init,
	.pkts_acked = (void *)vegas_pkts_acked,
	.cong_avoid = (void *)vegas_cong_avoid,
	.ssthresh = (void *)vegas_ssthresh,
	.set_state = (void *)vegas_set_state,
	.cwnd_event = (void *)vegas_cwnd_event,
	.cwnd_event_tx_start = (void *)vegas_cwnd_event_tx_start,
	.undo_cwnd = (void *)vegas_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "vegas",
};
