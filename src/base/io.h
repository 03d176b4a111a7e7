/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes on blocking descriptors. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include "buf.h"

/* All of v, also across short writes and EINTR. */
must_check int io_write_all(int fd, struct sv v, struct err *e);
/* Everything up to end of file, appended to b; ERR_LIMIT past b->max. */
must_check int io_read_all(int fd, struct buf *b, struct err *e);
/* The rest of the file from_fd, appended to to_fd. */
must_check int io_copy(int to_fd, int from_fd, struct err *e);
/* What fd refers to, called `name`, is this user's, and nobody else can write
 * there: ERR_POLICY if not. */
must_check int io_check_ours(int fd, const char *name, struct err *e);
/* Reads a whole file below dirfd (or AT_FDCWD), O_CLOEXEC|O_NOCTTY. */
must_check int io_read_file(int dirfd, const char *path, struct buf *b,
			    struct err *e);

#endif
