/* SPDX-License-Identifier: Apache-2.0 */
/* Single entries of directories: see entry.h. */
#include "entry.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "dir.h"
#include "own.h"
#include "path.h"

enum { NAMES_MAX = 64 << 10, REMOVE_DEPTH_MAX = 8, PARKED_MAX = 48 };
#define NOTES "user.overlay."
#define OPAQUE NOTES "opaque"

int entry_look(int dir_fd, const char *name, struct stat *ret, struct err *e)
{
	if (fstatat(dir_fd, name, ret, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	return err_sys(e, "look at %.200s", name);
}

/* The mode of the very file that was opened, not of whatever has its name. */
static int set_mode(int path_fd, mode_t mode, struct err *e)
{
	char link[32];

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
	if (chmod(link, mode) < 0)
		return err_sys(e, "change its mode for a moment");
	return 0;
}

static int open_forbidden(int dir_fd, const char *name, int flags,
			  struct err *e)
{
	auto_fd int path_fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW |
				     O_CLOEXEC);
	auto_fd int fd = -1;
	struct stat st;

	if (path_fd < 0 || fstat(path_fd, &st) < 0)
		return err_sys(e, "open %.200s", name);
	if (st.st_uid != geteuid() ||
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return err_kind(e, ERR_DENIED, "%.200s cannot be read", name);
	if (set_mode(path_fd, (st.st_mode & 07777) | 0700, e) < 0)
		return -1;
	fd = openat(dir_fd, name, flags);
	if (fd < 0)
		return err_sys(e, "open %.200s", name);
	/* A directory that is to be read has to stay open to us. */
	if (!S_ISDIR(st.st_mode) &&
	    set_mode(path_fd, st.st_mode & 07777, e) < 0)
		return -1;
	return steal_fd(&fd);
}

int entry_open(int dir_fd, const char *name, int flags, struct err *e)
{
	int fd;

	flags |= O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
	fd = openat(dir_fd, name, flags);
	if (fd < 0 && errno == EACCES)
		return open_forbidden(dir_fd, name, flags, e);
	return fd < 0 ? err_sys(e, "open %.200s", name) : fd;
}

int entry_read_link(int dir_fd, const char *name, struct buf *ret,
		    struct err *e)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(dir_fd, name, text, sizeof text);

	if (n < 0)
		return err_sys(e, "read the link %.200s", name);
	if ((size_t)n == sizeof text)
		return err_kind(e, ERR_LIMIT, "the link %.200s is too long",
				name);
	buf_put(ret, sv_of(text, (size_t)n));
	return buf_check(ret, "a link", e);
}

struct removal {
	int top_fd;		/* where it began */
	unsigned depth, parked;
};

static int remove_one(struct removal *r, int dir_fd, const char *name,
		      struct err *e);

static const char *parked_name(char name[PARKED_MAX], unsigned i)
{
	(void)snprintf(name, PARKED_MAX, ".stockade-deep-%ld-%u",
		       (long)getpid(), i);
	return name;
}

/* A tree can be deeper than there are descriptors: its end is hung up at the
 * top, under a name of ours, and removed from there. */
static int park(struct removal *r, int dir_fd, const char *name,
		struct err *e)
{
	char parked[PARKED_MAX];

	/* An interrupted removal has left such names. */
	do {
		if (renameat(dir_fd, name, r->top_fd,
			     parked_name(parked, r->parked++)) == 0)
			return 0;
	} while (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR);
	return err_sys(e, "remove %.200s", name);
}

static int remove_below(struct removal *r, int dir_fd, const char *name,
			struct err *e)
{
	auto_fd int fd = entry_open(dir_fd, name, O_DIRECTORY, e);
	auto_dir DIR *dir = NULL;
	const struct dirent *d;

	if (fd < 0)
		return -1;
	/* One that may be read, but not written. */
	if (faccessat(fd, ".", W_OK | X_OK, 0) < 0)
		(void)fchmod(fd, 0700);
	dir = dir_take(&fd);
	if (!dir)
		return err_sys(e, "read %.200s", name);
	while ((d = dir_next(dir)) != NULL)
		if (remove_one(r, dirfd(dir), d->d_name, e) < 0)
			return -1;
	return 0;
}

static int remove_one(struct removal *r, int dir_fd, const char *name,
		      struct err *e)
{
	int rc;

	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return err_sys(e, "remove %.200s", name);
	if (r->depth == REMOVE_DEPTH_MAX)
		return park(r, dir_fd, name, e);
	r->depth++;
	rc = remove_below(r, dir_fd, name, e);
	r->depth--;
	if (rc < 0)
		return -1;
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) < 0)
		return err_sys(e, "remove %.200s", name);
	return 0;
}

int entry_remove(int dir_fd, const char *name, struct err *e)
{
	struct removal r = { .top_fd = dir_fd };

	if (remove_one(&r, dir_fd, name, e) < 0)
		return -1;
	for (unsigned i = 0; i < r.parked; i++) {
		char parked[PARKED_MAX];

		if (remove_one(&r, dir_fd, parked_name(parked, i), e) < 0)
			return -1;
	}
	return 0;
}

int entry_remove_in(int dir_fd, const char *name, struct err *e)
{
	struct stat st;
	bool closed;
	int rc;

	if (fstat(dir_fd, &st) < 0)
		return err_sys(e, "look at its directory");
	closed = st.st_uid == geteuid() && (st.st_mode & 0700) != 0700;
	if (closed && fchmod(dir_fd, (st.st_mode & 07777) | 0700) < 0)
		return err_sys(e, "open its directory");
	rc = entry_remove(dir_fd, name, e);
	if (closed && fchmod(dir_fd, st.st_mode & 07777) < 0 && rc == 0)
		rc = err_sys(e, "close its directory");
	return rc;
}

bool entry_is_opaque(int fd)
{
	char value = 0;

	return fgetxattr(fd, OPAQUE, &value, 1) == 1 && value == 'y';
}

/* All names, joined by NULs; none where the file system has no attributes. */
static int list_names(int fd, char *ret, size_t *ret_n, struct err *e)
{
	ssize_t n = flistxattr(fd, ret, NAMES_MAX);

	if (n < 0 && errno != ENOTSUP)
		return err_sys(e, "list attributes");
	*ret_n = n < 0 ? 0 : (size_t)n;
	return 0;
}

int entry_has_foreign_notes(int fd, struct err *e)
{
	static const char *const own[] = {
		OPAQUE, NOTES "origin", NOTES "impure", NOTES "uuid",
		NOTES "nlink", NOTES "protattr",
	};
	static char names[NAMES_MAX];
	size_t n;

	if (list_names(fd, names, &n, e) < 0)
		return -1;
	for (const char *at = names; at < names + n; at += strlen(at) + 1) {
		bool known = !sv_starts(sv_str(at), SV(NOTES));

		for (size_t i = 0; i < countof(own); i++)
			known |= strcmp(at, own[i]) == 0;
		if (!known)
			return 1;
	}
	return 0;
}

static int put_attributes(int fd, bool notes, struct buf *ret, struct err *e)
{
	static char names[NAMES_MAX];
	size_t n;

	if (list_names(fd, names, &n, e) < 0)
		return -1;
	for (const char *at = names; at < names + n; at += strlen(at) + 1) {
		struct sv name = sv_str(at);

		if ((sv_starts(name, SV("user.")) &&
		     (notes || !sv_starts(name, SV(NOTES)))) ||
		    sv_starts(name, SV("system.posix_acl_"))) {
			buf_put(ret, name);
			buf_putc(ret, 0);
		}
	}
	return buf_check(ret, "the attributes", e);
}

int entry_attributes(int fd, struct buf *ret, struct err *e)
{
	return put_attributes(fd, false, ret, e);
}

int entry_all_attributes(int fd, struct buf *ret, struct err *e)
{
	return put_attributes(fd, true, ret, e);
}
