// SPDX-License-Identifier: GPL-2.0
/*
 * DCTCP: reduces the window in proportion to the share of marked segments.
 *
 * Idea
 *   The receiver echoes each mark, and the sender keeps alpha, a moving average of the share of marked segments per window. It
 *   answers an echo by reducing the window by alpha / 2 instead of one half. Growth, and the response to a loss, are Reno's.
 *   For kernels without the module: where a kernel has its own DCTCP, live runs use that.
 *
 * Sources
 *   RFC 8257, sections 3.2 (the receiver), 3.3 and 3.5; M. Alizadeh and others, "Data Center TCP (DCTCP)", SIGCOMM 2010; the
 *   decisions of profile linux of crates/cc/src/algorithms/dctcp.rs, whose table says where Linux and the RFC differ.
 *
 * State
 *   symbol                                field                         unit
 *   DCTCP.Alpha                           alpha                         1/1024
 *   DCTCP.WindowEnd                       end                           sequence number
 *   segments counted when it began        delivered, delivered_ce       segments
 *   DCTCP.CE                              marked                        whether the last segment that arrived was marked
 *   rcv_nxt before that segment           prior                         sequence number
 *   window before the last reduction      before                        segments
 *
 * Differences
 *   From the Rust form: none in the window. The receiver's part (an ACK at each change of CE, section 3.2) is a setting of the
 *   connection there, ecn_echo = "each_mark". The kernel's PRR leads the window down where the driver of tests does it at once.
 *
 * Limits
 *   A connection whose peer refuses ECN is never told of marks, so it is Reno. alpha then falls to 0, with no effect.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one, with and without marks.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(shift_g, 4 * MILLION);
PARAM(alpha, MILLION);

#define ONE 1024U
#define ONE_SHIFT 10

struct dctcp {
	u32 alpha;
	u32 end;
	u32 delivered;
	u32 delivered_ce;
	u32 prior;
	u32 before;
	u32 marked;
};
_Static_assert(sizeof(struct dctcp) <= ICSK_CA_PRIV_SIZE, "state must fit into icsk_ca_priv");
STATE(struct dctcp, alpha);

/* Begins a window of observation that ends when what has been sent so far is acknowledged. */
narrows_inline void begin(const struct tcp_sock *tp, struct dctcp *ca)
{
	ca->end = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
}

SEC("struct_ops/dctcp_init")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);

	ca->alpha = min_u64(param_alpha, MILLION) * ONE / MILLION;
	ca->prior = tp->rcv_nxt;
	ca->before = 0;
	ca->marked = 0;
	begin(tp, ca);
}

SEC("struct_ops/dctcp_in_ack_event")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);
	u32 shift = min_u64(param_shift_g / MILLION, ONE_SHIFT);
	u32 alpha, step, marked;

	if (before(tp->snd_una, ca->end))
		return;
	alpha = ca->alpha;
	marked = tp->delivered_ce - ca->delivered_ce;
	/* Once the step rounds to 0, the whole rest goes at once. */
	step = alpha >> shift;
	alpha -= step ? step : alpha;
	alpha += (u32)(((u64)marked << (ONE_SHIFT - shift)) / max_u64(tp->delivered - ca->delivered, 1));
	ca->alpha = min_u64(alpha, ONE);
	begin(tp, ca);
}

SEC("struct_ops/dctcp_ssthresh")
u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);
	u32 cut = (u32)(((u64)tp->snd_cwnd * ca->alpha) >> (ONE_SHIFT + 1));

	ca->before = tp->snd_cwnd;
	return max_u64(tp->snd_cwnd - cut, 2);
}

/* A loss halves the window whatever alpha is (RFC 8257, section 3.5), also beside an echo of the same window. */
narrows_inline void lose(struct tcp_sock *tp, struct dctcp *ca)
{
	ca->before = tp->snd_cwnd;
	tp->snd_ssthresh = max_u64(tp->snd_cwnd / 2, 2);
}

SEC("struct_ops/dctcp_set_state")
void BPF_PROG(dctcp_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Recovery &&
	    BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state) != TCP_CA_Recovery)
		lose(tcp_sk(sk), inet_csk_ca(sk));
}

/* Sets the echo that ACKs carry from now on. */
narrows_inline void echo(struct tcp_sock *tp, bool marked)
{
	if (marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

SEC("struct_ops/dctcp_cwnd_event")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);
	bool marked = event == CA_EVENT_ECN_IS_CE;

	if (event == CA_EVENT_LOSS) {
		lose(tp, ca);
		return;
	}
	if (event != CA_EVENT_ECN_IS_CE && event != CA_EVENT_ECN_NO_CE)
		return;
	if (ca->marked != marked) {
		/* What was delayed is acknowledged with the echo that it had. */
		if (inet_csk(sk)->icsk_ack.pending & ICSK_ACK_TIMER) {
			echo(tp, ca->marked);
			bpf_tcp_send_ack(tp, ca->prior);
		}
		inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->prior = tp->rcv_nxt;
	ca->marked = marked;
	echo(tp, marked);
}

SEC("struct_ops/dctcp_cong_avoid")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops/dctcp_undo_cwnd")
u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	const struct dctcp *ca = inet_csk_ca(sk);

	return max_u64(tcp_sk(sk)->snd_cwnd, ca->before);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops dctcp = {
	.init = (void *)dctcp_init,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.ssthresh = (void *)dctcp_ssthresh,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "dctcp",
};
