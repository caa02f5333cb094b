// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Lets one of QEMU's threads run at a time, and hides the host's time, so that a virtual machine with counted instructions
 * repeats to the last bit.
 *
 * Why
 *   With -icount sleep=off the thread of the processor executes guest code, and the main loop advances the guest's clock while
 *   the processor halts. The processor is marked as halted before its last instructions are counted (QEMU 7.2: `do_hlt`, then
 *   `icount_process_data`). A main loop that looks in between (`icount_start_warp_timer`) advances a clock that is some
 *   instructions behind, and the next interrupt comes that many nanoseconds late. Which of them wins depends on the host.
 *
 * How
 *   A baton. The main loop gives it back while it waits for events (ppoll), every thread while it waits for a condition or for
 *   a mutex that another thread has. So the main loop looks only while the processor's thread waits, with all its
 *   instructions counted. Virtual timers do not need the main loop: the processor's thread runs them (`icount_handle_deadline`).
 *
 *   A thread that holds a mutex and has to wait for the baton would block a thread that has the baton and wants the mutex. So
 *   the mutex is unlocked first, which is a spurious wake-up to the caller; callers expect these (POSIX, pthread_cond_wait).
 *
 *   A thread with the baton that waits for a mutex keeps the baton. The processor's thread may want QEMU's big lock in the
 *   middle of its work, with instructions that are not yet counted, and the main loop must not look then. The thread that has
 *   the mutex needs no baton to unlock it: it is QEMU's thread for RCU, which takes no turns, or it is about to find that
 *   the baton is taken. Only after a tenth of a second is the baton given back, so that no two threads wait for each other.
 *
 *   Threads that take turns gain nothing from a second processor, and waking it costs more than the turn. So they share one.
 *   Every now and then they may go where they like for a moment: that is when the host's scheduler moves them off a processor
 *   that is busy.
 *
 * Time
 *   QEMU sizes the table of the emulated processor's TLB by how much of it was used in the last 100 ms of the host's time
 *   (`tlb_mmu_resize_locked`, by gettimeofday). Linux leaves entries in a TLB that have become too strict, and handles the
 *   fault if one is still there. So the size decides how often the guest faults, and the host's speed decides the size. Here
 *   gettimeofday counts its calls instead, one for each flush of the TLB.
 *
 * Use
 *   LD_PRELOAD=/path/to/lockstep.so qemu-system-x86_64 ..
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* How long the threads stay on one processor, and how long they may go where they like. */
#define STAY_NS 250000000LL
#define FREE_NS 5000000LL

/* How often a thread with the baton tries to get a mutex before it gives the baton away, how often without a pause between
 * two tries, and that pause: a tenth of a second in all. */
#define PATIENCE 1100
#define YIELDS 100
#define PAUSE_US 100

/* What gettimeofday says first (2024-01-01, as the guest's clock), and what a call adds: 2000 flushes of the TLB make the
 * 100 ms after which QEMU may make the table smaller. */
#define FIRST_US 1704067200000000LL
#define CALL_US 50

static int (*real_poll)(struct pollfd *, nfds_t, int);
static int (*real_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
static int (*real_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*real_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_lock)(pthread_mutex_t *);
static int (*real_trylock)(pthread_mutex_t *);
static int (*real_unlock)(pthread_mutex_t *);

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static int taken;
static __thread int have;

/* The threads that take turns: the main loop, the processor, and what else ever had the baton. */
static pid_t members[16];
static int count;
static __thread int member;
static cpu_set_t anywhere;

static void *next(const char *name, const char *version)
{
	void *found = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

	if (!found)
		found = dlsym(RTLD_NEXT, name);
	if (!found)
		abort();
	return found;
}

__attribute__((constructor)) static void begin(void)
{
	/* Conditions have an older version of their functions too, which dlsym may find. */
	real_wait = next("pthread_cond_wait", "GLIBC_2.3.2");
	real_timedwait = next("pthread_cond_timedwait", "GLIBC_2.3.2");
	real_poll = next("poll", NULL);
	real_ppoll = next("ppoll", NULL);
	real_lock = next("pthread_mutex_lock", NULL);
	real_trylock = next("pthread_mutex_trylock", NULL);
	real_unlock = next("pthread_mutex_unlock", NULL);
	if (sched_getaffinity(0, sizeof(anywhere), &anywhere))
		CPU_ZERO(&anywhere);
}

/* Lists this thread; it has the baton. */
static void join(void)
{
	if (!member && count < (int)(sizeof(members) / sizeof(members[0])))
		members[count++] = (pid_t)syscall(SYS_gettid); /* gettid() came with glibc 2.30. */
	member = 1;
}

/* Lets the threads go where they like, or brings them to the processor of the caller, when it is time to. The caller has the
 * baton. That a thread stays where it is (a sandbox may forbid this) costs time alone. */
static void place(void)
{
	static long long then = -STAY_NS;
	static int settled = 1;
	struct timespec time;
	cpu_set_t where = anywhere;
	long long now;

	if (CPU_COUNT(&anywhere) < 2)
		return;
	clock_gettime(CLOCK_MONOTONIC, &time);
	now = time.tv_sec * 1000000000LL + time.tv_nsec;
	if (now - then < (settled ? STAY_NS : FREE_NS))
		return;
	then = now;
	settled = !settled;
	if (settled) {
		CPU_ZERO(&where);
		CPU_SET(sched_getcpu(), &where);
	}
	for (int i = 0; i < count; i++)
		sched_setaffinity(members[i], sizeof(where), &where);
}

/* Takes the baton if it is free. */
static int try_take(void)
{
	int got;

	real_lock(&guard);
	got = !taken;
	if (got)
		taken = have = 1;
	real_unlock(&guard);
	if (got)
		join();
	return got;
}

static void take(void)
{
	real_lock(&guard);
	while (taken)
		real_wait(&freed, &guard);
	taken = have = 1;
	real_unlock(&guard);
	join();
}

/* Gives the baton back; returns whether this thread had it. */
static int give(void)
{
	int had = have;

	if (had) {
		real_lock(&guard);
		taken = have = 0;
		real_unlock(&guard);
		pthread_cond_signal(&freed);
	}
	return had;
}

/* Takes the baton in a thread that holds a mutex. */
static void take_with(pthread_mutex_t *mutex)
{
	while (!try_take()) {
		real_unlock(mutex);
		take();
		/* Whoever has the mutex has no baton and does not wait for one, or gives the mutex up. */
		if (!real_trylock(mutex))
			return;
		give();
		real_lock(mutex);
	}
}

static int polled(struct pollfd *fds, nfds_t number, const struct timespec *time, const sigset_t *mask)
{
	int done;

	give();
	done = real_ppoll(fds, number, time, mask);
	take();
	place();
	return done;
}

int poll(struct pollfd *fds, nfds_t count, int time)
{
	int done;

	give();
	done = real_poll(fds, count, time);
	take();
	return done;
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *time, const sigset_t *mask)
{
	return polled(fds, count, time, mask);
}

/* What ppoll is called in programs that check sizes (_FORTIFY_SOURCE). */
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *time, const sigset_t *mask, size_t size)
{
	(void)size;
	return polled(fds, count, time, mask);
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	int done;

	give();
	done = real_wait(cond, mutex);
	take_with(mutex);
	return done;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	int had = give(), done = real_timedwait(cond, mutex, until);

	/* Helpers of QEMU's pool of threads wait so; they never had the baton and need none. */
	if (had)
		take_with(mutex);
	return done;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int done;

	/* Other libraries' constructors may run before ours. */
	if (!real_lock)
		begin();
	if (!have)
		return real_lock(mutex);
	for (int tries = 0; tries < PATIENCE; tries++) {
		done = real_trylock(mutex);
		if (done != EBUSY)
			return done;
		if (tries < YIELDS)
			sched_yield();
		else
			usleep(PAUSE_US);
	}
	give();
	done = real_lock(mutex);
	take_with(mutex);
	return done;
}

/* Defines gettimeofday, whose second argument has another type before glibc 2.31. Each thread has a count of its own, so that
 * the processor's does not depend on the others. */
int counted_time(struct timeval *restrict time, void *restrict zone) __asm__("gettimeofday");

int counted_time(struct timeval *restrict time, void *restrict zone)
{
	static __thread long long calls;
	long long now = FIRST_US + CALL_US * ++calls;

	(void)zone;
	time->tv_sec = now / 1000000;
	time->tv_usec = now % 1000000;
	return 0;
}
