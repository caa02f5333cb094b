// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over BIC: the congestion control of acns.bpf.c with bic.bpf.c as its base, whose parameters this object has
 * too.
 *
 * Differences
 *   While the window is held nothing of it moves.
 */
#include "bic.bpf.c"

#define ACNS_BASE bic
#define ACNS_BASE_INIT
#define ACNS_BASE_PKTS_ACKED
#define ACNS_BASE_SET_STATE

#include "acns_over.h"
