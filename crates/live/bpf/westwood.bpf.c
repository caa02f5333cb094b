// SPDX-License-Identifier: GPL-2.0
/*
 * Westwood+: after a loss the window is what the estimated bandwidth carries in the smallest round-trip time.
 *
 * Idea
 *   ACKs tell at which rate segments arrive. A filter of two stages keeps the rate, in samples of a round trip, at least 50 ms.
 *   For kernels without the module: where a kernel has its own, live runs use that.
 *
 * Sources
 *   S. Mascolo and others, "Performance evaluation of Westwood+ TCP congestion control", Performance Evaluation 55, 2004; profile
 *   linux of crates/cc/src/algorithms/westwood.rs.
 *
 * State
 *   symbol                                        field           unit
 *   BWE, and its first stage                      rate, first     bytes per millisecond
 *   bytes since the last sample, its time         bytes, since    bytes, milliseconds
 *   RTT, RTTmin                                   rtt, min        milliseconds
 *   counted by duplicate ACKs alone               accounted       bytes
 *
 * Differences
 *   From the Rust form in profile linux: none in the window.
 *
 * Limits
 *   Rates above 4 GB per millisecond wrap. A kernel calls in_ack_event before it takes the sample of the ACK until 6.15, so that the
 *   sample is that of the ACK before.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

#define INIT_RTT 20000
#define LEAST_WINDOW 50

struct westwood {
	u32 rate;
	u32 first;
	u32 bytes;
	u32 since;
	u32 una;
	u32 rtt;
	u32 min;
	u32 accounted;
	u8 started;
	u8 restart_min;
};
_Static_assert(sizeof(struct westwood) <= ICSK_CA_PRIV_SIZE, "state must fit into icsk_ca_priv");
STATE(struct westwood, rate);
STATE(struct westwood, min);

/* The connection's clock in milliseconds, which wraps. */
narrows_inline u32 ticks(const struct tcp_sock *tp)
{
	return (u32)(tp->tcp_mstamp / 1000);
}

narrows_inline void step(struct westwood *ca, u32 sample)
{
	if (!ca->rate && !ca->first) {
		ca->first = sample;
		ca->rate = sample;
	} else {
		ca->first = (7 * (u64)ca->first + sample) >> 3;
		ca->rate = (7 * (u64)ca->rate + ca->first) >> 3;
	}
}

/* What the ACK says has arrived: a segment for a duplicate, which a later cumulative ACK does not count again. */
narrows_inline u32 arrived(const struct tcp_sock *tp, struct westwood *ca)
{
	u32 acked = tp->snd_una - ca->una, mss = tp->mss_cache;

	ca->una = tp->snd_una;
	if (!acked) {
		ca->accounted += mss;
		return mss;
	}
	if (acked <= mss)
		return acked;
	if (ca->accounted >= acked) {
		ca->accounted -= acked;
		return mss;
	}
	acked -= ca->accounted;
	ca->accounted = 0;
	return acked;
}

/* BWE times RTTmin in segments, at least two. */
narrows_inline u32 pipe(const struct tcp_sock *tp, const struct westwood *ca)
{
	return clamp_u64((u64)ca->rate * ca->min / max_u64(tp->mss_cache, 1), 2, TCP_INFINITE_SSTHRESH);
}

SEC("struct_ops/westwood_init")
void BPF_PROG(westwood_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = inet_csk_ca(sk);

	__builtin_memset(ca, 0, sizeof(*ca));
	ca->since = ticks(tp);
	ca->una = tp->snd_una;
	ca->rtt = INIT_RTT;
	ca->min = INIT_RTT;
	ca->restart_min = 1;
}

SEC("struct_ops/westwood_pkts_acked")
void BPF_PROG(westwood_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct westwood *ca = inet_csk_ca(sk);
	s32 measured = sample->rtt_us;

	if (measured > 0)
		ca->rtt = ((u32)measured + 999) / 1000;
}

SEC("struct_ops/westwood_in_ack_event")
void BPF_PROG(westwood_in_ack_event, struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = inet_csk_ca(sk);
	u32 now = ticks(tp), time = now - ca->since, counted;

	/* Counting begins after the first ACK. */
	if (!ca->started)
		ca->una = tp->snd_una;
	if (time > max_u64(ca->rtt, LEAST_WINDOW)) {
		step(ca, ca->bytes / time);
		ca->bytes = 0;
		ca->since = now;
	}
	if (ca->started) {
		counted = arrived(tp, ca);
		ca->bytes += counted;
	}
	ca->started = 1;
	ca->min = ca->restart_min ? ca->rtt : min_u64(ca->min, ca->rtt);
	ca->restart_min = 0;
}

SEC("struct_ops/westwood_cong_avoid")
void BPF_PROG(westwood_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops/westwood_ssthresh")
u32 BPF_PROG(westwood_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/westwood_cwnd_event")
void BPF_PROG(westwood_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_COMPLETE_CWR) {
		tp->snd_ssthresh = pipe(tp, ca);
		tp->snd_cwnd = tp->snd_ssthresh;
	} else if (event == CA_EVENT_LOSS) {
		tp->snd_ssthresh = pipe(tp, ca);
		ca->restart_min = 1;
	}
}

SEC("struct_ops/westwood_undo_cwnd")
u32 BPF_PROG(westwood_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops westwood = {
	.init = (void *)westwood_init,
	.pkts_acked = (void *)westwood_pkts_acked,
	.in_ack_event = (void *)westwood_in_ack_event,
	.cong_avoid = (void *)westwood_cong_avoid,
	.ssthresh = (void *)westwood_ssthresh,
	.cwnd_event = (void *)westwood_cwnd_event,
	.undo_cwnd = (void *)westwood_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "westwood",
};
