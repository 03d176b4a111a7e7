/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last run of a kept sandbox: STORE/NAME/last, written whole and renamed
 * before that run makes its overlays.
 *
 *	u32 version, the run's ID, the boot's ID, u32 pid, u64 start
 *
 * The lock of the directory goes with stockade's own process.  The sandbox goes
 * with it as well, but after it, and two overlays over one upper layer would
 * write each what they like: the kernel only warns.  So the next one waits for
 * the sandbox's pid 1, which is a zombie at the earliest when nothing inside
 * runs any more.  Its start time tells it from another with its number.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cur.h"
#include "held.h"
#include "io.h"
#include "own.h"

enum {
	LAST_VERSION = 1, LAST_MAX = 4096, STAT_MAX = 4096,
	STATE_FIELD = 0, START_FIELD = 19,	/* behind the name */
	WAIT_STEP_NS = 20000000, WAIT_STEPS = 150,
};
#define LAST "last"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* When a process began; 0 when it is gone, or only a zombie is left of it. */
static uint64_t start_of(pid_t pid)
{
	auto_buf struct buf text = buf_new(STAT_MAX);
	struct sv rest;
	struct err ignored;
	uint64_t start;
	char path[32];

	(void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
	if (pid <= 0 || io_read_file(AT_FDCWD, path, &text, &ignored) < 0)
		return 0;
	/* The name is in brackets, and may have any in it. */
	rest = buf_sv(&text);
	for (size_t i = rest.n; i > 0; i--)
		if (rest.p[i - 1] == ')') {
			rest = sv_from(rest, i + 1);
			break;
		}
	for (int i = STATE_FIELD; i < START_FIELD; i++) {
		if (i == STATE_FIELD && rest.n &&
		    (rest.p[0] == 'Z' || rest.p[0] == 'X'))
			return 0;
		rest = sv_from(rest, sv_find(rest, ' ') + 1);
	}
	rest = sv_head(rest, sv_find(rest, ' '));
	return sv_to_u64(rest, UINT64_MAX, &start) ? start : 0;
}

int held_set_last(struct held *h, const char *run, pid_t pid, struct err *e)
{
	auto_buf struct buf text = buf_new(LAST_MAX);
	auto_buf struct buf boot = buf_new(LAST_MAX);
	auto_fd int fd = -1;

	if (io_read_file(AT_FDCWD, BOOT_ID, &boot, e) < 0)
		return -1;
	buf_put_u32(&text, LAST_VERSION);
	buf_put_sv(&text, sv_str(run));
	buf_put_sv(&text, buf_sv(&boot));
	buf_put_u32(&text, (uint32_t)pid);
	buf_put_u64(&text, start_of(pid));
	if (buf_check(&text, "the note of the last run", e) < 0)
		return -1;
	/* A killed run may have left one. */
	fd = openat(h->fd, LAST ".new", O_WRONLY | O_CREAT | O_TRUNC |
		    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "note the last run of %s", h->id);
	if (io_write_all(fd, buf_sv(&text), e) < 0)
		return -1;
	if (renameat(h->fd, LAST ".new", h->fd, LAST) < 0)
		return err_sys(e, "note the last run of %s", h->id);
	(void)snprintf(h->run, sizeof h->run, "%s", run);
	return 0;
}

struct last {
	char run[HELD_ID_MAX], boot[64];
	pid_t pid;
	uint64_t start;
};

static int read_last(int store_fd, const char *id, struct last *ret,
		     struct err *e)
{
	auto_buf struct buf text = buf_new(LAST_MAX);
	char path[HELD_ID_MAX + sizeof LAST];
	struct sv run, boot;
	struct cur c;

	(void)snprintf(path, sizeof path, "%s/" LAST, id);
	if (io_read_file(store_fd, path, &text, e) < 0)
		return err_ctx(e, "the last run of the kept sandbox %s", id);
	c = cur_of(buf_sv(&text));
	if (cur_u32(&c) != LAST_VERSION)
		c.bad = true;
	run = cur_sv(&c, sizeof ret->run - 1);
	boot = cur_sv(&c, sizeof ret->boot - 1);
	ret->pid = (pid_t)cur_u32(&c);
	ret->start = cur_u64(&c);
	if (!cur_done(&c))
		return err_kind(e, ERR_PROTO, "the last run of the kept "
				"sandbox %s is noted in a form that this "
				"version does not know", id);
	(void)snprintf(ret->run, sizeof ret->run, "%.*s", SV_FMT(run));
	(void)snprintf(ret->boot, sizeof ret->boot, "%.*s", SV_FMT(boot));
	return 0;
}

int held_last(int store_fd, const char *id, char ret_run[HELD_ID_MAX],
	      struct err *e)
{
	struct last last;

	if (!held_is_name(id)) {
		(void)snprintf(ret_run, HELD_ID_MAX, "%s", id);
		return 0;
	}
	if (read_last(store_fd, id, &last, e) < 0)
		return -1;
	(void)snprintf(ret_run, HELD_ID_MAX, "%s", last.run);
	return 0;
}

static bool is_of_this_boot(const struct last *last)
{
	auto_buf struct buf boot = buf_new(LAST_MAX);
	struct err ignored;

	/* Unreadable: it may be. */
	return io_read_file(AT_FDCWD, BOOT_ID, &boot, &ignored) < 0 ||
	       sv_eq(buf_sv(&boot), sv_str(last->boot));
}

int held_await_last(const struct held *h, struct err *e)
{
	const struct timespec pause = { .tv_nsec = WAIT_STEP_NS };
	struct last last;

	if (!held_is_name(h->id))
		return 0;
	if (read_last(h->store_fd, h->id, &last, e) < 0)
		return -1;
	if (!is_of_this_boot(&last))
		return 0;
	for (int i = 0; i < WAIT_STEPS; i++) {
		if (last.start == 0 || start_of(last.pid) != last.start)
			return 0;
		(void)nanosleep(&pause, NULL);
	}
	return err_kind(e, ERR_POLICY, "the last run of the kept sandbox %s "
			"was killed, and its process %d is not gone yet; "
			"try again when it is", h->id, last.pid);
}
