// SPDX-License-Identifier: GPL-2.0
/*
 * Veno: Reno that judges by the backlog whether a loss meant congestion.
 *
 * Idea
 *   N segments of the flow wait in queues, by the round-trip times. From beta on the path is congested: the window grows by a segment
 *   every other round trip, and a loss halves it. Below, a loss takes a fifth.
 *   For kernels without the module: where a kernel has its own, live runs use that.
 *
 * Sources
 *   C. P. Fu, S. C. Liew, "TCP Veno", JSAC 21(2), 2003; profile linux of crates/cc/src/algorithms/veno.rs.
 *
 * State
 *   symbol                                        field           unit
 *   BaseRTT, the round's smallest RTT             base, min       microseconds and one
 *   N                                             halves          half segments
 *   whether the next congested window grows       grows           -
 *   whether Veno decides                          doing           -
 *
 * Differences
 *   From the Rust form in profile linux: none in the window.
 *
 * Limits
 *   beta is at most 1000.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(beta, 3 * MILLION);

/* Before a sample. */
#define NONE 0x7fffffffU

struct veno {
	u32 base;
	u32 min;
	u32 samples;
	u32 halves;
	u32 grows;
	u32 doing;
};
STATE(struct veno, grows);
STATE(struct veno, doing);

narrows_inline bool congested(const struct veno *ca)
{
	return ca->halves * MILLION >= 2 * param_beta;
}

narrows_inline void begin(struct veno *ca)
{
	ca->base = NONE;
	ca->min = NONE;
	ca->grows = 1;
	ca->doing = 1;
}

/* Slow start, and then Reno or, on a congested path, half of it. */
narrows_inline void grow(struct tcp_sock *tp, struct veno *ca, u32 acked, bool slower)
{
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	if (!slower) {
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
	} else if (tp->snd_cwnd_cnt < tp->snd_cwnd) {
		tp->snd_cwnd_cnt += acked;
	} else {
		if (ca->grows && tp->snd_cwnd < tp->snd_cwnd_clamp)
			tp->snd_cwnd++;
		ca->grows = !ca->grows;
		tp->snd_cwnd_cnt = 0;
	}
}

SEC("struct_ops/veno_init")
void BPF_PROG(veno_init, struct sock *sk)
{
	struct veno *ca = inet_csk_ca(sk);

	ca->samples = 0;
	ca->halves = 0;
	begin(ca);
}

SEC("struct_ops/veno_pkts_acked")
void BPF_PROG(veno_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct veno *ca = inet_csk_ca(sk);
	s32 measured = sample->rtt_us;
	u32 rtt;

	if (measured < 0)
		return;
	rtt = (u32)measured + 1;
	ca->base = min_u64(ca->base, rtt);
	ca->min = min_u64(ca->min, rtt);
	ca->samples++;
}

SEC("struct_ops/veno_cong_avoid")
void BPF_PROG(veno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct veno *ca = inet_csk_ca(sk);
	u64 twice = (u64)tp->snd_cwnd * 2;

	if (!acked || !tcp_is_cwnd_limited(sk))
		return;
	if (!ca->doing || ca->samples <= 2) {
		grow(tp, ca, acked, false);
	} else {
		ca->halves = less_u64(twice, twice * ca->base / max_u64(ca->min, 1));
		grow(tp, ca, acked, congested(ca));
		if (tp->snd_cwnd < 2)
			tp->snd_cwnd = 2;
	}
	if (ca->doing)
		ca->min = NONE;
}

SEC("struct_ops/veno_ssthresh")
u32 BPF_PROG(veno_ssthresh, struct sock *sk)
{
	const struct veno *ca = inet_csk_ca(sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;

	return max_u64(congested(ca) ? cwnd / 2 : cwnd * 4 / 5, 2);
}

SEC("struct_ops/veno_set_state")
void BPF_PROG(veno_set_state, struct sock *sk, u8 new_state)
{
	struct veno *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Open) {
		ca->doing = 0;
	} else if (!ca->doing) {
		ca->doing = 1;
		ca->min = NONE;
	}
}

SEC("struct_ops/veno_cwnd_event")
void BPF_PROG(veno_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART)
		begin(inet_csk_ca(sk));
}
TX_START_HOOK(veno)

SEC("struct_ops/veno_undo_cwnd")
u32 BPF_PROG(veno_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops veno = {
	.init = (void *)veno_init,
	.pkts_acked = (void *)veno_pkts_acked,
	.cong_avoid = (void *)veno_cong_avoid,
	.ssthresh = (void *)veno_ssthresh,
	.set_state = (void *)veno_set_state,
	.cwnd_event = (void *)veno_cwnd_event,
	.cwnd_event_tx_start = (void *)veno_cwnd_event_tx_start,
	.undo_cwnd = (void *)veno_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "veno",
};
