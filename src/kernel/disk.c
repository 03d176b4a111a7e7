/* SPDX-License-Identifier: Apache-2.0 */
/* The disk below a file system: see disk.h. */
#include "disk.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "io.h"
#include "own.h"

enum { NUMBER_MAX = 1 << 20, FILE_TEXT_MAX = 4096 };

/* MAJOR:MINOR */
static bool to_disk(struct sv text, struct disk *ret)
{
	struct sv major = sv_cut(&text, ':');
	uint64_t a, b;

	if (!sv_to_u64(major, NUMBER_MAX, &a) ||
	    !sv_to_u64(text, NUMBER_MAX, &b))
		return false;
	*ret = (struct disk){ (unsigned)a, (unsigned)b };
	return true;
}

/* ID PARENT DEV ROOT POINT OPTIONS... - TYPE SOURCE SUPER-OPTIONS */
bool disk_next_mount(struct sv *mounts, struct disk_mount *ret)
{
	const struct sv mark = SV(" - ");

	while (mounts->n) {
		struct sv line = sv_cut(mounts, '\n');
		struct sv rest = sv_from(line, sv_find_sv(line, mark) + mark.n);
		struct disk_mount m = { .type = sv_cut(&rest, ' ') };

		(void)sv_cut(&rest, ' ');
		m.options = rest;
		(void)sv_cut(&line, ' ');
		(void)sv_cut(&line, ' ');
		if (!to_disk(sv_cut(&line, ' '), &m.device))
			continue;
		(void)sv_cut(&line, ' ');
		m.point = sv_cut(&line, ' ');
		*ret = m;
		return true;
	}
	return false;
}

/* The next byte of a name in which blanks are \040. */
static char next_byte(struct sv *v)
{
	unsigned char byte = (unsigned char)v->p[0];

	if (byte == '\\' && v->n >= 4) {
		byte = (unsigned char)((v->p[1] - '0') << 6 |
				       (v->p[2] - '0') << 3 | (v->p[3] - '0'));
		*v = sv_from(*v, 3);
	}
	*v = sv_from(*v, 1);
	return (char)byte;
}

struct sv disk_mount_point(const struct disk_mount *m, char room[PATH_MAX])
{
	struct sv rest = m->point;
	size_t n = 0;

	while (rest.n && n < PATH_MAX)
		room[n++] = next_byte(&rest);
	return sv_of(room, n);
}

bool disk_mount_is_below(const struct disk_mount *m, struct sv path)
{
	struct sv rest = m->point;

	if (sv_eq(path, SV("/")))
		return true;
	for (; path.n; path = sv_from(path, 1))
		if (!rest.n || next_byte(&rest) != path.p[0])
			return false;
	return !rest.n || rest.p[0] == '/';
}

static bool is_one_of(struct sv name, const char *const *list)
{
	for (; *list; list++)
		if (sv_eq(name, sv_str(*list)))
			return true;
	return false;
}

/* Among what is between separators. */
static bool has_option(struct sv options, char separator, struct sv beginning)
{
	while (options.n)
		if (sv_starts(sv_cut(&options, separator), beginning))
			return true;
	return false;
}

static bool read_line(int dir_fd, const char *file, struct buf *b)
{
	struct err ignored;

	if (io_read_file(dir_fd, file, b, &ignored) < 0)
		return false;
	while (b->n && b->p[b->n - 1] == '\n')
		b->n--;
	return true;
}

static int refuse(const struct disk_mount *m, const char *why, struct err *e)
{
	return err_kind(e, ERR_UNSUPP, "the %.*s file system on %.*s %s",
			SV_FMT(sv_head(m->type, 32)),
			SV_FMT(sv_head(m->point, 200)), why);
}

/* Its directory; *ret_name is what the kernel calls it. */
static int open_device(const struct disk_mount *m, int block_fd,
		       char ret_name[PATH_MAX])
{
	char number[32], link[PATH_MAX];
	struct sv rest;
	ssize_t n;

	(void)snprintf(number, sizeof number, "%u:%u", m->device.major,
		       m->device.minor);
	n = readlinkat(block_fd, number, link, sizeof link - 1);
	if (n <= 0)
		return -1;
	rest = sv_of(link, (size_t)n);
	while (sv_find(rest, '/') < rest.n)
		(void)sv_cut(&rest, '/');
	(void)snprintf(ret_name, PATH_MAX, "%.*s", SV_FMT(rest));
	return openat(block_fd, number, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * Mount options that are the file system's own default are not in mountinfo.
 * With data=journal the journal's thread writes the contents as well, and without
 * delayed allocation those that were written since its last commit: in nobody's
 * name.
 */
static bool may_journal_contents(int ext4_fd, const char *name)
{
	auto_buf struct buf text = buf_new(FILE_TEXT_MAX);
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/options", name);
	return ext4_fd < 0 || !read_line(ext4_fd, path, &text) ||
	       has_option(buf_sv(&text), '\n', SV("data=journal")) ||
	       !has_option(buf_sv(&text), '\n', SV("delalloc"));
}

/* A partition's directory lies in that of its disk, which alone has limits. */
static bool to_whole(int *dir_fd, struct disk *ret)
{
	auto_buf struct buf number = buf_new(FILE_TEXT_MAX);

	if (faccessat(*dir_fd, "partition", F_OK, 0) == 0) {
		int fd = openat(*dir_fd, "..", O_RDONLY | O_DIRECTORY |
				O_CLOEXEC);

		close_fd(dir_fd);
		*dir_fd = fd;
	}
	return *dir_fd >= 0 && read_line(*dir_fd, "dev", &number) &&
	       to_disk(buf_sv(&number), ret);
}

/* One that says whose a page is when it writes it. */
static int whole_of(const struct disk_mount *m, const struct disk_view *view,
		    struct disk *ret, struct err *e)
{
	auto_buf struct buf dax = buf_new(FILE_TEXT_MAX);
	char name[PATH_MAX];
	auto_fd int fd = open_device(m, view->block_fd, name);
	struct disk disk;

	if (fd < 0)
		return refuse(m, "is on no disk that /sys/dev/block has", e);
	if (sv_eq(m->type, SV("ext4")) &&
	    may_journal_contents(view->ext4_fd, name))
		return refuse(m, "may write its contents by its journal: "
			      "/proc/fs/ext4 shows data=journal, or no "
			      "delalloc", e);
	if (!to_whole(&fd, &disk))
		return refuse(m, "is on no disk that /sys/dev/block has", e);
	/* Its memory is mapped: nothing of it is ever a request. */
	if (read_line(fd, "queue/dax", &dax) && !sv_eq(buf_sv(&dax), SV("0")))
		return refuse(m, "is on persistent memory (dax)", e);
	*ret = disk;
	return 1;
}

int disk_of_mount(const struct disk_mount *m, const struct disk_view *view,
		  struct disk *ret, struct err *e)
{
	static const char *const memory[] = {
		"tmpfs", "ramfs", "devtmpfs", "sysfs", "proc", NULL,
	};
	static const char *const held[] = { "ext4", "xfs", NULL };

	if (is_one_of(m->type, memory))
		return 0;
	if (!is_one_of(m->type, held))
		return refuse(m, "does not tell the kernel who has written "
			      "what, or has no disk of its own", e);
	if (has_option(m->options, ',', SV("rtdev=")))
		return refuse(m, "has a second device (rtdev)", e);
	return whole_of(m, view, ret, e);
}
