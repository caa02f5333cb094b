/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP segments over IPv4 and IPv6 as packet programs see them: reading both headers, and changing fields with checksums
 * kept right.
 *
 * For devices whose packets begin with the IP header (TUN): offset 0 of a packet is its version. All bytes are
 * reached by helpers that check bounds, so hostile lengths give an error and never a wrong read. What is not TCP,
 * is a fragment, has a length that does not fit, or has IPv6 extension headers other than one hop-by-hop header of 8 bytes,
 * is not read and so passes untouched.
 *
 * Checksums are updated by what changed (RFC 1624); IPv6 has none of its own, and no change here touches what TCP's sums of
 * it. A segment whose checksum the device is still to fill in (CHECKSUM_PARTIAL) holds the sum of the pseudo-header, which no
 * change here touches: the helper for TCP knows.
 */
#ifndef NARROWS_PACKET_H
#define NARROWS_PACKET_H

#include "kernel.h"

#ifdef NARROWS_NATIVE
#include "native/packets.h"
#endif

/* Flags of the lower 12 bits of the offset and flags word (RFC 9293, section 3.1). */
enum {
	TCP_FIN = 0x001,
	TCP_SYN = 0x002,
	TCP_RST = 0x004,
	TCP_ACK = 0x010,
	TCP_ECE = 0x040,
	TCP_CWR = 0x080,
	TCP_AE = 0x100,
	TCP_RESERVED_0X200 = 0x200,
};

/* Headers without options, in bytes. */
enum {
	IPV4_MIN = 20,
	IPV6_MIN = 40,
	TCP_MIN = 20,
	/* A hop-by-hop header with one option of 4 bytes (RFC 8200, section 4.3), and where the option begins in it. */
	HOP_BY_HOP = 8,
	HOP_OPTION = 2,
	HOP_DATA = 4,
	/* Next headers. */
	NEXT_HOP_BY_HOP = 0,
	NEXT_TCP = 6,
	FLOW_LABEL_BITS = 0xfffff,
	FAMILY_IPV6 = 10,
};

/* A connection as one of its hosts names it, so that both directions have one name there, and its two hosts two. IPv4
 * addresses are mapped into IPv6 (RFC 4291, section 2.5.5.2). */
struct narrows_flow {
	__be32 local[4];
	__be32 remote[4];
	__be16 local_port;
	__be16 remote_port;
};

/* The fixed part of both headers, as in the packet. */
struct ipv4_header {
	u8 version_ihl;
	u8 tos;
	__be16 total;
	__be16 ident;
	__be16 fragment;
	u8 ttl;
	u8 protocol;
	__be16 checksum;
	__be32 src;
	__be32 dst;
};
struct ipv6_header {
	__be32 first;
	__be16 length;
	u8 next;
	u8 hop_limit;
	__be32 src[4];
	__be32 dst[4];
};
/* A hop-by-hop header with one option. */
struct hop_header {
	u8 next;
	u8 length;
	u8 kind;
	u8 data_length;
	__be32 data;
};
struct tcp_header {
	__be16 src_port;
	__be16 dst_port;
	__be32 seq;
	__be32 ack;
	__be16 offset_flags;
	__be16 window;
	__be16 checksum;
	__be16 urgent;
};

/* A segment: what its headers say, in the machine's order but for addresses and ports. */
struct packet {
	__be32 src[4]; /* as in struct narrows_flow */
	__be32 dst[4];
	__be16 src_port;
	__be16 dst_port;
	u32 seq;
	u32 ack;
	u32 tcp; /* where the TCP header begins: the length of the IP header with its extensions */
	u32 options_end; /* where the TCP options end */
	u32 payload; /* bytes of data */
	u32 first; /* IPv4: version, header length, DSCP and ECN; IPv6: version, DSCP, ECN and flow label */
	u32 hop_data; /* the hop-by-hop option's data */
	u16 fragment; /* IPv4: flags and fragment offset, the top bit being the reserved flag */
	u16 word; /* TCP header length and flags */
	u16 window; /* the field, unscaled */
	u8 v6; /* whether it is IPv6 */
	u8 hop; /* whether there is a hop-by-hop header */
	u8 hop_kind; /* its first option's type, if that has 4 bytes of data; else 0, which is padding */
};

/* IPv4: returns the length of the packet, 0 where it is none that is read. */
narrows_inline u32 packet_read_v4(struct __sk_buff *skb, struct packet *p)
{
	struct ipv4_header ip;
	u32 total;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)))
		return 0;
	p->tcp = (ip.version_ihl & 15) * 4;
	total = bpf_ntohs(ip.total);
	p->fragment = bpf_ntohs(ip.fragment);
	if (ip.protocol != NEXT_TCP || p->fragment & 0x3fff || p->tcp < IPV4_MIN)
		return 0;
	p->src[2] = bpf_htonl(0xffff);
	p->src[3] = ip.src;
	p->dst[2] = bpf_htonl(0xffff);
	p->dst[3] = ip.dst;
	p->first = (u32)ip.version_ihl << 8 | ip.tos;
	return total;
}

/* IPv6: the same. */
narrows_inline u32 packet_read_v6(struct __sk_buff *skb, struct packet *p)
{
	struct ipv6_header ip;
	struct hop_header hop;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)))
		return 0;
	p->v6 = 1;
	p->tcp = IPV6_MIN;
	p->first = bpf_ntohl(ip.first);
	__builtin_memcpy(p->src, ip.src, sizeof(ip.src));
	__builtin_memcpy(p->dst, ip.dst, sizeof(ip.dst));
	if (ip.next == NEXT_HOP_BY_HOP) {
		if (bpf_skb_load_bytes(skb, IPV6_MIN, &hop, sizeof(hop)) || hop.length || hop.next != NEXT_TCP)
			return 0;
		p->hop = 1;
		p->hop_kind = hop.data_length == 4 ? hop.kind : 0;
		p->hop_data = bpf_ntohl(hop.data);
		p->tcp += HOP_BY_HOP;
	} else if (ip.next != NEXT_TCP) {
		return 0;
	}
	return IPV6_MIN + bpf_ntohs(ip.length);
}

/* Reads the segment; false where there is none to be read. */
narrows_inline bool packet_read(struct __sk_buff *skb, struct packet *p)
{
	struct tcp_header tcp;
	u32 total;
	u32 header;
	u8 version;

	/* Whole, or the compiler keeps fields in registers that some way here leaves unset, which the verifier refuses. */
	__builtin_memset(p, 0, sizeof(*p));
	if (bpf_skb_load_bytes(skb, 0, &version, sizeof(version)))
		return false;
	if (version >> 4 == 4)
		total = packet_read_v4(skb, p);
	else if (version >> 4 == 6)
		total = packet_read_v6(skb, p);
	else
		return false;
	if (!total || total > skb->len || bpf_skb_load_bytes(skb, p->tcp, &tcp, sizeof(tcp)))
		return false;
	p->word = bpf_ntohs(tcp.offset_flags);
	header = (p->word >> 12) * 4;
	if (header < TCP_MIN || p->tcp + header > total)
		return false;
	p->src_port = tcp.src_port;
	p->dst_port = tcp.dst_port;
	p->seq = bpf_ntohl(tcp.seq);
	p->ack = bpf_ntohl(tcp.ack);
	p->options_end = p->tcp + header;
	p->payload = total - p->tcp - header;
	p->window = bpf_ntohs(tcp.window);
	return true;
}

/* The connection of a segment that leaves or, with `in`, arrives here. */
narrows_inline void packet_flow(const struct packet *p, bool in, struct narrows_flow *flow)
{
	__builtin_memcpy(flow->local, in ? p->dst : p->src, sizeof(flow->local));
	__builtin_memcpy(flow->remote, in ? p->src : p->dst, sizeof(flow->remote));
	flow->local_port = in ? p->dst_port : p->src_port;
	flow->remote_port = in ? p->src_port : p->dst_port;
}

/* The connection of a socket. */
narrows_inline void socket_flow(const struct sock *sk, struct narrows_flow *flow)
{
	int i;

	if (sk->__sk_common.skc_family == FAMILY_IPV6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		for (i = 0; i < 4; i++) {
			flow->local[i] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			flow->remote[i] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[i];
		}
	} else {
		for (i = 0; i < 2; i++) {
			flow->local[i] = 0;
			flow->remote[i] = 0;
		}
		flow->local[2] = bpf_htonl(0xffff);
		flow->remote[2] = bpf_htonl(0xffff);
		flow->local[3] = sk->__sk_common.skc_rcv_saddr;
		flow->remote[3] = sk->__sk_common.skc_daddr;
	}
	flow->local_port = bpf_htons(sk->__sk_common.skc_num);
	flow->remote_port = sk->__sk_common.skc_dport;
}

/* Replaces the aligned word at `at` of the IP header. */
narrows_inline void packet_set_ip(struct __sk_buff *skb, u32 at, u16 old, u16 new)
{
	__be16 from = bpf_htons(old);
	__be16 to = bpf_htons(new);

	if (old == new)
		return;
	if (!bpf_l3_csum_replace(skb, 10, from, to, 2))
		bpf_skb_store_bytes(skb, at, &to, 2, 0);
}

/* Replaces the word at `at` of the packet, within its TCP header; in options it may lie at an odd place, and then it is
 * summed with its bytes swapped. */
narrows_inline void packet_set_tcp(struct __sk_buff *skb, const struct packet *p, u32 at, u16 old, u16 new)
{
	__be16 from = bpf_htons(old);
	__be16 to = bpf_htons(new);
	bool odd = (at - p->tcp) & 1;

	if (old == new)
		return;
	if (!bpf_l4_csum_replace(skb, p->tcp + 16, odd ? old : from, odd ? new : to, 2))
		bpf_skb_store_bytes(skb, at, &to, 2, 0);
}

/* Replaces the first word of the IPv6 header. */
narrows_inline void packet_set_first_v6(struct __sk_buff *skb, struct packet *p, u32 first)
{
	__be32 to = bpf_htonl(first);

	if (p->first != first)
		bpf_skb_store_bytes(skb, 0, &to, 4, 0);
	p->first = first;
}

/* The ECN field. */
narrows_inline u8 packet_ecn(const struct packet *p)
{
	return (p->v6 ? p->first >> 20 : p->first) & 3;
}

/* Writes the ECN field. */
narrows_inline void packet_set_ecn(struct __sk_buff *skb, struct packet *p, u8 ecn)
{
	u16 first = (p->first & ~3) | ecn;

	if (p->v6) {
		packet_set_first_v6(skb, p, (p->first & ~(3U << 20)) | (u32)ecn << 20);
		return;
	}
	packet_set_ip(skb, 0, p->first, first);
	p->first = first;
}

/* Writes the reserved bit of the IPv4 flags. */
narrows_inline void packet_set_reserved(struct __sk_buff *skb, struct packet *p, bool on)
{
	u16 fragment = (p->fragment & 0x7fff) | (on ? 0x8000 : 0);

	packet_set_ip(skb, 6, p->fragment, fragment);
	p->fragment = fragment;
}

/* Writes the data of the IPv6 hop-by-hop option that is there. */
narrows_inline void packet_set_hop_data(struct __sk_buff *skb, struct packet *p, u32 data)
{
	__be32 to = bpf_htonl(data);

	if (p->hop_data != data)
		bpf_skb_store_bytes(skb, IPV6_MIN + HOP_DATA, &to, 4, 0);
	p->hop_data = data;
}

/* Puts a hop-by-hop header with one option behind the IPv6 header, which has none; where there is no room for its 8 bytes, the
 * packet stays as it is. */
narrows_inline void packet_add_hop(struct __sk_buff *skb, struct packet *p, u8 kind, u32 data)
{
	struct hop_header hop = { .next = NEXT_TCP, .kind = kind, .data_length = 4, .data = bpf_htonl(data) };
	__be16 length = bpf_htons(p->options_end - IPV6_MIN + p->payload + HOP_BY_HOP);
	u8 next = NEXT_HOP_BY_HOP;

	if (bpf_skb_adjust_room(skb, HOP_BY_HOP, BPF_ADJ_ROOM_NET, 0))
		return;
	bpf_skb_store_bytes(skb, IPV6_MIN, &hop, sizeof(hop), 0);
	bpf_skb_store_bytes(skb, 4, &length, sizeof(length), 0);
	bpf_skb_store_bytes(skb, 6, &next, sizeof(next), 0);
	p->hop = 1;
	p->hop_kind = kind;
	p->hop_data = data;
	p->tcp += HOP_BY_HOP;
	p->options_end += HOP_BY_HOP;
}

/* Writes the 12 flags of the TCP header. */
narrows_inline void packet_set_flags(struct __sk_buff *skb, struct packet *p, u16 flags)
{
	u16 word = (p->word & 0xf000) | (flags & 0x0fff);

	packet_set_tcp(skb, p, p->tcp + 12, p->word, word);
	p->word = word;
}

/* Writes the window field. */
narrows_inline void packet_set_window(struct __sk_buff *skb, struct packet *p, u16 window)
{
	packet_set_tcp(skb, p, p->tcp + 14, p->window, window);
	p->window = window;
}

#endif /* NARROWS_PACKET_H */
