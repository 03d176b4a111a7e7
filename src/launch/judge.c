/* SPDX-License-Identifier: Apache-2.0 */
/* May a path get a name?  See judge.h. */
#include "judge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "area.h"
#include "buf.h"
#include "control.h"
#include "kept.h"
#include "loop.h"
#include "own.h"

enum { REPORTS_MAX = 256 };	/* of a run; the agent decides how many */

/* What creation.c asks. */
struct asked {
	struct creation_made made;
	const struct judge *judge;
	int dir_fd;		/* of the name, or */
	struct sv from, to;	/* what is below `to` is below `from` still */
};

static void report(struct judge *j, struct sv path,
		   const struct creation_rule *rule)
{
	struct control_note note = { .kind = CONTROL_REFUSED };
	auto_buf struct buf text = buf_new(CONTROL_TAIL_MAX);
	struct err ignored;

	if (j->reports >= REPORTS_MAX || sv_eq(path, sv_str(j->reported)))
		return;
	j->reports++;
	path = sv_head(path, sizeof j->reported - 1);
	snprintf(j->reported, sizeof j->reported, "%.*s", SV_FMT(path));
	buf_put(&text, path);
	buf_putc(&text, '\0');
	buf_put(&text, sv_head(rule->why, PATH_MAX));
	/* Unheard when the parent is gone, and then we are as well. */
	(void)!control_send(j->control_fd, &note, buf_sv(&text), &ignored);
}

int judge_path(const struct descent *d, char room[2 * PATH_MAX],
	       struct sv *ret)
{
	size_t n;

	if (descent_directory(d, room))
		return EACCES;
	n = strlen(room);
	if (n == 1)
		n = 0;
	n += (size_t)snprintf(room + n, 2 * PATH_MAX - n, "/%s", d->name);
	while (n > 1 && room[n - 1] == '/')
		room[--n] = '\0';
	*ret = sv_of(room, n);
	return 0;
}

/* By descriptors: in another sandbox, which has the same tree, an agent may have
 * given the path to another directory. */
static bool is_made_above(struct creation_made *m, struct sv path, size_t n)
{
	const struct asked *asked = container_of(m, struct asked, made);
	auto_fd int fd = openat(asked->dir_fd, ".", O_PATH | O_CLOEXEC);

	(void)path;
	while (--n && fd >= 0) {
		int above = openat(fd, "..", O_PATH | O_CLOEXEC);

		close_fd(&fd);
		fd = above;
	}
	return fd >= 0 && made_has(&asked->judge->made, fd, "");
}

/* What is moved by parts is in an overlay, which only this sandbox has. */
static bool was_made(struct creation_made *m, struct sv dir, size_t n)
{
	const struct asked *asked = container_of(m, struct asked, made);
	auto_buf struct buf path = buf_new(2 * PATH_MAX);

	while (n--)
		dir = area_parent(dir);
	if (area_contains(asked->to, dir)) {
		buf_put(&path, asked->from);
		dir = sv_from(dir, asked->to.n);
	}
	buf_put(&path, dir);
	return buf_cstr(&path) &&
	       made_has(&asked->judge->made, AT_FDCWD, path.p);
}

static int decide(struct judge *j, struct asked *asked, struct sv path,
		  bool tree)
{
	const struct creation_rule *rule;

	asked->judge = j;
	rule = creation_refused(j->plan, path, tree, &asked->made);
	if (!rule)
		return 0;
	report(j, path, rule);
	return EACCES;
}

int judge_name(struct judge *j, const struct descent *d, bool tree)
{
	struct asked asked = {
		.made.has = is_made_above, .dir_fd = d->dir_fd,
	};
	char room[2 * PATH_MAX];
	struct sv path;

	if (judge_path(d, room, &path))
		return EACCES;
	if (decide(j, &asked, path, tree))
		return EACCES;
	leaves_look(&j->leaves, j->control_fd, j->plan, d, path,
		    asked.made.freed);
	return 0;
}

void judge_tell_guarded(struct judge *j, const struct descent *d)
{
	char room[2 * PATH_MAX];
	struct sv path;

	if (judge_path(d, room, &path))
		return;
	for (size_t i = 0; i < j->plan->steps_n; i++) {
		const struct step *s = &j->plan->steps[i];

		if (s->kind != STEP_GUARD || !sv_eq(s->target, path))
			continue;
		report(j, path, &(struct creation_rule){ .why = s->why });
		return;
	}
}

int judge_part(struct judge *j, struct sv from, struct sv to, struct sv below,
	       bool tree)
{
	struct asked asked = { .made.has = was_made, .from = from, .to = to };
	char path[2 * PATH_MAX];

	if (to.n + below.n >= PATH_MAX)
		return EXDEV;
	memcpy(path, to.p, to.n);
	memcpy(path + to.n, below.p, below.n);
	return decide(j, &asked, sv_of(path, to.n + below.n), tree);
}

/* The kernel takes the mount away when the host removes what it is on. */
static bool is_mounted(const char *path)
{
	struct statx stx;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		     STATX_TYPE, &stx) == 0 &&
	       stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

bool judge_is_kept(const struct judge *j, const struct descent *d)
{
	char room[2 * PATH_MAX];
	struct sv path;

	return d->there && S_ISDIR(d->st.st_mode) &&
	       (judge_path(d, room, &path) || kept_below(j->plan->kept, path,
							is_mounted));
}

int judge_move(const struct judge *j, const struct descent *from,
	       const struct descent *to)
{
	char from_room[2 * PATH_MAX], to_room[2 * PATH_MAX];
	struct sv from_path, to_path;

	if (!from->there || !S_ISDIR(from->st.st_mode))
		return 0;
	if (judge_path(from, from_room, &from_path) ||
	    judge_path(to, to_room, &to_path))
		return EACCES;
	return creation_is_copied(j->plan, from_path, to_path) ? EXDEV : 0;
}

bool judge_minds_tree(const struct judge *j, const struct descent *from,
		      const struct descent *to)
{
	char from_room[2 * PATH_MAX], to_room[2 * PATH_MAX];
	struct asked asked = {
		.made.has = is_made_above, .judge = j, .dir_fd = to->dir_fd,
	};
	struct sv from_path, to_path;

	return judge_path(from, from_room, &from_path) ||
	       judge_path(to, to_room, &to_path) ||
	       creation_refused(j->plan, to_path, true, &asked.made) ||
	       creation_is_copied(j->plan, from_path, to_path);
}
