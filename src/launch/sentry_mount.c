/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sentry mounts: see sentry_parts.h.
 *
 * A name is opened inside with every link refused, and what it leads to is
 * compared with what was seen out here; what is then mounted on is that
 * descriptor, whatever its name is by then.  The agent has neither a capability
 * nor the calls to undo it.
 */
#include "sentry_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "mount.h"
#include "own.h"

#define PLAIN (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define EMPTY_DIR "directory"
#define EMPTY_FILE "file"

enum { MOUNTS_MAX = 20000 };	/* as many as the walk covers */

int sentry_mounts_open(struct sentry_mounts *m, struct err *e)
{
	const struct mount_option mode = { "mode", "0755" };
	auto_fd int fd = mount_new_fs("tmpfs", &mode, 1, PLAIN, e);
	int nests;

	if (fd < 0)
		return -1;
	if (mkdirat(fd, EMPTY_DIR, 0) < 0 ||
	    mknodat(fd, EMPTY_FILE, S_IFREG, 0) < 0)
		return err_sys(e, "make what covers are copies of");
	if (mount_set_attrs(fd, MOUNT_ATTR_RDONLY, false, e) < 0)
		return -1;
	nests = mount_can_nest(e);
	if (nests < 0)
		return -1;
	/* Before 6.15 only what is attached can be copied.  Over the root no
	 * path leads to it: all who are there have what lies below. */
	if (!nests && mount_attach(fd, AT_FDCWD, "/", e) < 0)
		return -1;
	m->covers_fd = steal_fd(&fd);
	m->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return m->root_fd < 0 ? err_sys(e, "open the sandbox's root") : 0;
}

static int count(struct sentry_mounts *m, struct sv path, struct err *e)
{
	if (++m->made <= MOUNTS_MAX)
		return 0;
	return err_kind(e, ERR_LIMIT, "%.*s: more than %d names that are "
			"hidden or guarded have appeared", SV_FMT(path),
			MOUNTS_MAX);
}

static bool is_gone(const struct err *e)
{
	return e->code == ENOENT || e->code == ENOTDIR || e->code == ELOOP ||
	       e->code == EACCES || e->code == ENAMETOOLONG;
}

/* What is to be mounted on; -1 with e->kind 0 when it is not what was seen. */
static int open_place(const struct sentry_place *at, struct statx *ret,
		      struct err *e)
{
	auto_fd int fd = path_open_exact(AT_FDCWD, at->path, O_PATH, e);
	struct path_identity now;

	if (fd < 0) {
		if (is_gone(e))
			e->kind = ERR_NONE;
		return -1;
	}
	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, ret) < 0)
		return err_sys(e, "look at %.*s", SV_FMT(at->path));
	if (path_identify(fd, &now, e) < 0)
		return -1;
	/* Another thing by now, of which there will be another event; or a
	 * cover that lies on it. */
	if (now.type != at->identity.type ||
	    (!at->held && !path_same(&now, &at->identity)) ||
	    (at->held && ret->stx_attributes & STATX_ATTR_MOUNT_ROOT)) {
		*e = (struct err){ 0 };
		return -1;
	}
	return steal_fd(&fd);
}

/*
 * An overlay remembers that there was nothing, and shows what the host has made
 * under that name as soon as it forgets it: whenever the kernel needs memory, or
 * is asked to configure the file system anew, with nothing changed.
 */
bool sentry_refresh(const struct area *area)
{
	struct err ignored;
	auto_fd int at_fd = area ? path_open_exact(AT_FDCWD, area->path, O_PATH,
						   &ignored) : -1;
	auto_fd int fs_fd = at_fd < 0 ? -1 :
			    fspick(at_fd, "", FSPICK_EMPTY_PATH |
				   FSPICK_CLOEXEC);

	return fs_fd >= 0 &&
	       fsconfig(fs_fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) == 0;
}

static int not_there(const struct sentry_place *at, const struct err *e)
{
	return at->held && (e->code == ENOENT || e->code == ENOTDIR) ?
		       SENTRY_UNSEEN : SENTRY_NOTHING_TO_DO;
}

/* It may have lost its name since it was opened. */
static int attach(int tree_fd, int at_fd, struct err *e)
{
	if (mount_attach(tree_fd, at_fd, "", e) == 0)
		return SENTRY_DONE;
	return e->code == ENOENT ? SENTRY_NOTHING_TO_DO : -1;
}

static int cover_at(struct sentry_mounts *m, int at_fd, bool directory,
		    struct err *e)
{
	auto_fd int tree_fd =
		mount_clone_restricted(m->covers_fd, directory ? EMPTY_DIR :
				       EMPTY_FILE, false, PLAIN |
				       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC,
				       e);

	return tree_fd < 0 ? -1 : attach(tree_fd, at_fd, e);
}

int sentry_is_shown(const struct sentry_place *at, struct err *e)
{
	struct statx stx;
	auto_fd int fd = open_place(at, &stx, e);

	return fd >= 0;
}

int sentry_cover(struct sentry_mounts *m, const struct sentry_place *at,
		 struct err *e)
{
	struct statx stx;
	auto_fd int fd = open_place(at, &stx, e);

	if (fd < 0)
		return e->kind ? -1 : not_there(at, e);
	if (count(m, at->path, e) < 0)
		return -1;
	return cover_at(m, fd, S_ISDIR(stx.stx_mode), e);
}

static int is_read_only(int fd, struct err *e)
{
	struct statvfs fs;

	if (fstatvfs(fd, &fs) < 0)
		return err_sys(e, "look at a mount");
	return (fs.f_flag & ST_RDONLY) != 0;
}

int sentry_guard(struct sentry_mounts *m, const struct sentry_place *at,
		 struct err *e)
{
	struct statx stx;
	auto_fd int fd = open_place(at, &stx, e);
	auto_fd int tree_fd = -1;
	int done;

	if (fd < 0)
		return e->kind ? -1 : not_there(at, e);
	done = is_read_only(fd, e);
	if (done)
		return done < 0 ? -1 : 0;
	if (count(m, at->path, e) < 0)
		return -1;
	tree_fd = mount_clone_restricted(fd, "", true, PLAIN |
					 MOUNT_ATTR_RDONLY, e);
	return tree_fd < 0 ? -1 : attach(tree_fd, fd, e);
}

/* A cover's mount, whoever has made it. */
static int is_covered(int fd, struct err *e)
{
	struct statvfs fs;
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &stx) < 0 ||
	    fstatvfs(fd, &fs) < 0)
		return err_sys(e, "look at a mount");
	return stx.stx_attributes & STATX_ATTR_MOUNT_ROOT &&
	       fs.f_flag & ST_RDONLY && fs.f_flag & ST_NOEXEC;
}

int sentry_follow(const struct sentry_mounts *m, struct sv path,
		  char room[PATH_MAX], struct sentry_place *ret,
		  struct err *e)
{
	auto_fd int fd = path_open_in(m->root_fd, path, O_PATH, e);
	char link[16];
	ssize_t n;
	int done;

	if (fd < 0)
		return is_gone(e) ? 0 : -1;
	done = is_covered(fd, e);
	if (done)
		return done < 0 ? -1 : 0;
	(void)snprintf(link, sizeof link, "%d", fd);
	n = readlinkat(m->links_fd, link, room, PATH_MAX);
	if (n <= 0 || n == PATH_MAX || room[0] != '/')
		return 0;
	*ret = (struct sentry_place){ .path = sv_of(room, (size_t)n) };
	return path_identify(fd, &ret->identity, e) < 0 ? -1 : 1;
}
