/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the objects of ACNS have in common: the constants that a sender goes by, connections, and senders' memory.
 *
 * acns.bpf.c has the packet programs and fills acns_flows. Each other object has a congestion control over one base, and uses
 * the acns_flows of the first (crates/live/src/schemes/acns.rs).
 */
#ifndef NARROWS_ACNS_STATE_H
#define NARROWS_ACNS_STATE_H

#include "packet.h"
#include "acns_rules.h"

/* Whether commands are obeyed, or only counted. */
PARAM(obey, 1);
/* th_L1 and th_L2 in millionths, at most 4 million. */
PARAM(loss_fallback_threshold, 1841300);
PARAM(loss_decrease_threshold, 2158700);
/* How many commands make the trend. */
PARAM(trend_count, 10);
/* exp(-i / sigma) of the i-th newest command before the newest, in units of 2^-30: here for sigma = 3. */
const volatile u32 acns_metrics[ACNS_TREND] = {
	1073741824, 769369636, 551277434, 395007542, 283035272, 202803634, 145315154, 104122858, 74607288, 53458458,
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct narrows_flow);
	__type(value, struct acns_flow);
} acns_flows SEC(".maps");

/* A sender's memory. */
struct acns_sender {
	u32 heard; /* of acns_in.advices */
	u32 ruling; /* the command that rules; ACNS_NONE before the first and after a timeout */
	u32 round_end; /* sequence number whose acknowledgment ends the round trip */
	u32 rounds; /* whether it holds */
	u32 judged; /* a loss was judged and its recovery has not ended: 1 + what it was taken for */
	u32 pushed; /* the judgement was added to the trend */
	u32 cwnd; /* at that loss */
	u32 fell; /* the window that it fell back to; 0: it did not */
	u32 ssthresh; /* the threshold before, if it is to be put back when recovery ends; 0: it is not */
	u32 base_told; /* the base was told of the last loss */
	struct acns_trend trend;
	struct acns_history history;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct acns_sender);
} acns_senders SEC(".maps");

#endif /* NARROWS_ACNS_STATE_H */
