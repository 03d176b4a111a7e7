/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a directory, before it is moved: see inventory.h. */
#include "inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dir.h"
#include "own.h"

#define LOOK (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT)

static int grow(void **p, size_t *cap, size_t least, size_t size)
{
	size_t wanted = 2 * *cap > least ? 2 * *cap : least;
	void *grown = realloc(*p, wanted * size);

	if (!grown)
		return ENOMEM;
	*p = grown;
	*cap = wanted;
	return 0;
}

static int add(struct inventory *v, const char *name, const struct statx *stx)
{
	const size_t n = strlen(name) + 1;
	int error = 0;

	if (v->n == INVENTORY_MAX)
		return EXDEV;
	if (v->n == v->cap)
		error = grow((void **)&v->parts, &v->cap, 64,
			     sizeof *v->parts);
	if (!error && v->names_n + n > v->names_cap)
		error = grow((void **)&v->names, &v->names_cap,
			     v->names_n + n + 4096, 1);
	if (error)
		return error;
	memcpy(v->names + v->names_n, name, n);
	v->parts[v->n] = (struct inventory_part){
		.name = (uint32_t)v->names_n, .end = (uint32_t)v->n + 1,
		.mode = stx->stx_mode,
		.times = {
			{ stx->stx_atime.tv_sec, stx->stx_atime.tv_nsec },
			{ stx->stx_mtime.tv_sec, stx->stx_mtime.tv_nsec },
		},
	};
	v->n++;
	v->names_n += n;
	return 0;
}

/* At most: of a file with holes it copies each megabyte that has a block. */
static uint64_t copied_bytes(const struct statx *stx)
{
	const uint64_t most = stx->stx_blocks << 20;

	return stx->stx_size < most ? stx->stx_size : most;
}

/* Whether the kernel would let us; it copies what is the host's up into the
 * layer that is written, and gives it its owner. */
static int check(struct inventory *v, const struct statx *stx)
{
	const mode_t mode = stx->stx_mode;

	if (!(stx->stx_mask & STATX_MNT_ID))
		return EXDEV;
	if (stx->stx_mnt_id != v->mount)
		return EBUSY;
	if (stx->stx_uid != geteuid() || stx->stx_gid != getegid() ||
	    S_ISCHR(mode) || S_ISBLK(mode))
		return EXDEV;
	if (S_ISDIR(mode))
		return (mode & 0500) == 0500 ? 0 : EXDEV;
	if (S_ISREG(mode))
		v->bytes += copied_bytes(stx);
	return v->bytes > INVENTORY_BYTES_MAX ? EXDEV : 0;
}

static int list(struct inventory *v, struct judge *j, int dir_fd, int depth);

/* v->below is its path. */
static int take(struct inventory *v, struct judge *j, int dir_fd,
		const char *name, int depth)
{
	const size_t at = v->n;
	struct statx stx;
	int error;

	if (statx(dir_fd, name, LOOK, STATX_BASIC_STATS | STATX_MNT_ID,
		  &stx) < 0)
		return errno;
	error = check(v, &stx);
	/* The whole has been judged.  Of a directory all that is in it is. */
	if (!error && depth)
		error = judge_part(j, v->from, v->to, sv_str(v->below),
				   S_ISLNK(stx.stx_mode));
	if (!error)
		error = add(v, name, &stx);
	if (error || !S_ISDIR(stx.stx_mode))
		return error;
	error = list(v, j, openat(dir_fd, name, O_RDONLY | O_DIRECTORY |
				  O_NOFOLLOW | O_CLOEXEC), depth + 1);
	v->parts[at].end = (uint32_t)v->n;
	return error;
}

/* dir_fd becomes the directory's. */
static int list(struct inventory *v, struct judge *j, int dir_fd, int depth)
{
	const size_t n = strlen(v->below);
	auto_fd int fd = dir_fd;
	auto_dir DIR *dir = NULL;
	int error = 0;

	if (depth > INVENTORY_DEPTH_MAX)
		return EXDEV;
	dir = dir_take(&fd);
	if (!dir)
		return errno;
	while (!error) {
		const struct dirent *d = dir_next(dir);
		size_t length;

		if (!d)
			return errno;
		length = strlen(d->d_name) + 1;
		if (n + 1 + length > sizeof v->below)
			return EXDEV;
		v->below[n] = '/';
		memcpy(v->below + n + 1, d->d_name, length);
		error = take(v, j, dirfd(dir), d->d_name, depth);
		v->below[n] = '\0';
	}
	return error;
}

int inventory_mount(int dir_fd, uint64_t *ret)
{
	struct statx stx;

	if (statx(dir_fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0)
		return errno;
	if (!(stx.stx_mask & STATX_MNT_ID))
		return EXDEV;
	*ret = stx.stx_mnt_id;
	return 0;
}

int inventory_take(struct inventory *v, struct judge *j, int dir_fd,
		   const char *name)
{
	v->below[0] = '\0';
	return take(v, j, dir_fd, name, 0);
}

void inventory_fini(struct inventory *v)
{
	free(v->parts);
	free(v->names);
}
