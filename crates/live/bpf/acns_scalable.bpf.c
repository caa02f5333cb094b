// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over Scalable TCP: the congestion control of acns.bpf.c with scalable.bpf.c as its base, whose parameters this object has
 * too.
 *
 * Differences
 *   While the window is held nothing of it moves.
 */
#include "scalable.bpf.c"

#define ACNS_BASE scalable

#include "acns_over.h"
