/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a file and belongs to it: see copy.h. */
#include "copy.h"

#include <sys/xattr.h>
#include <unistd.h>

#include "entry.h"
#include "own.h"

enum { BLOCK = 256 << 10, NAMES_MAX = 128 << 10, VALUE_MAX = 64 << 10 };

static int copy_range(int to_fd, int from_fd, off_t at, off_t end,
		      struct err *e)
{
	static char block[BLOCK];

	while (at < end) {
		off_t left = end - at;
		size_t want = left < BLOCK ? (size_t)left : BLOCK;
		ssize_t n = pread(from_fd, block, want, at);

		if (n == 0)
			break;
		if (n > 0)
			n = pwrite(to_fd, block, (size_t)n, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "copy");
		at += n;
	}
	return 0;
}

int copy_contents(int to_fd, int from_fd, off_t size, struct err *e)
{
	off_t end = 0;

	for (;;) {
		off_t at = lseek(from_fd, end, SEEK_DATA);

		if (at < 0 && errno == ENXIO)
			break;		/* nothing but a hole */
		end = at < 0 ? -1 : lseek(from_fd, at, SEEK_HOLE);
		if (end < 0)
			return err_sys(e, "find its contents");
		if (copy_range(to_fd, from_fd, at, end, e) < 0)
			return -1;
	}
	if (ftruncate(to_fd, size) < 0)
		return err_sys(e, "give it its size");
	return 0;
}

int copy_attributes(int to_fd, int from_fd, bool notes, struct err *e)
{
	static char value[VALUE_MAX];
	auto_buf struct buf names = buf_new(NAMES_MAX);

	if ((notes ? entry_all_attributes(from_fd, &names, e) :
		     entry_attributes(from_fd, &names, e)) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i += strlen(names.p + i) + 1) {
		const char *name = names.p + i;
		ssize_t n = fgetxattr(from_fd, name, value, sizeof value);

		if (n < 0 || fsetxattr(to_fd, name, value, (size_t)n, 0) < 0)
			return err_sys(e, "copy the attribute %.100s", name);
	}
	return 0;
}
