/* SPDX-License-Identifier: Apache-2.0 */
/* Following a path for somebody else: see descent.h. */
#include "descent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "own.h"

enum {
	LINKS_MAX = 40,		/* as in the kernel */
	PROC_ROOT = 1,		/* the inode of /proc itself */
	TTY_MAJOR_NUMBER = 5,	/* of /dev/tty, with minor 0 */
};

struct walk {
	const struct asker *asker;
	struct descent *d;
	unsigned links;
	/* What is still to be followed. */
	char rest[2 * PATH_MAX];
};

bool descent_is_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

static bool is_proc_root(int fd)
{
	struct stat st;

	return descent_is_proc(fd) && fstat(fd, &st) == 0 && st.st_ino == PROC_ROOT;
}

static void move_to(struct walk *w, int fd)
{
	close_fd(&w->d->dir_fd);
	w->d->dir_fd = fd;
}

static int go_to_root(struct walk *w)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	move_to(w, fd);
	return 0;
}

/* Puts a link's text in front of what is left. */
static int prepend(struct walk *w, const char *text)
{
	size_t n = strlen(text), left = strlen(w->rest);

	if (n == 0)
		return ENOENT;
	if (n + 1 + left >= sizeof w->rest)
		return ENAMETOOLONG;
	memmove(w->rest + n + 1, w->rest, left + 1);
	memcpy(w->rest, text, n);
	w->rest[n] = '/';
	/* "a/" would ask for a directory where "a" did not. */
	if (left == 0)
		w->rest[n] = '\0';
	return text[0] == '/' ? go_to_root(w) : 0;
}

/* /proc/self and /proc/thread-self are the caller; pid 1 is not there. */
static int as_the_asker(struct walk *w, char name[NAME_MAX + 2])
{
	if (!is_proc_root(w->d->dir_fd))
		return 0;
	if (strcmp(name, "1") == 0)
		return ENOENT;
	if (strcmp(name, "self") == 0 || strcmp(name, "thread-self") == 0)
		(void)snprintf(name, NAME_MAX + 2, "%d",
			       w->asker->call->pid);
	return 0;
}

/* What the link at fd says, or that only the kernel knows (magic). */
static int read_link(struct walk *w, int fd, char text[PATH_MAX], bool *magic)
{
	ssize_t n;

	*magic = descent_is_proc(w->d->dir_fd) && !is_proc_root(w->d->dir_fd);
	if (*magic)
		return 0;
	if (++w->links > LINKS_MAX)
		return ELOOP;
	n = readlinkat(fd, "", text, PATH_MAX - 1);
	if (n < 0)
		return errno;
	text[n] = '\0';
	return 0;
}

/* A name that is not the last one. */
static int enter(struct walk *w, const char *name)
{
	char text[PATH_MAX];
	struct stat st;
	bool magic;
	int error;
	auto_fd int fd = openat(w->d->dir_fd, name, O_PATH | O_NOFOLLOW |
				O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno;
	if (S_ISLNK(st.st_mode)) {
		error = read_link(w, fd, text, &magic);
		if (error || !magic)
			return error ? error : prepend(w, text);
		close_fd(&fd);
		fd = openat(w->d->dir_fd, name, O_PATH | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0)
			return errno;
	}
	if (!S_ISDIR(st.st_mode))
		return ENOTDIR;
	move_to(w, steal_fd(&fd));
	return 0;
}

static void look(struct descent *d)
{
	d->there = fstatat(d->dir_fd, d->name, &d->st,
			   AT_SYMLINK_NOFOLLOW) == 0;
}

bool descent_is_tty(const struct stat *st)
{
	return S_ISCHR(st->st_mode) &&
	       st->st_rdev == makedev(TTY_MAJOR_NUMBER, 0);
}

/* The last name: 0 when it stays, EAGAIN when it was a link and is followed. */
static int look_at_last(struct walk *w, bool follow)
{
	struct descent *d = w->d;
	char text[PATH_MAX];
	auto_fd int fd = -1;
	int error;

	look(d);
	if (!d->there || !S_ISLNK(d->st.st_mode))
		return 0;	/* what else is wrong the call itself will say */
	fd = openat(d->dir_fd, d->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno;
	error = read_link(w, fd, text, &d->magic);
	if (error || d->magic || !follow)
		return error;
	memcpy(w->rest, "/", 2);
	if (!d->slash)
		w->rest[0] = '\0';
	error = prepend(w, text);
	return error ? error : EAGAIN;
}

/* Takes the first name of the rest. */
static int take_name(struct walk *w, bool *last)
{
	const char *at = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(at, "/"), slashes = strspn(at + n, "/");

	if (n > NAME_MAX)
		return ENAMETOOLONG;
	memcpy(w->d->name, at, n);
	w->d->name[n] = '\0';
	*last = at[n + slashes] == '\0';
	w->d->slash = *last && slashes;
	memmove(w->rest, at + n + slashes, strlen(at + n + slashes) + 1);
	return 0;
}

static int follow_all(struct walk *w, bool follow)
{
	struct descent *d = w->d;
	bool last;
	int error;

	for (;;) {
		error = take_name(w, &last);
		if (error)
			return error;
		if (!d->name[0]) {	/* "/" alone */
			memcpy(d->name, ".", 2);
			return 0;
		}
		error = as_the_asker(w, d->name);
		if (error)
			return error;
		if (!last) {
			error = enter(w, d->name);
			if (error)
				return error;
			continue;
		}
		error = look_at_last(w, follow);
		if (error != EAGAIN)
			break;
	}
	if (!error && d->slash)
		memcpy(d->name + strlen(d->name), "/", 2);
	return error;
}

static int path_of(int fd, char ret[PATH_MAX])
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX - 1);
	if (n <= 0 || ret[0] != '/')
		return EACCES;
	ret[n] = '\0';
	return 0;
}

static bool is_plain(const char *path, const char *name)
{
	return *name && strlen(name) <= NAME_MAX && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0 && strncmp(path, "/proc/", 6) != 0;
}

/*
 * The kernel's own way, where it can be seen that it went by names alone: then
 * the directory is called what the path says, which links and ".." change.
 * False: it has to be followed.
 */
static bool make_at_once(const struct asker *a, int dirfd, const char *path,
			 struct descent *d)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char parent[PATH_MAX], is[PATH_MAX], start[PATH_MAX] = "";
	size_t n = slash ? (size_t)(slash - path) : 0, from = 0;
	auto_fd int fd = -1, start_fd = -1;

	if (!is_plain(path, name))
		return false;
	memcpy(parent, path, n);
	parent[n] = '\0';
	if (path[0] == '/') {
		fd = open(n ? parent : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	} else if (asker_directory(a, dirfd, &start_fd) ||
		   path_of(start_fd, start) ||
		   strncmp(start, "/proc", 5) == 0) {
		return false;
	} else if (slash) {
		from = strcmp(start, "/") == 0 ? 0 : strlen(start);
		fd = openat(start_fd, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	} else {
		fd = steal_fd(&start_fd);
	}
	if (fd < 0)
		return false;
	if (n && (path_of(fd, is) || strncmp(is, start, from) != 0 ||
		  is[from] != '/' ||
		  strcmp(is + from + (path[0] != '/'), parent) != 0))
		return false;
	/* "proc/1" from "/": not the names that the caller has there. */
	if (descent_is_proc(fd))
		return false;
	d->dir_fd = steal_fd(&fd);
	memcpy(d->name, name, strlen(name) + 1);
	look(d);
	return true;
}

int descent_directory(const struct descent *d, char ret[PATH_MAX])
{
	return path_of(d->dir_fd, ret);
}

int descent_make(const struct asker *a, int dirfd, const char *path,
		 bool follow, struct descent *ret)
{
	struct walk w = { .asker = a, .d = ret };
	int error;

	*ret = (struct descent){ .dir_fd = -1 };
	if (!path[0])
		return ENOENT;
	if (make_at_once(a, dirfd, path, ret) &&
	    !(ret->there && S_ISLNK(ret->st.st_mode)))
		return 0;
	descent_close(ret);
	*ret = (struct descent){ .dir_fd = -1 };
	memcpy(w.rest, path, strlen(path) + 1);
	error = path[0] == '/' ? go_to_root(&w) :
				 asker_directory(a, dirfd, &ret->dir_fd);
	return error ? error : follow_all(&w, follow);
}

void descent_close(struct descent *d)
{
	close_fd(&d->dir_fd);
}
