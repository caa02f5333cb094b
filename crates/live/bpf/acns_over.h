/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ACNS over one eBPF congestion control: what acns_control.h asks of a base, from the hooks of BASE.bpf.c.
 *
 * Who includes this file has included BASE.bpf.c and defined, before:
 *   ACNS_BASE                      its name
 *   ACNS_BASE_INIT, _IN_ACK_EVENT, _PKTS_ACKED, _SET_STATE, _CWND_EVENT   where it has the hook
 *   ACNS_BASE_HELD                 with acns_base_held(): while the window is held something goes on
 *   ACNS_BASE_WINDOW_SET           with acns_base_window_set(): a window set from outside is to be told
 */
#ifndef NARROWS_ACNS_OVER_H
#define NARROWS_ACNS_OVER_H

#include "acns_state.h"

#define ACNS_RULES_RECOVERY false
#define ACNS_JOIN_(a, b) a##_##b
#define ACNS_JOIN(a, b) ACNS_JOIN_(a, b)
#define ACNS_BASE_CALL(hook, args...) NARROWS_CALL(ACNS_JOIN(ACNS_BASE, hook), args)
#define ACNS_OWN ACNS_JOIN(acns, ACNS_BASE)
#define ACNS_TEXT_(name) #name
#define ACNS_TEXT(name) ACNS_TEXT_(name)

narrows_inline void acns_base_init(struct sock *sk, u32 base)
{
#ifdef ACNS_BASE_INIT
	ACNS_BASE_CALL(init, sk);
#endif
}

narrows_inline void acns_base_in_ack_event(struct sock *sk, u32 flags, u32 base)
{
#ifdef ACNS_BASE_IN_ACK_EVENT
	ACNS_BASE_CALL(in_ack_event, sk, flags);
#endif
}

narrows_inline void acns_base_cong_avoid(struct sock *sk, u32 ack, u32 acked, u32 base)
{
	ACNS_BASE_CALL(cong_avoid, sk, ack, acked);
}

#ifndef ACNS_BASE_HELD
/* As where an application is the limit, nothing moves. */
narrows_inline void acns_base_held(struct sock *sk, u32 ack, u32 acked, u32 base)
{
}
#endif

narrows_inline u32 acns_base_ssthresh(struct sock *sk, u32 base)
{
	return ACNS_BASE_CALL(ssthresh, sk);
}

narrows_inline void acns_base_set_state(struct sock *sk, u8 new_state, u32 base)
{
#ifdef ACNS_BASE_SET_STATE
	ACNS_BASE_CALL(set_state, sk, new_state);
#endif
}

narrows_inline void acns_base_cwnd_event(struct sock *sk, enum tcp_ca_event event, u32 base)
{
#ifdef ACNS_BASE_CWND_EVENT
	ACNS_BASE_CALL(cwnd_event, sk, event);
#endif
}

narrows_inline u32 acns_base_undo_cwnd(struct sock *sk, u32 base)
{
	return ACNS_BASE_CALL(undo_cwnd, sk);
}

#ifndef ACNS_BASE_WINDOW_SET
/* It sees by itself that the window is another, or does not mind. */
narrows_inline void acns_base_window_set(struct sock *sk, u32 base)
{
}
#endif

#include "acns_control.h"

#define ACNS_HOOKS_(name) ACNS_HOOKS(name, 0) ACNS_GROWTH(name, 0)
#define ACNS_HOOKS_OF_(name) ACNS_HOOKS_OF(name)
ACNS_HOOKS_(ACNS_BASE)

#ifdef ACNS_BASE_PKTS_ACKED
SEC("struct_ops")
void BPF_PROG(acns_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	ACNS_BASE_CALL(pkts_acked, sk, sample);
}
#endif

SEC(".struct_ops.link")
struct tcp_congestion_ops ACNS_OWN = {
	ACNS_HOOKS_OF_(ACNS_BASE),
	.cong_avoid = (void *)ACNS_JOIN(ACNS_OWN, cong_avoid),
#ifdef ACNS_BASE_PKTS_ACKED
	.pkts_acked = (void *)acns_pkts_acked,
#endif
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = ACNS_TEXT(ACNS_OWN),
};

#endif /* NARROWS_ACNS_OVER_H */
