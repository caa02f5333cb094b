/* SPDX-License-Identifier: GPL-2.0 */
/* ngwa.bpf.c for tests. */
#define NARROWS_NATIVE
#include "../ngwa.bpf.c"

/* ---- what tests call ---- */

int narrows_ingress(u8 *bytes, u32 len, u32 segments)
{
	return narrows_show(ngwa_ingress, bytes, len, segments);
}

int narrows_egress(u8 *bytes, u32 len, u32 segments)
{
	return narrows_show(ngwa_egress, bytes, len, segments);
}

/* A connection: values taken, malformed ones, the value that rules and whether there is one; probes; fields lowered; the
 * smallest window advertised and the largest; the mean in units of 2^-24. 0 where there is none. */
int narrows_counters(const struct narrows_flow *key, u64 out[9])
{
	const struct ngwa_flow *f = bpf_map_lookup_elem(&ngwa_flows, key);

	memset(out, 0, 9 * sizeof(*out));
	if (!f)
		return 0;
	out[0] = f->in.taken;
	out[1] = f->in.ignored;
	out[2] = f->in.window;
	out[3] = f->in.told;
	out[4] = f->in.probes;
	out[5] = f->out.capped;
	out[6] = f->out.least;
	out[7] = f->out.largest;
	out[8] = f->in.mean;
	return 1;
}

/* The window of the sender without a congestion window: cwnd and ssthresh after an ACK in which both were small. */
void control_open(u64 out[2])
{
	struct tcp_sock tp = { .snd_cwnd = 1, .snd_ssthresh = 2 };
	struct rate_sample rs = { 0 };

	ngwa_none_cong_control((struct sock *)&tp, 0, 0, &rs);
	out[0] = tp.snd_cwnd;
	out[1] = tp.snd_ssthresh;
}
