// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS, the Advanced Congestion Notification System, at an end point: packet programs for a host's device, and the
 * congestion control of its senders.
 *
 * Idea
 *   Routers tell each flow, by way of its receiver, to go on, to freeze its window, or to fall back to its latest
 *   smaller one. On a loss the sender judges by the commands it received lately whether the loss meant congestion
 *   at all.
 *
 * Sources
 *   M. Hruby, M. Olsovsky, M. Kotocova, "A Novel Technique for TCP based Congestion Control", DCNET 2013; M.
 *   Olsovsky, "Advanced notification system for TCP performance increase", Bulletin of the ACM Slovakia 5(2), 2013.
 *   The same algorithm in Rust: crates/scheme/src/acns. Rules without packets and sockets: acns_rules.h.
 *
 * State
 *   acns_flows      a connection at one of its ends (struct acns_flow): bits seen and told, asks, advice, counters
 *   acns_senders    in a socket: the ruling command, the history of the window, the trend (struct acns_sender)
 *                   Both are in acns_state.h.
 *
 *   leaves:  acns_egress   SYN: setup bits | new data: I2 to I5 | ACK: T1 to T6
 *   arrives: acns_ingress  I6, I7: noted for the next ACK | T5, T6: advice for the sender | all bits cleared
 *   in TCP:  in_ack_event takes the advice, before the ACK grows or reduces anything; cong_avoid withholds growth;
 *            ssthresh judges a loss
 *
 * Differences
 *   - The handshake is the papers': the kernel writes none of its bits, so acns_egress puts them on the SYN of a
 *     socket whose congestion control is ours (by its name, in acns_names) and on the SYN-ACK that answers such a
 *     SYN; acns_ingress takes them off, so that the kernel never takes them for an offer of ECN. A host supports
 *     ACNS where the programs are attached. What is left of a plain ECN answer is the kernel's: ECN is used where
 *     the socket offered it itself.
 *   - Over kernel CUBIC (acns_cubic) and kernel Reno (acns_reno) here; over kernel BBR, Agile-SD and Compound in acns_BASE.bpf.c.
 *     Of the kernel's controls eBPF can call no others but DCTCP, whose bits of ECN are ACNS's. Windows count segments.
 *   - The kernel asks for the slow-start threshold before it says whether a timeout or duplicates showed the loss.
 *     So each loss is judged, and a timeout takes the judgement back when it shows itself (set_state), which is
 *     what the base would have done alone.
 *   - After a loss taken for a channel error the kernel's recovery runs towards the old window and not a smaller
 *     one; the threshold is put back at its end.
 *   - Whether another segment can follow at once (and so whether this one asks) is by data, cwnd and the peer's
 *     window; that a small last segment waits (Nagle), or that pacing delays the next, is not asked for.
 *   - While the window is held, CUBIC is not called at all: as in its profile `linux`, its curve's clock runs on.
 *   - A packet that the stack hands down to be cut into segments by the device carries one message for all of them;
 *     where the device takes single segments (ip link set DEV gso_max_segs 1) each has its own.
 *   - In IPv6 an asking segment is 8 bytes longer where the option carries CMI; user space makes room for it by a smaller
 *     maximum segment size.
 *
 * Limits
 *   trend_count at most 63. A connection that is older than the programs is left alone. The table of connections
 *   holds 4096, and the longest unused leave it first.
 *
 * Vectors
 *   crates/live/tests/acns_packets.rs, acns_control.rs.
 */
#include "acns_state.h"

char LICENSE[] SEC("license") = "GPL";

/* Whether each ACK's command is obeyed on its own (1), or that of the segment that asked until the next answer (0). */
PARAM(command_scope, 0);
/* How CMI is carried in IPv6: an option (0) or the flow label (1). */
PARAM(ipv6, 0);
/* Under which names sockets know the congestion controls of ACNS, of this object and others; empty names are none. */
const volatile char acns_names[ACNS_NAMES][16] = { "acns_cubic", "acns_reno" };

/* ---- packets ---- */

/* CMI, the bit that tells apart messages with one ECN field. */
narrows_inline bool acns_cmi(const struct packet *p)
{
	if (!p->v6)
		return p->fragment & 0x8000;
	if (param_ipv6)
		return p->first & ACNS_LABEL_CMI;
	return p->hop_kind == ACNS_OPTION && p->hop_data & ACNS_OPTION_CMI;
}

/* Writes CMI. Where another scheme's option is in the way, or the packet cannot grow by one, CMI stays 0. */
narrows_inline void acns_set_cmi(struct __sk_buff *skb, struct packet *p, bool cmi)
{
	if (!p->v6) {
		packet_set_reserved(skb, p, cmi);
	} else if (param_ipv6) {
		u32 kept = p->first & (~(u32)FLOW_LABEL_BITS | ACNS_LABEL);

		packet_set_first_v6(skb, p, cmi ? kept | ACNS_LABEL_CMI : kept);
	} else if (p->hop_kind == ACNS_OPTION) {
		packet_set_hop_data(skb, p, cmi ? p->hop_data | ACNS_OPTION_CMI : p->hop_data & ~ACNS_OPTION_CMI);
	} else if (cmi && !p->hop) {
		packet_add_hop(skb, p, ACNS_OPTION, ACNS_OPTION_CMI);
	}
}

/* The connection, afresh. */
narrows_inline struct acns_flow *acns_new_flow(const struct narrows_flow *key)
{
	struct acns_flow empty = {};

	bpf_map_update_elem(&acns_flows, key, &empty, BPF_ANY);
	return bpf_map_lookup_elem(&acns_flows, key);
}

/* Of a congestion control in the kernel, other than of ours, only the name is read. */
#ifdef NARROWS_NATIVE
#define tcp_congestion_ops___name tcp_congestion_ops
#else
struct tcp_congestion_ops___name {
	char name[16];
} NARROWS_CO_RE;
#endif

/* Whether the socket's congestion control is one of ours. */
narrows_inline bool acns_is_ours(struct tcp_sock *tp)
{
	const struct tcp_congestion_ops___name *ops = (const void *)inet_csk((struct sock *)tp)->icsk_ca_ops;
	char name[16];
	int i, k;

	if (!ops || bpf_probe_read_kernel(name, sizeof(name), ops->name))
		return false;
	for (k = 0; k < ACNS_NAMES; k++) {
		bool same = acns_names[k][0];

		for (i = 0; i < 15; i++) {
			same &= name[i] == acns_names[k][i];
			if (!name[i])
				break;
		}
		if (same)
			return true;
	}
	return false;
}

/* Whether another segment of new data could follow the one that ends at `end` at once: there is data, and the windows
 * allow it. The kernel counts a segment as sent after it has passed here. */
narrows_inline bool acns_more(const struct tcp_sock *tp, u32 end, u32 segments)
{
	u32 in_flight = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	u32 left = tp->write_seq - end;

	if (!after(tp->write_seq, end))
		return false;
	return in_flight + segments < tp->snd_cwnd && !after(end + min_u64(left, tp->mss_cache), tp->snd_una + tp->snd_wnd);
}

/* A SYN or SYN-ACK leaves: the setup bits, where this end offers or accepts. */
narrows_inline void acns_syn_out(struct __sk_buff *skb, struct packet *p, const struct narrows_flow *key,
				 struct tcp_sock *tp)
{
	struct acns_flow *f;

	if (p->word & TCP_ACK) {
		f = bpf_map_lookup_elem(&acns_flows, key);
		if (f && acns_is_on(f) && !f->out.offered)
			packet_set_flags(skb, p, (p->word & ~TCP_CWR) | ACNS_SETUP_SYN_ACK);
		return;
	}
	if (!tp || !acns_is_ours(tp))
		return;
	f = acns_new_flow(key);
	if (!f)
		return;
	f->out.offered = 1;
	packet_set_flags(skb, p, p->word | ACNS_SETUP_SYN);
}

/* Which message the segment's IP header is to carry, and whether a smaller window is to be told. */
narrows_inline enum acns_message acns_mark(struct acns_flow *f, const struct packet *p, struct tcp_sock *tp,
					   u32 segments)
{
	u32 cwnd = tp->snd_cwnd * tp->mss_cache;
	enum acns_message message = ACNS_I1;

	if (p->payload)
		message = acns_on_data_out(f, p->seq, p->payload, cwnd, acns_more(tp, p->seq + p->payload, segments));
	if (cwnd < f->out.cwnd)
		f->out.reduced = 1;
	f->out.cwnd = cwnd;
	return message;
}

SEC("tcx/egress")
int acns_egress(struct __sk_buff *skb)
{
	struct narrows_flow key;
	struct acns_flow *f;
	struct tcp_sock *tp;
	struct packet p;
	enum acns_message message = ACNS_I1;

	if (!packet_read(skb, &p))
		return TCX_NEXT;
	packet_flow(&p, false, &key);
	tp = skb->sk ? bpf_skc_to_tcp_sock(skb->sk) : 0;
	if (p.word & TCP_SYN) {
		acns_syn_out(skb, &p, &key, tp);
		return TCX_NEXT;
	}
	f = bpf_map_lookup_elem(&acns_flows, &key);
	if (!f)
		return TCX_NEXT;
	if (p.word & (TCP_FIN | TCP_RST))
		f->out.ended = 1;
	if (!acns_is_on(f))
		return TCX_NEXT;
	if (tp)
		message = acns_mark(f, &p, tp, skb->gso_segs ? skb->gso_segs : 1);
	if (message != ACNS_I1)
		packet_set_ecn(skb, &p, acns_ect(acns_nonce(p.seq)));
	acns_set_cmi(skb, &p, message == ACNS_ASK);
	if (p.word & TCP_ACK)
		packet_set_flags(skb, &p, (p.word & ~ACNS_TCP_BITS) | acns_echo(&f->in, &f->out, message != ACNS_I1));
	return TCX_NEXT;
}

/* A SYN or SYN-ACK arrives: what it offers or agrees on is noted, and the kernel does not see it. */
narrows_inline void acns_syn_in(struct __sk_buff *skb, struct packet *p, const struct narrows_flow *key)
{
	struct acns_flow *f = bpf_map_lookup_elem(&acns_flows, key);

	if (p->word & TCP_ACK) {
		if (!f || !f->out.offered)
			return;
		if ((p->word & (ACNS_SETUP_SYN_ACK | TCP_CWR)) == ACNS_SETUP_SYN_ACK)
			f->in.agreed = 1;
		/* Without CMT it is an answer to an offer of ECN, which the kernel knows whether it made. */
		if (f->in.agreed)
			packet_set_flags(skb, p, p->word & ~ACNS_SETUP_SYN_ACK);
		return;
	}
	if ((p->word & ACNS_SETUP_SYN) != ACNS_SETUP_SYN)
		return;
	if (!f || !acns_is_on(f)) {
		f = acns_new_flow(key);
		if (!f)
			return;
		f->in.agreed = 1;
	}
	packet_set_flags(skb, p, p->word & ~ACNS_SETUP_SYN);
}

/* The first FIN or RST arrives. A last "normal" lifts a freeze, or a half-closed connection would stay frozen. */
narrows_inline void acns_end_in(struct acns_flow *f)
{
	if (acns_is_on(f) && f->in.advised > ACNS_NORMAL)
		acns_advise(&f->in, ACNS_NORMAL);
	f->in.ended = 1;
}

SEC("tcx/ingress")
int acns_ingress(struct __sk_buff *skb)
{
	struct narrows_flow key;
	struct acns_flow *f;
	struct packet p;
	u32 advice;

	if (!packet_read(skb, &p))
		return TCX_NEXT;
	packet_flow(&p, true, &key);
	if (p.word & TCP_SYN) {
		acns_syn_in(skb, &p, &key);
		return TCX_NEXT;
	}
	f = bpf_map_lookup_elem(&acns_flows, &key);
	if (!f || !f->in.agreed)
		return TCX_NEXT;
	if (p.word & (TCP_FIN | TCP_RST))
		acns_end_in(f);
	if (acns_is_on(f)) {
		if (p.payload)
			acns_on_data_in(&f->in, packet_ecn(&p), acns_cmi(&p));
		if (p.word & TCP_ACK) {
			advice = acns_on_ack_in(f, p.ack, acns_tcp_command(p.word), param_command_scope);
			if (advice != ACNS_NONE)
				acns_advise(&f->in, advice);
		}
	}
	/* Where both agreed, these bits mean nothing to the kernel, also behind the first FIN. */
	packet_set_ecn(skb, &p, 0);
	acns_set_cmi(skb, &p, false);
	packet_set_flags(skb, &p, p.word & ~ACNS_TCP_BITS);
	return TCX_NEXT;
}

/* ---- congestion control ---- */

/* The bases of this object are the kernel's own, which programs can call. */
enum { ACNS_OVER_RENO, ACNS_OVER_CUBIC };
#define ACNS_RULES_RECOVERY false

/* Kernel CUBIC's state in icsk_ca_priv (net/ipv4/tcp_cubic.c): when its curve began; 0 makes it begin again. */
struct bictcp {
	u32 epoch_start;
} NARROWS_CO_RE;

narrows_inline void acns_base_init(struct sock *sk, u32 base)
{
	if (base == ACNS_OVER_CUBIC)
		cubictcp_init(sk);
}

narrows_inline void acns_base_in_ack_event(struct sock *sk, u32 flags, u32 base)
{
}

narrows_inline void acns_base_cong_avoid(struct sock *sk, u32 ack, u32 acked, u32 base)
{
	if (base == ACNS_OVER_CUBIC)
		cubictcp_cong_avoid(sk, ack, acked);
	else
		tcp_reno_cong_avoid(sk, ack, acked);
}

/* While the window is held, CUBIC is not called at all: as in its profile `linux`, its curve's clock runs on. */
narrows_inline void acns_base_held(struct sock *sk, u32 ack, u32 acked, u32 base)
{
}

narrows_inline u32 acns_base_ssthresh(struct sock *sk, u32 base)
{
	return base == ACNS_OVER_CUBIC ? cubictcp_recalc_ssthresh(sk) : tcp_reno_ssthresh(sk);
}

narrows_inline void acns_base_set_state(struct sock *sk, u8 new_state, u32 base)
{
	if (base == ACNS_OVER_CUBIC)
		cubictcp_state(sk, new_state);
}

narrows_inline void acns_base_cwnd_event(struct sock *sk, enum tcp_ca_event event, u32 base)
{
	if (base == ACNS_OVER_CUBIC)
		NARROWS_TELL(cubictcp_cwnd_event, sk, event);
}

narrows_inline u32 acns_base_undo_cwnd(struct sock *sk, u32 base)
{
	return tcp_reno_undo_cwnd(sk);
}

/* CUBIC's curve starts again from the window that was set, and keeps the window of the last loss. */
narrows_inline void acns_base_window_set(struct sock *sk, u32 base)
{
	struct bictcp *ca = inet_csk_ca(sk);

	if (base == ACNS_OVER_CUBIC)
		ca->epoch_start = 0;
}

#include "acns_control.h"

ACNS_HOOKS(cubic, ACNS_OVER_CUBIC)
ACNS_GROWTH(cubic, ACNS_OVER_CUBIC)
ACNS_HOOKS(reno, ACNS_OVER_RENO)
ACNS_GROWTH(reno, ACNS_OVER_RENO)

SEC("struct_ops")
void BPF_PROG(acns_cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubictcp_acked(sk, sample);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops acns_cubic = {
	ACNS_HOOKS_OF(cubic),
	.cong_avoid = (void *)acns_cubic_cong_avoid,
	.pkts_acked = (void *)acns_cubic_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "acns_cubic",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops acns_reno = {
	ACNS_HOOKS_OF(reno),
	.cong_avoid = (void *)acns_reno_cong_avoid,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "acns_reno",
};
