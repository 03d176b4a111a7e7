/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade trust`, and what it has recorded: see trust.h. */
#include "trust.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "own.h"
#include "policy.h"
#include "policy_verbs.h"
#include "run_dir.h"
#include "sha256.h"
#include "source.h"

enum { RECORD_MAX = 2 * SHA256_SIZE + 2 + PATH_MAX + 1 };

static void put_hash(struct buf *b, struct sv v)
{
	uint8_t hash[SHA256_SIZE];

	sha256(v, hash);
	for (size_t i = 0; i < sizeof hash; i++)
		buf_printf(b, "%02x", hash[i]);
}

/* "HASH  PATH\n", as sha256sum(1) writes it. */
static void put_record(struct buf *b, struct sv path, struct sv content)
{
	put_hash(b, content);
	buf_puts(b, "  ");
	buf_put(b, path);
	buf_putc(b, '\n');
}

static int make_dirs(struct sv path, struct err *e)
{
	auto_buf struct buf b = buf_new(PATH_MAX);

	for (size_t n = 1; n <= path.n; n++) {
		if (n < path.n && path.p[n] != '/')
			continue;
		buf_reset(&b);
		buf_put(&b, sv_head(path, n));
		if (!buf_cstr(&b))
			return err_kind(e, ERR_LIMIT, "out of memory");
		if (mkdir(b.p, 0700) < 0 && errno != EEXIST)
			return err_sys(e, "create %s", b.p);
	}
	return 0;
}

/* *ret_fd is -1 when nothing was ever recorded and nothing is to be. */
static int open_dir(bool create, int *ret_fd, struct err *e)
{
	auto_arena struct arena a = arena_new(2 * PATH_MAX);
	auto_buf struct buf b = buf_new(PATH_MAX);
	struct stat st;
	struct sv state;
	auto_fd int fd = -1;

	if (run_state_path(&a, &state, e) < 0)
		return -1;
	buf_put(&b, state);
	buf_puts(&b, "/trust");
	if (!buf_cstr(&b))
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (create && make_dirs(buf_sv(&b), e) < 0)
		return -1;
	fd = open(b.p, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		*ret_fd = -1;
		return 0;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open %s", b.p);
	/* Whoever can write here can make the user trust anything. */
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return err_kind(e, ERR_POLICY,
			"%s belongs to or can be written by somebody else",
			b.p);
	*ret_fd = steal_fd(&fd);
	return 0;
}

int trust_look(struct sv path, struct sv content, enum trust *ret_trust,
	       struct err *e)
{
	auto_buf struct buf name = buf_new(NAME_MAX);
	auto_buf struct buf want = buf_new(RECORD_MAX);
	auto_buf struct buf got = buf_new(RECORD_MAX);
	auto_fd int dir_fd = -1, fd = -1;

	*ret_trust = TRUST_NONE;
	if (open_dir(false, &dir_fd, e) < 0)
		return -1;
	if (dir_fd < 0)
		return 0;
	put_hash(&name, path);
	put_record(&want, path, content);
	if (!buf_cstr(&name) || buf_check(&want, "the path", e) < 0)
		return err_kind(e, ERR_LIMIT, "out of memory");
	fd = openat(dir_fd, name.p, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_sys(e, "open the record of trust");
	if (io_read_all(fd, &got, e) < 0)
		return err_ctx(e, "the record of trust");
	*ret_trust = sv_eq(buf_sv(&got), buf_sv(&want)) ? TRUST_HOLDS :
							  TRUST_CHANGED;
	return 0;
}

int trust_record(struct sv path, struct sv content, struct err *e)
{
	auto_buf struct buf name = buf_new(NAME_MAX);
	auto_buf struct buf temporary = buf_new(NAME_MAX);
	auto_buf struct buf record = buf_new(RECORD_MAX);
	auto_fd int dir_fd = -1, fd = -1;

	if (open_dir(true, &dir_fd, e) < 0)
		return -1;
	put_hash(&name, path);
	buf_put(&temporary, buf_sv(&name));
	buf_printf(&temporary, ".%ld", (long)getpid());
	put_record(&record, path, content);
	if (!buf_cstr(&name) || !buf_cstr(&temporary) || record.full)
		return err_kind(e, ERR_LIMIT, "out of memory");
	fd = openat(dir_fd, temporary.p,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return err_sys(e, "write the record of trust");
	if (io_write_all(fd, buf_sv(&record), e) < 0) {
		(void)unlinkat(dir_fd, temporary.p, 0);
		return err_ctx(e, "the record of trust");
	}
	if (renameat(dir_fd, temporary.p, dir_fd, name.p) < 0)
		return err_sys(e, "keep the record of trust");
	return 0;
}

int trust_main(int argc, char **argv, struct err *e)
{
	const char *file = argc > 1 ? argv[1] : SOURCE_PROJECT_FILE;
	auto_buf struct buf content = buf_new(POLICY_TEXT_MAX);
	auto_free char *path = NULL;

	if (argc > 2 || file[0] == '-')
		return err_kind(e, ERR_POLICY,
				"expected: stockade trust [FILE]");
	path = realpath(file, NULL);
	if (!path)
		return err_sys(e, "find %s", file);
	if (source_read_regular(path, &content, e) < 0 ||
	    trust_record(sv_str(path), buf_sv(&content), e) < 0)
		return -1;
	(void)printf("trusted, as it is now: %s\n", path);
	return 0;
}
