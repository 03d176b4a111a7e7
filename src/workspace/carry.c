/* SPDX-License-Identifier: Apache-2.0 */
/* Upper layers that are in memory while their run lasts: see carry.h. */
#include "carry.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "dir.h"
#include "duplicate.h"
#include "entry.h"
#include "io.h"
#include "own.h"

enum { NUMBER_MAX = 24 };
#define NOTE "in-memory"
#define PART "carried"
#define WHOLE "whole"
#define LINKS "links"
#define UPPER "upper"
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

int carry_begin(const struct held *h, const char *run, struct err *e)
{
	auto_fd int fd = openat(h->fd, NOTE, O_WRONLY | O_CREAT | O_EXCL |
				O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, "note that run %s is in memory", run);
	return io_write_all(fd, sv_str(run), e);
}

int carry_forget(const struct held *h, struct err *e)
{
	if (unlinkat(h->fd, NOTE, 0) < 0 && errno != ENOENT)
		return err_sys(e, "note that nothing is in memory");
	return 0;
}

/* A new directory, or one that is there. */
static int make_dir(int at_fd, const char *name, struct err *e)
{
	int fd;

	if (mkdirat(at_fd, name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make the directory %s", name);
	fd = openat(at_fd, name, DIRECTORY);
	return fd < 0 ? err_sys(e, "open the directory %s", name) : fd;
}

static int open_upper(int at_fd, uint32_t n, struct err *e)
{
	char path[NUMBER_MAX + sizeof UPPER];

	(void)snprintf(path, sizeof path, "%" PRIu32 "/" UPPER, n);
	return path_open_beneath(at_fd, sv_str(path), O_RDONLY | O_DIRECTORY,
				 e);
}

/* N/upper of from_fd to the same of to_fd. */
static int carry_layer(int from_fd, int to_fd, int links_fd, uint32_t n,
		       struct err *e)
{
	auto_fd int source_fd = open_upper(from_fd, n, e);
	auto_fd int dir_fd = -1, upper_fd = -1;
	char name[NUMBER_MAX];

	if (source_fd < 0)
		return -1;
	(void)snprintf(name, sizeof name, "%" PRIu32, n);
	dir_fd = make_dir(to_fd, name, e);
	upper_fd = dir_fd < 0 ? -1 : make_dir(dir_fd, UPPER, e);
	return upper_fd < 0 ? -1 :
	       duplicate_tree(source_fd, upper_fd, links_fd, e);
}

/* The first of them, for messages. */
static struct sv tree_of(const struct held *h, uint32_t layer)
{
	for (size_t i = 0; i < h->trees_n; i++)
		if (h->trees[i].layers == layer)
			return h->trees[i].path;
	return SV("");
}

static int carry_layers(const struct held *h, int from_fd, int to_fd,
			struct err *e)
{
	auto_fd int links_fd = make_dir(to_fd, LINKS, e);

	if (links_fd < 0)
		return -1;
	for (uint32_t i = 0; i < held_layers(h); i++)
		if (carry_layer(from_fd, to_fd, links_fd, i, e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(tree_of(h, i)));
	return entry_remove(to_fd, LINKS, e);
}

int carry_in(const struct held *h, int layers_fd, struct err *e)
{
	return carry_layers(h, h->fd, layers_fd, e);
}

static bool has_entries(int dir_fd)
{
	auto_dir DIR *dir = dir_again(dir_fd);

	/* What cannot be read is found again when it is carried out. */
	return !dir || dir_next(dir) || errno;
}

bool carry_is_empty(const struct held *h, int layers_fd)
{
	struct err ignored;

	for (uint32_t i = 0; i < held_layers(h); i++) {
		auto_fd int fd = open_upper(layers_fd, i, &ignored);

		if (fd < 0 || has_entries(fd))
			return false;
	}
	return true;
}

/* A layer that is there takes the place of the one before; when it is not, it has
 * taken it already.  The list of trees, by which a first run's changes are held,
 * is the last. */
static int settle(int held_fd, struct err *e)
{
	auto_fd int fd = openat(held_fd, WHOLE, DIRECTORY);
	auto_dir DIR *dir = fd < 0 ? NULL : dir_again(fd);
	const struct dirent *d;

	if (!dir)
		return err_sys(e, "read what was carried out");
	while ((d = dir_next(dir)) != NULL) {
		if (strcmp(d->d_name, HELD_META) == 0)
			continue;
		if (entry_remove(held_fd, d->d_name, e) < 0)
			return -1;
		if (renameat(fd, d->d_name, held_fd, d->d_name) < 0)
			return err_sys(e, "put %s in its place", d->d_name);
	}
	if (errno)
		return err_sys(e, "read what was carried out");
	if (renameat(fd, HELD_META, held_fd, HELD_META) < 0 && errno != ENOENT)
		return err_sys(e, "put " HELD_META " in its place");
	if (unlinkat(held_fd, WHOLE, AT_REMOVEDIR) < 0)
		return err_sys(e, "remove " WHOLE);
	return 0;
}

bool carry_is_whole(const struct held *h)
{
	return faccessat(h->fd, WHOLE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int carry_all(struct held *h, int layers_fd, struct err *e)
{
	auto_fd int fd = -1;

	/* Of a stockade that was killed in the middle. */
	if (entry_remove(h->fd, PART, e) < 0)
		return -1;
	fd = make_dir(h->fd, PART, e);
	if (fd < 0 || carry_layers(h, layers_fd, fd, e) < 0 ||
	    held_write_in(h, fd, e) < 0)
		return -1;
	if (syncfs(fd) < 0)
		return err_sys(e, "write it to the disk");
	if (renameat(h->fd, PART, h->fd, WHOLE) < 0)
		return err_sys(e, "note that it is whole");
	return 0;
}

int carry_out(struct held *h, int layers_fd, struct err *e)
{
	struct err ignored;

	if (!carry_is_whole(h) && carry_all(h, layers_fd, e) < 0) {
		(void)!entry_remove(h->fd, PART, &ignored);
		return -1;
	}
	return settle(h->fd, e) < 0 ? -1 : carry_forget(h, e);
}

bool carry_is_pending(int store_fd, const char *id)
{
	char path[HELD_ID_MAX + sizeof NOTE];

	(void)snprintf(path, sizeof path, "%s/" NOTE, id);
	return strlen(id) < HELD_ID_MAX &&
	       faccessat(store_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int recover(struct held *h, char ret_run[HELD_ID_MAX], struct err *e)
{
	auto_buf struct buf run = buf_new(HELD_ID_MAX - 1);

	/* Ended between two looks at it. */
	if (!carry_is_pending(h->store_fd, h->id))
		return CARRY_NOTHING;
	if (io_read_file(h->fd, NOTE, &run, e) < 0)
		return -1;
	(void)snprintf(ret_run, HELD_ID_MAX, "%.*s", SV_FMT(buf_sv(&run)));
	if (carry_is_whole(h))
		return settle(h->fd, e) < 0 || carry_forget(h, e) < 0 ?
			       -1 : CARRY_COMPLETED;
	if (!held_is_there(h->store_fd, h->id))
		return held_remove(h, e) < 0 ? -1 : CARRY_LOST;
	if (entry_remove(h->fd, PART, e) < 0 || carry_forget(h, e) < 0)
		return -1;
	return CARRY_LOST;
}

int carry_recover(int store_fd, const char *id, char ret_run[HELD_ID_MAX],
		  struct err *e)
{
	struct held h;
	int end;

	end = held_take(store_fd, id, &h, e) < 0 ?
		      e->kind == ERR_POLICY ? CARRY_NOTHING : -1 :
		      recover(&h, ret_run, e);
	held_close(&h);
	return end;
}
