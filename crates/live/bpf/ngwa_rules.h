/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an NGWA receiver decides, apart from packets: smoothing the network's value, and the window field of an ACK.
 *
 * The rules of crates/scheme/src/ngwa (smoothing.rs, assist.rs) and of the window in crates/tcp/src/receiver.rs,
 * where they are argued; a test holds the two to each other (tests/ngwa_packets.rs).
 */
#ifndef NARROWS_NGWA_RULES_H
#define NARROWS_NGWA_RULES_H

#include "kernel.h"

/* What came in for a connection; the program of arriving packets writes it. */
struct ngwa_in {
	u64 mean; /* S of equation 4, in units of 2^-24 bytes */
	u32 told; /* whether there was a value */
	u32 window; /* bytes: the value that bounds the window, smoothed or not */
	u32 rmss; /* the largest payload seen */
	u32 peer_scales; /* the peer's SYN had a window scale */
	u32 probes; /* segments that ask whether a window is still closed */
	u64 taken; /* values */
	u64 ignored; /* malformed options */
};

/* What was advertised; the program of leaving packets writes it. */
struct ngwa_out {
	u32 synced; /* our SYN was seen */
	u32 scales; /* it had a window scale */
	u32 shift; /* that scale */
	u32 first; /* window of our SYN, never scaled */
	u32 begun; /* whether the two edges hold */
	u32 offered; /* right edge of the window advertised last, as the field said it */
	u32 promised; /* the same before the field's rounding */
	u32 closed; /* the window was closed by the cap alone */
	u32 probes_answered; /* of ngwa_in.probes */
	u64 capped; /* fields that were lowered */
	u32 least; /* the smallest window advertised after the first value, bytes */
	u32 largest; /* and the largest */
};

/* A connection at its receiver. */
struct ngwa_flow {
	struct ngwa_in in;
	struct ngwa_out out;
};

/* Where user space finds what it reads (crates/live/src/schemes/ngwa.rs). */
_Static_assert(__builtin_offsetof(struct ngwa_flow, in.window) == 12, "moved");
_Static_assert(__builtin_offsetof(struct ngwa_flow, in.probes) == 24, "moved");
_Static_assert(__builtin_offsetof(struct ngwa_flow, in.taken) == 32, "moved");
_Static_assert(__builtin_offsetof(struct ngwa_flow, out.capped) == 88, "moved");
_Static_assert(sizeof(struct ngwa_flow) == 104, "grown");

/*
 * S = (1 - alpha) S + alpha W, alpha in units of 2^-32; the first value is S itself. The step alpha |W - S| is a
 * product of up to 88 bits, made of two: it is short by less than two units, 2^-23 of a byte.
 */
narrows_inline void ngwa_smooth(struct ngwa_in *in, u32 value, u64 alpha)
{
	u64 target = (u64)value << 24;
	bool down = target < in->mean;
	u64 way = down ? in->mean - target : target - in->mean;
	u64 step = (way >> 32) * alpha + ((way & 0xffffffff) * alpha >> 32);

	if (!in->told)
		in->mean = target;
	else
		in->mean = down ? in->mean - step : in->mean + step;
}

/* A data segment brought a value. */
narrows_inline void ngwa_on_value(struct ngwa_in *in, u32 value, u64 alpha, bool smooths)
{
	ngwa_smooth(in, value, alpha);
	in->window = smooths ? in->mean >> 24 : value;
	in->told = 1;
	in->taken++;
}

/* The window's bound in bytes: the network's value and W_max (0: none). Below a segment, as the field will say it, a
 * window would be a silly one: better none. */
narrows_inline u64 ngwa_cap(const struct ngwa_in *in, u64 max_window, u32 shift)
{
	u64 cap = in->window;

	if (!in->told || (max_window && max_window < cap))
		cap = max_window;
	return cap >> shift << shift < in->rmss ? 0 : cap;
}

/*
 * The field of an ACK of `ack` that would offer `field` without NGWA, in units of 1 << shift bytes.
 *
 * The right edge moves by a worthwhile step, a segment, or not at all, and back only with `shrink`; then the field
 * is rounded so that it stays where it is, and what rounding gave beyond what was promised is taken back (RFC 7323,
 * section 2.4). The kernel's own field is never exceeded. Without a bound all of it passes.
 */
narrows_inline u16 ngwa_field(const struct ngwa_in *in, struct ngwa_out *out, u32 ack, u16 field, u64 cap, bool shrink)
{
	u32 shift = out->shift & 15;
	u32 unit = 1u << shift;
	u32 room = min_u64((u32)field << shift, cap);
	u32 edge = ack + room;
	u32 widest = ack + (65535u << shift);
	u32 to;
	u32 new;
	bool moves;

	if (!out->begun) {
		/* Our SYN could not say where its window begins; the first ACK can. */
		out->offered = ack + out->first;
		out->promised = out->offered;
		out->begun = 1;
	}
	if (before(out->offered, ack))
		out->offered = ack;
	moves = !before(edge, out->offered + max_u64(in->rmss, 1)) || (shrink && before(edge, out->offered));
	if (moves)
		out->promised = edge;
	if (before(out->promised, ack))
		out->promised = ack;
	if (after(out->promised, widest))
		out->promised = widest;
	to = (moves ? edge : out->offered) - ack;
	new = to >> shift;
	if (!shrink && before(ack + (new << shift), out->offered)) {
		new = (out->offered - ack + unit - 1) >> shift;
		if (!before(ack + (new << shift), out->promised + unit))
			new = (out->promised - ack + unit - 1) >> shift;
	}
	if (new > field)
		new = field;
	out->offered = ack + (new << shift);
	return new;
}

#endif /* NARROWS_NGWA_RULES_H */
