/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In place of the kernel where a packet program is compiled with the machine's own C compiler: one packet, one
 * socket, and maps, with the helpers that packet programs and their congestion controls call. Checksums change by
 * RFC 1624, as the kernel's helpers do it. What tests call lies at the end; it is for one thread.
 */
#ifndef NARROWS_NATIVE_PACKETS_H
#define NARROWS_NATIVE_PACKETS_H

#include <string.h>

/* Not every program calls every helper. */
#pragma GCC diagnostic ignored "-Wunused-function"

#define __uint(name, number) int(*name)[number]
#define __type(name, type) type *name

/* The kernel's CUBIC; a driver has its own. */
void cubictcp_init(struct sock *sk);
u32 cubictcp_recalc_ssthresh(struct sock *sk);
void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked);
void cubictcp_state(struct sock *sk, u8 new_state);
void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event);
void cubictcp_acked(struct sock *sk, const struct ack_sample *sample);

/* The packet. Behind it lies a pattern that nothing may change. */
enum { NARROWS_BEHIND = 64 };
static u8 narrows_bytes[(1 << 16) + 2 * NARROWS_BEHIND];
static u32 narrows_length;
/* Whether the device fills in its TCP checksum (CHECKSUM_PARTIAL). */
static bool narrows_partial;
/* The socket that it comes from; none without `narrows_has_socket`. */
static struct tcp_sock narrows_socket;
/* Whether packets have no room to grow. */
static bool narrows_full;
static bool narrows_has_socket;

static bool narrows_inside(u32 at, u32 len)
{
	return at <= narrows_length && len <= narrows_length - at;
}

static long bpf_skb_load_bytes(const struct __sk_buff *skb, u32 at, void *to, u32 len)
{
	(void)skb;
	if (!narrows_inside(at, len))
		return -14;
	memcpy(to, narrows_bytes + at, len);
	return 0;
}

static long bpf_skb_store_bytes(struct __sk_buff *skb, u32 at, const void *from, u32 len, u64 flags)
{
	(void)skb;
	(void)flags;
	if (!narrows_inside(at, len))
		return -14;
	memcpy(narrows_bytes + at, from, len);
	return 0;
}

static long narrows_replace(u32 at, u16 from, u16 to)
{
	u16 checksum;
	u32 sum;

	if (!narrows_inside(at, 2))
		return -14;
	memcpy(&checksum, narrows_bytes + at, 2);
	sum = (u16)~checksum + (u32)(u16)~from + to;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	checksum = ~sum;
	memcpy(narrows_bytes + at, &checksum, 2);
	return 0;
}

static long bpf_l3_csum_replace(struct __sk_buff *skb, u32 at, u64 from, u64 to, u64 flags)
{
	(void)skb;
	return flags == 2 ? narrows_replace(at, from, to) : -22;
}

static long bpf_l4_csum_replace(struct __sk_buff *skb, u32 at, u64 from, u64 to, u64 flags)
{
	(void)skb;
	if (flags != 2)
		return -22;
	return narrows_partial ? 0 : narrows_replace(at, from, to);
}

/* Room behind the network header, of IPv6. */
static long bpf_skb_adjust_room(struct __sk_buff *skb, s32 by, u32 mode, u64 flags)
{
	if (mode != BPF_ADJ_ROOM_NET || flags || by < 0 || narrows_length < 40 || narrows_full)
		return -22;
	memmove(narrows_bytes + 40 + by, narrows_bytes + 40, narrows_length - 40);
	narrows_length += by;
	skb->len = narrows_length;
	memset(narrows_bytes + narrows_length, 0xa5, NARROWS_BEHIND);
	return 0;
}

__attribute__((unused)) static struct tcp_sock *bpf_skc_to_tcp_sock(void *sk)
{
	return sk ? &narrows_socket : 0;
}

__attribute__((unused)) static long bpf_probe_read_kernel(void *to, u32 len, const void *from)
{
	memcpy(to, from, len);
	return 0;
}

/* Maps: a few entries, told apart by their map and key; at the bound the oldest but the first leaves. */
struct narrows_entry {
	const void *map;
	u8 key[48];
	_Alignas(8) u8 value[1024];
};
static struct narrows_entry narrows_entries[16];
static u32 narrows_oldest;

static void *narrows_find(const void *map, const void *key, u32 key_size, bool create)
{
	struct narrows_entry *free = 0;
	u32 i;

	for (i = 0; i < 16; i++) {
		struct narrows_entry *entry = &narrows_entries[i];

		if (entry->map == map && !memcmp(entry->key, key, key_size))
			return entry->value;
		if (!entry->map && !free)
			free = entry;
	}
	if (!create)
		return 0;
	if (!free) {
		narrows_oldest = narrows_oldest % 15 + 1;
		free = &narrows_entries[narrows_oldest];
	}
	memset(free, 0, sizeof(*free));
	free->map = map;
	memcpy(free->key, key, key_size);
	return free->value;
}

#define NARROWS_FITS(map) ((void)sizeof(char[sizeof(*(map)->value) <= 1024 && sizeof(*(map)->key) <= 48 ? 1 : -1]))
#define bpf_map_lookup_elem(map, what) (NARROWS_FITS(map), narrows_find(map, what, sizeof(*(map)->key), false))
#define bpf_map_update_elem(map, what, to, flags)                                                                      \
	memcpy(narrows_find(map, what, sizeof(*(map)->key), true), to, sizeof(*(map)->value))
#define bpf_sk_storage_get(map, sk, first, flags)                                                                      \
	(NARROWS_FITS(map), narrows_find(map, &(struct sock *){ sk }, sizeof(sk), (flags) & BPF_SK_STORAGE_GET_F_CREATE))

/* ---- what tests call ---- */

/* Forgets all: packets, the socket, and what maps hold. */
void narrows_reset(void)
{
	memset(narrows_entries, 0, sizeof(narrows_entries));
	memset(&narrows_socket, 0, sizeof(narrows_socket));
	narrows_length = 0;
	narrows_partial = false;
	narrows_full = false;
	narrows_has_socket = false;
}

/* Sets a parameter; 0 if there is none of that name. */
int narrows_set(const char *name, u64 value)
{
	extern const struct narrows_param *const __start_narrows_params[], *const __stop_narrows_params[];
	const struct narrows_param *const *param;

	for (param = __start_narrows_params; param != __stop_narrows_params; param++) {
		if (!strcmp((*param)->name, name)) {
			*(*param)->value = value;
			return 1;
		}
	}
	return 0;
}

void narrows_set_partial(int partial)
{
	narrows_partial = partial;
}

void narrows_set_full(int full)
{
	narrows_full = full;
}

/* The length of the packet as the program left it. */
u32 narrows_left(void)
{
	return narrows_length;
}

/* Shows the packet to a program, and gives it back as that left it, which may be longer by NARROWS_BEHIND; -100 if it changed what lies behind the packet. */
static int narrows_show(int (*program)(struct __sk_buff *), u8 *bytes, u32 len, u32 segments)
{
	struct __sk_buff skb = { .len = len, .gso_segs = segments };
	u32 i;
	int said;

	narrows_length = len;
	memcpy(narrows_bytes, bytes, len);
	memset(narrows_bytes + len, 0xa5, NARROWS_BEHIND);
	skb.sk = narrows_has_socket ? (struct bpf_sock *)&narrows_socket : 0;
	said = program(&skb);
	for (i = narrows_length; i < narrows_length + NARROWS_BEHIND; i++)
		if (narrows_bytes[i] != 0xa5)
			return -100;
	memcpy(bytes, narrows_bytes, narrows_length);
	return said;
}

#endif
