/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths below a descriptor, by openat2() (5.6).
 *
 * A path is a view without NUL, of at most PATH_MAX - 1 bytes.  O_CLOEXEC is
 * always added.  On failure e->code is the errno (ENOENT, ELOOP, ...), with
 * the path named in the message.
 */
#ifndef KERNEL_PATH_H
#define KERNEL_PATH_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

#include "err.h"
#include "sv.h"

/* As if root_fd were "/": links and ".." are followed, but never leave it. */
must_check int path_open_in(int root_fd, struct sv path, int flags,
			    struct err *e);
/* The same, but a symbolic link anywhere in the path, its last component
 * included, is ELOOP.  An absolute path ignores dirfd. */
must_check int path_open_exact(int dirfd, struct sv path, int flags,
			       struct err *e);

/* ... and neither "..", nor another file system, leads out of dirfd. */
must_check int path_open_beneath(int dirfd, struct sv path, int flags,
				 struct err *e);

/* Each makes the missing directories of path (mode 0755) below root_fd and
 * returns O_PATH of what path names; what exists already is left as it is.
 * A symbolic link on the way is ELOOP: the tree is ours and has none that we
 * would want to write through. */
must_check int path_make_dirs(int root_fd, struct sv path, struct err *e);
/* An empty file, mode as given; an existing non-directory is accepted. */
must_check int path_make_file(int root_fd, struct sv path, mode_t mode,
			      struct err *e);
/* 0; an existing link with the same target is accepted. */
must_check int path_make_symlink(int root_fd, struct sv path,
				 struct sv target, struct err *e);

/* What a descriptor or a name refers to, whatever it was called. */
struct path_identity {
	uint64_t dev;
	uint64_t ino;
	uint32_t type;		/* S_IFDIR, S_IFREG, ... */
	uint32_t links;
};
struct path_identity path_identity_of(const struct stat *st);
must_check int path_identify(int fd, struct path_identity *ret, struct err *e);
/* ... of what has that name below dir_fd, a link itself; -1 and errno. */
must_check int path_identify_at(int dir_fd, const char *name,
				struct path_identity *ret);

/* S_IFDIR, S_IFREG, ... as it is known here: no server is asked, which may be
 * gone. */
must_check int path_type(int fd, uint32_t *ret, struct err *e);

/* What is not opened for that reason may well be there. */
static inline bool path_is_exhausted(int code)
{
	return code == EMFILE || code == ENFILE || code == ENOMEM;
}

static inline bool path_same(const struct path_identity *a,
			     const struct path_identity *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

#endif
