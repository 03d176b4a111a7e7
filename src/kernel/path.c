/* SPDX-License-Identifier: Apache-2.0 */
/* Paths below a descriptor: see path.h. */
#include "path.h"

#include <errno.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "feature.h"
#include "own.h"

/* path with a NUL behind it; "" becomes ".". */
static int copy(char to[PATH_MAX], struct sv path, struct err *e)
{
	if (path.n == 0)
		path = SV(".");
	if (memchr(path.p, 0, path.n)) {
		errno = EINVAL;
		return err_sys(e, "path with a zero byte");
	}
	if (path.n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return err_sys(e, "open %.80s...", path.p);
	}
	memcpy(to, path.p, path.n);
	to[path.n] = 0;
	return 0;
}

static int resolve(int dirfd, struct sv path, int flags, uint64_t how_to,
		   struct err *e)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.resolve = how_to | RESOLVE_NO_MAGICLINKS,
	};
	char text[PATH_MAX];
	long fd;

	if (copy(text, path, e) < 0)
		return -1;
	do {
		/* EAGAIN: something was renamed while ".." was resolved. */
		fd = syscall(SYS_openat2, dirfd, text, &how, sizeof how);
	} while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	if (fd < 0)
		return err_feature(e, "openat2", "5.6", "open %.300s", text);
	return (int)fd;
}

int path_open_in(int root_fd, struct sv path, int flags, struct err *e)
{
	return resolve(root_fd, path, flags, RESOLVE_IN_ROOT, e);
}

int path_open_exact(int dirfd, struct sv path, int flags, struct err *e)
{
	return resolve(dirfd, path, flags, RESOLVE_NO_SYMLINKS, e);
}

int path_open_beneath(int dirfd, struct sv path, int flags, struct err *e)
{
	return resolve(dirfd, path, flags, RESOLVE_BENEATH |
		       RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV, e);
}

/* Splits off the next component, skipping slashes and "."; empty at the end. */
static struct sv next(struct sv *rest)
{
	for (;;) {
		struct sv name;

		while (rest->n && rest->p[0] == '/')
			*rest = sv_from(*rest, 1);
		name = sv_head(*rest, sv_find(*rest, '/'));
		*rest = sv_from(*rest, name.n);
		if (!sv_eq(name, SV(".")))
			return name;
	}
}

static int make_dir(int at_fd, struct sv name, struct err *e)
{
	char text[PATH_MAX];

	if (copy(text, name, e) < 0)
		return -1;
	if (mkdirat(at_fd, text, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make directory %.300s", text);
	return path_open_exact(at_fd, name, O_PATH | O_DIRECTORY, e);
}

/* What of path is there already, usually all but its last name: opened, and what
 * is not, in *rest. */
static int open_existing(int root_fd, struct sv path, struct sv *rest,
			 struct err *e)
{
	struct sv head = path;

	while (head.n) {
		int fd = resolve(root_fd, head, O_PATH | O_DIRECTORY,
				 RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS, e);

		*rest = sv_from(path, head.n);
		if (fd >= 0)
			return fd;
		if (e->code != ENOENT)
			break;
		while (head.n && head.p[head.n - 1] != '/')
			head.n--;
		while (head.n && head.p[head.n - 1] == '/')
			head.n--;
	}
	*rest = path;
	return path_open_exact(root_fd, SV("."), O_PATH | O_DIRECTORY, e);
}

static bool climbs(struct sv path)
{
	for (struct sv name = next(&path); name.n; name = next(&path))
		if (sv_eq(name, SV("..")))
			return true;
	return false;
}

int path_make_dirs(int root_fd, struct sv path, struct err *e)
{
	auto_fd int fd = -1;
	struct sv rest;

	if (climbs(path)) {
		errno = EINVAL;
		return err_sys(e, "make %.*s, which has ..", SV_FMT(path));
	}
	fd = open_existing(root_fd, path, &rest, e);
	if (fd < 0)
		return -1;
	for (struct sv name = next(&rest); name.n; name = next(&rest)) {
		int below_fd = make_dir(fd, name, e);

		if (below_fd < 0)
			return err_ctx(e, "make %.*s", SV_FMT(path));
		close_fd(&fd);
		fd = below_fd;
	}
	return steal_fd(&fd);
}

/* The directory that path is in, made if missing; its last name in *name. */
static int make_parent(int root_fd, struct sv path, struct sv *name,
		       struct err *e)
{
	size_t cut;

	while (path.n && path.p[path.n - 1] == '/')
		path.n--;
	cut = path.n;
	while (cut && path.p[cut - 1] != '/')
		cut--;
	*name = sv_from(path, cut);
	if (name->n == 0 || sv_eq(*name, SV(".")) || sv_eq(*name, SV(".."))) {
		errno = EINVAL;
		return err_sys(e, "make \"%.*s\"", SV_FMT(path));
	}
	return path_make_dirs(root_fd, sv_head(path, cut), e);
}

int path_make_file(int root_fd, struct sv path, mode_t mode, struct err *e)
{
	struct path_identity what;
	struct sv name;
	char text[PATH_MAX];
	auto_fd int dir_fd = make_parent(root_fd, path, &name, e);
	auto_fd int fd = -1;

	if (dir_fd < 0 || copy(text, name, e) < 0)
		return -1;
	fd = openat(dir_fd, text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    mode);
	if (fd < 0 && errno != EEXIST)
		return err_sys(e, "make file %.*s", SV_FMT(path));
	close_fd(&fd);
	fd = path_open_exact(dir_fd, name, O_PATH, e);
	if (fd < 0)
		return -1;
	if (path_identify(fd, &what, e) < 0)
		return -1;
	if (what.type == S_IFDIR) {
		errno = EISDIR;
		return err_sys(e, "make file %.*s", SV_FMT(path));
	}
	return steal_fd(&fd);
}

int path_make_symlink(int root_fd, struct sv path, struct sv target,
		      struct err *e)
{
	struct sv name;
	char link[PATH_MAX], to[PATH_MAX], old[PATH_MAX];
	auto_fd int dir_fd = make_parent(root_fd, path, &name, e);
	ssize_t n;

	if (dir_fd < 0 || copy(link, name, e) < 0 || copy(to, target, e) < 0)
		return -1;
	if (symlinkat(to, dir_fd, link) == 0)
		return 0;
	if (errno != EEXIST)
		return err_sys(e, "make link %.*s", SV_FMT(path));
	n = readlinkat(dir_fd, link, old, sizeof old);
	if (n >= 0 && sv_eq(sv_of(old, (size_t)n), sv_str(to)))
		return 0;
	errno = EEXIST;
	return err_sys(e, "make link %.*s", SV_FMT(path));
}

struct path_identity path_identity_of(const struct stat *st)
{
	return (struct path_identity){
		.dev = st->st_dev, .ino = st->st_ino,
		.type = st->st_mode & S_IFMT, .links = (uint32_t)st->st_nlink,
	};
}

int path_identify(int fd, struct path_identity *ret, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "identify a file");
	*ret = path_identity_of(&st);
	return 0;
}

int path_identify_at(int dir_fd, const char *name, struct path_identity *ret)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	*ret = path_identity_of(&st);
	return 0;
}

int path_type(int fd, uint32_t *ret, struct err *e)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE,
		  &stx) < 0)
		return err_sys(e, "find the type of a file");
	*ret = stx.stx_mode & S_IFMT;
	return 0;
}
