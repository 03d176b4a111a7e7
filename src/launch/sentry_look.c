/* SPDX-License-Identifier: Apache-2.0 */
/* A name that the sentry meets: see sentry_parts.h. */
#include "sentry_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "area.h"
#include "dotfiles.h"
#include "kept.h"
#include "loop.h"
#include "own.h"
#include "walk.h"

enum { SHOWN_MAX = 200 };

void sentry_tell(const struct sentry *s, enum control_kind kind,
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
		sentry_tell(s, CONTROL_UNWATCHED, e);
	s->told_unwatched = true;
	return 0;
}

/* The user's other programs have to watch something as well. */
int sentry_watch(struct sentry *s, int fd, uint32_t parent, struct sv name,
		 struct sv path, unsigned look, struct err *e)
{
	s->tree.max = sentry_must_see(s->b, path) ? UINT32_MAX : s->most;
	return sentry_tree_add(&s->tree, fd, parent, name, look, e) < 0 ?
		       too_many(s, path, e) : 0;
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
	/* It may have been forgotten since. */
	if (rc == SENTRY_UNSEEN && s->tree.v[s->at].wd >= 0)
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
	if (fd < 0 && path_is_exhausted(errno))
		return err_sys(e, "open %.*s", SV_FMT(n->path));
	/* Gone, or its file system is, and with it what it had. */
	if (fd < 0)
		return 0;
	if (path_identify(fd, &now, e) < 0)
		return -1;
	if (!path_same(&now, &place->identity))
		return 0;
	return sentry_watch(s, fd, parent, n->name, n->path, look, e);
}

/* creation.h asks: by descriptors, as pid 1 does (judge.c). */
bool sentry_is_agents(struct creation_made *m, struct sv path, size_t n)
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
int sentry_act_on_link(struct sentry *s, const struct sentry_link *link,
		       struct err *e)
{
	char room[PATH_MAX];
	struct sentry_place place;
	const struct area *area;
	const int rc = sentry_follow(&s->mounts, sv_str(link->path),
				     room, &place, e);

	if (rc <= 0)
		return rc;
	area = areas_find(s->b, place.path);
	if (!area || area->kind != AREA_NAMED || (link->guards && !area->write))
		return 0;
	return mount_on(s, link->guards, &place, link->why, e);
}

int sentry_settle(struct sentry *s, struct err *e)
{
	int rc = 0;

	if (s->sockets.n)
		sentry_sockets_ask(&s->sockets);
	for (size_t i = 0; i < s->sockets.n; i++) {
		struct sentry_doubt *d = &s->sockets.doubts[i];
		const struct sentry_place place = {
			.path = sv_str(d->path), .identity = d->file,
			.held = d->held,
		};

		s->at = d->at;
		if (!d->inside && rc == 0)
			rc = mount_on(s, false, &place, SOCKET_OF_HOST, e);
		free(d->path);
	}
	s->sockets.n = 0;
	return rc;
}

static int meet_socket(struct sentry *s, const struct sentry_place *place,
		       const char *name, struct err *e)
{
	if (!sentry_is_bound(&s->sockets, s->dir_fd, name))
		return 0;
	if (!sentry_sockets_doubt(&s->sockets, place, s->at))
		return err_sys(e, "allocate");
	return s->sockets.n == SENTRY_DOUBTS ? sentry_settle(s, e) : 0;
}

static int meet_link(struct sentry *s, bool guards,
		     const struct sentry_place *place, struct sv why,
		     struct err *e)
{
	const struct sentry_link link = {
		.why = why, .guards = guards, .held = place->held,
	};

	return sentry_links_add(&s->links, &link, place->path) ?
		       0 : err_sys(e, "allocate");
}

static int act(struct sentry *s, enum sentry_word word,
	       const struct sentry_place *place, const struct sentry_name *n,
	       struct sv why, struct err *e)
{
	const bool guards = word == SENTRY_GUARD || word == SENTRY_POINTER;

	if (guards && was_guarded(s, place->path))
		return 0;
	if (word == SENTRY_SOCKET)
		return meet_socket(s, place, n->name.p, e);
	if (word == SENTRY_POINTER && !place->held) {
		made_await(s->b->plan->made);
		made_follow(&s->agents, s->b->plan->made, &s->agents_seen);
		if (made_has(&s->agents, s->dir_fd, ".git"))
			return 0;
	}
	return place->identity.type == S_IFLNK ?
		       meet_link(s, guards, place, why, e) :
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
int sentry_look_at(struct sentry *s, int dir_fd, uint32_t at, const char *name,
		   struct err *e)
{
	char room[PATH_MAX], path[2 * PATH_MAX];
	const struct sv dir = sentry_tree_path(&s->tree, at, room);
	unsigned look = s->tree.v[at].look;
	struct sentry_place place = { .held = look & SENTRY_HELD };
	struct sentry_name n;
	enum sentry_word word;
	struct sv why;

	/* The parent looks at it: a file system may not answer. */
	s->b->plan->sentry_since_ms = loop_now_ms();
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
