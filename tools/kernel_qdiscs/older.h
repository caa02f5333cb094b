/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What sch_dualpi2.c of a newer kernel needs of an older one: names that came later, by what stood there before.
 */
#ifndef NARROWS_OLDER_H
#define NARROWS_OLDER_H

#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include "dualpi2_attributes.h"

#define hrtimer_setup(timer, callback, clock, mode)                                                                    \
	do {                                                                                                           \
		hrtimer_init(timer, clock, mode);                                                                      \
		(timer)->function = callback;                                                                          \
	} while (0)
#define timer_container_of(var, timer, field) container_of(timer, typeof(*var), field)

#define MODULE_ALIAS_NET_SCH(name)
#define TCQ_F_DEQUEUE_DROPS 0
#define qdisc_qlen_inc(sch) ((sch)->q.qlen++)
#define qdisc_qlen_dec(sch) ((sch)->q.qlen--)

/* Reasons of drops, which only tracing reads. */
enum qdisc_drop_reason { QDISC_DROP_OVERLIMIT, QDISC_DROP_CONGESTED, QDISC_DROP_L4S_STEP_NON_ECN };
#define qdisc_drop_reason(skb, sch, to_free, reason) qdisc_drop(skb, sch, to_free)
#define qdisc_dequeue_drop(sch, skb, reason) kfree_skb(skb)

/* Set on parts of GSO packets alone, of which the replay has none. */
#define pkt_segs slave_dev_queue_mapping

#endif
