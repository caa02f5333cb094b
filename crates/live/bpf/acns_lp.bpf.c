// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over TCP-LP: the congestion control of acns.bpf.c with lp.bpf.c as its base, whose parameters this object has
 * too.
 *
 * Differences
 *   While the window is held, delays are still measured; a sign reduces the window once it may move again.
 */
#include "lp.bpf.c"

#define ACNS_BASE lp
#define ACNS_BASE_INIT
#define ACNS_BASE_PKTS_ACKED

#include "acns_over.h"
