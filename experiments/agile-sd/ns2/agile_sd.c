/* Agile-SD (Alrshah et al. 2015, the paper's rules) as a module of ns-2.35's Agent/TCP/Linux, for the packaged ns:
 *
 *     cc -O2 -shared -fPIC -o agile_sd.so agile_sd.c     then in Tcl: load agile_sd.so Agilesd
 *
 * Only what the agent hands to its modules is declared here, in the order and with the types of ns-2.35, where u32 of
 * the kernel is unsigned long and u16 unsigned int. */
#include <math.h>

typedef unsigned long u32;

struct link {
    struct link *prev, *next;
    const char *file;
};

struct sock { /* ns-2's tcp_sock */
    int state;
    u32 snd_nxt, snd_una, mss, srtt;
    struct {
        u32 value, echo;
        unsigned int saw : 1, rest : 15;
    } stamps;
    u32 ssthresh, cwnd;
    unsigned int cwnd_cnt, cwnd_clamp;
    u32 cwnd_stamp, bytes_acked;
    struct ops *ops;
    unsigned char ca_state;
    u32 priv[16];
};

struct ops { /* ns-2's tcp_congestion_ops */
    struct link list;
    unsigned long flags;
    int non_restricted;
    void (*init)(struct sock *);
    void (*release)(struct sock *);
    u32 (*ssthresh)(struct sock *);
    u32 (*min_cwnd)(const struct sock *);
    void (*cong_avoid)(struct sock *, u32 ack, u32 rtt, u32 in_flight, int good);
    void (*unused[6])(void);
    char name[16];
    void *owner;
};

extern int tcp_register_congestion_control(struct ops *);
extern void tcp_slow_start(struct sock *);

static const double LAMBDA_MAX = 3, LAMBDA_MIN = 1, BETA1 = 0.90, BETA2 = 0.95;

struct agile { /* all in segments */
    double loss, degraded, part;
};

static struct agile *of(const struct sock *sk) { return (struct agile *)sk->priv; }

static void init(struct sock *sk) {
    struct agile *a = of(sk);
    a->loss = a->degraded = a->part = 0;
}

/* Below cwnd: at equality this agent is in slow start. */
static u32 ssthresh(struct sock *sk) {
    struct agile *a = of(sk);
    a->loss = (double)sk->cwnd + a->part;
    a->degraded = fmax((sk->cwnd <= sk->ssthresh ? BETA1 : BETA2) * a->loss, 2);
    a->part = 0;
    return a->degraded > 3 ? (u32)a->degraded - 1 : 2;
}

static u32 min_cwnd(const struct sock *sk) { return (u32)of(sk)->degraded; }

static void cong_avoid(struct sock *sk, u32 ack, u32 rtt, u32 in_flight, int good) {
    struct agile *a = of(sk);
    (void)ack, (void)rtt, (void)good;
    if (in_flight < sk->cwnd)
        return;
    if (sk->cwnd <= sk->ssthresh) {
        tcp_slow_start(sk);
        return;
    }
    double cwnd = (double)sk->cwnd + a->part;
    double total = fmax(a->loss - a->degraded, 1), gap = fmax(a->loss - cwnd, 0);
    a->part += fmin(fmax(LAMBDA_MAX * gap / total, LAMBDA_MIN), LAMBDA_MAX) / cwnd;
    if (a->part >= 1) {
        a->part -= 1;
        sk->cwnd++;
    }
}

static struct ops agile_sd = {
    .init = init, .ssthresh = ssthresh, .min_cwnd = min_cwnd, .cong_avoid = cong_avoid, .name = "agile_sd"};

int Agilesd_Init(void *interpreter) {
    (void)interpreter;
    return tcp_register_congestion_control(&agile_sd);
}
