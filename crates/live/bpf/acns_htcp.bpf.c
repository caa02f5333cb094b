// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over H-TCP: the congestion control of acns.bpf.c with htcp.bpf.c as its base, whose parameters this object has
 * too.
 *
 * Differences
 *   A window that is set from outside restarts the time since the last loss.
 */
#include "htcp.bpf.c"

#define ACNS_BASE htcp
#define ACNS_BASE_INIT
#define ACNS_BASE_PKTS_ACKED
#define ACNS_BASE_SET_STATE
#define ACNS_BASE_WINDOW_SET

/* The time since the last loss restarts, so that steps are Reno's again; what is known of the path stays. */
narrows_inline void acns_base_window_set(struct sock *sk, u32 base)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);

	ca->last = ticks(tp);
	tp->snd_cwnd_cnt = 0;
	update_alpha(tp, ca);
}

#include "acns_over.h"
