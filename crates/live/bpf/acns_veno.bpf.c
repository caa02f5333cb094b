// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over Veno: the congestion control of acns.bpf.c with veno.bpf.c as its base, whose parameters this object has
 * too.
 *
 * Differences
 *   While the window is held nothing of it moves.
 */
#include "veno.bpf.c"

#define ACNS_BASE veno
#define ACNS_BASE_INIT
#define ACNS_BASE_PKTS_ACKED
#define ACNS_BASE_SET_STATE
#define ACNS_BASE_CWND_EVENT

#include "acns_over.h"
