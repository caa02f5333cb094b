/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compound's profile linux: as the out-of-tree module for Linux 2.6 computes it, in whole segments. A part of compound.bpf.c, whose
 * header says what its state means; the Rust form is crates/cc/src/algorithms/compound/linux.rs.
 */
#ifndef NARROWS_COMPOUND_LINUX_H
#define NARROWS_COMPOUND_LINUX_H

/* The largest integer whose fourth power is not above a cubed. */
narrows_inline u64 three_quarters(u64 a)
{
	a = min_u64(a, MOST);
	return sqrt_u64(sqrt_u64(a * a * a));
}

/* Splits a window of so many segments that something else set. */
narrows_inline void split(struct compound *ca, u32 total)
{
	if (ca->cwnd + ca->dwnd > total && (ca->cwnd > total || ca->dwnd > total))
		ca->dwnd = 0;
	ca->dwnd = min_u64(ca->dwnd, total);
	ca->cwnd = total - (u32)ca->dwnd;
}

/* Once per round, moves dwnd by what the round says of queues. */
narrows_inline void linux_round(const struct tcp_sock *tp, struct compound *ca, bool limited)
{
	u64 sent = (u32)(tp->snd_una - ca->left) / max_u64(tp->mss_cache, 1);
	u64 diff;

	if (!judged(ca))
		return;
	/* In halves of a segment. */
	diff = 2 * sent - share_u64(2 * sent, ca->base, ca->min);
	if (diff >= param_gamma / MILLION * 2) {
		ca->owed = 0;
		ca->dwnd = less_u64(2 * ca->dwnd, diff) / 2;
	} else if (limited) {
		ca->owed = less_u64(three_quarters(sent) / 8, 1);
	}
}

narrows_inline void linux_ack(struct tcp_sock *tp, struct compound *ca, bool limited)
{
	u32 total = clamp_u64(tp->snd_cwnd, 1, MOST);

	split(ca, total);
	if (limited) {
		bool slow = ca->cwnd <= tp->snd_ssthresh, full;

		if (!slow && ca->counted < total)
			ca->counted++;
		full = ca->counted >= total;
		if (full)
			ca->counted = 0;
		if (slow || full)
			ca->cwnd++;
		if (!slow && ca->owed) {
			ca->owed--;
			ca->dwnd++;
		}
	}
	if (after(tp->snd_una, ca->end)) {
		linux_round(tp, ca, limited);
		begin(tp, ca);
	}
	tp->snd_cwnd = clamp_u64(ca->cwnd + ca->dwnd, 1, tp->snd_cwnd_clamp);
}

#endif /* NARROWS_COMPOUND_LINUX_H */
