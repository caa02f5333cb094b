/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In place of libbpf's headers where a program is compiled with the machine's own C compiler.
 *
 * Programs are ordinary functions then, under the names that BPF_PROG gives them, and the kernel's types are plain structs.
 * The kernel's functions that programs call are whatever is linked with them: native/driver.c for congestion controls.
 */
#ifndef NARROWS_NATIVE_SHIM_H
#define NARROWS_NATIVE_SHIM_H

#include <stddef.h>

#define SEC(name)
#define __ksym
#define BPF_PROG(name, args...) name(args)
#define NARROWS_CALL_(name, args...) name(args)
#define NARROWS_CALL(name, args...) NARROWS_CALL_(name, args)
#define NARROWS_TELL(hook, sk, event) hook(sk, event)
#define BPF_CORE_READ(object, field) ((object)->field)
#define BPF_CORE_READ_BITFIELD(object, field) ((object)->field)
#define bpf_core_field_exists(field) 1
#define bpf_htons(x) __builtin_bswap16(x)
#define bpf_ntohs(x) __builtin_bswap16(x)
#define bpf_htonl(x) __builtin_bswap32(x)
#define bpf_ntohl(x) __builtin_bswap32(x)
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* A parameter is a variable that a driver finds by its name, between the section's two ends. */
struct narrows_param {
	const char *name;
	__u64 *value;
};
#define PARAM(name, initial)                                                                                           \
	__u64 param_##name = (initial);                                                                                \
	static const struct narrows_param narrows_param_##name = { #name, &param_##name };                            \
	static const struct narrows_param *const narrows_param_at_##name                                              \
		__attribute__((section("narrows_params"), used)) = &narrows_param_##name

/* A field of the state in icsk_ca_priv that a driver shows by its name. */
struct narrows_state {
	const char *name;
	size_t offset;
	size_t size;
};
#define STATE(type, field)                                                                                             \
	static const struct narrows_state narrows_state_##field = { #field, offsetof(type, field),                    \
								    sizeof(((type *)0)->field) };                     \
	static const struct narrows_state *const narrows_state_at_##field                                             \
		__attribute__((section("narrows_state"), used)) = &narrows_state_##field

u32 tcp_reno_ssthresh(struct sock *sk);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
u32 tcp_reno_undo_cwnd(struct sock *sk);
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);
long bpf_tcp_send_ack(void *tp, u32 rcv_nxt);

#endif
