/* SPDX-License-Identifier: Apache-2.0 */
/* Renaming a directory by its parts: see relocation.h. */
#include "relocation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "area.h"
#include "dir.h"
#include "inventory.h"
#include "loop.h"
#include "own.h"

enum {
	TRIES_MAX = 100,
	TIME_MAX_MS = 10000,	/* all others wait, and so do signals */
	LIST_MAX = 65536,	/* XATTR_LIST_MAX, and of a value as well */
};

struct place {
	int dir_fd;		/* borrowed */
	const char *name;
};

static const char *const access_lists[] = {
	"system.posix_acl_access", "system.posix_acl_default",
};

/* -- a directory's own things -- */

static bool is_carried(const char *name)
{
	return strncmp(name, "user.", 5) == 0 ||
	       strcmp(name, access_lists[0]) == 0 ||
	       strcmp(name, access_lists[1]) == 0;
}

static int carry_attributes(int from_fd, int to_fd)
{
	auto_free char *room = malloc(2 * LIST_MAX);
	ssize_t n;

	if (!room)
		return ENOMEM;
	/* What its new parent has given it. */
	for (size_t i = 0; i < countof(access_lists); i++)
		(void)fremovexattr(to_fd, access_lists[i]);
	n = flistxattr(from_fd, room, LIST_MAX);
	if (n < 0)
		return errno == ENOTSUP ? 0 : errno;
	for (const char *at = room; at < room + n; at += strlen(at) + 1) {
		ssize_t length;

		if (!is_carried(at))
			continue;
		length = fgetxattr(from_fd, at, room + LIST_MAX, LIST_MAX);
		if (length < 0 || fsetxattr(to_fd, at, room + LIST_MAX,
					    (size_t)length, 0) < 0)
			return errno;
	}
	return 0;
}

/* Last, for what is put into it changes its times. */
static int dress(const struct inventory_part *part, int from_fd, int to_fd)
{
	int error = carry_attributes(from_fd, to_fd);

	if (!error && (fchown(to_fd, (uid_t)-1, getegid()) < 0 ||
		       fchmod(to_fd, part->mode & 03777) < 0 ||
		       futimens(to_fd, part->times) < 0))
		error = errno;
	return error;
}

static int open_at(const struct place *at)
{
	return openat(at->dir_fd, at->name, O_RDONLY | O_DIRECTORY |
		      O_NOFOLLOW | O_CLOEXEC);
}

static int rename_at(const struct place *from, const struct place *to)
{
	return renameat2(from->dir_fd, from->name, to->dir_fd, to->name,
			 RENAME_NOREPLACE);
}

/* -- there -- */

static int move(struct inventory *v, size_t i, const struct place *from,
		const struct place *to);

static int move_content(struct inventory *v, size_t i, int from_fd, int to_fd)
{
	const size_t end = v->parts[i].end;
	int error = 0;

	for (size_t at = i + 1; at < end && !error; at = v->parts[at].end) {
		const char *name = v->names + v->parts[at].name;

		error = move(v, at, &(struct place){ from_fd, name },
			     &(struct place){ to_fd, name });
	}
	return error;
}

static int move_directory(struct inventory *v, size_t i,
			  const struct place *from, const struct place *to)
{
	struct inventory_part *part = &v->parts[i];
	auto_fd int from_fd = open_at(from);
	auto_fd int to_fd = -1;
	int error;

	if (from_fd < 0 || mkdirat(to->dir_fd, to->name, 0700) < 0)
		return errno;
	part->state = PART_MADE;
	to_fd = open_at(to);
	if (to_fd < 0)
		return errno;
	/* It is ours and will be gone: what is in it has to come out. */
	if (!(part->mode & S_IWUSR) && fchmod(from_fd, 0700) < 0)
		return errno;
	error = move_content(v, i, from_fd, to_fd);
	if (!error)
		error = dress(part, from_fd, to_fd);
	if (!error && unlinkat(from->dir_fd, from->name, AT_REMOVEDIR) < 0)
		/* Something has come into it meanwhile: a socket. */
		error = errno == ENOTEMPTY ? EBUSY : errno;
	return error;
}

static int move(struct inventory *v, size_t i, const struct place *from,
		const struct place *to)
{
	const mode_t mode = v->parts[i].mode;

	if (v->judge->glance)
		v->judge->glance(v->judge->glance_of);
	if (loop_now_ms() > v->until_ms)
		return EXDEV;
	if (rename_at(from, to) == 0) {
		v->parts[i].state = PART_MOVED;
		return 0;
	}
	/* One that may not be written cannot get another parent either. */
	if (S_ISDIR(mode) && (errno == EXDEV ||
			      (errno == EACCES && !(mode & S_IWUSR))))
		return move_directory(v, i, from, to);
	return errno;
}

/* -- and back, as far as it goes -- */

static void undo(const struct inventory *v, size_t i, const struct place *from,
		 const struct place *to);

static void undo_directory(const struct inventory *v, size_t i,
			   const struct place *from, const struct place *to)
{
	const struct inventory_part *part = &v->parts[i];
	auto_fd int from_fd = -1, to_fd = -1;

	(void)mkdirat(from->dir_fd, from->name, 0700);
	from_fd = open_at(from);
	to_fd = open_at(to);
	/* Either may be as it was to be in the end. */
	if (from_fd >= 0 && to_fd >= 0) {
		(void)fchmod(from_fd, 0700);
		(void)fchmod(to_fd, 0700);
	}
	for (size_t at = i + 1; from_fd >= 0 && to_fd >= 0 && at < part->end;
	     at = v->parts[at].end) {
		const char *name = v->names + v->parts[at].name;

		undo(v, at, &(struct place){ from_fd, name },
		     &(struct place){ to_fd, name });
	}
	if (from_fd >= 0 && to_fd >= 0)
		(void)!dress(part, to_fd, from_fd);
	(void)unlinkat(to->dir_fd, to->name, AT_REMOVEDIR);
}

static void undo(const struct inventory *v, size_t i, const struct place *from,
		 const struct place *to)
{
	if (v->parts[i].state == PART_MOVED)
		(void)rename_at(to, from);
	else if (v->parts[i].state == PART_MADE)
		undo_directory(v, i, from, to);
}

/* -- the whole -- */

static bool is_held(const struct plan *plan, struct sv path)
{
	for (size_t i = 0; i < plan->steps_n; i++)
		if (plan->steps[i].kind == STEP_OVERLAY &&
		    area_strictly_contains(plan->steps[i].target, path))
			return true;
	return false;
}

/* The kernel has looked at all but that. */
static int check_target(const struct descent *to)
{
	auto_fd int fd = -1;
	auto_dir DIR *dir = NULL;

	if (!to->there)
		return 0;
	fd = open_at(&(struct place){ to->dir_fd, to->name });
	dir = dir_take(&fd);
	if (!dir)	/* the last step will say so */
		return errno == EACCES ? 0 : errno;
	return dir_next(dir) ? ENOTEMPTY : 0;
}

static int find_name(int dir_fd, char ret[NAME_MAX])
{
	for (int i = 0; i < TRIES_MAX; i++) {
		(void)snprintf(ret, NAME_MAX, RELOCATION_NAME "%d", i);
		if (faccessat(dir_fd, ret, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			return errno == ENOENT ? 0 : errno;
	}
	return EXDEV;
}

static int carry_out(struct inventory *v, const struct descent *from,
		     const struct descent *to, unsigned flags)
{
	const struct place old = { from->dir_fd, from->name };
	char name[NAME_MAX];
	const struct place new = { to->dir_fd, name };
	int error = find_name(to->dir_fd, name);

	if (error)
		return error;
	/* That of whoever made something last is still there. */
	(void)umask(0);
	v->until_ms = loop_now_ms() + TIME_MAX_MS;
	error = move(v, 0, &old, &new);
	if (!to->there)
		flags |= RENAME_NOREPLACE;
	if (!error && renameat2(to->dir_fd, name, to->dir_fd, to->name,
				flags) < 0)
		error = errno;
	if (error)
		undo(v, 0, &old, &new);
	return error;
}

int relocation_make(struct judge *j, const struct descent *from,
		    const struct descent *to, unsigned flags)
{
	char from_room[2 * PATH_MAX], to_room[2 * PATH_MAX];
	auto_inventory struct inventory v = { .judge = j };
	uint64_t mount;
	int error;

	if (flags & ~(unsigned)RENAME_NOREPLACE || !from->there ||
	    !S_ISDIR(from->st.st_mode))
		return EXDEV;
	if (judge_path(from, from_room, &v.from) ||
	    judge_path(to, to_room, &v.to) ||
	    !is_held(j->plan, v.from) || !is_held(j->plan, v.to) ||
	    inventory_mount(from->dir_fd, &v.mount) ||
	    inventory_mount(to->dir_fd, &mount) || mount != v.mount)
		return EXDEV;
	error = check_target(to);
	if (!error)
		error = inventory_take(&v, j, from->dir_fd, from->name);
	return error ? error : carry_out(&v, from, to, flags);
}
