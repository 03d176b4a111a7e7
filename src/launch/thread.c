/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second thread of pid 1: it builds the root.
 *
 * Making a network takes the kernel as long as making a root, so both are done
 * at once: pid 1 itself makes the network and gives up all that it can, and
 * this thread, which keeps its capabilities, waits for the plan and carries out
 * its middle part.  It shares the root and the working directory with pid 1,
 * and its pivot_root moves both.
 *
 * Last it detaches the old root, for which the kernel waits until no processor
 * can be looking at it; pid 1 goes on meanwhile.  It is joined before anything
 * foreign runs: what then is left has no capability, and one thread.
 */
#include "init.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/stat.h>

#include "mount.h"
#include "process.h"

enum { STACK = 256 << 10 };

static struct {
	_Alignas(64) char stack[STACK];
	pthread_t id;
	sem_t entered;		/* its word: the new root is the root */
} thread;

static int leave_old_root(struct err *e)
{
	/* A working directory of its own, to detach it by. */
	if (unshare(CLONE_FS) < 0)
		return err_sys(e, "separate the working directory");
	return mount_leave_old_root(e);
}

static void *run(void *arg)
{
	struct init *in = arg;
	struct err e;

	init_build(in);
	(void)sem_post(&thread.entered);
	if (leave_old_root(&e) < 0)
		init_fail(in, &e);
	return NULL;
}

/* Where pid 1 is not, which makes the network meanwhile. */
static void send_away(const struct init *in)
{
	cpu_set_t others;

	if (process_other_cpus(&in->plan->cpus, &others))
		(void)pthread_setaffinity_np(thread.id, sizeof others,
					     &others);
}

int thread_start(struct init *in, const struct step *s, struct err *e)
{
	pthread_attr_t attr;

	(void)s;
	/* Its few allocations are not worth a heap of its own. */
	(void)mallopt(M_ARENA_MAX, 1);
	if (sem_init(&thread.entered, 0, 0) < 0)
		return err_sys(e, "make a semaphore");
	errno = pthread_attr_init(&attr);
	if (!errno)
		errno = pthread_attr_setstack(&attr, thread.stack,
					      sizeof thread.stack);
	if (!errno)
		errno = pthread_create(&thread.id, &attr, run, in);
	if (errno)
		return err_sys(e, "make a thread");
	send_away(in);
	return 0;
}

void thread_entered(const struct init *in)
{
	while (sem_wait(&thread.entered) < 0)
		;
	/* It is the thread's as well, who makes files of given modes. */
	(void)umask(in->umask);
}

int thread_join(struct init *in, const struct step *s, struct err *e)
{
	(void)s;
	/* Sent away by the parent; the command is to be where it likes. */
	process_keep_on(0, &in->plan->cpus);
	errno = pthread_join(thread.id, NULL);
	return errno ? err_sys(e, "wait for the thread") : 0;
}
