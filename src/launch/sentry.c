/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentry: see sentry.h.
 *
 * A directory is watched before it is read, so that what appears meanwhile is met
 * once at least, and what was there before the first watch is met as well.
 * What has happened goes before what is to be looked through: the agent can make
 * much of that by renaming a large directory, and must not keep the sentry from
 * one file of the host's.
 *
 * Everything is opened by its path from the host's root, with links refused, and
 * is compared with what was seen.  What is not there any more, or another by now,
 * has had another event, or will have one.
 */
#include "sentry_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "area.h"
#include "confine.h"
#include "control.h"
#include "dir.h"
#include "dotfiles.h"
#include "kept.h"
#include "loop.h"
#include "made.h"
#include "own.h"

enum { EVENTS_BYTES = 64 << 10, AGAIN_MS = 200,
       SHOWN_MAX = 200 };

struct sentry {
	const struct builder *b;
	int note_fd, host_fd;		/* owned */
	struct sentry_sockets sockets;
	struct sentry_tree tree;
	struct sentry_mounts mounts;
	bool told_unwatched;
	/* Directories of the agent's own, as pid 1 says. */
	struct creation_made made;
	struct made agents;		/* owned */
	size_t agents_seen;
	/* Of the name that is looked at. */
	uint32_t at;
	int dir_fd;			/* borrowed */
	/* The directory of the event before this one. */
	uint32_t last;
	int last_fd;			/* owned */
};

static void tell(const struct sentry *s, enum control_kind kind,
		 const struct err *why)
{
	struct control_note note = { .kind = kind, .err = *why };
	struct err ignored;

	/* Unheard when the parent is gone, and then we are as well. */
	(void)!control_send(s->note_fd, &note, SV(""), &ignored);
}

static void tell_path(const struct sentry *s, enum control_kind kind,
		      struct sv path, struct sv why)
{
	struct control_note note = { .kind = kind };
	auto_buf struct buf text = buf_new(CONTROL_TAIL_MAX);
	struct err ignored;

	buf_put(&text, path);
	buf_putc(&text, '\0');
	buf_put(&text, sv_head(why, PATH_MAX));
	(void)!control_send(s->note_fd, &note, buf_sv(&text), &ignored);
}

/* -- directories -- */

static int open_host(const struct sentry *s, struct sv path, int flags,
		     struct err *e)
{
	return path_open_exact(s->host_fd, sv_from(path, 1), flags |
			       O_NOFOLLOW | O_NONBLOCK, e);
}

/* What is not opened for that reason is there. */
static bool is_exhausted(int code)
{
	return code == EMFILE || code == ENFILE || code == ENOMEM;
}

/* The directory as it is called, if it still is; -1 with e->kind 0 if not. */
static int open_dir(struct sentry *s, uint32_t at, struct sv path,
		    struct err *e)
{
	auto_fd int fd = path.n ? open_host(s, path, O_RDONLY | O_DIRECTORY,
					    e) : -1;
	struct path_identity now;

	if (path.n && fd < 0 && is_exhausted(e->code))
		return -1;
	if (fd < 0 || path_identify(fd, &now, e) < 0 ||
	    now.dev != s->tree.v[at].dev || now.ino != s->tree.v[at].ino) {
		e->kind = ERR_NONE;
		return -1;
	}
	return steal_fd(&fd);
}

/* There are more directories than the kernel watches for this user. */
static int too_many(struct sentry *s, struct sv path, struct err *e)
{
	if (e->code != ENOSPC)
		return -1;
	(void)err_kind(e, ERR_LIMIT, "%.*s: there are more directories than "
		       "can be watched (fs.inotify.max_user_watches)",
		       SV_FMT(path));
	if (sentry_must_see(s->b, path))
		return -1;
	if (!s->told_unwatched)
		tell(s, CONTROL_UNWATCHED, e);
	s->told_unwatched = true;
	return 0;
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
	tell(s, CONTROL_UNWATCHED, e);
	s->told_unwatched = true;
	return 0;
}

static int mount_on(struct sentry *s, bool guards,
		    const struct sentry_place *place, struct sv why,
		    struct err *e)
{
	int rc = guards ? sentry_guard(&s->mounts, place, e) :
			  sentry_cover(&s->mounts, place, e);

	if (rc == SENTRY_UNSEEN && sentry_refresh(areas_find(s->b, place->path)))
		rc = guards ? sentry_guard(&s->mounts, place, e) :
			      sentry_cover(&s->mounts, place, e);
	/* Before it is told: nothing above it is renamed any more. */
	if (rc == SENTRY_DONE && guards && !kept_add(s->b->plan->kept,
						     place->path))
		return err_kind(e, ERR_LIMIT, "%.*s: too many names that are "
				"guarded have appeared", SV_FMT(place->path));
	if (rc == SENTRY_DONE)
		tell_path(s, guards ? CONTROL_GUARDED : CONTROL_COVERED,
			  place->path, why);
	if (rc == SENTRY_UNSEEN)
		sentry_tree_wait(&s->tree, s->at);
	return rc < 0 ? -1 : 0;
}

static int go_below(struct sentry *s, int dir_fd, uint32_t parent,
		    const struct sentry_place *place,
		    const struct sentry_name *n, unsigned look, struct err *e)
{
	auto_fd int fd = openat(dir_fd, n->name.p, O_RDONLY | O_DIRECTORY |
				O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct path_identity now;

	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return mount_on(s, false, place,
				SV("an unreadable directory"), e);
	if (fd < 0 && is_exhausted(errno))
		return err_sys(e, "open %.*s", SV_FMT(n->path));
	/* Gone, or its file system is, and with it what it had. */
	if (fd < 0)
		return 0;
	if (path_identify(fd, &now, e) < 0)
		return -1;
	if (!path_same(&now, &place->identity))
		return 0;
	return sentry_tree_add(&s->tree, fd, parent, n->name, look, e) < 0 ?
		       too_many(s, n->path, e) : 0;
}

/* -- names -- */

static bool is_agents(struct creation_made *m, struct sv path, size_t n)
{
	struct sentry *s = container_of(m, struct sentry, made);
	auto_fd int fd = openat(s->dir_fd, ".", O_PATH | O_CLOEXEC);

	(void)path;
	made_follow(&s->agents, s->b->plan->made, &s->agents_seen);
	while (--n && fd >= 0) {
		int above = openat(fd, "..", O_PATH | O_CLOEXEC);

		close_fd(&fd);
		fd = above;
	}
	return fd >= 0 && made_has(&s->agents, fd, "");
}

/* That one was replaced is pid 1's to say (hold.c). */
static bool was_guarded(const struct sentry *s, struct sv path)
{
	const struct plan *plan = s->b->plan;

	for (size_t i = 0; i < plan->steps_n; i++)
		if (plan->steps[i].kind == STEP_GUARD &&
		    sv_eq(plan->steps[i].target, path))
			return true;
	return false;
}

/* A link carries no mount: what it leads to does, where that is granted. */
static int act_on_link(struct sentry *s, bool guards, struct sv path,
		       struct sv why, struct err *e)
{
	char room[PATH_MAX];
	struct sentry_place place;
	const struct area *area;
	const int rc = sentry_follow(&s->mounts, path, room, &place, e);

	if (rc <= 0)
		return rc;
	area = areas_find(s->b, place.path);
	if (!area || area->kind != AREA_NAMED || (guards && !area->write))
		return 0;
	return mount_on(s, guards, &place, why, e);
}

static int act(struct sentry *s, enum sentry_word word,
	       const struct sentry_place *place, const struct sentry_name *n,
	       struct sv why, struct err *e)
{
	const bool guards = word == SENTRY_GUARD || word == SENTRY_POINTER;

	if (guards && was_guarded(s, place->path))
		return 0;
	if (word == SENTRY_SOCKET &&
	    !sentry_leads_out(&s->sockets, s->dir_fd, n->name.p,
			      &place->identity))
		return 0;
	if (word == SENTRY_POINTER && !place->held) {
		made_await(s->b->plan->made);
		made_follow(&s->agents, s->b->plan->made, &s->agents_seen);
		if (made_has(&s->agents, s->dir_fd, ".git"))
			return 0;
	}
	return place->identity.type == S_IFLNK ?
		       act_on_link(s, guards, place->path, why, e) :
		       mount_on(s, guards, place, why, e);
}

/* What was masked at the start need not be watched. */
static int is_masked(const struct sentry_name *n,
		     const struct sentry_place *place, struct err *e)
{
	if (n->name.p[0] != '.' || dotfile_is_shown(n->name))
		return 0;
	return sentry_is_shown(place, e) ? 0 : 1;
}

/* name, with a NUL behind it, of the directory `at`. */
static int look_at(struct sentry *s, int dir_fd, uint32_t at, const char *name,
		   struct err *e)
{
	char room[PATH_MAX], path[2 * PATH_MAX];
	const struct sv dir = sentry_tree_path(&s->tree, at, room);
	unsigned look = s->tree.v[at].look;
	struct sentry_place place = { .held = look & SENTRY_HELD };
	struct sentry_name n;
	enum sentry_word word;
	struct sv why;

	e->kind = ERR_NONE;
	if (!dir.n || path_identify_at(dir_fd, name, &place.identity) < 0)
		return 0;
	place.path = sv_of(path, (size_t)snprintf(path, sizeof path,
						  "%.*s/%s", SV_FMT(dir),
						  name));
	/* It could be reached from a directory around it. */
	if (place.path.n >= PATH_MAX && sentry_must_see(s->b, dir))
		return err_kind(e, ERR_LIMIT, "%.*s has paths below that are "
				"too long to be looked at",
				SV_FMT(sv_head(dir, SHOWN_MAX)));
	n = (struct sentry_name){
		.path = place.path, .type = place.identity.type,
		.name = sv_of(name, strlen(name)),
	};
	s->dir_fd = dir_fd;
	s->at = at;
	/* In an overlay what the agent makes is not out here. */
	word = sentry_decide(s->b, &n, look, place.held ? NULL : &s->made,
			     &why);
	if (word != SENTRY_LEAVE && act(s, word, &place, &n, why, e) < 0)
		return -1;
	if (word == SENTRY_COVER || n.type != S_IFDIR ||
	    !sentry_goes_below(s->b, &n, &look) || is_masked(&n, &place, e))
		return 0;
	return go_below(s, dir_fd, at, &place, &n, look, e);
}

static int look_through(struct sentry *s, uint32_t at, struct err *e)
{
	char room[PATH_MAX];
	auto_fd int fd = open_dir(s, at, sentry_tree_path(&s->tree, at, room),
				  e);
	auto_dir DIR *dir = dir_take(&fd);
	const struct dirent *d;

	if (!dir && fd >= 0)
		return err_sys(e, "read a directory");
	if (!dir)
		return e->kind ? -1 : 0;
	while ((d = dir_next(dir)) != NULL)
		if (look_at(s, dirfd(dir), at, d->d_name, e) < 0)
			return -1;
	return 0;
}

/* -- events -- */

static void forget_last(struct sentry *s)
{
	s->last = 0;
	close_fd(&s->last_fd);
}

static int on_event(struct sentry *s, const struct inotify_event *ev,
		    struct err *e)
{
	const uint32_t at = sentry_tree_find(&s->tree, ev->wd);
	char room[PATH_MAX];

	if (ev->mask & IN_Q_OVERFLOW) {
		sentry_tree_all(&s->tree);
		return 0;
	}
	if (ev->mask & IN_IGNORED) {
		sentry_tree_ignored(&s->tree, ev->wd);
		forget_last(s);
		return 0;
	}
	if (!at || !ev->len)
		return 0;
	if (s->last != at) {
		forget_last(s);
		s->last_fd = open_dir(s, at, sentry_tree_path(&s->tree, at,
							      room), e);
		if (s->last_fd < 0)
			return e->kind ? -1 : 0;
		s->last = at;
	}
	return look_at(s, s->last_fd, at, ev->name, e);
}

static int on_events(struct sentry *s, struct err *e)
{
	static _Alignas(struct inotify_event) char bytes[EVENTS_BYTES];
	const ssize_t n = read(s->tree.inotify_fd, bytes, sizeof bytes);
	const struct inotify_event *ev;

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return err_sys(e, "read what has happened");
	for (ssize_t i = 0; i < n; i += (ssize_t)(sizeof *ev + ev->len)) {
		ev = (const void *)(bytes + i);
		if (on_event(s, ev, e) < 0)
			return -1;
	}
	/* It may have another name when the next ones come. */
	forget_last(s);
	return 0;
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
		if (sentry_tree_add(&s->tree, fd, 0, area->path, look, e) < 0 &&
		    too_many(s, area->path, e) < 0)
			return -1;
	}
	return 0;
}

static int serve(struct sentry *s, struct err *e)
{
	struct pollfd fds[2] = {
		{ .fd = s->note_fd, .events = POLLIN },
		{ .fd = s->tree.inotify_fd, .events = POLLIN },
	};

	for (;;) {
		uint32_t at;
		const int ready = poll(fds, 2, s->tree.first ? 0 :
				       s->tree.waits ? AGAIN_MS : -1);

		if (ready < 0 && errno != EINTR)
			return err_sys(e, "poll");
		if (fds[0].revents)
			return 0;	/* the parent says nothing but its end */
		if (fds[1].revents) {
			if (on_events(s, e) < 0)
				return -1;
			continue;
		}
		if (!s->tree.first)
			sentry_tree_resume(&s->tree);
		at = sentry_tree_take(&s->tree);
		if (at && look_through(s, at, e) < 0)
			return -1;
	}
}

static int stand(struct sentry *s, const struct sentry_post *post,
		 struct err *e)
{
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
		.made = { .has = is_agents },
	};
	if (stand(&s, post, &e) == 0)
		_exit(0);
	tell(&s, CONTROL_FAILED, &e);
	_exit(LAUNCH_FAILED);
}

/* -- the parent's side -- */

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
