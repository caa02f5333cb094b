// SPDX-License-Identifier: GPL-2.0
/*
 * ACNS over HighSpeed TCP: the congestion control of acns.bpf.c with highspeed.bpf.c as its base, whose parameters this object has
 * too.
 *
 * Differences
 *   While the window is held nothing of it moves.
 */
#include "highspeed.bpf.c"

#define ACNS_BASE highspeed
#define ACNS_BASE_INIT

#include "acns_over.h"
