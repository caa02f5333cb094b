// SPDX-License-Identifier: GPL-2.0
/*
 * NGWA, New General Window Advertising, at an end point: packet programs for a host's device, and the sender
 * without a congestion window of the modes 3, 4, 7 and 8.
 *
 * Idea
 *   Routers write into segments how many bytes their queue can take; the receiver puts no more into the window
 *   that it advertises, so that the sender never has more on the way than the tightest queue holds.
 *
 * Sources
 *   M. Talau and E. C. G. Wille, "Available Network Bandwidth Schema to Improve Performance in TCP Protocols",
 *   International Journal of Computer Networks & Communications 5(5), 2013 (equations 2 and 4). The same in Rust:
 *   crates/scheme/src/ngwa; the window's edge: crates/tcp/src/receiver.rs. Rules: ngwa_rules.h.
 *
 * State
 *   ngwa_flows   a connection at one of its ends (struct ngwa_flow): value and mean, the window's edge, counters
 *
 *   arrives: ngwa_ingress  option 33 of a segment: value | SYN: whether the peer scales windows
 *   leaves:  ngwa_egress   SYN: own scale, MSS 8 lower | SYN-ACK and ACK: the window field lowered
 *
 * Differences
 *   - The kernel does not know of the option; its MSS would leave no room for it. So the MSS that our SYN announces
 *     is lowered by 8 on the way out, and the peer's segments leave room (the paper lowers the sender's own).
 *   - A probe of a closed window from a Linux sender carries no data. Where routers write into data alone
 *     (marks = "data"), a window that the network closed would stay closed. The answer to a probe without the option
 *     offers one segment: its option then says how things stand.
 *   - The window of a SYN-ACK is closed if the value is less than the largest segment that our MSS allows. The Rust
 *     connection takes the smaller MSS of both ends.
 *   - The kernel keeps its own window; ours is the smaller of the two. What a sender was offered stays acceptable
 *     to it.
 *   - ngwa_none: Linux has no TCP without fast retransmit and without SACK's recovery, which stay (the paper's
 *     plain TCP knows the timer alone; scenario: fast_retransmit = true). cwnd is held at 131,072 segments after
 *     every ACK, which is more than any window here and what the kernel's arithmetic of buffers stands; a timeout's
 *     cwnd of one is gone with the next ACK.
 *   - IPv6 passes untouched: the option is IPv4's.
 *
 * Limits
 *   A connection that is older than the programs is left alone (its scale is not known). ngwa_none needs Linux
 *   6.10, whose cong_control has four arguments.
 *
 * Vectors
 *   crates/live/tests/ngwa_packets.rs.
 */
#include "options.h"
#include "ngwa_rules.h"

char LICENSE[] SEC("license") = "GPL";

enum {
	NGWA_KIND = 33,
	NGWA_LEN = 6,
	NGWA_OVERHEAD = 8,
	/* The smallest MSS that is lowered: what every host takes (RFC 9293, section 3.7.1). */
	NGWA_LEAST_MSS = 536,
	NGWA_CWND = 1 << 17,
	/* Bytes of the timestamps option, padding included (RFC 7323, appendix A). */
	NGWA_TIMESTAMPS = 12,
};

/* alpha of equation 4, in units of 2^-32. */
PARAM(alpha, 1288490189);
/* Whether values are smoothed: modes 2, 4, 6 and 8. */
PARAM(smoothing, 1);
/* Whether the right edge may move left. */
PARAM(shrink, 0);
/* W_max in bytes; 0 is none. */
PARAM(max_window, 0);

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct narrows_flow);
	__type(value, struct ngwa_flow);
} ngwa_flows SEC(".maps");

narrows_inline struct ngwa_flow *ngwa_flow_of(const struct narrows_flow *key, bool create)
{
	struct ngwa_flow *f = bpf_map_lookup_elem(&ngwa_flows, key);

	if (!f && create) {
		struct ngwa_flow empty = {};

		bpf_map_update_elem(&ngwa_flows, key, &empty, BPF_ANY);
		f = bpf_map_lookup_elem(&ngwa_flows, key);
	}
	return f;
}

/* Window scale option of a SYN: the shift, at most 14 (RFC 7323, section 2.3); negative where there is none. */
narrows_inline int ngwa_scale(struct __sk_buff *skb, const struct packet *p)
{
	int at = packet_option_of(skb, p->tcp + TCP_MIN, p->options_end, TCP_OPTION_WSCALE, 3);
	u8 shift;

	if (at <= 0 || bpf_skb_load_bytes(skb, at + 2, &shift, 1))
		return -1;
	return shift > 14 ? 14 : shift;
}

/* Lowers the MSS that a SYN announces, so that what comes back leaves room for the option, and returns the largest
 * payload that it allows; 0 without an MSS. */
narrows_inline u32 ngwa_lower_mss(struct __sk_buff *skb, const struct packet *p)
{
	int at = packet_option_of(skb, p->tcp + TCP_MIN, p->options_end, TCP_OPTION_MSS, 4);
	__be16 raw;
	u16 mss;

	if (at <= 0 || bpf_skb_load_bytes(skb, at + 2, &raw, 2))
		return 0;
	mss = bpf_ntohs(raw);
	if (mss >= NGWA_LEAST_MSS + NGWA_OVERHEAD) {
		packet_set_tcp(skb, p, at + 2, mss, mss - NGWA_OVERHEAD);
		mss -= NGWA_OVERHEAD;
	}
	/* Each segment carries the timestamps that a SYN-ACK agrees to. */
	at = packet_option_of(skb, p->tcp + TCP_MIN, p->options_end, TCP_OPTION_TIMESTAMP, 10);
	if (at > 0 && mss > NGWA_TIMESTAMPS)
		mss -= NGWA_TIMESTAMPS;
	return mss;
}

narrows_inline void ngwa_syn_out(struct __sk_buff *skb, struct packet *p, struct ngwa_flow *f)
{
	int shift = ngwa_scale(skb, p);
	u64 cap = param_max_window ? param_max_window : 0xffffffff;
	u32 smss;

	f->out.synced = 1;
	f->out.scales = shift >= 0;
	f->out.shift = shift >= 0 ? shift : 0;
	f->out.begun = 0;
	smss = ngwa_lower_mss(skb, p);
	/* W_max bounds the first window too, and so does the value that came with the peer's SYN. */
	if ((p->word & TCP_ACK) && f->in.told) {
		cap = ngwa_cap(&f->in, param_max_window, 0);
		if (cap < smss)
			cap = 0;
	}
	f->out.closed = !cap && p->window;
	if (p->window > cap)
		packet_set_window(skb, p, cap);
	f->out.first = p->window;
	if (p->word & TCP_ACK) {
		f->out.offered = p->ack + p->window;
		f->out.promised = f->out.offered;
		f->out.begun = 1;
	}
}

/* An ACK leaves: how much it is to offer. */
narrows_inline void ngwa_ack_out(struct __sk_buff *skb, struct packet *p, struct ngwa_flow *f)
{
	struct ngwa_out *out = &f->out;
	u32 probes = f->in.probes;
	u64 cap = 0xffffffff;
	u32 window;
	u16 field;

	if (!(out->scales && f->in.peer_scales))
		out->shift = 0;
	if (f->in.told || param_max_window)
		cap = ngwa_cap(&f->in, param_max_window, out->shift & 15);
	if (!cap && probes != out->probes_answered)
		cap = ((u64)f->in.rmss + (1u << (out->shift & 15)) - 1) >> (out->shift & 15) << (out->shift & 15);
	out->probes_answered = probes;
	field = ngwa_field(&f->in, out, p->ack, p->window, cap, param_shrink);
	out->closed = !field && p->window;
	if (field < p->window)
		out->capped++;
	window = (u32)field << (out->shift & 15);
	if (f->in.told) {
		if (!out->largest || window < out->least)
			out->least = window;
		if (window > out->largest)
			out->largest = window;
	}
	packet_set_window(skb, p, field);
}

SEC("tcx/egress")
int ngwa_egress(struct __sk_buff *skb)
{
	struct narrows_flow key;
	struct ngwa_flow *f;
	struct packet p;

	if (!packet_read(skb, &p) || p.v6)
		return TCX_NEXT;
	packet_flow(&p, false, &key);
	f = ngwa_flow_of(&key, p.word & TCP_SYN);
	if (!f)
		return TCX_NEXT;
	if (p.word & TCP_SYN)
		ngwa_syn_out(skb, &p, f);
	else if (f->out.synced && (p.word & (TCP_ACK | TCP_RST)) == TCP_ACK)
		ngwa_ack_out(skb, &p, f);
	return TCX_NEXT;
}

/* A segment arrives: what its option says; false if it has none. */
narrows_inline bool ngwa_heard(struct __sk_buff *skb, const struct packet *p, struct ngwa_in *in)
{
	int at = packet_option_of(skb, IPV4_MIN, p->tcp, NGWA_KIND, NGWA_LEN);
	__be32 value;

	if (p->payload > in->rmss)
		in->rmss = p->payload;
	if (!at)
		return false;
	if (at < 0 || bpf_skb_load_bytes(skb, at + 2, &value, 4)) {
		in->ignored++;
		return true;
	}
	ngwa_on_value(in, bpf_ntohl(value), param_alpha, param_smoothing);
	return true;
}

SEC("tcx/ingress")
int ngwa_ingress(struct __sk_buff *skb)
{
	struct narrows_flow key;
	struct ngwa_flow *f;
	struct packet p;

	if (!packet_read(skb, &p) || p.v6)
		return TCX_NEXT;
	packet_flow(&p, true, &key);
	f = ngwa_flow_of(&key, p.word & TCP_SYN);
	if (!f)
		return TCX_NEXT;
	if (p.word & TCP_SYN) {
		/* A first SYN begins a connection anew; a SYN-ACK answers ours. */
		if (!(p.word & TCP_ACK)) {
			struct ngwa_in empty = {};

			f->in = empty;
		}
		f->in.peer_scales = ngwa_scale(skb, &p) >= 0;
	}
	if (!ngwa_heard(skb, &p, &f->in) && !p.payload && f->out.closed && (p.word & (TCP_ACK | TCP_SYN | TCP_FIN | TCP_RST)) == TCP_ACK && before(p.seq, f->out.offered))
		f->in.probes++;
	return TCX_NEXT;
}

/* ---- the sender without a congestion window ---- */

narrows_inline void ngwa_open(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = NGWA_CWND;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
}

SEC("struct_ops")
void BPF_PROG(ngwa_none_init, struct sock *sk)
{
	ngwa_open(sk);
}

SEC("struct_ops")
void BPF_PROG(ngwa_none_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	ngwa_open(sk);
}

SEC("struct_ops")
u32 BPF_PROG(ngwa_none_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

SEC("struct_ops")
u32 BPF_PROG(ngwa_none_undo_cwnd, struct sock *sk)
{
	return NGWA_CWND;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ngwa_none = {
	.init = (void *)ngwa_none_init,
	.cong_control = (void *)ngwa_none_cong_control,
	.ssthresh = (void *)ngwa_none_ssthresh,
	.undo_cwnd = (void *)ngwa_none_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "ngwa_none",
};
