/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes: see io.h. */
#include "io.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own.h"

enum { IO_CHUNK = 16384 };

int io_write_all(int fd, struct sv v, struct err *e)
{
	while (v.n) {
		ssize_t n = write(fd, v.p, v.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "write");
		v = sv_from(v, (size_t)n);
	}
	return 0;
}

int io_read_all(int fd, struct buf *b, struct err *e)
{
	for (;;) {
		size_t left = b->max - b->n;
		size_t want = left < IO_CHUNK ? left : IO_CHUNK;
		char probe;
		char *at = want ? buf_reserve(b, want) : &probe;
		ssize_t n;

		if (!at)
			return err_kind(e, ERR_LIMIT, "out of memory");
		n = read(fd, at, want ? want : 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "read");
		if (n == 0)
			return 0;
		if (want == 0)
			return err_kind(e, ERR_LIMIT, "more than %zu bytes",
					b->max);
		b->n += (size_t)n;
	}
}

int io_read_file(int dirfd, const char *path, struct buf *b, struct err *e)
{
	auto_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return err_sys(e, "open %s", path);
	if (io_read_all(fd, b, e) < 0)
		return err_ctx(e, "read %s", path);
	return 0;
}

int io_copy(int to_fd, int from_fd, struct err *e)
{
	ssize_t n = 1;

	while (n > 0)
		n = sendfile(to_fd, from_fd, NULL, 1 << 20);
	return n < 0 ? err_sys(e, "copy the file") : 0;
}

int io_check_ours(int fd, const char *name, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat %s", name);
	if (st.st_uid != geteuid())
		return err_kind(e, ERR_POLICY, "%s belongs to user %u, not to "
				"user %u: run as that user, or let HOME or "
				"XDG_STATE_HOME name a directory of your own",
				name, st.st_uid, geteuid());
	if (st.st_mode & 022)
		return err_kind(e, ERR_POLICY, "%s can be written by others: "
				"`chmod go-w` it", name);
	return 0;
}
