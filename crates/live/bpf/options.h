/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options of IPv4 and TCP headers, whose areas have one form: kinds of one byte, or kind, length and content.
 */
#ifndef NARROWS_OPTIONS_H
#define NARROWS_OPTIONS_H

#include "packet.h"

enum {
	OPTION_END = 0,
	OPTION_NOP = 1,
	TCP_OPTION_MSS = 2,
	TCP_OPTION_WSCALE = 3,
	TCP_OPTION_TIMESTAMP = 8,
	/* An area is 40 bytes long at most, and so holds as many options at most. */
	OPTIONS_MOST = 40,
};

/*
 * Where the first option of `kind` stands in the area from `at` to `end`, type and length bytes included; 0 where
 * there is none before the end of the list, negative where the options cannot be walked through.
 *
 * A function of its own, so that the verifier reads the loop once, with nothing known of its arguments, and not
 * along with each way to come here.
 */
narrows_function int packet_option(struct __sk_buff *skb, u32 at, u32 end, u32 kind)
{
	int i;

	for (i = 0; i < OPTIONS_MOST && at < end; i++) {
		u8 head[2] = { 0, 0 };

		if (bpf_skb_load_bytes(skb, at, head, 1))
			return -1;
		if (head[0] == OPTION_END)
			return 0;
		if (head[0] == OPTION_NOP) {
			at++;
			continue;
		}
		if (at + 2 > end || bpf_skb_load_bytes(skb, at, head, 2))
			return -1;
		if (head[1] < 2 || at + head[1] > end)
			return -1;
		if (head[0] == kind)
			return at;
		at += head[1];
	}
	return 0;
}

/* The same for an option that has `len` bytes: one of another length is malformed. */
narrows_inline int packet_option_of(struct __sk_buff *skb, u32 at, u32 end, u32 kind, u8 len)
{
	int place = packet_option(skb, at, end, kind);
	u8 found;

	if (place <= 0)
		return place;
	if (bpf_skb_load_bytes(skb, place + 1, &found, 1) || found != len)
		return -1;
	return place;
}

#endif /* NARROWS_OPTIONS_H */
