/* SPDX-License-Identifier: GPL-2.0 */
/*
 * acns.bpf.c for tests: over a base that adds a segment per segment acknowledged where cwnd is what limits, and
 * halves, in place of the kernel's CUBIC and Reno. What is tried is what ACNS makes of a base, and any will do.
 */
#define NARROWS_NATIVE
#include "../acns.bpf.c"

/* How often the base was told of a reduction, and before the last loss. */
static u32 told, told_before;

static void grow(struct sock *sk, u32 acked)
{
	if (tcp_sk(sk)->is_cwnd_limited)
		tcp_sk(sk)->snd_cwnd += acked;
}

static u32 halve(struct sock *sk)
{
	told++;
	return max_u64(tcp_sk(sk)->snd_cwnd / 2, 2);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	grow(sk, acked);
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return halve(sk);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max_u64(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

void cubictcp_init(struct sock *sk)
{
	((struct bictcp *)inet_csk_ca(sk))->epoch_start = 1;
}

u32 cubictcp_recalc_ssthresh(struct sock *sk)
{
	return halve(sk);
}

void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	grow(sk, acked);
}

void cubictcp_state(struct sock *sk, u8 new_state)
{
	/* After a timeout CUBIC forgets all by itself, and what ACNS did to its curve before does not matter. */
	if (new_state == TCP_CA_Loss)
		((struct bictcp *)inet_csk_ca(sk))->epoch_start = 1;
}

void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
}

void cubictcp_acked(struct sock *sk, const struct ack_sample *sample)
{
}

/* ---- what tests call ---- */

int narrows_ingress(u8 *bytes, u32 len, u32 segments)
{
	return narrows_show(acns_ingress, bytes, len, segments);
}

int narrows_egress(u8 *bytes, u32 len, u32 segments)
{
	return narrows_show(acns_egress, bytes, len, segments);
}

static struct tcp_congestion_ops native_ops;

/* A socket with a congestion control of this name: segments of `mss` bytes, a window of `cwnd` of them, and of the data
 * from `end` on `left` bytes that may follow at once. */
void narrows_sender(const char *name, u32 cwnd, u32 mss, u32 end, u32 left)
{
	strncpy(native_ops.name, name, sizeof(native_ops.name) - 1);
	inet_csk((struct sock *)&narrows_socket)->icsk_ca_ops = &native_ops;
	narrows_has_socket = true;
	narrows_socket.snd_cwnd = cwnd;
	narrows_socket.mss_cache = mss;
	narrows_socket.write_seq = end + left;
	narrows_socket.snd_una = end - 1;
	narrows_socket.snd_wnd = 1 << 20;
}

/* The counters and commands of a connection, zero where there is none: freezes and fallbacks heard; advice received by
 * kind; the number of advices and the last; asks; held ACKs, fallbacks, losses by verdict; the ruling command; missed
 * advice. */
int narrows_counters(const struct narrows_flow *key, u64 out[15])
{
	const struct acns_flow *f = bpf_map_lookup_elem(&acns_flows, key);

	memset(out, 0, 15 * sizeof(*out));
	if (!f)
		return 0;
	out[0] = f->in.freezes;
	out[1] = f->in.fallbacks;
	memcpy(out + 2, f->in.received, sizeof(f->in.received));
	out[5] = f->in.advices;
	out[6] = f->in.advised;
	out[7] = f->out.asked;
	out[8] = f->done.held;
	out[9] = f->done.fallbacks;
	memcpy(out + 10, f->done.losses, sizeof(f->done.losses));
	out[13] = f->done.ruling;
	out[14] = f->done.missed;
	return 1;
}

/* The metrics of the trend. */
void narrows_metrics(const u32 *metrics, u32 count)
{
	memcpy((u32 *)acns_metrics, metrics, count * sizeof(*metrics));
}

/* A sender whose hooks are called as the kernel calls them. */
static struct tcp_sock sender;
static bool over_cubic;

static struct sock *sk(void)
{
	return (struct sock *)&sender;
}

static struct acns_flow *flow(void)
{
	return acns_flow_of(sk());
}

void control_start(int cubic, u32 cwnd)
{
	struct narrows_flow key;

	memset(&sender, 0, sizeof(sender));
	over_cubic = cubic;
	sk()->__sk_common.skc_num = 1000;
	sk()->__sk_common.skc_rcv_saddr = 1;
	sender.snd_cwnd = cwnd;
	sender.snd_ssthresh = TCP_INFINITE_SSTHRESH;
	told = 0;
	socket_flow(sk(), &key);
	acns_new_flow(&key);
	if (cubic)
		acns_cubic_init(sk());
	else
		acns_reno_init(sk());
}

/* Advice comes that the congestion control does not hear of yet, as while the socket is busy. */
void control_advise(u32 advice)
{
	acns_advise(&flow()->in, advice);
}

/* An ACK, which carries advice (0: none) and may grow the window (in recovery it does not). */
void control_ack(u32 advice, u32 una, u32 nxt, u32 acked, int limited)
{
	sender.snd_una = una;
	sender.snd_nxt = nxt;
	sender.is_cwnd_limited = limited;
	if (advice)
		acns_advise(&flow()->in, advice);
	if (over_cubic)
		acns_cubic_in_ack_event(sk(), 0);
	else
		acns_reno_in_ack_event(sk(), 0);
	if (inet_csk(sk())->icsk_ca_state == TCP_CA_Recovery || inet_csk(sk())->icsk_ca_state == TCP_CA_CWR)
		return;
	if (over_cubic)
		acns_cubic_cong_avoid(sk(), una, acked);
	else
		acns_reno_cong_avoid(sk(), una, acked);
}

static void state(u8 to)
{
	if (over_cubic)
		acns_cubic_set_state(sk(), to);
	else
		acns_reno_set_state(sk(), to);
	inet_csk(sk())->icsk_ca_state = to;
}

static u32 ssthresh(void)
{
	return over_cubic ? acns_cubic_ssthresh(sk()) : acns_reno_ssthresh(sk());
}

/* Duplicates show a loss: recovery begins, and brings the window down to what is in flight (tcp_enter_recovery). */
void control_loss(u32 in_flight)
{
	sender.undo_marker = 1;
	sender.prior_cwnd = sender.snd_cwnd;
	sender.prior_ssthresh = sender.snd_ssthresh;
	told_before = told;
	sender.snd_ssthresh = ssthresh();
	state(TCP_CA_Recovery);
	sender.snd_cwnd = in_flight;
}

/* An echo of ECN reduces (tcp_enter_cwr). */
void control_echo(void)
{
	sender.undo_marker = 0;
	sender.snd_ssthresh = ssthresh();
	state(TCP_CA_CWR);
}

/* Recovery ends (tcp_end_cwnd_reduction). */
void control_recovered(void)
{
	if (sender.snd_ssthresh < TCP_INFINITE_SSTHRESH)
		sender.snd_cwnd = sender.snd_ssthresh;
	if (over_cubic)
		acns_cubic_cwnd_event(sk(), CA_EVENT_COMPLETE_CWR);
	else
		acns_reno_cwnd_event(sk(), CA_EVENT_COMPLETE_CWR);
	state(TCP_CA_Open);
}

/* The retransmission timer expires (tcp_enter_loss); `undo` is what the last recovery left of where it began. */
void control_timeout(u32 undo)
{
	if (inet_csk(sk())->icsk_ca_state <= TCP_CA_Disorder) {
		sender.undo_marker = undo;
		sender.snd_ssthresh = ssthresh();
		if (over_cubic)
			acns_cubic_cwnd_event(sk(), CA_EVENT_LOSS);
		else
			acns_reno_cwnd_event(sk(), CA_EVENT_LOSS);
	}
	sender.snd_cwnd = 1;
	state(TCP_CA_Loss);
}

/* All that was lost is acknowledged. */
void control_open(void)
{
	state(TCP_CA_Open);
}

/* Recovery turns out to have been for nothing (tcp_undo_cwnd_reduction). */
void control_undo(void)
{
	sender.snd_cwnd = over_cubic ? acns_cubic_undo_cwnd(sk()) : acns_reno_undo_cwnd(sk());
	/* What the base did to the threshold is the kernel's to undo, which takes the larger one; what ACNS did is ACNS's. */
	if (told != told_before)
		sender.snd_ssthresh = sender.prior_ssthresh;
	state(TCP_CA_Open);
}

/* cwnd, ssthresh, whether CUBIC's curve is to begin anew (and no longer from now on), how often the base was told. */
void control_window(u64 out[4])
{
	struct bictcp *ca = inet_csk_ca(sk());

	out[0] = sender.snd_cwnd;
	out[1] = sender.snd_ssthresh;
	out[2] = !ca->epoch_start;
	out[3] = told;
	ca->epoch_start = 1;
}

/* The counters of narrows_counters() for that sender. */
void control_counters(u64 out[15])
{
	struct narrows_flow key;

	socket_flow(sk(), &key);
	narrows_counters(&key, out);
}
