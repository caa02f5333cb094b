// SPDX-License-Identifier: GPL-2.0
/*
 * Agile-SD: Reno with a small decrease, and an increase that is faster the further the window is below its last loss.
 *
 * Idea
 *   On short fat paths with shallow buffers time is lost in getting back to the window that was lost. Agile-SD gives up little
 *   (5 or 10 %), and comes back convexly: the agility factor lambda starts at lambda_max segments per round-trip time right
 *   after the loss and falls linearly with the distance still to go, to 1 at the window of the loss. From there on it is Reno.
 *
 * Sources
 *   M. A. Alrshah, M. Othman, B. Ali, Z. M. Hanapi, "Agile-SD: A Linux-based TCP congestion control algorithm for supporting
 *   high-speed and short-distance networks", JNCA 55, 2015 (equations 1 to 6, algorithm 1, figure 3); the authors' Linux module
 *   agilesd, version 1.0 (profile module). The Rust form is crates/cc/src/algorithms/agile_sd.rs: the same rules in real numbers.
 *
 * State
 *   symbol                                        field        unit
 *   cwnd                                          snd_cwnd     segments
 *     its part of a segment                       fraction     2^-32 segment
 *   cwnd_loss, cwnd just before the reduction     loss         2^-16 segment
 *   cwnd_degraded, cwnd just after it             degraded     2^-16 segment
 *   ssthresh as it was set here                   until        2^-16 segment
 *   lambda, equation 1                            lambda       millionths of a segment per round-trip time
 *   frac_tracer of the module                     parts        millionths of a segment
 *   cwnd as it was left here                      seen         2^-16 segment
 *   initial window of the connection              initial      segments
 *
 * Differences
 *   Profiles: 0 paper (default), 1 module; the table is in the Rust file. Of the kernel's making are these:
 *   - Segments are counted, not octets. What cwnd cannot hold of a window is kept beside it, so nothing is lost by rounding.
 *   - The kernel hands over what an ACK delivered, by SACK too; the paper counts what it acknowledged.
 *   - During fast recovery the kernel leads the window down to ssthresh (PRR) and asks us nothing; so ssthresh is the degraded
 *     window itself until recovery is over, and below it from then on.
 *   - After a timeout the kernel leaves what is in flight and one segment; where the paper's initial window is more, it is set right
 *     afterwards.
 *
 * Limits
 *   Windows above 2^20 segments count as so many. lambda_max is at most 100.
 *   The initial window is that of the connection if nothing was sent before the algorithm was chosen, else 10 segments.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one, both profiles, several lambda_max
 *   (`agile_sd_paper_has_the_windows_of_the_rust_form`, `agile_sd_module_..`), and the module's windows after a loss at 1000.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

PARAM(profile, 0);
PARAM(lambda_max, 3 * MILLION);
PARAM(beta1, 900000);
PARAM(beta2, 0);

/* One segment in the unit of windows. */
#define ONE (1ULL << 16)
/* The largest window that the arithmetic holds, in segments. */
#define MOST ((1ULL << 20) - 1)
/* The module counts in thousandths. */
#define THOUSAND 1000ULL

struct agile_sd {
	u64 loss;
	u64 degraded;
	u64 until;
	u64 seen;
	u32 fraction;
	u32 parts;
	u32 lambda;
	u32 initial;
};
_Static_assert(sizeof(struct agile_sd) <= ICSK_CA_PRIV_SIZE, "state must fit into icsk_ca_priv");
STATE(struct agile_sd, fraction);
STATE(struct agile_sd, lambda);
STATE(struct agile_sd, parts);

narrows_inline bool is_module(void)
{
	return param_profile == 1;
}

/* cwnd with its part of a segment. */
narrows_inline u64 window(const struct tcp_sock *tp, const struct agile_sd *ca)
{
	return clamp_u64(tp->snd_cwnd, 1, MOST) * ONE + (ca->fraction >> 16);
}

/* Where the kernel set cwnd meanwhile (after an idle time, say), it set whole segments. */
narrows_inline void look(const struct tcp_sock *tp, struct agile_sd *ca)
{
	if (clamp_u64(tp->snd_cwnd, 1, MOST) != ca->seen / ONE)
		ca->fraction = 0;
}

/* ssthresh, with its part of a segment where it was set here. */
narrows_inline u64 threshold(const struct tcp_sock *tp, const struct agile_sd *ca)
{
	if (tp->snd_ssthresh == ca->until / ONE)
		return ca->until;
	return tp->snd_ssthresh * ONE;
}

narrows_inline void set_window(struct tcp_sock *tp, struct agile_sd *ca, u64 to)
{
	tp->snd_cwnd = to / ONE;
	ca->fraction = (u32)(to % ONE) << 16;
}

SEC("struct_ops/agile_sd_init")
void BPF_PROG(agile_sd_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct agile_sd *ca = inet_csk_ca(sk);

	ca->loss = 0;
	ca->degraded = 0;
	ca->until = 0;
	ca->fraction = 0;
	ca->parts = 0;
	ca->lambda = MILLION;
	ca->initial = tp->data_segs_out ? TCP_INIT_CWND : tp->snd_cwnd;
	ca->seen = window(tp, ca);
}

/* Equations 1 to 3, in millionths. */
narrows_inline u64 agility(u64 lambda_max, u64 loss, u64 degraded, u64 cwnd, u64 one)
{
	u64 total = max_u64(less_u64(loss, degraded), one);

	return clamp_u64(lambda_max * less_u64(loss, cwnd) / total, MILLION, lambda_max);
}

/* cwnd += lambda / cwnd for each segment acknowledged; acked in 2^-16 segment. */
narrows_inline void avoid(struct tcp_sock *tp, struct agile_sd *ca, u64 acked)
{
	u64 cwnd = window(tp, ca);
	u64 each, step;

	ca->lambda = agility(max_u64(param_lambda_max, MILLION), ca->loss, ca->degraded, cwnd, ONE);
	/* lambda / cwnd in 2^-32 segment for a segment acknowledged. */
	each = ((((u64)ca->lambda << 32) / cwnd) << 16) / MILLION;
	acked = min_u64(acked, cwnd);
	/* Never faster than slow start, whatever lambda_max was asked for. */
	step = min_u64((each * (acked / ONE)) + ((each * (acked % ONE)) >> 16), acked << 16);
	step += ca->fraction;
	tp->snd_cwnd = min_u64(tp->snd_cwnd + (step >> 32), tp->snd_cwnd_clamp);
	ca->fraction = (u32)step;
}

narrows_inline void paper_ack(struct tcp_sock *tp, struct agile_sd *ca, u32 segments)
{
	u64 acked = min_u64(segments, MOST) * ONE;
	u64 cwnd = window(tp, ca), until = threshold(tp, ca);

	if (cwnd < until) {
		/* RFC 5681, section 3.1: one segment for an ACK at most; the rest of it that ssthresh leaves is avoidance's. */
		u64 used = min_u64(min_u64(acked, ONE), until - cwnd);

		acked = min_u64(acked, ONE) - used;
		set_window(tp, ca, min_u64(cwnd + used, (u64)tp->snd_cwnd_clamp * ONE));
	}
	if (acked)
		avoid(tp, ca, acked);
}

/* The authors' module: whole segments, thousandths, ACKs counted and not segments. */
narrows_inline void module_ack(struct tcp_sock *tp, struct agile_sd *ca, u32 acked)
{
	u64 cwnd = clamp_u64(tp->snd_cwnd, 1, MOST);
	u64 lambda_max = max_u64((param_lambda_max + THOUSAND / 2) / THOUSAND, THOUSAND);
	u64 loss = ca->loss / ONE, total = max_u64(less_u64(loss, ca->degraded / ONE), 1), lambda;

	if (tcp_in_slow_start(tp)) {
		/* What is left of the ACK is not passed on to congestion avoidance. */
		tp->snd_cwnd = min_u64(min_u64(cwnd + acked, tp->snd_ssthresh), tp->snd_cwnd_clamp);
		return;
	}
	lambda = clamp_u64(lambda_max * less_u64(loss, cwnd) / total, THOUSAND, lambda_max);
	ca->lambda = lambda * THOUSAND;
	ca->parts += lambda * THOUSAND / cwnd;
	if (ca->parts >= MILLION) {
		ca->parts -= MILLION;
		tp->snd_cwnd = min_u64(cwnd + 1, tp->snd_cwnd_clamp);
	}
}

SEC("struct_ops/agile_sd_cong_avoid")
void BPF_PROG(agile_sd_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct agile_sd *ca = inet_csk_ca(sk);

	look(tp, ca);
	if (acked && tcp_is_cwnd_limited(sk)) {
		if (is_module())
			module_ack(tp, ca, acked);
		else
			paper_ack(tp, ca, acked);
	}
	ca->seen = window(tp, ca);
}

/* A loss, an ECN echo or a timeout: notes cwnd before and after, and says where it shall end. */
SEC("struct_ops/agile_sd_ssthresh")
u32 BPF_PROG(agile_sd_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct agile_sd *ca = inet_csk_ca(sk);
	u64 beta = param_beta2;
	u64 cwnd;

	look(tp, ca);
	cwnd = window(tp, ca);
	if (cwnd < threshold(tp, ca))
		beta = param_beta1;
	else if (!beta)
		beta = is_module() ? 900000 : 950000;
	ca->loss = cwnd;
	ca->parts = 0;
	if (is_module())
		ca->degraded = max_u64((cwnd / ONE) * ((beta + THOUSAND / 2) / THOUSAND) / THOUSAND, 2) * ONE;
	else
		ca->degraded = max_u64(cwnd * beta / MILLION, 2 * ONE);
	/* Recovery leads cwnd to the whole segments of it. */
	ca->fraction = (u32)(ca->degraded % ONE) << 16;
	ca->seen = ca->degraded;
	ca->until = ca->degraded;
	return ca->degraded / ONE;
}

/*
 * Recovery has brought cwnd to ssthresh, which now goes below it. Where ssthresh is not what we said, the reduction was undone.
 * The kernel enters the state Open before it sets cwnd, so this event is the first that may touch ssthresh.
 */
narrows_inline void complete(struct tcp_sock *tp, struct agile_sd *ca)
{
	if (is_module() || tp->snd_ssthresh != ca->degraded / ONE)
		return;
	ca->until = max_u64(less_u64(ca->degraded, ONE), 2 * ONE);
	tp->snd_ssthresh = ca->until / ONE;
}

SEC("struct_ops/agile_sd_cwnd_event")
void BPF_PROG(agile_sd_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct agile_sd *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_COMPLETE_CWR)
		complete(tcp_sk(sk), ca);
	else if (event == CA_EVENT_LOSS)
		/* A timeout: the restart is from cwnd before the reduction where that is below the initial window. */
		ca->seen = ca->loss;
}

SEC("struct_ops/agile_sd_set_state")
void BPF_PROG(agile_sd_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct agile_sd *ca = inet_csk_ca(sk);
	u64 back;

	if (new_state != TCP_CA_Loss)
		return;
	/* The kernel left what is in flight and one segment: up to the initial window, from where slow start goes on. */
	back = min_u64(ca->seen, clamp_u64(ca->initial, 1, MOST) * ONE);
	ca->fraction = 0;
	if (!is_module() && back > window(tp, ca))
		set_window(tp, ca, back);
	ca->seen = window(tp, ca);
}

/* The last reduction was for nothing: back to the larger of now and before. */
SEC("struct_ops/agile_sd_undo_cwnd")
u32 BPF_PROG(agile_sd_undo_cwnd, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct agile_sd *ca = inet_csk_ca(sk);
	u64 back;

	look(tp, ca);
	back = window(tp, ca);
	/* Where something else cut cwnd before the loss, the kernel's memory of it is not ours. */
	if (tp->prior_cwnd == ca->loss / ONE)
		back = max_u64(back, ca->loss);
	else if (tp->prior_cwnd > tp->snd_cwnd)
		back = min_u64(tp->prior_cwnd, MOST) * ONE;
	ca->fraction = (u32)(back % ONE) << 16;
	ca->seen = back;
	return back / ONE;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops agile_sd = {
	.init = (void *)agile_sd_init,
	.cong_avoid = (void *)agile_sd_cong_avoid,
	.ssthresh = (void *)agile_sd_ssthresh,
	.cwnd_event = (void *)agile_sd_cwnd_event,
	.set_state = (void *)agile_sd_set_state,
	.undo_cwnd = (void *)agile_sd_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "agile_sd",
};
