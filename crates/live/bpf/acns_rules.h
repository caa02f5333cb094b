/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What ACNS decides, apart from packets and sockets: messages, asking and answering, echoing, the window's history,
 * the trend.
 *
 * The same rules as crates/scheme/src/acns, where they are argued; a test holds the two to each other
 * (tests/acns_packets.rs, acns_control.rs). Every field has one writer: the program of arriving packets, that of
 * leaving ones, or the congestion control, which runs under the socket's lock. So none of it needs a lock: what two
 * of them share is a pair of counters, one on each side.
 */
#ifndef NARROWS_ACNS_RULES_H
#define NARROWS_ACNS_RULES_H

#include "kernel.h"

enum {
	/* Commands, as the papers number them. */
	ACNS_NONE = 0,
	ACNS_NORMAL = 1,
	ACNS_FREEZE = 2,
	ACNS_FALLBACK = 3,
	/* What a loss means. */
	ACNS_LOSS_FREEZE = 0,
	ACNS_LOSS_FALLBACK = 1,
	ACNS_LOSS_DECREASE = 2,
	/* CMT, the nonce sum's bit, and the flags of an ACNS-setup SYN and SYN-ACK beside SYN and ACK. */
	ACNS_CMT = 0x200,
	ACNS_NS = 0x100,
	ACNS_SETUP_SYN = 0x2c0,
	ACNS_SETUP_SYN_ACK = 0x240,
	ACNS_TCP_BITS = 0x3c0,
	/* Sizes, powers of two. */
	ACNS_ADVICE = 32,
	ACNS_TREND = 64,
	ACNS_HISTORY = 128,
	/* CMI in IPv6: type of the hop-by-hop option; in the flow label its bit, and what is left of the label. */
	ACNS_OPTION = 0x3e,
	ACNS_LABEL_CMI = 0x80000,
	ACNS_LABEL = 0x1ffff,
	/* Congestion controls that hosts may have at once. */
	ACNS_NAMES = 8,
};

/* CMI in the data of the hop-by-hop option. */
#define ACNS_OPTION_CMI 0x80000000U

/* What came in for a connection. */
struct acns_in {
	u32 agreed; /* the peer supports ACNS and so do we */
	u32 ended; /* a FIN or RST came */
	u32 freezes; /* as receiver: segments that told to freeze */
	u32 fallbacks;
	u32 nonce_sum;
	u32 acked; /* as sender: whether una holds */
	u32 una; /* lowest unacknowledged sequence number */
	u32 answered; /* asks that ended */
	u32 harshest; /* command since the last answer */
	u32 advised; /* the last advice */
	u32 advices; /* how many there were; the latest lie in `advice` */
	u8 advice[ACNS_ADVICE];
	u64 received[3]; /* advice by kind: normal, freeze, fallback */
};

/* What went out. */
struct acns_out {
	u32 offered; /* our SYN asked for ACNS */
	u32 ended; /* a FIN or RST left */
	u32 spanned; /* data was sent: first and max hold */
	u32 first;
	u32 max; /* highest sequence number sent */
	u32 since_ask; /* bytes of new data behind the segment that asked last */
	u32 asked; /* asks so far; one is outstanding while acns_in.answered is less */
	u32 ask_end; /* sequence number behind the last of them */
	u32 voided; /* the number of the ask whose segment was sent again */
	u32 cwnd; /* bytes, at the last segment */
	u32 reduced; /* whether "window reduced" is still to be told */
	u32 freezes_told; /* as receiver: what was told of acns_in.freezes */
	u32 fallbacks_told;
};

/* What the congestion control did, to be read from outside. */
struct acns_done {
	u64 held; /* ACKs at which growth was withheld */
	u64 fallbacks; /* times the window fell back */
	u64 losses[3]; /* by what they were taken for */
	u64 missed; /* advice that came faster than it was heard */
	u32 ruling;
	u32 trend; /* W_trend in millionths at the last loss */
};

/* A connection at one of its ends. */
struct acns_flow {
	struct acns_in in;
	struct acns_out out;
	struct acns_done done;
};

/* Where user space finds what it reads (crates/live/src/schemes/acns.rs). */
_Static_assert(__builtin_offsetof(struct acns_flow, in.freezes) == 8, "moved");
_Static_assert(__builtin_offsetof(struct acns_flow, in.received) == 80, "moved");
_Static_assert(__builtin_offsetof(struct acns_flow, out.asked) == 128, "moved");
_Static_assert(__builtin_offsetof(struct acns_flow, done) == 160, "moved");
_Static_assert(sizeof(struct acns_flow) == 216, "grown");

/* A message in the IP header: I1, I2/I3, I4/I5, I6, I7. */
enum acns_message { ACNS_I1, ACNS_ECN_MODE, ACNS_ASK, ACNS_I6, ACNS_I7 };

/* Reads the message of the ECN field and CMI; ECN 00 with CMI has no meaning and counts as I1. */
narrows_inline enum acns_message acns_ip_message(u8 ecn, bool cmi)
{
	switch (ecn & 3) {
	case 0:
		return ACNS_I1;
	case 3:
		return cmi ? ACNS_I6 : ACNS_I7;
	default:
		return cmi ? ACNS_ASK : ACNS_ECN_MODE;
	}
}

/* The ECN field that carries a nonce: ECT(1), which is 01, for 1. */
narrows_inline u8 acns_ect(bool ns)
{
	return ns ? 1 : 2;
}

/* The nonce of a segment: the top bit of a hash of its sequence number. */
narrows_inline bool acns_nonce(u32 seq)
{
	return (seq * 0x9e3779b1u) >> 31;
}

/* The command of a TCP header: with ECE the command counts and CWR does not; CMT without ECE is ignored. */
narrows_inline u32 acns_tcp_command(u16 flags)
{
	if (!(flags & 0x040))
		return ACNS_NORMAL;
	return flags & ACNS_CMT ? ACNS_FREEZE : ACNS_FALLBACK;
}

/* Whether ACNS is in use: agreed on, and no FIN or RST seen. */
narrows_inline bool acns_is_on(const struct acns_flow *f)
{
	return f->in.agreed && !f->in.ended && !f->out.ended;
}

/* A segment with data arrived. */
narrows_inline void acns_on_data_in(struct acns_in *in, u8 ecn, bool cmi)
{
	enum acns_message message = acns_ip_message(ecn, cmi);

	if (message == ACNS_ECN_MODE || message == ACNS_ASK)
		in->nonce_sum ^= (ecn & 3) == 1;
	else if (message == ACNS_I6)
		in->freezes++;
	else if (message == ACNS_I7)
		in->fallbacks++;
}

/*
 * The four bits of a segment that leaves with an acknowledgment: the harshest command since the last one, once;
 * else whether the window was reduced, if that is to be told and `fresh` data goes with it; and the nonce sum.
 */
narrows_inline u16 acns_echo(const struct acns_in *in, struct acns_out *out, bool fresh)
{
	u32 freezes = in->freezes;
	u32 fallbacks = in->fallbacks;
	u16 bits = in->nonce_sum ? ACNS_NS : 0;

	if (fallbacks != out->fallbacks_told)
		bits = 0x040;
	else if (freezes != out->freezes_told)
		bits = 0x040 | ACNS_CMT;
	else if (out->reduced && fresh) {
		bits |= 0x080;
		out->reduced = 0;
	}
	out->freezes_told = freezes;
	out->fallbacks_told = fallbacks;
	return bits;
}

narrows_inline u32 acns_una(const struct acns_flow *f)
{
	return f->in.acked ? f->in.una : f->out.first;
}

/*
 * A data segment leaves; `more` is whether another segment of new data can follow at once. Returns the message for
 * its IP header: I1 for what was sent before, else whether it asks. One ask is outstanding at most.
 */
narrows_inline enum acns_message acns_on_data_out(struct acns_flow *f, u32 seq, u32 len, u32 cwnd, bool more)
{
	struct acns_out *out = &f->out;
	u32 end = seq + len;

	if (!out->spanned) {
		out->first = seq;
		out->max = seq;
		out->spanned = 1;
	}
	if (before(seq, out->max)) {
		if (before(seq, out->ask_end) && !after(out->ask_end, end))
			out->voided = out->asked;
		if (after(end, out->max))
			out->max = end;
		return ACNS_I1;
	}
	out->max = end;
	out->since_ask += len;
	if (out->asked != f->in.answered || (more && out->since_ask < cwnd))
		return ACNS_ECN_MODE;
	out->ask_end = end;
	out->since_ask = 0;
	out->asked++;
	return ACNS_ASK;
}

/* Advice to the sender: into the ring that the congestion control reads. */
narrows_inline void acns_advise(struct acns_in *in, u32 advice)
{
	in->advised = advice;
	in->advice[in->advices & (ACNS_ADVICE - 1)] = advice;
	if (advice == ACNS_NORMAL)
		in->received[0]++;
	else if (advice == ACNS_FREEZE)
		in->received[1]++;
	else
		in->received[2]++;
	in->advices++;
}

/*
 * An ACK with this command arrived. Returns the advice that it gives, or ACNS_NONE: with scope `ack` its own
 * command, with scope window the harshest command since the answer before, if the ACK reaches the end of the
 * segment that asked and that was not sent twice (a command that came all the same is passed on).
 */
narrows_inline u32 acns_on_ack_in(struct acns_flow *f, u32 ack, u32 command, bool scope_ack)
{
	struct acns_in *in = &f->in;
	u32 una = acns_una(f);
	u32 asked = f->out.asked;
	u32 answer = ACNS_NONE;

	if (!f->out.spanned || una == f->out.max || before(ack, una) || after(ack, f->out.max))
		return ACNS_NONE;
	in->una = ack;
	in->acked = 1;
	if (command > in->harshest)
		in->harshest = command;
	if (asked != in->answered && !after(f->out.ask_end, ack)) {
		answer = in->harshest;
		if (f->out.voided == asked && answer <= ACNS_NORMAL)
			answer = ACNS_NONE;
		in->harshest = ACNS_NORMAL;
		in->answered = asked;
	}
	return scope_ack ? command : answer;
}

/* The window's own past, a value per round trip, as far as it can still be an answer: rising from the oldest on. */
struct acns_history {
	u32 start;
	u32 len;
	u32 window[ACNS_HISTORY];
};

/* How many of the values, which rise, are below `cwnd`. */
narrows_function u32 acns_history_count(const struct acns_history *h, u32 cwnd)
{
	u32 below = 0;
	u32 step;

	if (!h)
		return 0;
	for (step = ACNS_HISTORY; step; step >>= 1)
		if (below + step <= h->len && h->window[(h->start + below + step - 1) & (ACNS_HISTORY - 1)] < cwnd)
			below += step;
	return below;
}

/* Notes the window of a round trip, in segments: what is not below it can never be an answer again. */
narrows_inline void acns_history_push(struct acns_history *h, u32 cwnd)
{
	u32 len = acns_history_count(h, cwnd);

	if (len >= ACNS_HISTORY) {
		h->start++;
		len = ACNS_HISTORY - 1;
	}
	h->window[(h->start + len) & (ACNS_HISTORY - 1)] = cwnd;
	h->len = len + 1;
}

/* The most recent window below `cwnd`; 0 where there is none. */
narrows_inline u32 acns_history_below(const struct acns_history *h, u32 cwnd)
{
	u32 below = acns_history_count(h, cwnd);

	return below ? h->window[(h->start + below - 1) & (ACNS_HISTORY - 1)] : 0;
}

/* The latest commands; one more is kept than ever counts, so that the last can be taken back. */
struct acns_trend {
	u32 pushed;
	u8 command[ACNS_TREND];
};

narrows_inline void acns_trend_push(struct acns_trend *t, u8 command)
{
	t->command[t->pushed & (ACNS_TREND - 1)] = command;
	/* Never to zero again, which is "none yet", and in step with the places. */
	t->pushed = t->pushed == 0xffffffff ? ACNS_TREND : t->pushed + 1;
}

narrows_inline void acns_trend_pop(struct acns_trend *t)
{
	t->pushed = less_u64(t->pushed, 1);
}

/*
 * W_trend of the latest `count` commands, as the sum of metric times command in `sum` and that of the metrics in
 * `all`; false without a command. A metric is exp(-i/sigma) in units of 2^-30, so the sums are below 2^38 and 2^36.
 */
narrows_inline bool acns_trend_sums(const struct acns_trend *t, const volatile u32 *metrics, u32 count, u64 *sum,
				    u64 *all)
{
	u32 pushed = t->pushed;
	u32 i;

	*sum = 0;
	*all = 0;
	for (i = 0; i < ACNS_TREND - 1; i++) {
		if (i >= count || i >= pushed)
			break;
		*sum += (u64)metrics[i] * t->command[(pushed - 1 - i) & (ACNS_TREND - 1)];
		*all += metrics[i];
	}
	return *all != 0;
}

/* What a loss means by those sums and the thresholds th_L1 and th_L2 in millionths, at most 4 of them whole: 2^58. */
narrows_inline u32 acns_trend_verdict(u64 sum, u64 all, u64 fallback, u64 decrease)
{
	if (sum * MILLION < fallback * all)
		return ACNS_LOSS_FREEZE;
	return sum * MILLION < decrease * all ? ACNS_LOSS_FALLBACK : ACNS_LOSS_DECREASE;
}

#endif /* NARROWS_ACNS_RULES_H */
