/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name lookups by a bounded pool of threads: see lookup.h.
 *
 * A task belongs to the pool from lookup_start() on; `owner` is who wants its
 * result, NULL when nobody does any more.  The loop's thread alone reads and
 * writes owner; a thread touches only what it looks up, and the two lists
 * under the lock.  A thread that is stuck keeps its task; when it comes back,
 * the task without an owner is simply freed.
 */
#include "lookup.h"

#include <ifaddrs.h>
#include <malloc.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "own.h"

struct lookup_task {
	struct lookup_task *next;
	struct lookup *owner;
	bool trusted;
	char host[256];
	struct addresses found;		/* those that may be dialled */
	char error[LOOKUP_ERROR];
};

struct task_list {
	struct lookup_task *first, **end;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
/* Under the lock. */
static struct task_list waiting, finished;
static unsigned n_waiting, n_idle, n_threads;
/* The loop's thread only, but for writes to watch.fd's descriptor. */
static struct loop *loop;
static struct watch bell = { .fd = -1 };

static void list_put(struct task_list *l, struct lookup_task *t)
{
	if (!l->first)
		l->end = &l->first;
	t->next = NULL;
	*l->end = t;
	l->end = &t->next;
}

static struct lookup_task *list_take(struct task_list *l)
{
	struct lookup_task *t = l->first;

	if (t)
		l->first = t->next;
	return t;
}

/* Asked every time: interfaces come and go while a run lasts. */
static int read_own(struct addresses *ret)
{
	struct ifaddrs *all = NULL;
	int complete = 0;

	if (getifaddrs(&all) < 0)
		return -1;
	for (struct ifaddrs *i = all; i; i = i->ifa_next) {
		struct address a = address_of(i->ifa_addr);

		if (a.n == 0)
			continue;
		if (ret->n == ADDRESSES_MAX) {
			complete = -1;
			break;
		}
		ret->v[ret->n++] = a;
	}
	freeifaddrs(all);
	return complete;
}

static void keep_good(struct lookup_task *t, const struct addrinfo *list,
		      const struct addresses *own)
{
	char text[ADDRESS_TEXT];

	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next) {
		struct address a = address_of(ai->ai_addr);
		enum address_kind kind = address_judge(&a, own);

		bool good = t->trusted ? address_may_be_proxy(kind) :
					 kind == ADDRESS_PUBLIC;

		if (good && t->found.n < ADDRESSES_MAX)
			t->found.v[t->found.n++] = a;
		else if (!good && t->error[0] == 0)
			(void)snprintf(t->error, sizeof t->error,
				       "resolves only to forbidden addresses"
				       " (%s: %s)", address_text(&a, text),
				       address_kind_name(kind));
	}
	if (t->found.n)
		t->error[0] = 0;
	else if (t->error[0] == 0)
		(void)snprintf(t->error, sizeof t->error, "no address");
}

static const char *reason(int code)
{
	switch (code) {
	case EAI_NONAME:
	case EAI_NODATA:
		return "no such name";
	case EAI_AGAIN:
		return "the name server does not answer";
	case EAI_FAIL:
		return "the name server failed";
	default:
		return "the name cannot be looked up";
	}
}

static void look_up(struct lookup_task *t)
{
	/* The port is added at the dial; its text would only be parsed. */
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	struct addresses own = { .n = 0 };
	int code = getaddrinfo(t->host, NULL, &hints, &list);

	if (code != 0) {
		(void)snprintf(t->error, sizeof t->error, "%s", reason(code));
		return;
	}
	if (read_own(&own) < 0)
		(void)snprintf(t->error, sizeof t->error,
			       "this host's addresses cannot be read");
	else
		keep_good(t, list, &own);
	freeaddrinfo(list);
}

static void *thread_main(void *unused)
{
	(void)unused;
	(void)pthread_mutex_lock(&lock);
	for (;;) {
		struct lookup_task *t = list_take(&waiting);
		uint64_t one = 1;

		if (!t) {
			n_idle++;
			(void)pthread_cond_wait(&work, &lock);
			n_idle--;
			continue;
		}
		n_waiting--;
		(void)pthread_mutex_unlock(&lock);
		look_up(t);
		(void)pthread_mutex_lock(&lock);
		list_put(&finished, t);
		/* Full only after 2^64 - 2 unread rings. */
		if (write(bell.fd, &one, sizeof one) < 0)
			abort();
	}
	return NULL;
}

/* Under the lock.  Without any thread at all there is no lookup. */
static int start_thread(struct err *e)
{
	pthread_attr_t attr;
	pthread_t thread;
	int code;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attr, 512 * 1024);
	code = pthread_create(&thread, &attr, thread_main, NULL);
	(void)pthread_attr_destroy(&attr);
	if (code == 0)
		n_threads++;
	if (code == 0 || n_threads > 0)
		return 0;
	errno = code;
	return err_sys(e, "start a lookup thread");
}

static void settle(struct lookup *l, const struct addresses *found,
		   const char *error)
{
	l->task->owner = NULL;
	l->task = NULL;
	loop_disarm(loop, &l->deadline);
	l->finished(l, found, error);
}

static void on_bell(struct watch *w, uint32_t events)
{
	uint64_t rings;

	(void)events;
	if (read(w->fd, &rings, sizeof rings) < 0)
		return;
	for (;;) {
		struct lookup_task *t;

		(void)pthread_mutex_lock(&lock);
		t = list_take(&finished);
		(void)pthread_mutex_unlock(&lock);
		if (!t)
			return;
		if (t->owner)
			settle(t->owner, &t->found, t->error);
		free(t);
	}
}

static void on_deadline(struct timer *timer)
{
	static const struct addresses none;

	settle(container_of(timer, struct lookup, deadline), &none,
	       "the name lookup timed out");
}

int lookup_init(struct loop *l, struct err *e)
{
	auto_fd int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return err_sys(e, "eventfd");
	/* One heap for all: a thread's own would cost it a megabyte. */
	(void)mallopt(M_ARENA_MAX, 1);
	/*
	 * Names are absolute: what was decided about "a.example" must not
	 * become a question about "a.example.corp.example".  And a name
	 * server that is down must give its thread back in time.
	 */
	if (setenv("LOCALDOMAIN", ".", 1) < 0 ||
	    setenv("RES_OPTIONS", "timeout:3 attempts:2", 1) < 0)
		return err_sys(e, "setenv");
	loop = l;
	bell.ready = on_bell;
	if (loop_watch(l, &bell, fd, EPOLLIN, e) < 0)
		return -1;
	(void)steal_fd(&fd);
	return 0;
}

int lookup_start(struct lookup *l, struct sv host, struct err *e)
{
	struct lookup_task *t;
	int failed = 0;

	if (host.n == 0 || host.n >= sizeof t->host ||
	    memchr(host.p, 0, host.n))
		return err_kind(e, ERR_PROTO, "malformed name");
	t = calloc(1, sizeof *t);
	if (!t)
		return err_sys(e, "allocate a lookup");
	memcpy(t->host, host.p, host.n);
	t->trusted = l->trusted;
	t->owner = l;
	l->deadline.fired = on_deadline;
	(void)pthread_mutex_lock(&lock);
	if (n_waiting == LOOKUP_QUEUE)
		failed = err_kind(e, ERR_LIMIT, "too many name lookups");
	else if (n_idle <= n_waiting && n_threads < LOOKUP_THREADS)
		failed = start_thread(e);
	if (failed == 0) {
		l->task = t;
		list_put(&waiting, t);
		n_waiting++;
		(void)pthread_cond_signal(&work);
	}
	(void)pthread_mutex_unlock(&lock);
	if (failed < 0)
		free(t);
	else
		loop_arm(loop, &l->deadline, LOOKUP_MS);
	return failed;
}

void lookup_cancel(struct lookup *l)
{
	if (!l->task)
		return;
	l->task->owner = NULL;
	l->task = NULL;
	loop_disarm(loop, &l->deadline);
}
