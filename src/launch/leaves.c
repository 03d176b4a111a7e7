/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent leaves that runs something later: see leaves.h. */
#include "leaves.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "area.h"
#include "buf.h"
#include "control.h"
#include "fold.h"
#include "own.h"

static bool is_git(struct sv name)
{
	char folded[FOLD_MAX];

	/* What other systems ignore, in front of the dot, is not ASCII. */
	return name.n && (name.p[0] == '.' || name.p[0] & 0x80) &&
	       sv_eq(fold_name(name, folded), SV(".git"));
}

static bool is_below_git(struct sv path)
{
	for (path = area_parent(path); path.n > 1; path = area_parent(path))
		if (is_git(area_base(path)))
			return true;
	return false;
}

static void put_note(int control_fd, enum control_kind kind, int value,
		     struct sv text)
{
	struct control_note note = { .kind = kind, .value = value };
	struct err ignored;

	/* Unheard when the parent is gone, and then we are as well. */
	(void)!control_send(control_fd, &note, text, &ignored);
}

/* Whether it is a new one. */
static bool keep(struct leaves *l, int dir_fd, const char *name)
{
	auto_fd int fd = -1;
	struct stat st;

	if (strlen(name) > NAME_MAX || fstat(dir_fd, &st) < 0)
		return false;
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].dev == st.st_dev && l->v[i].ino == st.st_ino &&
		    strcmp(l->v[i].name, name) == 0)
			return false;
	/* Many a file is called HEAD: these leave room for the others. */
	if (l->n < (*name ? LEAVES_MAX : LEAVES_MAX / 2))
		fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0) {
		l->more = true;
		return false;
	}
	l->v[l->n] = (struct leaf){ .dev = st.st_dev, .ino = st.st_ino };
	memcpy(l->v[l->n].name, name, strlen(name) + 1);
	l->v[l->n++].dir_fd = steal_fd(&fd);
	return true;
}

void leaves_look(struct leaves *l, int control_fd, const struct plan *plan,
		 const struct descent *d, struct sv path,
		 const struct creation_rule *freed)
{
	const struct sv name = area_base(path);
	/* The first file that a repository gets, whatever its name is. */
	const bool bare = sv_eq(name, SV("HEAD"));

	if (!freed && !((is_git(name) || (bare && !is_below_git(path))) &&
			creation_is_granted(plan, path)))
		return;
	if (keep(l, d->dir_fd, bare && !freed ? "" : d->name) && !bare) {
		put_note(control_fd, CONTROL_MADE, 0, path);
		l->told = true;
	}
}

static bool has(int dir_fd, const char *name)
{
	return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_there(const struct leaf *at)
{
	if (*at->name)
		return has(at->dir_fd, at->name);
	return has(at->dir_fd, "HEAD") && has(at->dir_fd, "objects") &&
	       has(at->dir_fd, "refs");
}

static void put_path(struct buf *b, const struct leaf *at)
{
	const struct descent d = { .dir_fd = at->dir_fd };
	char dir[PATH_MAX];

	if (descent_directory(&d, dir))
		return;
	if (b->n)
		buf_putc(b, '\0');
	buf_puts(b, dir);
	if (*at->name)
		buf_printf(b, "/%s", at->name);
}

void leaves_tell(struct leaves *l, int control_fd)
{
	auto_buf struct buf text = buf_new(LEAVES_MAX * (PATH_MAX + NAME_MAX));
	struct sv all;
	int n = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (!is_there(&l->v[i]))
			continue;
		n++;
		put_path(&text, &l->v[i]);
	}
	if (!n && !l->told)
		return;
	all = buf_sv(&text);
	/* Whole paths, as many as one note takes. */
	while (all.n > CONTROL_TAIL_MAX) {
		all = sv_head(all, CONTROL_TAIL_MAX);
		while (all.n && all.p[all.n - 1] != '\0')
			all.n--;
		all.n -= all.n > 0;
	}
	put_note(control_fd, CONTROL_LEFT, n + l->more, all);
}
