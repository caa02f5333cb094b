// SPDX-License-Identifier: GPL-2.0
/*
 * Replays a list of arrivals through the qdisc of device "n0" on a virtual clock.
 *
 * The qdisc modules under test are those of the distribution. Their imports of the clock, of timers and of random
 * numbers are renamed (see run.py) to the functions that this module exports. Each decision is thus taken at an exact
 * virtual time, and with the random numbers of our discipline.
 *
 * Use: write a job to /proc/narrows, which sets the clock to the time of creation; create the qdisc with tc; read
 * /proc/narrows, which replays the job. All integers are little-endian.
 *
 *   job:     struct job_head, struct arrival each
 *   result:  struct outcome each, in the order of the arrivals
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <net/checksum.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#define JOB_BYTES (4 << 20)
#define NEVER U64_MAX
#define TICK (NSEC_PER_SEC / HZ)
/* In place of the index of a timer: the hrtimer. */
#define PRECISE (-1)

struct job_head {
	u64 created;	/* ns: virtual time at which the qdisc is created */
	u64 rate;	/* b/s of the link below the qdisc */
	u64 state[4];	/* of the generator of random numbers */
	u64 arrivals;
};

struct arrival {
	u64 at;		/* ns */
	u32 flow;
	u16 size;	/* bytes of the IP packet */
	u8 tos;
	u8 priority;	/* skb->priority, or 255: the number of the flow plus 1 as a class of qdisc 1: */
};

enum { WAITS, SENT, DROPPED_IN, DROPPED_OUT, DROPPED_TIMER };

struct outcome {
	u64 at;		/* ns: when it left or was dropped */
	u8 kind;
	u8 tos;		/* of a packet that left */
	u8 pad[6];
};

unsigned long narrows_jiffies;
EXPORT_SYMBOL(narrows_jiffies);

static u64 clock;
static u8 *job;
static size_t job_len;
static struct outcome *outcomes;
static bool done;
static u64 state[4];
static struct timer_list *timers[8];
static struct hrtimer *precise;
static u64 watchdog = NEVER;
static u8 phase;

static struct job_head *head(void) { return (struct job_head *)job; }
static struct arrival *arrivals(void) { return (struct arrival *)(head() + 1); }

static void set_clock(u64 t)
{
	clock = t;
	narrows_jiffies = div_u64(t, TICK);
}

/* The imports of the qdisc modules. */

ktime_t narrows_ktime_get(void) { return clock; }
EXPORT_SYMBOL(narrows_ktime_get);

/* xoshiro256++, as narrows_rng has it. */
static u64 draw(void)
{
	u64 out = rol64(state[0] + state[3], 23) + state[0];
	u64 t = state[1] << 17;

	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= t;
	state[3] = rol64(state[3], 45);
	return out;
}

void narrows_get_random_bytes(void *to, size_t len)
{
	while (len) {
		u64 x = draw();
		size_t n = min_t(size_t, len, sizeof(x));

		memcpy(to, &x, n);
		to += n;
		len -= n;
	}
}
EXPORT_SYMBOL(narrows_get_random_bytes);

u32 narrows_get_random_u32(void) { return draw() >> 32; }
EXPORT_SYMBOL(narrows_get_random_u32);

u16 narrows_get_random_u16(void) { return draw() >> 48; }
EXPORT_SYMBOL(narrows_get_random_u16);

int narrows_mod_timer(struct timer_list *timer, unsigned long expires)
{
	int i, place = -1;

	timer->expires = expires;
	for (i = ARRAY_SIZE(timers) - 1; i >= 0; i--) {
		if (timers[i] == timer)
			return 1;
		if (!timers[i])
			place = i;
	}
	if (!WARN_ON(place < 0))
		timers[place] = timer;
	return 0;
}
EXPORT_SYMBOL(narrows_mod_timer);

int narrows_del_timer(struct timer_list *timer)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(timers); i++)
		if (timers[i] == timer) {
			timers[i] = NULL;
			return 1;
		}
	return 0;
}
EXPORT_SYMBOL(narrows_del_timer);

int narrows_del_timer_sync(struct timer_list *timer) { return narrows_del_timer(timer); }
EXPORT_SYMBOL(narrows_del_timer_sync);

void narrows_watchdog_schedule(struct qdisc_watchdog *wd, u64 expires, u64 delta)
{
	watchdog = expires;
}
EXPORT_SYMBOL(narrows_watchdog_schedule);

void narrows_watchdog_cancel(struct qdisc_watchdog *wd) { watchdog = NEVER; }
EXPORT_SYMBOL(narrows_watchdog_cancel);

/* One hrtimer, whose callback starts it again. */

void narrows_hrtimer_start_range_ns(struct hrtimer *timer, ktime_t at, u64 delta, const enum hrtimer_mode mode)
{
	precise = timer;
	hrtimer_set_expires(timer, at);
}
EXPORT_SYMBOL(narrows_hrtimer_start_range_ns);

int narrows_hrtimer_cancel(struct hrtimer *timer)
{
	precise = NULL;
	return 1;
}
EXPORT_SYMBOL(narrows_hrtimer_cancel);

/* The replay. */

static void freed(struct sk_buff *skb)
{
	struct outcome *o = &outcomes[skb->mark];

	if (o->kind == WAITS) {
		o->kind = phase;
		o->at = clock;
	}
}

static struct sk_buff *packet_of(u32 number, struct net_device *dev)
{
	const struct arrival *a = &arrivals()[number];
	struct sk_buff *skb = alloc_skb(a->size + 64, GFP_ATOMIC);
	struct iphdr *ip;
	struct udphdr *udp;

	if (!skb)
		return NULL;
	skb_reserve(skb, 64);
	ip = skb_put_zero(skb, a->size);
	udp = (struct udphdr *)(ip + 1);
	ip->version = 4;
	ip->ihl = 5;
	ip->tos = a->tos;
	ip->ttl = 64;
	ip->tot_len = htons(a->size);
	ip->protocol = IPPROTO_UDP;
	ip->saddr = htonl(0x0a000001);
	ip->daddr = htonl(0x0a000002);
	ip->check = ip_fast_csum(ip, ip->ihl);
	udp->source = htons(1000 + a->flow);
	udp->dest = htons(9);
	udp->len = htons(a->size - sizeof(*ip));
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, sizeof(*ip));
	skb->mac_len = 0;
	skb->protocol = htons(ETH_P_IP);
	skb->dev = dev;
	skb->mark = number;
	skb->priority = a->priority == 255 ? TC_H_MAKE(1 << 16, a->flow + 1) : a->priority;
	/* Spreads flows over the sub-queues of qdiscs that use this hash, without collisions. */
	skb_set_hash(skb, (a->flow + 1) * 0x9e3779b1u, PKT_HASH_TYPE_L4);
	skb->destructor = freed;
	qdisc_skb_cb(skb)->pkt_len = skb->len;
	return skb;
}

static bool arrive(u32 number, struct Qdisc *sch)
{
	struct sk_buff *skb = packet_of(number, qdisc_dev(sch)), *to_free = NULL;

	if (!skb)
		return false;
	phase = DROPPED_IN;
	spin_lock(qdisc_lock(sch));
	sch->enqueue(skb, sch, &to_free);
	spin_unlock(qdisc_lock(sch));
	kfree_skb_list(to_free);
	return true;
}

/* Takes a packet from the qdisc; returns the time for which the link transmits it, 0 without a packet. */
static u64 depart(struct Qdisc *sch)
{
	struct sk_buff *skb;
	u64 time;

	phase = DROPPED_OUT;
	spin_lock(qdisc_lock(sch));
	skb = sch->dequeue(sch);
	spin_unlock(qdisc_lock(sch));
	if (!skb)
		return 0;
	time = div64_u64((u64)skb->len * 8 * NSEC_PER_SEC, head()->rate);
	outcomes[skb->mark].kind = SENT;
	outcomes[skb->mark].at = clock;
	outcomes[skb->mark].tos = ip_hdr(skb)->tos;
	consume_skb(skb);
	return time;
}

static u64 first_timer(int *which)
{
	u64 first = precise ? ktime_to_ns(hrtimer_get_expires(precise)) : NEVER;
	int i;

	*which = PRECISE;
	for (i = 0; i < ARRAY_SIZE(timers); i++)
		if (timers[i] && (u64)timers[i]->expires * TICK < first) {
			first = (u64)timers[i]->expires * TICK;
			*which = i;
		}
	return first;
}

static void fire(int which)
{
	struct timer_list *timer;

	if (which == PRECISE) {
		phase = DROPPED_TIMER;
		if (precise->function(precise) == HRTIMER_NORESTART)
			precise = NULL;
		return;
	}
	timer = timers[which];

	phase = DROPPED_TIMER;
	timers[which] = NULL;
	timer->function(timer);
}

/* At one instant: timers, then the end of a transmission, then arrivals. */
static int replay(struct Qdisc *sch)
{
	u64 busy_until = NEVER, time;
	u32 next = 0;
	int which = 0;

	while (true) {
		u64 arrival = next < head()->arrivals ? arrivals()[next].at : NEVER;
		u64 look = busy_until == NEVER ? watchdog : busy_until;
		u64 timer = first_timer(&which);
		u64 event = min(arrival, look);

		if (event == NEVER)
			return 0;
		set_clock(max(clock, min(event, timer)));
		if (timer <= clock) {
			fire(which);
			continue;
		}
		if (look <= clock) {
			if (busy_until == NEVER)
				watchdog = NEVER;
			time = depart(sch);
			busy_until = time ? clock + time : NEVER;
			continue;
		}
		if (!arrive(next++, sch))
			return -ENOMEM;
		if (busy_until == NEVER) {
			time = depart(sch);
			busy_until = time ? clock + time : NEVER;
		}
	}
}

static int run(void)
{
	struct net_device *dev = dev_get_by_name(&init_net, "n0");
	int err;

	if (!dev)
		return -ENODEV;
	local_bh_disable();
	err = replay(rcu_dereference_bh(dev->qdisc));
	local_bh_enable();
	dev_put(dev);
	return err;
}

static ssize_t job_write(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	ssize_t n = simple_write_to_buffer(job, JOB_BYTES, at, from, len);

	if (n > 0) {
		job_len = *at;
		done = false;
		memcpy(state, head()->state, sizeof(state));
		watchdog = NEVER;
		memset(timers, 0, sizeof(timers));
		precise = NULL;
		memset(outcomes, 0, JOB_BYTES);
		set_clock(head()->created);
	}
	return n;
}

static ssize_t job_read(struct file *file, char __user *to, size_t len, loff_t *at)
{
	if (!done) {
		int err = run();

		if (err)
			return err;
		done = true;
	}
	return simple_read_from_buffer(to, len, at, outcomes, sizeof(*outcomes) * head()->arrivals);
}

/* Makes the name of a built-in qdisc free, so that a module with the same source can be loaded. */
static ssize_t forget_write(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	struct net_device *dev = dev_get_by_name(&init_net, "n0");

	if (!dev)
		return -ENODEV;
	unregister_qdisc((struct Qdisc_ops *)rtnl_dereference(dev->qdisc)->ops);
	dev_put(dev);
	return len;
}

static const struct proc_ops job_ops = { .proc_read = job_read, .proc_write = job_write };
static const struct proc_ops forget_ops = { .proc_write = forget_write };

static int __init replay_init(void)
{
	job = vzalloc(JOB_BYTES);
	outcomes = vzalloc(JOB_BYTES);
	if (!job || !outcomes)
		return -ENOMEM;
	proc_create("narrows", 0600, NULL, &job_ops);
	proc_create("narrows_forget", 0200, NULL, &forget_ops);
	return 0;
}

module_init(replay_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Replays arrivals through a qdisc on a virtual clock");
