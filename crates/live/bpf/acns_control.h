/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The congestion control of ACNS: the kernel's hooks over a base. Part of acns.bpf.c and of each acns_BASE.bpf.c.
 *
 * The base grows and reduces the window as ever; a command from the network comes before its growth, the trend of
 * recent commands before its reduction. See crates/scheme/src/acns/sender.rs.
 *
 * Who includes this file has defined, before:
 *   acns_base_init, _in_ack_event, _cong_avoid, _ssthresh, _set_state, _cwnd_event, _undo_cwnd: the base's hooks
 *   acns_base_held          in place of cong_avoid while the window is held; whatever window it leaves is put back
 *   acns_base_window_set    the window was set from outside
 *   ACNS_NO_GROWTH          the base has cong_control and neither cong_avoid nor held
 *   ACNS_RULES_RECOVERY     whether the base has the window in recovery too (cong_control), so that there is no PRR
 * Each takes last which of the object's bases is meant, a constant.
 */
#ifndef NARROWS_ACNS_CONTROL_H
#define NARROWS_ACNS_CONTROL_H

#include "acns_state.h"

narrows_inline struct acns_sender *acns_sender(struct sock *sk, u64 flags)
{
	return bpf_sk_storage_get(&acns_senders, sk, 0, flags);
}

narrows_inline struct acns_flow *acns_flow_of(struct sock *sk)
{
	struct narrows_flow key;

	socket_flow(sk, &key);
	return bpf_map_lookup_elem(&acns_flows, &key);
}

narrows_inline void acns_init(struct sock *sk, u32 base)
{
	struct acns_sender *s = acns_sender(sk, BPF_SK_STORAGE_GET_F_CREATE);
	struct acns_flow *f = acns_flow_of(sk);

	if (s) {
		s->heard = f ? f->in.advices : 0;
		s->ruling = ACNS_NONE;
		s->rounds = 0;
		s->judged = 0;
		s->ssthresh = 0;
		s->base_told = 1;
		s->trend.pushed = 0;
		s->history.len = 0;
	}
	acns_base_init(sk, base);
}

/* The window to fall back to: the latest smaller one, not below two segments; 0 where there is none. */
narrows_inline u32 acns_latest_below(const struct acns_sender *s, u32 cwnd)
{
	u32 window = acns_history_below(&s->history, cwnd);

	if (window)
		window = max_u64(window, 2);
	return window < cwnd ? window : 0;
}

/* Sets the window to its latest smaller value, if there is one. */
narrows_inline void acns_fall_back(struct sock *sk, struct acns_sender *s, struct acns_flow *f, u32 base)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window = acns_latest_below(s, tp->snd_cwnd);

	if (!window)
		return;
	tp->snd_cwnd = window;
	tp->snd_ssthresh = min_u64(tp->snd_ssthresh, window);
	f->done.fallbacks++;
	acns_base_window_set(sk, base);
}

/* Whether the window is the recovery's and not the base's. */
narrows_inline bool acns_in_recovery(const struct sock *sk)
{
	u8 state = BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);

	return !ACNS_RULES_RECOVERY && (state == TCP_CA_CWR || state == TCP_CA_Recovery);
}

/* Takes the advice that came since the last time, oldest first. Called for every ACK, whatever the phase. */
narrows_inline void acns_hear(struct sock *sk, u32 base)
{
	struct acns_sender *s = acns_sender(sk, 0);
	struct acns_flow *f = acns_flow_of(sk);
	u32 missed;
	int i;

	if (!s || !f)
		return;
	missed = less_u64(f->in.advices - s->heard, ACNS_ADVICE);
	f->done.missed += missed;
	s->heard += missed;
	for (i = 0; i < ACNS_ADVICE; i++) {
		u8 advice;

		if (s->heard == f->in.advices)
			break;
		advice = f->in.advice[s->heard & (ACNS_ADVICE - 1)];
		s->heard++;
		acns_trend_push(&s->trend, advice);
		s->ruling = advice;
		/* In recovery the window is the recovery's: the command rules, but does not reduce a second time. */
		if (advice == ACNS_FALLBACK && param_obey && !acns_in_recovery(sk))
			acns_fall_back(sk, s, f, base);
	}
	f->done.ruling = s->ruling;
}

/* Notes the window once per round trip: at the first ACK, and whenever all sent at the last note is acknowledged. */
narrows_inline void acns_note_round(const struct tcp_sock *tp, struct acns_sender *s)
{
	if (s->rounds && before(tp->snd_una, s->round_end))
		return;
	acns_history_push(&s->history, tp->snd_cwnd);
	s->round_end = after(tp->snd_nxt, tp->snd_una) ? tp->snd_nxt : tp->snd_una + 1;
	s->rounds = 1;
}

#ifndef ACNS_NO_GROWTH
narrows_inline void acns_cong_avoid(struct sock *sk, u32 ack, u32 acked, u32 base)
{
	struct acns_sender *s = acns_sender(sk, 0);
	struct acns_flow *f = acns_flow_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/* The initial window is the first round trip's, and known only before anything has grown. */
	if (s && !s->rounds)
		acns_note_round(tp, s);
	if (s && f && param_obey && s->ruling >= ACNS_FREEZE) {
		u32 cwnd = tp->snd_cwnd;

		f->done.held++;
		acns_base_held(sk, ack, acked, base);
		tp->snd_cwnd = cwnd;
	} else {
		acns_base_cong_avoid(sk, ack, acked, base);
	}
	if (s)
		acns_note_round(tp, s);
}
#endif

/* What a loss means, added to the trend as a command; without a command so far the base reacts and nothing is added. */
narrows_inline u32 acns_judge(struct acns_sender *s, struct acns_flow *f)
{
	u64 sum, all;
	u32 verdict = ACNS_LOSS_DECREASE;

	s->pushed = acns_trend_sums(&s->trend, acns_metrics, param_trend_count, &sum, &all);
	if (s->pushed) {
		if (param_obey)
			verdict = acns_trend_verdict(sum, all, param_loss_fallback_threshold, param_loss_decrease_threshold);
		acns_trend_push(&s->trend, verdict == ACNS_LOSS_FREEZE ? ACNS_FREEZE : ACNS_FALLBACK);
		f->done.trend = sum * MILLION / all;
	}
	f->done.losses[verdict & 1 ? 1 : verdict ? 2 : 0]++;
	s->judged = 1 + verdict;
	return verdict;
}

narrows_inline u32 acns_ssthresh(struct sock *sk, u32 base)
{
	struct acns_sender *s = acns_sender(sk, 0);
	struct acns_flow *f = acns_flow_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 verdict, window;

	/* The kernel notes where recovery began before it asks; where an echo of ECN reduces, it has forgotten that. */
	if (!s || !f || !tp->undo_marker) {
		if (s)
			s->base_told = 1;
		return acns_base_ssthresh(sk, base);
	}
	verdict = acns_judge(s, f);
	s->base_told = verdict == ACNS_LOSS_DECREASE;
	s->cwnd = tp->snd_cwnd;
	s->fell = 0;
	s->ssthresh = 0;
	if (verdict == ACNS_LOSS_DECREASE)
		return acns_base_ssthresh(sk, base);
	window = verdict == ACNS_LOSS_FALLBACK ? acns_latest_below(s, tp->snd_cwnd) : 0;
	if (window) {
		s->fell = window;
		f->done.fallbacks++;
	}
	if (ACNS_RULES_RECOVERY) {
		/* No recovery leads the window to the threshold, so both are set here. */
		if (window)
			tp->snd_cwnd = window;
		return window ? min_u64(tp->snd_ssthresh, window) : tp->snd_ssthresh;
	}
	s->ssthresh = tp->snd_ssthresh;
	if (!window)
		return tp->snd_cwnd;
	acns_base_window_set(sk, base);
	return window;
}

/* A timeout: the base reacts as ever; the ruling command goes, or a flow frozen at one segment would stay there. */
narrows_inline void acns_timeout(struct sock *sk, struct acns_sender *s, struct acns_flow *f, u32 base)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 verdict = s->judged - 1;

	s->ruling = ACNS_NONE;
	f->done.ruling = ACNS_NONE;
	if (!s->judged)
		return;
	/* Judged on entering recovery, it stands; judged just now, it was the timeout that was judged. */
	if (inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery) {
		f->done.losses[verdict & 1 ? 1 : verdict ? 2 : 0]--;
		f->done.fallbacks -= s->fell != 0;
		if (s->pushed)
			acns_trend_pop(&s->trend);
	}
	if (verdict != ACNS_LOSS_DECREASE) {
		u32 cwnd = tp->snd_cwnd;

		/* The base reduces from the window at the loss, which the timeout has taken away by now. */
		tp->snd_cwnd = s->cwnd;
		tp->snd_ssthresh = acns_base_ssthresh(sk, base);
		acns_base_cwnd_event(sk, CA_EVENT_LOSS, base);
		tp->snd_cwnd = cwnd;
	}
	s->judged = 0;
	s->ssthresh = 0;
	s->base_told = 1;
}

narrows_inline void acns_set_state(struct sock *sk, u8 new_state, u32 base)
{
	struct acns_sender *s = acns_sender(sk, 0);
	struct acns_flow *f = acns_flow_of(sk);

	if (s && f && new_state == TCP_CA_Loss)
		acns_timeout(sk, s, f, base);
	else if (s && new_state == TCP_CA_Open)
		s->judged = 0;
	/* A base that was not told of the loss does not hear of its recovery. */
	if (!s || s->base_told || new_state != TCP_CA_Recovery)
		acns_base_set_state(sk, new_state, base);
}

narrows_inline void acns_cwnd_event(struct sock *sk, enum tcp_ca_event event, u32 base)
{
	struct acns_sender *s = acns_sender(sk, 0);

	/* Recovery has ended: the threshold that it borrowed goes back. */
	if (s && event == CA_EVENT_COMPLETE_CWR) {
		if (s->ssthresh)
			tcp_sk(sk)->snd_ssthresh = s->fell ? min_u64(s->ssthresh, s->fell) : s->ssthresh;
		s->ssthresh = 0;
	}
	/* Nor does it hear of the recovery's end, nor of a timeout before acns_timeout has told it. */
	if (!s || s->base_told || (event != CA_EVENT_COMPLETE_CWR && event != CA_EVENT_LOSS))
		acns_base_cwnd_event(sk, event, base);
}

narrows_inline u32 acns_undo_cwnd(struct sock *sk, u32 base)
{
	struct acns_sender *s = acns_sender(sk, 0);

	if (s) {
		/* The kernel puts back a threshold that was larger. A base that was not told has nothing to undo. */
		if (s->ssthresh)
			tcp_sk(sk)->snd_ssthresh = s->ssthresh;
		s->ssthresh = 0;
		if (!s->base_told) {
			acns_base_window_set(sk, base);
			return tcp_reno_undo_cwnd(sk);
		}
	}
	return acns_base_undo_cwnd(sk, base);
}

/* The hooks of a congestion control over `base`, named acns_NAME_HOOK, and their places in its struct. */
#define ACNS_HOOKS(name, base)                                                                                         \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(acns_##name##_init, struct sock *sk)                                                             \
	{                                                                                                              \
		acns_init(sk, base);                                                                                   \
	}                                                                                                              \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(acns_##name##_in_ack_event, struct sock *sk, u32 flags)                                          \
	{                                                                                                              \
		acns_hear(sk, base);                                                                                   \
		acns_base_in_ack_event(sk, flags, base);                                                               \
	}                                                                                                              \
	SEC("struct_ops")                                                                                              \
	u32 BPF_PROG(acns_##name##_ssthresh, struct sock *sk)                                                          \
	{                                                                                                              \
		return acns_ssthresh(sk, base);                                                                        \
	}                                                                                                              \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(acns_##name##_set_state, struct sock *sk, u8 new_state)                                          \
	{                                                                                                              \
		acns_set_state(sk, new_state, base);                                                                   \
	}                                                                                                              \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(acns_##name##_cwnd_event, struct sock *sk, enum tcp_ca_event event)                              \
	{                                                                                                              \
		acns_cwnd_event(sk, event, base);                                                                      \
	}                                                                                                              \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(acns_##name##_cwnd_event_tx_start, struct sock *sk)                                              \
	{                                                                                                              \
		acns_cwnd_event(sk, CA_EVENT_TX_START, base);                                                          \
	}                                                                                                              \
	SEC("struct_ops")                                                                                              \
	u32 BPF_PROG(acns_##name##_undo_cwnd, struct sock *sk)                                                         \
	{                                                                                                              \
		return acns_undo_cwnd(sk, base);                                                                       \
	}
/* The hook at which the window grows; a base with cong_control has that instead. */
#define ACNS_GROWTH(name, base)                                                                                        \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(acns_##name##_cong_avoid, struct sock *sk, u32 ack, u32 acked)                                   \
	{                                                                                                              \
		acns_cong_avoid(sk, ack, acked, base);                                                                 \
	}
#define ACNS_HOOKS_OF(hooks)                                                                                           \
	.init = (void *)acns_##hooks##_init, .in_ack_event = (void *)acns_##hooks##_in_ack_event,                      \
	.ssthresh = (void *)acns_##hooks##_ssthresh,                                                            \
	.set_state = (void *)acns_##hooks##_set_state, .cwnd_event = (void *)acns_##hooks##_cwnd_event,                \
	.cwnd_event_tx_start = (void *)acns_##hooks##_cwnd_event_tx_start,                                             \
	.undo_cwnd = (void *)acns_##hooks##_undo_cwnd

#endif /* NARROWS_ACNS_CONTROL_H */
