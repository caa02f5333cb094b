// SPDX-License-Identifier: GPL-2.0
/*
 * HighSpeed TCP: Reno up to 38 segments, and beyond by a table a larger increase and a smaller decrease.
 *
 * Idea
 *   A response function in logarithms joins a window of 38 at a loss rate of 1e-3 and one of 83,000 at 1e-7. The table has a row
 *   for each whole segment of increase.
 *   For kernels without the module: where a kernel has its own, live runs use that.
 *
 * Sources
 *   RFC 3649, sections 5 and appendix B (the table's two rules); profile linux of crates/cc/src/algorithms/highspeed.rs, whose
 *   table this is.
 *
 * State
 *   symbol                                        field           unit
 *   row of the table; the increase is one more     row             -
 *
 * Differences
 *   From the Rust form in profile linux: none in the window.
 *
 * Limits
 *   No limited slow start (RFC 3742), which the registry's default has not either. Windows above 2^25 do not grow.
 *
 * Vectors
 *   crates/live/tests/parity.rs: the same ACKs for this file and the Rust one.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

/* Up to which window a row holds, in segments, and its decrease in 1/256. */
static const struct {
	u32 cwnd;
	u32 md;
} rows[] = {
	{ 38, 128 }, { 118, 112 }, { 221, 104 }, { 347, 98 }, { 495, 93 }, { 663, 89 },
	{ 851, 86 }, { 1058, 83 }, { 1284, 81 }, { 1529, 78 }, { 1793, 76 }, { 2076, 74 },
	{ 2378, 72 }, { 2699, 71 }, { 3039, 69 }, { 3399, 68 }, { 3778, 66 }, { 4177, 65 },
	{ 4596, 64 }, { 5036, 62 }, { 5497, 61 }, { 5979, 60 }, { 6483, 59 }, { 7009, 58 },
	{ 7558, 57 }, { 8130, 56 }, { 8726, 55 }, { 9346, 54 }, { 9991, 53 }, { 10661, 52 },
	{ 11358, 52 }, { 12082, 51 }, { 12834, 50 }, { 13614, 49 }, { 14424, 48 }, { 15265, 48 },
	{ 16137, 47 }, { 17042, 46 }, { 17981, 45 }, { 18955, 45 }, { 19965, 44 }, { 21013, 43 },
	{ 22101, 43 }, { 23230, 42 }, { 24402, 41 }, { 25618, 41 }, { 26881, 40 }, { 28193, 39 },
	{ 29557, 39 }, { 30975, 38 }, { 32450, 38 }, { 33986, 37 }, { 35586, 36 }, { 37253, 36 },
	{ 38992, 35 }, { 40808, 35 }, { 42707, 34 }, { 44694, 33 }, { 46776, 33 }, { 48961, 32 },
	{ 51258, 32 }, { 53677, 31 }, { 56230, 30 }, { 58932, 30 }, { 61799, 29 }, { 64851, 28 },
	{ 68113, 28 }, { 71617, 27 }, { 75401, 26 }, { 79517, 26 }, { 84035, 25 }, { 89053, 24 },
};
#define ROWS 72
#define CLAMP (0xffffffffU / 128)

struct highspeed {
	u32 row;
};
STATE(struct highspeed, row);

/* The decrease of a row. */
narrows_inline u64 decrease(u32 row)
{
	return rows[row < ROWS ? row : ROWS - 1].md;
}

SEC("struct_ops/highspeed_init")
void BPF_PROG(highspeed_init, struct sock *sk)
{
	struct highspeed *ca = inet_csk_ca(sk);

	ca->row = 0;
}

SEC("struct_ops/highspeed_cong_avoid")
void BPF_PROG(highspeed_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct highspeed *ca = inet_csk_ca(sk);
	u32 row = 0;
	int i;

	if (!acked || !tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	/* The first row whose window is not exceeded; the windows rise. */
	for (i = 0; i < ROWS - 1; i++)
		row += tp->snd_cwnd > rows[i].cwnd;
	ca->row = row;
	if (tp->snd_cwnd >= min_u64(CLAMP, tp->snd_cwnd_clamp))
		return;
	tp->snd_cwnd_cnt += row + 1;
	if (tp->snd_cwnd_cnt >= tp->snd_cwnd) {
		tp->snd_cwnd_cnt -= tp->snd_cwnd;
		tp->snd_cwnd++;
	}
}

SEC("struct_ops/highspeed_ssthresh")
u32 BPF_PROG(highspeed_ssthresh, struct sock *sk)
{
	const struct highspeed *ca = inet_csk_ca(sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;

	return max_u64(cwnd - (cwnd * decrease(ca->row) >> 8), 2);
}

SEC("struct_ops/highspeed_undo_cwnd")
u32 BPF_PROG(highspeed_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops highspeed = {
	.init = (void *)highspeed_init,
	.cong_avoid = (void *)highspeed_cong_avoid,
	.ssthresh = (void *)highspeed_ssthresh,
	.undo_cwnd = (void *)highspeed_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "highspeed",
};
