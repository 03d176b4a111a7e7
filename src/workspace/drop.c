/* SPDX-License-Identifier: Apache-2.0 */
/* Forgetting single changes: what is not in an upper layer is the host's. */
#include "changes.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "entry.h"
#include "own.h"

/* Everything that is listed below list[i], which is a directory. */
static bool is_whole(const struct changes *c, size_t i)
{
	const struct change *dir = &c->list[i];

	for (size_t j = i + 1; j < c->n; j++) {
		const struct change *at = &c->list[j];

		if (at->tree != dir->tree ||
		    !change_is_below(at->path, dir->path))
			break;
		if (!at->chosen)
			return false;
	}
	return true;
}

/* A directory that both have keeps what is in it, and takes the host's mode. */
static int drop_mode(const struct held *h, const struct change *change,
		     int upper_fd, struct err *e)
{
	auto_fd int lower_fd = held_open_lower(h, change->tree, e);
	auto_fd int fd = lower_fd < 0 ? -1 :
			 path_open_beneath(lower_fd, change->path, O_RDONLY |
					   O_DIRECTORY, e);
	auto_fd int to_fd = fd < 0 ? -1 :
			    path_open_beneath(upper_fd, change->path,
					      O_RDONLY | O_DIRECTORY, e);
	struct stat st;

	if (to_fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || fchmod(to_fd, st.st_mode & 07777) < 0)
		return err_sys(e, "restore its mode");
	return 0;
}

static bool is_new_dir(const struct change *change)
{
	return S_ISDIR(change->mode) && (change->kind == CHANGE_ADDED ||
					 change->kind == CHANGE_TYPE);
}

/*
 * A new directory of which the host has a part now: it lies over the host's
 * from here on, or what is dropped in it would look deleted.
 */
static int lay_over(const struct held *h, const struct change *change,
		    struct err *e)
{
	auto_fd int upper_fd = held_open_upper(h, change->tree, e);
	auto_fd int fd = upper_fd < 0 ? -1 :
			 path_open_beneath(upper_fd, change->path, O_RDONLY |
					   O_DIRECTORY, e);

	if (fd < 0)
		return -1;
	if (fremovexattr(fd, "user.overlay.opaque") < 0 && errno != ENODATA)
		return err_sys(e, "note that it lies over the host's");
	return 0;
}

static int drop(const struct held *h, const struct change *change,
		struct err *e)
{
	struct sv name = change_base(change->path);	/* a NUL behind it */
	auto_fd int upper_fd = held_open_upper(h, change->tree, e);
	auto_fd int dir_fd = upper_fd < 0 ? -1 :
			     path_open_beneath(upper_fd,
					       change_parent(change->path),
					       O_RDONLY | O_DIRECTORY, e);

	if (dir_fd < 0)
		return -1;
	if (S_ISDIR(change->mode) && change->kind == CHANGE_MODIFIED)
		return drop_mode(h, change, upper_fd, e);
	return entry_remove_in(dir_fd, name.p, e);
}

/* What is in a new directory that goes as a whole goes with it. */
static void leave_to_directories(const struct changes *c)
{
	const struct change *dir = NULL;

	for (size_t i = 0; i < c->n; i++) {
		struct change *at = &c->list[i];

		if (!at->chosen)
			continue;
		if (dir && dir->tree == at->tree &&
		    change_is_below(at->path, dir->path))
			at->chosen = false;
		else if (is_new_dir(at) && is_whole(c, i))
			dir = at;
		else if (is_new_dir(at))
			at->chosen = false;	/* a part of it stays */
	}
}

int changes_drop(struct held *h, const struct changes *c, struct err *e)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->list[i].chosen && is_new_dir(&c->list[i]) &&
		    !is_whole(c, i) && lay_over(h, &c->list[i], e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(c->list[i].path));
	leave_to_directories(c);
	/* From the end, so that a directory comes after what is in it. */
	for (size_t i = c->n; i > 0; i--)
		if (c->list[i - 1].chosen && drop(h, &c->list[i - 1], e) < 0)
			return err_ctx(e, "forget the change of %.*s",
				       SV_FMT(c->list[i - 1].path));
	return 0;
}
