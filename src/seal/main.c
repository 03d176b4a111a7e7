/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stockade-seal: the one process that reads the sealed file of secrets.
 *
 * Started by the launcher for one verb or one run, with one socket
 * (seal_call.h).  It confines itself as vault does before it hears anything: the
 * file, and where a value goes, are descriptors that come with a request.  The
 * file is hostile until its close was checked with the key.  All that is secret
 * lies in three locked pieces of memory, and what scrypt works on, too large to be
 * locked everywhere, in a process that nobody may trace and that leaves no core.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "box.h"
#include "confine.h"
#include "io.h"
#include "locked.h"
#include "nearest.h"
#include "own.h"
#include "seal_call.h"
#include "store.h"

/* 128 MiB, some tenths of a second. */
static const struct sealed_cost usual_cost = { .log_n = 17, .r = 8, .p = 1 };

struct call {
	char verb;
	struct sv text;
	int fd;			/* owned; -1 */
};

static struct store store;	/* static: large, and zeroed */
static char *request;		/* SEAL_REQUEST_MAX, locked */

static int load(int fd, struct err *e)
{
	auto_buf struct buf text = buf_new(SEALED_SIZE_MAX);

	if (io_read_all(fd, &text, e) < 0)
		return -1;
	return store_load(&store, buf_sv(&text), e);
}

/* 1, or 0 with a name that is like it in *ret. */
static int has(struct sv name, struct buf *ret)
{
	struct nearest near = nearest_to(name);

	if (store.loaded && sealed_find(&store.sealed, name))
		return 1;
	for (size_t i = 0; store.loaded && i < store.sealed.n; i++)
		nearest_offer(&near, store.sealed.entries[i].name);
	buf_put(ret, near.best);
	return 0;
}

static void list(struct buf *ret)
{
	for (size_t i = 0; store.loaded && i < store.sealed.n; i++) {
		buf_put(ret, store.sealed.entries[i].name);
		buf_putc(ret, '\n');
	}
}

static int get(struct sv name, int fd, struct err *e)
{
	struct sv value;
	int got = store_get(&store, name, &value, e);

	if (got > 0 && io_write_all(fd, value, e) < 0)
		got = -1;
	explicit_bzero(store.value, SECRET_VALUE_MAX);
	return got;
}

static int put(struct sv text, struct err *e)
{
	struct sv name = sv_cut(&text, '\0');

	return store_put(&store, name, text, e) < 0 ? -1 : 1;
}

static int give_key(struct buf *ret, struct err *e)
{
	if (!store.open)
		return err_kind(e, ERR_BUG, "the store is not open");
	buf_put(ret, sv_of(store.key, SEALED_KEY));
	return 1;
}

/* 1: yes; 0: no; -1: an error. */
static int serve(const struct call *c, struct buf *ret, struct err *e)
{
	switch ((enum seal_verb)c->verb) {
	case SEAL_LOAD:
		return load(c->fd, e) < 0 ? -1 : 1;
	case SEAL_NEW:
		return store_make(&store, &usual_cost, c->text, e) < 0 ? -1 : 1;
	case SEAL_UNLOCK:
		return store_unlock(&store, c->text, e);
	case SEAL_ADOPT:
		return store_unlock_by_key(&store, c->text, e);
	case SEAL_KEY:
		return give_key(ret, e);
	case SEAL_LIST:
		list(ret);
		return 1;
	case SEAL_HAS:
		return has(c->text, ret);
	case SEAL_GET:
		return get(c->text, c->fd, e);
	case SEAL_PUT:
		return put(c->text, e);
	case SEAL_REMOVE:
		return store_remove(&store, c->text, e);
	case SEAL_WRITE:
		return io_write_all(c->fd, buf_sv(&store.text), e) < 0 ? -1 : 1;
	}
	return err_kind(e, ERR_PROTO, "no such request");
}

static void answer(const struct call *c)
{
	static char text[SEAL_ANSWER_MAX + 1];
	struct buf b = buf_of(text, SEAL_ANSWER_MAX);
	struct err e = { 0 };
	int got;

	buf_putc(&b, SEAL_OK);
	got = serve(c, &b, &e);
	if (got == 0)
		text[0] = SEAL_NO;
	if (got < 0 || b.full) {
		buf_reset(&b);
		buf_putc(&b, SEAL_ERROR);
		buf_puts(&b, e.msg);
	}
	(void)send(SEAL_CHANNEL_FD, text, b.n, MSG_NOSIGNAL);
	explicit_bzero(text, sizeof text);
}

/* The one descriptor that may come with a request. */
static int take_fd(struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

/* 0 at the end of the conversation. */
static int hear(void)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = { .iov_base = request, .iov_len = SEAL_REQUEST_MAX };
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof control,
	};
	ssize_t n;

	do {
		n = recvmsg(SEAL_CHANNEL_FD, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n > 0 && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		struct call c = {
			.verb = request[0], .fd = take_fd(&m),
			.text = sv_of(request + 1, (size_t)n - 1),
		};

		answer(&c);
		close_fd(&c.fd);
	}
	explicit_bzero(request, SEAL_REQUEST_MAX);
	return n > 0;
}

int main(void)
{
	struct err e = { 0 };

	request = locked_new(SEAL_REQUEST_MAX, &e);
	store.value = request ? locked_new(SECRET_VALUE_MAX, &e) : NULL;
	store.key = store.value ? locked_new(2 * SEALED_KEY, &e) : NULL;
	if (!store.key || box_start(&e) < 0 ||
	    confine_helper(CONFINE_VAULT, &e) < 0) {
		/* In answer to the first request. */
		char text[sizeof e.msg + 1] = { SEAL_ERROR };

		memcpy(text + 1, e.msg, sizeof e.msg);
		(void)send(SEAL_CHANNEL_FD, text, 1 + strlen(e.msg),
			   MSG_NOSIGNAL);
		return 1;
	}
	store.derived = store.key + SEALED_KEY;
	while (hear())
		;
	store_wipe(&store);
	return 0;
}
