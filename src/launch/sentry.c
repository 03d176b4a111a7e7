/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentry: see sentry.h.
 *
 * A directory is watched before it is read, so that what appears meanwhile is met
 * once at least, and what was there before the first watch is met as well.
 * What has happened and what is to be looked through take turns, and a large
 * directory is looked through in parts: the agent can make much of either, by
 * renaming a large directory or names without end, and must not keep the sentry
 * from one file of the host's.
 *
 * Everything is opened by its path from the host's root, with links refused, and
 * is compared with what was seen.  What is not there any more, or another by now,
 * has had another event, or will have one.
 */
#include "sentry_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "area.h"
#include "confine.h"
#include "control.h"
#include "dir.h"
#include "io.h"
#include "loop.h"
#include "own.h"

enum { EVENTS_BYTES = 64 << 10, AGAIN_MS = 200, MOST_DIRS = 65536,
       HANGS_MS = 20000, PART = 512 };

/* -- directories -- */

static int open_host(const struct sentry *s, struct sv path, int flags,
		     struct err *e)
{
	return path_open_exact(s->host_fd, sv_from(path, 1), flags |
			       O_NOFOLLOW | O_NONBLOCK, e);
}

/* The directory as it is called, if it still is; -1 with e->kind 0 if not. */
static int open_dir(struct sentry *s, uint32_t at, struct sv path,
		    struct err *e)
{
	auto_fd int fd = path.n ? open_host(s, path, O_RDONLY | O_DIRECTORY,
					    e) : -1;
	struct path_identity now;

	if (path.n && fd < 0 && path_is_exhausted(e->code))
		return -1;
	if (fd < 0 || path_identify(fd, &now, e) < 0 ||
	    now.dev != s->tree.v[at].dev || now.ino != s->tree.v[at].ino) {
		e->kind = ERR_NONE;
		return -1;
	}
	return steal_fd(&fd);
}

/* No statement says what has to be hidden or guarded: then a machine that has no
 * more watches to give does not end the run. */
static int begin_watching(struct sentry *s, struct err *e)
{
	unsigned look;

	if (sentry_tree_open(&s->tree, e) == 0)
		return 0;
	for (size_t i = 0; i < s->b->areas_n; i++)
		if (sentry_watches(s->b, &s->b->areas[i], &look) &&
		    sentry_must_see(s->b, s->b->areas[i].path))
			return -1;
	sentry_tell(s, CONTROL_UNWATCHED, e);
	s->told_unwatched = true;
	return 0;
}

/* -- events -- */

static void forget_last(struct sentry *s)
{
	s->last = 0;
	close_fd(&s->last_fd);
}

static int on_name(struct sentry *s, uint32_t at, const char *name,
		   struct err *e)
{
	char room[PATH_MAX];

	if (s->last != at) {
		forget_last(s);
		s->last_fd = open_dir(s, at, sentry_tree_path(&s->tree, at,
							      room), e);
		if (s->last_fd < 0)
			return e->kind ? -1 : 0;
		s->last = at;
	}
	return sentry_look_at(s, s->last_fd, at, name, e);
}

static int on_event(struct sentry *s, const struct inotify_event *ev,
		    struct err *e)
{
	uint32_t at, next;

	if (ev->mask & IN_Q_OVERFLOW) {
		sentry_tree_all(&s->tree);
		return 0;
	}
	if (ev->mask & IN_IGNORED) {
		sentry_tree_ignored(&s->tree, ev->wd);
		forget_last(s);
		return 0;
	}
	if (!ev->len)
		return 0;
	for (at = sentry_tree_find(&s->tree, ev->wd, 0); at; at = next) {
		next = sentry_tree_find(&s->tree, ev->wd, at);
		if (on_name(s, at, ev->name, e) < 0)
			return -1;
	}
	return 0;
}

static int on_events(struct sentry *s, struct err *e)
{
	static _Alignas(struct inotify_event) char bytes[EVENTS_BYTES];
	const ssize_t n = read(s->tree.inotify_fd, bytes, sizeof bytes);
	const struct inotify_event *ev;

	s->links.stale = s->links.n > 0;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return err_sys(e, "read what has happened");
	for (ssize_t i = 0; i < n; i += (ssize_t)(sizeof *ev + ev->len)) {
		ev = (const void *)(bytes + i);
		if (on_event(s, ev, e) < 0)
			return -1;
	}
	/* It may have another name when the next ones come. */
	forget_last(s);
	return sentry_settle(s, e);
}

/* False: it is another directory by now, or none. */
static int take_turns(struct sentry *s, uint32_t at, struct err *e)
{
	const int wd = s->tree.v[at].wd;
	struct pollfd fd = { .fd = s->tree.inotify_fd, .events = POLLIN };

	if (poll(&fd, 1, 0) > 0 && on_events(s, e) < 0)
		return -1;
	return s->tree.v[at].wd == wd;
}

/* Nothing is ever to be done with such a name, unless a directory has it, or a
 * socket. */
static bool is_plain(const struct sentry *s, const struct dirent *d)
{
	return (d->d_type == DT_REG || d->d_type == DT_LNK) &&
	       !sieve_lets_through(&s->sieve, d->d_name);
}

static int look_at_part(struct sentry *s, uint32_t at, DIR *dir,
			struct err *e)
{
	const struct dirent *d;

	for (int i = 0; i < PART; i++) {
		d = dir_next(dir);
		if (!d)
			return 0;
		if (!is_plain(s, d) &&
		    sentry_look_at(s, dirfd(dir), at, d->d_name, e) < 0)
			return -1;
	}
	return take_turns(s, at, e);
}

static int look_through(struct sentry *s, uint32_t at, struct err *e)
{
	char room[PATH_MAX];
	auto_fd int fd = open_dir(s, at, sentry_tree_path(&s->tree, at, room),
				  e);
	auto_dir DIR *dir = dir_take(&fd);
	int rc = 1;

	if (!dir && fd >= 0)
		return err_sys(e, "read a directory");
	if (!dir)
		return e->kind ? -1 : 0;
	while (rc > 0)
		rc = look_at_part(s, at, dir, e);
	return rc < 0 ? -1 : sentry_settle(s, e);
}

static int watch_trees(struct sentry *s, struct err *e)
{
	for (size_t i = 0; i < s->b->areas_n; i++) {
		const struct area *area = &s->b->areas[i];
		auto_fd int fd = -1;
		unsigned look;

		if (!sentry_watches(s->b, area, &look))
			continue;
		fd = open_host(s, area->path, O_RDONLY | O_DIRECTORY, e);
		/* Gone, or covered whole at the start. */
		if (fd < 0)
			continue;
		if (area_check(area, fd, e) < 0)
			return -1;
		if (sentry_watch(s, fd, 0, area->path, area->path, look, e) < 0)
			return -1;
	}
	return 0;
}

static int patience(const struct sentry *s)
{
	const int links = sentry_links_wait_ms(&s->links);

	return !s->tree.waits ? links :
	       links >= 0 && links < AGAIN_MS ? links : AGAIN_MS;
}

static int serve(struct sentry *s, struct err *e)
{
	struct pollfd fds[2] = {
		{ .fd = s->note_fd, .events = POLLIN },
		{ .fd = s->tree.inotify_fd, .events = POLLIN },
	};

	for (;;) {
		uint32_t at;
		int ready;

		s->b->plan->sentry_since_ms = 0;
		ready = poll(fds, 2, s->tree.first ? 0 : patience(s));
		if (ready < 0 && errno != EINTR)
			return err_sys(e, "poll");
		if (fds[0].revents)
			return 0;	/* the parent says nothing but its end */
		if (fds[1].revents && on_events(s, e) < 0)
			return -1;
		if (!fds[1].revents && !s->tree.first)
			sentry_tree_resume(&s->tree);
		at = sentry_tree_take(&s->tree);
		if (at && look_through(s, at, e) < 0)
			return -1;
		if (sentry_links_wait_ms(&s->links) == 0 &&
		    sentry_links_follow(s, e) < 0)
			return -1;
	}
}

/* Half of what the user may watch, and no more than take some 64 MB of the
 * kernel's memory. */
static uint32_t most_directories(void)
{
	auto_buf struct buf text = buf_new(64);
	struct err ignored;
	struct sv number;
	uint64_t n;

	if (io_read_file(AT_FDCWD, "/proc/sys/fs/inotify/max_user_watches",
			 &text, &ignored) < 0)
		return MOST_DIRS;
	number = buf_sv(&text);
	number = sv_head(number, sv_find(number, '\n'));
	return sv_to_u64(number, UINT32_MAX, &n) && n / 2 < MOST_DIRS ?
		       (uint32_t)n / 2 : MOST_DIRS;
}

static int stand(struct sentry *s, const struct sentry_post *post,
		 struct err *e)
{
	s->most = most_directories();
	sentry_sieve(s->b, &s->sieve);
	s->b->plan->sentry_since_ms = loop_now_ms();
	if (sentry_enter(post, &s->host_fd, &s->mounts.links_fd, e) < 0 ||
	    sentry_mounts_open(&s->mounts, e) < 0 ||
	    begin_watching(s, e) < 0 ||
	    sentry_sockets_open(&s->sockets, e) < 0 ||
	    confine_sentry(e) < 0 ||
	    (s->tree.inotify_fd >= 0 && watch_trees(s, e) < 0))
		return -1;
	return serve(s, e);
}

_Noreturn void sentry_run(const struct sentry_post *post)
{
	static struct sentry s;
	struct err e;

	s = (struct sentry){
		.b = post->plan->seen, .note_fd = post->note_fd,
		.host_fd = -1, .last_fd = -1,
		.mounts = { .covers_fd = -1, .root_fd = -1, .links_fd = -1 },
		.made = { .has = sentry_is_agents },
	};
	if (stand(&s, post, &e) == 0)
		_exit(0);
	sentry_tell(&s, CONTROL_FAILED, &e);
	_exit(LAUNCH_FAILED);
}

/* -- the parent's side -- */

bool sentry_hangs(const struct plan *plan, uint64_t *since)
{
	const uint64_t before = *since;

	*since = plan->sentry_since_ms;
	return *since && *since == before && loop_now_ms() > before + HANGS_MS;
}

struct sentry_event sentry_next(int note_fd)
{
	static struct control_in heard;
	struct sentry_event ev = { .kind = SENTRY_LOST };
	struct err e;
	const int rc = control_receive(note_fd, &heard, true, &e);
	const struct sv tail = sv_of(heard.tail, heard.tail_n);

	if (rc < 0 && e.code == EAGAIN)
		ev.kind = SENTRY_NOTHING;
	if (rc <= 0)
		return ev;
	ev.why = heard.note.err;
	switch (heard.note.kind) {
	case CONTROL_COVERED:
	case CONTROL_GUARDED:
		ev.kind = heard.note.kind == CONTROL_COVERED ? SENTRY_COVERED :
							       SENTRY_GUARDED;
		ev.path = sv_head(tail, sv_find(tail, '\0'));
		ev.rule = sv_from(tail, ev.path.n + 1);
		break;
	case CONTROL_UNWATCHED:
		ev.kind = SENTRY_UNWATCHED;
		break;
	case CONTROL_FAILED:
		ev.kind = SENTRY_FAILED;
		break;
	}
	return ev;
}
