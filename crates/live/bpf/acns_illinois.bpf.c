// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over TCP Illinois: the congestion control of acns.bpf.c with illinois.bpf.c as its base, whose parameters this object has
 * too.
 *
 * Differences
 *   While the window is held, rounds go on and alpha and beta follow the delay, but the window stays.
 */
#include "illinois.bpf.c"

#define ACNS_BASE illinois
#define ACNS_BASE_INIT
#define ACNS_BASE_PKTS_ACKED
#define ACNS_BASE_SET_STATE
#define ACNS_BASE_HELD

/* As where an application is the limit: rounds go on. */
narrows_inline void acns_base_held(struct sock *sk, u32 ack, u32 acked, u32 base)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct illinois *ca = inet_csk_ca(sk);

	if (acked && after(tp->snd_una, ca->end))
		update(tp, ca);
}

#include "acns_over.h"
