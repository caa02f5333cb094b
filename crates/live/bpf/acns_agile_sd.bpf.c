// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over Agile-SD: the congestion control of acns.bpf.c with agile_sd.bpf.c as its base, whose parameters this object has
 * too.
 *
 * Differences
 *   A loss that is taken for a channel error leaves cwnd_loss and cwnd_degraded alone, and with them lambda.
 */
#include "agile_sd.bpf.c"

#define ACNS_BASE agile_sd
#define ACNS_BASE_INIT
#define ACNS_BASE_SET_STATE
#define ACNS_BASE_CWND_EVENT

#include "acns_over.h"
