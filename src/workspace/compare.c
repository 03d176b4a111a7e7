/* SPDX-License-Identifier: Apache-2.0 */
/* Are two entries the same?  See changes.h. */
#include "changes.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "entry.h"
#include "own.h"

enum { BLOCK = 64 << 10, NAMES_MAX = 128 << 10, VALUE_MAX = 64 << 10 };

/* As much as there is, up to a block. */
static ssize_t read_block(int fd, char *to)
{
	size_t n = 0;

	while (n < BLOCK) {
		ssize_t got = read(fd, to + n, BLOCK - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

static int same_bytes(int a_fd, int b_fd, struct err *e)
{
	static char a[BLOCK], b[BLOCK];

	for (;;) {
		ssize_t a_n = read_block(a_fd, a);
		ssize_t b_n = read_block(b_fd, b);

		if (a_n < 0 || b_n < 0)
			return err_sys(e, "compare");
		if (a_n != b_n || memcmp(a, b, (size_t)a_n) != 0)
			return 0;
		if (a_n == 0)
			return 1;
	}
}

static bool same_value(int a_fd, int b_fd, const char *name)
{
	static char a[VALUE_MAX], b[VALUE_MAX];
	ssize_t a_n = fgetxattr(a_fd, name, a, sizeof a);
	ssize_t b_n = fgetxattr(b_fd, name, b, sizeof b);

	return a_n >= 0 && a_n == b_n && memcmp(a, b, (size_t)a_n) == 0;
}

static int same_attributes(int a_fd, int b_fd, struct err *e)
{
	auto_buf struct buf a = buf_new(NAMES_MAX), b = buf_new(NAMES_MAX);

	if (entry_attributes(a_fd, &a, e) < 0 ||
	    entry_attributes(b_fd, &b, e) < 0)
		return -1;
	if (a.n != b.n)
		return 0;
	for (size_t i = 0; i < a.n; i += strlen(a.p + i) + 1)
		if (!same_value(a_fd, b_fd, a.p + i))
			return 0;
	return 1;
}

static int same_links(const struct entry_at *a, const struct entry_at *b,
		      struct err *e)
{
	auto_buf struct buf x = buf_new(PATH_MAX), y = buf_new(PATH_MAX);

	if (entry_read_link(a->dir_fd, a->name, &x, e) < 0 ||
	    entry_read_link(b->dir_fd, b->name, &y, e) < 0)
		return -1;
	return sv_eq(buf_sv(&x), buf_sv(&y));
}

int compare_entries(const struct entry_at *a, const struct entry_at *b,
		    struct err *e)
{
	auto_fd int a_fd = -1, b_fd = -1;
	int same;

	if (S_ISLNK(a->st.st_mode))
		return same_links(a, b, e);
	if (!S_ISREG(a->st.st_mode))
		return 1;
	if (a->st.st_size != b->st.st_size)
		return 0;
	a_fd = entry_open(a->dir_fd, a->name, 0, e);
	if (a_fd < 0)
		return -1;
	/* The host's: as it is, and if it cannot be read, it is another. */
	b_fd = openat(b->dir_fd, b->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		      O_CLOEXEC | O_NOCTTY);
	if (b_fd < 0)
		return errno == EACCES ? 0 : err_sys(e, "open it");
	same = same_attributes(a_fd, b_fd, e);
	return same > 0 ? same_bytes(a_fd, b_fd, e) : same;
}
