// SPDX-License-Identifier: GPL-2.0
/*
 * Scalable TCP: a window of any size recovers from a loss in the same number of round trips.
 *
 * Idea
 *   One segment more for each `per` segments acknowledged, and an eighth less after a loss.
 *   For kernels without the module: where a kernel has its own, live runs use that.
 *
 * Sources
 *   T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", CCR 33(2), 2003; profile linux of
 *   crates/cc/src/algorithms/scalable.rs.
 *
 * State
 *   symbol                                        field           unit
 *   none of its own
 *
 * Differences
 *   From the Rust form in profile linux: none in the window.
 *
 * Limits
 *   per is at most 1000.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(per, 0);

/* Segments to be acknowledged for one more, where none are given. */
#define PER 100

SEC("struct_ops/scalable_cong_avoid")
void BPF_PROG(scalable_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 per = param_per / MILLION;

	if (!acked || !tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, max_u64(min_u64(tp->snd_cwnd, per ? per : PER), 1), acked);
}

SEC("struct_ops/scalable_ssthresh")
u32 BPF_PROG(scalable_ssthresh, struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	return max_u64(cwnd - cwnd / 8, 2);
}

SEC("struct_ops/scalable_undo_cwnd")
u32 BPF_PROG(scalable_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scalable = {
	.cong_avoid = (void *)scalable_cong_avoid,
	.ssthresh = (void *)scalable_ssthresh,
	.undo_cwnd = (void *)scalable_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "scalable",
};
