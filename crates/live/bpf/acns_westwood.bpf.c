// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over Westwood+: the congestion control of acns.bpf.c with westwood.bpf.c as its base, whose parameters this object has
 * too.
 *
 * Differences
 *   While the window is held the estimate goes on.
 */
#include "westwood.bpf.c"

#define ACNS_BASE westwood
#define ACNS_BASE_INIT
#define ACNS_BASE_PKTS_ACKED
#define ACNS_BASE_IN_ACK_EVENT
#define ACNS_BASE_CWND_EVENT

#include "acns_over.h"
