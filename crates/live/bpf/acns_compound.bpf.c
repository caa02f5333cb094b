// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over Compound TCP: the congestion control of acns.bpf.c with compound.bpf.c as its base, whose parameters this object has
 * too.
 *
 * Differences
 *   While the window is held, rounds go on and are judged, but neither window grows.
 */
#include "compound.bpf.c"

#define ACNS_BASE compound
#define ACNS_BASE_INIT
#define ACNS_BASE_PKTS_ACKED
#define ACNS_BASE_SET_STATE
#define ACNS_BASE_CWND_EVENT
#define ACNS_BASE_HELD

/* As where an application is the limit: rounds go on. */
narrows_inline void acns_base_held(struct sock *sk, u32 ack, u32 acked, u32 base)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct compound *ca = inet_csk_ca(sk);

	if (acked && is_linux())
		linux_ack(tp, ca, false);
	else if (acked)
		draft_ack(tp, ca, acked, false);
}

#include "acns_over.h"
