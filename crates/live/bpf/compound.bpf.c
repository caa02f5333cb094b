// SPDX-License-Identifier: GPL-2.0
/*
 * Compound TCP: Reno's window plus a second one that grows fast as long as no queue builds up.
 *
 * Idea
 *   The sender may have cwnd + dwnd in flight. cwnd follows Reno. dwnd, the delay window, grows by a power of the whole window per
 *   round-trip time while fewer than gamma packets seem to wait in queues, and shrinks by that number once more do. So a long
 *   fat path is filled quickly, and on a full one what remains is Reno.
 *
 * Sources
 *   K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-speed and Long Distance Networks", 2005 and INFOCOM
 *   2006; draft-sridharan-tcpm-ctcp-02; profile linux: tcp_compound.c by A. P. Castellani and S. Hemminger, for Linux 2.6. The
 *   Rust forms are crates/cc/src/algorithms/compound.rs (real numbers) and crates/cc/src/algorithms/compound/linux.rs (whole ones).
 *
 * State
 *   symbol                                        field               unit
 *   win = cwnd + dwnd                             snd_cwnd            segments
 *     its part of a segment                       fraction            2^-32 segment
 *     as it was left here                         seen                segments
 *   dwnd; what the last round adds to it          dwnd, owed          2^-32 segment; whole segments in profile linux
 *   dwnd and win before the last reduction        saved, before       2^-32 segment
 *   win after it, which is ssthresh               half                2^-32 segment
 *   gamma, diff_reno                              gamma, diff_reno    2^-32 segment
 *   baseRTT, minRTT, cntRTT                       base, min, samples  microseconds, microseconds, count
 *   where the round ends, where it began          end, left           sequence number
 *   cwnd, snd_cwnd_cnt of the Linux module        cwnd, counted       segments, ACKs
 *
 * Differences
 *   Profiles: 0 draft (default), 1 linux; the table is in the Rust file. Of the kernel's making are these:
 *   - Segments are counted, not octets. What cwnd cannot hold of a window is kept beside it, so nothing is lost by rounding.
 *   - The kernel hands over what an ACK delivered, by SACK too; the draft counts what it acknowledged.
 *   - During fast recovery the kernel leads the window down to ssthresh (PRR) and asks us nothing.
 *   - After a timeout cwnd is what is still in flight and one segment, not always one segment.
 *   - Round-trip times are in whole microseconds.
 *
 * Limits
 *   Windows above 2^20 segments count as so many. Those of the Rust files.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust ones, both profiles, several gamma.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(profile, 0);
PARAM(gamma, 30 * MILLION);
PARAM(gamma_tuning, 1);
PARAM(low_window, 38 * MILLION);

/* One segment in the unit of windows. */
#define ONE (1ULL << 32)
/* The largest window that the arithmetic holds, in segments. */
#define MOST ((1ULL << 20) - 1)
/* Bounds of a tuned gamma, in segments. */
#define GAMMA_LEAST (5 * ONE)
#define GAMMA_MOST (30 * ONE)
/* A round is judged by three samples or more. */
#define ENOUGH 3
#define NONE 0xffffffffU

struct compound {
	u64 gamma;
	u64 diff_reno;
	u64 dwnd;
	u64 owed;
	u64 saved;
	u64 before;
	u64 half;
	u32 fraction;
	u32 seen;
	u32 measured;
	u32 base;
	u32 min;
	u32 samples;
	u32 end;
	u32 left;
	u32 cwnd;
	u32 counted;
};
_Static_assert(sizeof(struct compound) <= ICSK_CA_PRIV_SIZE, "state must fit into icsk_ca_priv");
STATE(struct compound, fraction);
STATE(struct compound, dwnd);
STATE(struct compound, owed);
STATE(struct compound, gamma);

narrows_inline bool is_linux(void)
{
	return param_profile == 1;
}

/* A parameter in millionths of a segment, in the unit of windows. */
narrows_inline u64 windows(u64 millionths)
{
	return millionths / MILLION * ONE + millionths % MILLION * ONE / MILLION;
}

narrows_inline u64 window(const struct tcp_sock *tp, const struct compound *ca)
{
	return clamp_u64(tp->snd_cwnd, 1, MOST) * ONE + ca->fraction;
}

narrows_inline void set_window(struct tcp_sock *tp, struct compound *ca, u64 to)
{
	tp->snd_cwnd = min_u64(to / ONE, tp->snd_cwnd_clamp);
	ca->seen = tp->snd_cwnd;
	ca->fraction = (u32)to;
}

/* Where the kernel set cwnd meanwhile (after an idle time, say), it set whole segments. */
narrows_inline void look(const struct tcp_sock *tp, struct compound *ca)
{
	if (tp->snd_cwnd != ca->seen)
		ca->fraction = 0;
}

/* ssthresh, with the part of a segment that the halved window had where it is ssthresh. */
narrows_inline u64 threshold(const struct tcp_sock *tp, const struct compound *ca)
{
	if (tp->snd_ssthresh == ca->half / ONE)
		return ca->half;
	return tp->snd_ssthresh * ONE;
}

/* Begins a round that ends when what has been sent so far is acknowledged. */
narrows_inline void begin(const struct tcp_sock *tp, struct compound *ca)
{
	ca->end = tp->snd_nxt;
	ca->left = tp->snd_una;
	ca->min = NONE;
	ca->samples = 0;
}

SEC("struct_ops/compound_init")
void BPF_PROG(compound_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct compound *ca = inet_csk_ca(sk);

	ca->gamma = windows(param_gamma);
	ca->diff_reno = 0;
	ca->measured = 0;
	ca->dwnd = 0;
	ca->owed = 0;
	ca->saved = 0;
	ca->before = 0;
	ca->half = 0;
	ca->fraction = 0;
	ca->seen = tp->snd_cwnd;
	ca->base = NONE;
	ca->cwnd = tp->snd_cwnd;
	ca->counted = 0;
	begin(tp, ca);
}

SEC("struct_ops/compound_pkts_acked")
void BPF_PROG(compound_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct compound *ca = inet_csk_ca(sk);
	s32 measured = sample->rtt_us;
	u32 rtt;

	if (measured < 0)
		return;
	/* The module's one more, so that none is zero. */
	rtt = (u32)measured + (is_linux() ? 1 : 0);
	if (rtt < ca->base)
		ca->base = rtt;
	if (rtt < ca->min)
		ca->min = rtt;
	ca->samples++;
}

/* Whether the round's times can be judged. */
narrows_inline bool judged(const struct compound *ca)
{
	return ca->base != NONE && ca->min != NONE && ca->samples >= ENOUGH;
}

/* x to the power of 3/4, both in the unit of windows: 44 and then 52 bits after the point under the roots. */
narrows_inline u64 three_quarter_power(u64 x)
{
	u64 root = sqrt_u64(x << 12);

	return (root * sqrt_u64(root << 30)) >> 16;
}

/* Draft: once per round, moves dwnd by what the round says of queues. */
narrows_inline void draft_round(struct tcp_sock *tp, struct compound *ca, bool limited)
{
	u64 total = window(tp, ca), diff;
	u32 queued;

	if (!judged(ca))
		return;
	queued = ca->min - ca->base;
	diff = share_u64(total, queued, ca->min);
	ca->diff_reno = share_u64(less_u64(total, ca->dwnd), queued, ca->min);
	ca->measured = 1;
	if (diff >= ca->gamma) {
		u64 less = min_u64(diff, ca->dwnd);

		ca->owed = 0;
		ca->dwnd -= less;
		set_window(tp, ca, max_u64(less_u64(total, less), ONE));
	} else if (total >= windows(param_low_window) && limited) {
		/* alpha is 1/8. */
		ca->owed = less_u64(three_quarter_power(total) / 8, ONE);
	}
}

narrows_inline void draft_ack(struct tcp_sock *tp, struct compound *ca, u32 segments, bool limited)
{
	u64 acked = min_u64(segments, MOST) * ONE, until = threshold(tp, ca), cwnd;

	look(tp, ca);
	cwnd = window(tp, ca);
	/* Something else may have cut the window; at least a segment of it is Reno's. */
	ca->dwnd = min_u64(ca->dwnd, less_u64(cwnd, ONE));
	if (cwnd < until) {
		u64 used = min_u64(min_u64(acked, ONE), until - cwnd);

		if (!limited)
			return;
		ca->dwnd = 0;
		ca->owed = 0;
		acked = min_u64(acked, ONE) - used;
		cwnd += used;
	}
	if (limited) {
		/* Reno: a segment for a window. The quotient has 28 bits after the point. */
		cwnd += ((min_u64(acked, cwnd) >> 16) << 28) / (cwnd >> 16) << 4;
		set_window(tp, ca, cwnd);
	}
	if (after(tp->snd_una, ca->end)) {
		if (window(tp, ca) >= threshold(tp, ca))
			draft_round(tp, ca, limited);
		begin(tp, ca);
	}
	if (limited) {
		u64 paid = min_u64(ca->owed, acked);

		ca->owed -= paid;
		ca->dwnd += paid;
		set_window(tp, ca, window(tp, ca) + paid);
	}
}

#include "compound_linux.h"

SEC("struct_ops/compound_cong_avoid")
void BPF_PROG(compound_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct compound *ca = inet_csk_ca(sk);
	bool limited = tcp_is_cwnd_limited(sk);

	if (!acked)
		return;
	if (is_linux())
		linux_ack(tp, ca, limited);
	else
		draft_ack(tp, ca, acked, limited);
}

/* Draws gamma half-way to 3/4 of Reno's part of the queue. */
narrows_inline void tune(struct compound *ca)
{
	if (param_gamma_tuning && ca->measured)
		ca->gamma = clamp_u64((ca->gamma + ca->diff_reno / 4 * 3) / 2, GAMMA_LEAST, GAMMA_MOST);
}

SEC("struct_ops/compound_ssthresh")
u32 BPF_PROG(compound_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct compound *ca = inet_csk_ca(sk);
	u64 total;

	ca->owed = 0;
	if (is_linux()) {
		u32 half = max_u64(tp->snd_cwnd >> 1, 2);

		ca->counted = 0;
		split(ca, min_u64(tp->snd_cwnd, half));
		return half;
	}
	look(tp, ca);
	total = window(tp, ca);
	ca->saved = ca->dwnd;
	ca->before = total;
	tune(ca);
	/* win / 2 less half of cwnd is half of dwnd. */
	ca->dwnd /= 2;
	ca->half = max_u64(total / 2, 2 * ONE);
	/* Recovery leads cwnd to the whole segments of it. */
	ca->fraction = (u32)ca->half;
	ca->seen = ca->half / ONE;
	return ca->half / ONE;
}

SEC("struct_ops/compound_set_state")
void BPF_PROG(compound_set_state, struct sock *sk, u8 new_state)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct compound *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss) {
		ca->fraction = 0;
		ca->owed = 0;
		ca->counted = 0;
		if (is_linux())
			split(ca, tp->snd_cwnd);
		else
			ca->dwnd = 0;
	} else if (is_linux() && new_state == TCP_CA_Open &&
		   BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state) > TCP_CA_Disorder) {
		begin(tp, ca);
	}
}

SEC("struct_ops/compound_cwnd_event")
void BPF_PROG(compound_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct compound *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_TX_START && is_linux()) {
		ca->base = NONE;
		ca->dwnd = 0;
		ca->owed = 0;
		ca->cwnd = tp->snd_cwnd;
		begin(tp, ca);
	}
}
TX_START_HOOK(compound)

/* The last reduction was for nothing: back to the larger of now and before. */
SEC("struct_ops/compound_undo_cwnd")
u32 BPF_PROG(compound_undo_cwnd, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct compound *ca = inet_csk_ca(sk);
	u64 back;

	if (is_linux())
		return max_u64(tp->snd_cwnd, tp->prior_cwnd);
	look(tp, ca);
	back = window(tp, ca);
	ca->dwnd = ca->saved;
	/* Where something else cut cwnd before the loss, the kernel's memory of it is not ours. */
	if (tp->prior_cwnd == ca->before / ONE)
		back = max_u64(back, ca->before);
	else if (tp->prior_cwnd > tp->snd_cwnd)
		back = min_u64(tp->prior_cwnd, MOST) * ONE;
	ca->fraction = (u32)back;
	ca->seen = back / ONE;
	return back / ONE;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops compound = {
	.init = (void *)compound_init,
	.pkts_acked = (void *)compound_pkts_acked,
	.cong_avoid = (void *)compound_cong_avoid,
	.ssthresh = (void *)compound_ssthresh,
	.set_state = (void *)compound_set_state,
	.cwnd_event = (void *)compound_cwnd_event,
	.cwnd_event_tx_start = (void *)compound_cwnd_event_tx_start,
	.undo_cwnd = (void *)compound_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "compound",
};
