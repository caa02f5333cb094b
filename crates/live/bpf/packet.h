/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP segments over IPv4 as packet programs see them: reading both headers, and changing fields with checksums kept
 * right.
 *
 * For devices whose packets begin with the IP header (TUN): offset 0 of a packet is its version. All bytes are
 * reached by helpers that check bounds, so hostile lengths give an error and never a wrong read. What is not TCP
 * over IPv4, is a fragment, or has a length that does not fit, is not read and so passes untouched; that includes
 * IPv6.
 *
 * Checksums are updated by what changed (RFC 1624). A segment whose checksum the device is still to fill in
 * (CHECKSUM_PARTIAL) holds the sum of the pseudo-header, which no change here touches: the helper for TCP knows.
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
	TCP_MIN = 20,
};

/* A connection as one of its hosts names it, so that both directions have one name there, and its two hosts two. */
struct narrows_flow {
	__be32 local;
	__be32 remote;
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
	__be32 src;
	__be32 dst;
	__be16 src_port;
	__be16 dst_port;
	u32 seq;
	u32 ack;
	u32 tcp; /* where the TCP header begins: the length of the IP header */
	u32 options_end; /* where the TCP options end */
	u32 payload; /* bytes of data */
	u16 first; /* version, header length, DSCP and ECN: the first word */
	u16 fragment; /* flags and fragment offset, the top bit being the reserved flag */
	u16 word; /* TCP header length and flags */
	u16 window; /* the field, unscaled */
};

/* Reads the segment; false where there is none to be read. */
narrows_inline bool packet_read(struct __sk_buff *skb, struct packet *p)
{
	struct ipv4_header ip;
	struct tcp_header tcp;
	u32 total;
	u32 header;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)))
		return false;
	p->tcp = (ip.version_ihl & 15) * 4;
	total = bpf_ntohs(ip.total);
	p->fragment = bpf_ntohs(ip.fragment);
	if (ip.version_ihl >> 4 != 4 || ip.protocol != 6 || p->fragment & 0x3fff || p->tcp < IPV4_MIN || total > skb->len)
		return false;
	if (bpf_skb_load_bytes(skb, p->tcp, &tcp, sizeof(tcp)))
		return false;
	p->word = bpf_ntohs(tcp.offset_flags);
	header = (p->word >> 12) * 4;
	if (header < TCP_MIN || p->tcp + header > total)
		return false;
	p->src = ip.src;
	p->dst = ip.dst;
	p->src_port = tcp.src_port;
	p->dst_port = tcp.dst_port;
	p->seq = bpf_ntohl(tcp.seq);
	p->ack = bpf_ntohl(tcp.ack);
	p->options_end = p->tcp + header;
	p->payload = total - p->tcp - header;
	p->first = (u16)ip.version_ihl << 8 | ip.tos;
	p->window = bpf_ntohs(tcp.window);
	return true;
}

/* The connection of a segment that leaves or, with `in`, arrives here. */
narrows_inline void packet_flow(const struct packet *p, bool in, struct narrows_flow *flow)
{
	flow->local = in ? p->dst : p->src;
	flow->remote = in ? p->src : p->dst;
	flow->local_port = in ? p->dst_port : p->src_port;
	flow->remote_port = in ? p->src_port : p->dst_port;
}

/* The connection of a socket. */
narrows_inline void socket_flow(const struct sock *sk, struct narrows_flow *flow)
{
	flow->local = sk->__sk_common.skc_rcv_saddr;
	flow->remote = sk->__sk_common.skc_daddr;
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

/* Writes the ECN field. */
narrows_inline void packet_set_ecn(struct __sk_buff *skb, struct packet *p, u8 ecn)
{
	u16 first = (p->first & ~3) | ecn;

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
