// SPDX-License-Identifier: GPL-2.0
/*
 * Feeds a congestion control what a connection saw, as the kernel would tell it, and shows its window after each event.
 *
 * Compiled with NARROWS_NATIVE and ALGORITHM (the name of a struct tcp_congestion_ops), and linked with the program of that
 * name. Events come on standard input, a line each, in the form that crates/live/tests/acks/README.md describes; before the
 * first there may be lines "param NAME VALUE". For each event a line goes to standard output:
 *
 *	CWND SSTHRESH NAME=VALUE ...
 *
 * with windows in segments, and what the program says of its state by STATE().
 *
 * What the kernel does around a congestion control is modelled as far as the algorithm can see it, with one short cut: recovery
 * reduces the window at once (the kernel leads it down over a round-trip time and asks the algorithm nothing meanwhile).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kernel.h"

/* Sequence numbers begin so that they wrap after 128 kB. */
#define FIRST_SEQUENCE 0xfffe0000U

extern struct tcp_congestion_ops ALGORITHM;
extern const struct narrows_param *const __start_narrows_params[] __attribute__((weak));
extern const struct narrows_param *const __stop_narrows_params[] __attribute__((weak));
extern const struct narrows_state *const __start_narrows_state[] __attribute__((weak));
extern const struct narrows_state *const __stop_narrows_state[] __attribute__((weak));

static struct tcp_sock socket_;
static struct sock *const sk = (struct sock *)&socket_;
static const struct tcp_congestion_ops *const ops = &ALGORITHM;

/* What the kernel offers to programs (net/ipv4/tcp_cong.c has the rules). */
u32 tcp_reno_ssthresh(struct sock *s)
{
	u32 half = tcp_sk(s)->snd_cwnd / 2;

	return half < 2 ? 2 : half;
}

u32 tcp_reno_undo_cwnd(struct sock *s)
{
	const struct tcp_sock *tp = tcp_sk(s);

	return tp->prior_cwnd > tp->snd_cwnd ? tp->prior_cwnd : tp->snd_cwnd;
}

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 room = tp->snd_ssthresh - tp->snd_cwnd;
	u32 used = acked < room ? acked : room;

	tp->snd_cwnd = min_u64(tp->snd_cwnd + used, tp->snd_cwnd_clamp);
	return acked - used;
}

void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	/* Credit from a time when a segment was dearer is worth one. */
	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	tp->snd_cwnd = min_u64(tp->snd_cwnd + tp->snd_cwnd_cnt / w, tp->snd_cwnd_clamp);
	tp->snd_cwnd_cnt %= w;
}

void tcp_reno_cong_avoid(struct sock *s, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(s);

	(void)ack;
	if (!tcp_is_cwnd_limited(s))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/* Receivers' part: the driver is a sender. */
long bpf_tcp_send_ack(void *tp, u32 rcv_nxt)
{
	(void)tp;
	(void)rcv_nxt;
	return 0;
}

static void set_state(u8 state)
{
	if (ops->set_state)
		ops->set_state(sk, state);
	socket_.inet_conn.icsk_ca_state = state;
}

static void tell(enum tcp_ca_event event)
{
	if (ops->cwnd_event)
		ops->cwnd_event(sk, event);
}

static void start(u32 mss, u32 initial_window)
{
	memset(&socket_, 0, sizeof(socket_));
	/* The memory of an earlier connection's algorithm. */
	memset(socket_.inet_conn.icsk_ca_priv, 0xa5, sizeof(socket_.inet_conn.icsk_ca_priv));
	socket_.mss_cache = mss;
	socket_.snd_cwnd = initial_window;
	socket_.snd_ssthresh = TCP_INFINITE_SSTHRESH;
	socket_.snd_cwnd_clamp = ~0U;
}

static void observe(const char *rtt, u32 delivered)
{
	struct ack_sample sample = { .pkts_acked = delivered, .rtt_us = strcmp(rtt, "-") ? atoi(rtt) : -1 };

	if (ops->pkts_acked)
		ops->pkts_acked(sk, &sample);
}

/* The timestamps of an ACK in milliseconds: the peer's clock, and ours when we sent what it answers. */
static void stamp(const char *remote, const char *local)
{
	socket_.rx_opt.saw_tstamp = strcmp(remote, "-") != 0;
	socket_.rx_opt.rcv_tsval = strtoul(remote, NULL, 10);
	socket_.rx_opt.rcv_tsecr = strtoul(local, NULL, 10);
}

/* What the kernel counts when an ACK arrives; of what it delivered, so many segments were marked. */
static void count(u32 delivered, u32 marked)
{
	socket_.delivered += delivered;
	socket_.delivered_ce += marked;
	if (ops->in_ack_event)
		ops->in_ack_event(sk, marked ? CA_ACK_ECE : 0);
}

static void grow(u32 delivered)
{
	if (ops->cong_avoid)
		ops->cong_avoid(sk, socket_.snd_una, delivered);
}

static void reduce(void)
{
	socket_.prior_cwnd = socket_.snd_cwnd;
	socket_.prior_ssthresh = socket_.snd_ssthresh;
	socket_.snd_ssthresh = ops->ssthresh(sk);
	socket_.snd_cwnd_cnt = 0;
	socket_.undo_marker = 1;
}

static void recover(u8 state)
{
	reduce();
	/* The kernel tells the state before it leads the window down. */
	set_state(state);
	socket_.snd_cwnd = min_u64(socket_.snd_cwnd, socket_.snd_ssthresh);
}

static void expire(bool again)
{
	if (!again) {
		reduce();
		tell(CA_EVENT_LOSS);
	}
	socket_.snd_cwnd = 1;
	socket_.snd_cwnd_cnt = 0;
	set_state(TCP_CA_Loss);
}

static void undo(void)
{
	socket_.undo_marker = 0;
	socket_.snd_cwnd = ops->undo_cwnd(sk);
	if (socket_.prior_ssthresh > socket_.snd_ssthresh)
		socket_.snd_ssthresh = socket_.prior_ssthresh;
}

/* The end of a reduction that was not undone. */
static void complete(void)
{
	if (socket_.inet_conn.icsk_ca_state == TCP_CA_CWR || socket_.undo_marker)
		socket_.snd_cwnd = socket_.snd_ssthresh;
	tell(CA_EVENT_COMPLETE_CWR);
}

/* In the kernel's order: after a recovery the state is Open already when cwnd becomes ssthresh. */
static void open_again(void)
{
	u8 state = socket_.inet_conn.icsk_ca_state;

	if (state == TCP_CA_CWR)
		complete();
	set_state(TCP_CA_Open);
	if (state == TCP_CA_Recovery)
		complete();
}

/* One event with what is known then, and its own numbers; false if it is none. */
static bool happen(const char *what, char *const number[])
{
	bool first = !strcmp(what, "start");

	if (first)
		start(atoi(number[4]), atoi(number[5]));
	socket_.tcp_mstamp = strtoull(number[0], NULL, 10);
	socket_.snd_una = FIRST_SEQUENCE + (u32)strtoull(number[1], NULL, 10);
	socket_.snd_nxt = FIRST_SEQUENCE + (u32)strtoull(number[2], NULL, 10);
	socket_.is_cwnd_limited = atoi(number[3]);
	if (first) {
		if (ops->init)
			ops->init(sk);
	} else if (!strcmp(what, "ack")) {
		stamp(number[7], number[8]);
		observe(number[5], atoi(number[4]));
		count(atoi(number[4]), atoi(number[6]));
		grow(atoi(number[4]));
	} else if (!strcmp(what, "see")) {
		stamp(number[7], number[8]);
		observe(number[5], atoi(number[4]));
		count(atoi(number[4]), atoi(number[6]));
	} else if (!strcmp(what, "grow")) {
		grow(atoi(number[4]));
	} else if (!strcmp(what, "loss")) {
		recover(TCP_CA_Recovery);
	} else if (!strcmp(what, "ecn")) {
		recover(TCP_CA_CWR);
	} else if (!strcmp(what, "timeout") || !strcmp(what, "again")) {
		expire(what[0] == 'a');
	} else if (!strcmp(what, "undo")) {
		undo();
	} else if (!strcmp(what, "open")) {
		open_again();
	} else if (!strcmp(what, "idle")) {
		tell(CA_EVENT_TX_START);
	} else if (!strcmp(what, "window")) {
		socket_.snd_cwnd = atoi(number[4]);
	} else {
		return false;
	}
	return true;
}

static bool set_param(const char *name, const char *value)
{
	const struct narrows_param *const *param;

	for (param = __start_narrows_params; param < __stop_narrows_params; param++) {
		if (!strcmp((*param)->name, name)) {
			*(*param)->value = strtoull(value, NULL, 10);
			return true;
		}
	}
	return false;
}

static void show(void)
{
	const struct narrows_state *const *state;

	printf("%u %u", socket_.snd_cwnd, socket_.snd_ssthresh);
	for (state = __start_narrows_state; state < __stop_narrows_state; state++) {
		u64 value = 0;

		/* Little-endian machines only, as the programs' own target. */
		memcpy(&value, (char *)inet_csk_ca(sk) + (*state)->offset, (*state)->size);
		printf(" %s=%llu", (*state)->name, value);
	}
	putchar('\n');
}

int main(void)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		char *word[10] = { "", "0", "0", "0", "0", "0", "-", "0", "-", "0" };
		int words = 0;
		char *at;

		for (at = strtok(line, " \n"); at && words < 10; at = strtok(NULL, " \n"))
			word[words++] = at;
		if (!words || word[0][0] == '#')
			continue;
		if (!strcmp(word[0], "param") ? !set_param(word[1], word[2]) : !happen(word[0], word + 1)) {
			fprintf(stderr, "%s %s: unknown\n", word[0], word[1]);
			return 2;
		}
		if (strcmp(word[0], "param"))
			show();
	}
	return 0;
}
