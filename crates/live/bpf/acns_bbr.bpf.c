// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over the kernel's BBR: the congestion control of acns.bpf.c with the functions of tcp_bbr.c as its base.
 *
 * Sources
 *   acns.bpf.c; N. Cardwell and others, net/ipv4/tcp_bbr.c.
 *
 * Differences
 *   - BBR sets the window in every phase (cong_control), so a fallback reduces in recovery too. A held window stays what it is also
 *     where BBR would reduce it, as in its probe of the round-trip time. The pacing rate stays BBR's own: a frozen flow may
 *     send at another rate, within its window.
 *   - BBR itself does not answer a loss, so a loss taken for a channel error differs from another by the trend alone.
 *
 * Limits
 *   Linux 6.10 or later, where cong_control takes the ACK and its flags.
 */
#include "acns_state.h"

char _license[] SEC("license") = "GPL";

#define ACNS_RULES_RECOVERY true

narrows_inline void acns_base_init(struct sock *sk, u32 base)
{
	bbr_init(sk);
}

narrows_inline void acns_base_in_ack_event(struct sock *sk, u32 flags, u32 base)
{
}

narrows_inline u32 acns_base_ssthresh(struct sock *sk, u32 base)
{
	return bbr_ssthresh(sk);
}

narrows_inline void acns_base_set_state(struct sock *sk, u8 new_state, u32 base)
{
	bbr_set_state(sk, new_state);
}

narrows_inline void acns_base_cwnd_event(struct sock *sk, enum tcp_ca_event event, u32 base)
{
	NARROWS_TELL(bbr_cwnd_event, sk, event);
}

narrows_inline u32 acns_base_undo_cwnd(struct sock *sk, u32 base)
{
	return bbr_undo_cwnd(sk);
}

/* BBR computes each window from its model and the one before. */
narrows_inline void acns_base_window_set(struct sock *sk, u32 base)
{
}

#define ACNS_NO_GROWTH
#include "acns_control.h"

ACNS_HOOKS(bbr, 0)

/* An ACK: BBR's model goes on, and where a command holds the window, the window does not. */
SEC("struct_ops")
void BPF_PROG(acns_bbr_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct acns_sender *s = acns_sender(sk, 0);
	struct acns_flow *f = acns_flow_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tp->snd_cwnd;
	u8 state = BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);

	if (s && !s->rounds)
		acns_note_round(tp, s);
	bbr_main(sk, ack, flag, rs);
	if (s && f && param_obey && s->ruling >= ACNS_FREEZE) {
		f->done.held++;
		tp->snd_cwnd = cwnd;
	}
	if (s && state != TCP_CA_CWR && state != TCP_CA_Recovery)
		acns_note_round(tp, s);
}

SEC("struct_ops")
u32 BPF_PROG(acns_bbr_sndbuf_expand, struct sock *sk)
{
	return bbr_sndbuf_expand(sk);
}

SEC("struct_ops")
u32 BPF_PROG(acns_bbr_min_tso_segs, struct sock *sk)
{
	return bbr_min_tso_segs(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops acns_bbr = {
	ACNS_HOOKS_OF(bbr),
	.cong_control = (void *)acns_bbr_cong_control,
	.sndbuf_expand = (void *)acns_bbr_sndbuf_expand,
	.min_tso_segs = (void *)acns_bbr_min_tso_segs,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "acns_bbr",
};
