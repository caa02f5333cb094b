// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Hybla: a long path grows as fast in time as one of 25 ms.
 *
 * Idea
 *   With rho = RTT / RTT0 a round trip of slow start multiplies by 2^rho, and one of congestion avoidance adds rho^2 segments.
 *   For kernels without the module: where a kernel has its own, live runs use that.
 *
 * Sources
 *   C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", IJSCN 22(5), 2004; profile linux of
 *   crates/cc/src/algorithms/hybla.rs.
 *
 * State
 *   symbol                                        field           unit
 *   rho                                           rho             1/8
 *   smallest smoothed round-trip time             least           microseconds
 *   part of a segment that is earned              cents           1/128 segment
 *   ACKs without growth                           idle            ACKs
 *
 * Differences
 *   From the Rust form in profile linux: none in the window. The ACKs without growth have a count of their own here.
 *
 * Limits
 *   Windows up to 65,535 segments; rho counts up to 16 in slow start.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(rtt0, 25 * MILLION);

#define CLAMP 65535
#define RHO_MAX 16

struct hybla {
	u32 least;
	u32 rho;
	u32 cents;
	u32 idle;
};
STATE(struct hybla, rho);
STATE(struct hybla, cents);

/* 2^(i / 8) in 1/128. */
narrows_inline u64 power(u32 i)
{
	u64 lower = 139ULL << 8 | 128 | 152ULL << 16 | 165ULL << 24;
	u64 upper = 197ULL << 8 | 181 | 215ULL << 16 | 234ULL << 24;

	return ((i & 4 ? upper : lower) >> (i & 3) * 8) & 0xff;
}

narrows_inline void measure(const struct tcp_sock *tp, struct hybla *ca)
{
	u32 rtt = tp->srtt_us >> 3;
	u64 rtt0 = max_u64(param_rtt0 / 1000, 1);

	if (!rtt || (ca->least && rtt >= ca->least))
		return;
	ca->least = rtt;
	ca->rho = clamp_u64((u64)rtt * 8 / rtt0, 8, 1 << 20);
}

SEC("struct_ops/hybla_init")
void BPF_PROG(hybla_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla *ca = inet_csk_ca(sk);

	ca->least = 0;
	ca->rho = 8;
	ca->cents = 0;
	ca->idle = 0;
	measure(tp, ca);
	tp->snd_cwnd = min_u64(ca->rho >> 3, CLAMP);
}

SEC("struct_ops/hybla_cong_avoid")
void BPF_PROG(hybla_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla *ca = inet_csk_ca(sk);
	u64 step, segments, room, most;
	bool slow;

	measure(tp, ca);
	if (!acked || !tcp_is_cwnd_limited(sk))
		return;
	if (BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state) != TCP_CA_Open) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	slow = tcp_in_slow_start(tp);
	if (slow)
		step = (power(ca->rho & 7) << min_u64(ca->rho >> 3, RHO_MAX)) - 128;
	else
		step = ((u64)ca->rho * ca->rho << 1) / max_u64(tp->snd_cwnd, 1);
	if (!slow && step < 128)
		ca->idle++;
	ca->cents += step & 127;
	segments = step >> 7;
	if (ca->cents >= 128) {
		ca->cents -= 128;
		segments++;
		ca->idle = 0;
	}
	if (!step && ca->idle >= tp->snd_cwnd) {
		segments++;
		ca->idle = 0;
	}
	room = slow ? tp->snd_ssthresh - tp->snd_cwnd : 0xffffffff;
	most = less_u64(min_u64(CLAMP, tp->snd_cwnd_clamp), tp->snd_cwnd);
	tp->snd_cwnd += min_u64(min_u64(segments, room), most);
}

SEC("struct_ops/hybla_ssthresh")
u32 BPF_PROG(hybla_ssthresh, struct sock *sk)
{
	struct hybla *ca = inet_csk_ca(sk);

	ca->idle = 0;
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/hybla_undo_cwnd")
u32 BPF_PROG(hybla_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops hybla = {
	.init = (void *)hybla_init,
	.cong_avoid = (void *)hybla_cong_avoid,
	.ssthresh = (void *)hybla_ssthresh,
	.undo_cwnd = (void *)hybla_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "hybla",
};
