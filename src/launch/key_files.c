/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of placeholders (`secret ... in FILE`): where they are, and making them.
 *
 * In a directory of the sandbox's own such a file is one more, and the agent's to
 * change.  Where the host's directory is shown it stands before the file that the
 * host has there, by a read-only mount; on the host nothing is made that could
 * carry a mount, so a file that is not there cannot be stood before.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "area.h"
#include "init.h"
#include "io.h"
#include "mount.h"
#include "own.h"

#define KEY_FILE ".key-file"

enum { MODE = 0600 };

static int refuse(const struct launch_file *file, const char *why,
		  struct err *e)
{
	return err_kind(e, ERR_POLICY, "%.*s (%.*s): %s",
			SV_FMT(sv_head(file->path, 200)),
			SV_FMT(sv_head(file->why, 120)), why);
}

static void add(struct builder *b, const struct launch_file *file,
		struct sv path, uint8_t flags)
{
	struct step *s = builder_mount(b, STEP_KEY_FILE, builder_dup(b, path),
				       builder_dup(b, file->why));

	s->source = builder_dup(b, file->text);
	s->flags = flags;
}

/* Before a file of the host's. */
static int stand_before(struct builder *b, const struct launch_file *file,
			struct err *e)
{
	const struct area *around;
	struct area found;

	if (area_resolve(b, file->path, &found, e) < 0) {
		if (e->code != ENOENT)
			return err_ctx(e, "%.*s", SV_FMT(file->why));
		return refuse(file, "the host has no such file, and none is made "
			      "in what is shown of it; make an empty one there, "
			      "or start in another directory", e);
	}
	around = areas_find(b, found.path);
	if (!around || around->kind != AREA_NAMED || around->source.n)
		return refuse(file, "it leads to what is not shown", e);
	if (found.identity.type != S_IFREG)
		return refuse(file, "it is no regular file", e);
	add(b, file, found.path, STEP_THERE);
	return 0;
}

int key_files_plan(struct builder *b, struct err *e)
{
	for (size_t i = 0; i < b->in->files_n; i++) {
		const struct launch_file *file = &b->in->files[i];
		const struct area *around = areas_find(b, file->path);

		if (around && around->kind == AREA_PRIVATE &&
		    around->path.n < file->path.n)
			add(b, file, file->path, 0);
		else if (!around || around->kind != AREA_NAMED)
			return refuse(file, "it is neither in the home nor in "
				      "what the policy grants", e);
		else if (stand_before(b, file, e) < 0)
			return -1;
	}
	return 0;
}

bool key_files_are_below(const struct builder *b, struct sv path)
{
	for (size_t i = 0; i < b->mounts_n; i++)
		if (b->mounts[i].kind == STEP_KEY_FILE &&
		    area_strictly_contains(path, b->mounts[i].target))
			return true;
	return false;
}

static int make(int dir_fd, const char *name, struct sv text, struct err *e)
{
	auto_fd int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL |
				O_CLOEXEC | O_NOFOLLOW, MODE);

	if (fd < 0)
		return err_sys(e, "make it");
	return io_write_all(fd, text, e);
}

static int show(struct init *in, int at_fd, struct err *e)
{
	auto_fd int tree_fd = root_clone(in, in->root_fd, KEY_FILE, false, e);

	if (tree_fd < 0 ||
	    mount_set_attrs(tree_fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, false,
			    e) < 0 ||
	    root_attach(in, tree_fd, at_fd, "", e) < 0)
		return -1;
	/* The mount keeps what it shows; the name need not stay. */
	if (unlinkat(in->root_fd, KEY_FILE, 0) < 0)
		return err_sys(e, "remove its name");
	return 0;
}

int key_files_make(struct init *in, const struct step *s, struct err *e)
{
	struct sv below = init_below(s->target);
	auto_fd int at_fd = -1;

	if (s->flags & STEP_THERE) {
		at_fd = path_open_exact(in->root_fd, below, O_PATH, e);
		return at_fd < 0 ||
		       make(in->root_fd, KEY_FILE, s->source, e) < 0 ?
			       -1 : show(in, at_fd, e);
	}
	at_fd = path_make_dirs(in->root_fd, init_below(area_parent(s->target)),
			       e);
	if (at_fd < 0)
		return -1;
	return make(at_fd, area_base(s->target).p, s->source, e);
}
