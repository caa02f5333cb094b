// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over TCP Hybla: the congestion control of acns.bpf.c with hybla.bpf.c as its base, whose parameters this object has
 * too.
 *
 * Differences
 *   While the window is held nothing of it moves.
 */
#include "hybla.bpf.c"

#define ACNS_BASE hybla
#define ACNS_BASE_INIT

#include "acns_over.h"
