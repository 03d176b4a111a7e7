/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade trust`, and what it has recorded: see trust.h. */
#include "trust.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base64.h"
#include "io.h"
#include "json.h"
#include "own.h"
#include "policy.h"
#include "policy_verbs.h"
#include "run_dir.h"
#include "sha256.h"
#include "source.h"

#define TRUST_DIR "trust"	/* below the state directory */

enum { RECORD_MAX = 2 * SHA256_SIZE + 2 + PATH_MAX + 1 };

static void put_hash(struct buf *b, struct sv v)
{
	uint8_t hash[SHA256_SIZE];

	sha256(v, hash);
	buf_put_hex(b, sv_of((const char *)hash, sizeof hash));
}

/* "HASH  PATH\n", as sha256sum(1) writes it. */
static void put_record(struct buf *b, struct sv path, struct sv content)
{
	put_hash(b, content);
	buf_puts(b, "  ");
	buf_put(b, path);
	buf_putc(b, '\n');
}

/* *ret_fd is -1 when nothing was ever recorded. */
static int look_for_dir(int *ret_fd, struct err *e)
{
	struct err why = { 0 };

	if (run_state_open(TRUST_DIR, false, ret_fd, &why) == 0)
		return 0;
	*ret_fd = -1;
	if (why.kind == ERR_SYS && why.code == ENOENT)
		return 0;
	*e = why;
	return -1;
}

int trust_look(struct sv path, struct sv content, enum trust *ret_trust,
	       struct err *e)
{
	auto_buf struct buf name = buf_new(NAME_MAX);
	auto_buf struct buf want = buf_new(RECORD_MAX);
	auto_buf struct buf got = buf_new(RECORD_MAX);
	auto_fd int dir_fd = -1, fd = -1;

	*ret_trust = TRUST_NONE;
	if (look_for_dir(&dir_fd, e) < 0)
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

static int keep(struct sv path, struct sv content, struct err *e)
{
	auto_buf struct buf name = buf_new(NAME_MAX);
	auto_buf struct buf temporary = buf_new(NAME_MAX);
	auto_buf struct buf record = buf_new(RECORD_MAX);
	auto_fd int dir_fd = -1, fd = -1;

	if (run_state_open(TRUST_DIR, true, &dir_fd, e) < 0)
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
	if (renameat(dir_fd, temporary.p, dir_fd, name.p) < 0) {
		(void)err_sys(e, "keep the record of trust");
		(void)unlinkat(dir_fd, temporary.p, 0);
		return -1;
	}
	return 0;
}

int trust_main(int argc, char **argv, struct err *e)
{
	const char *file = argc > 1 ? argv[1] : SOURCE_PROJECT_FILE;
	auto_buf struct buf content = buf_new(POLICY_TEXT_MAX);
	auto_buf struct buf shown = buf_new(4 * PATH_MAX);
	auto_free char *path = NULL;

	if (argc > 2 || file[0] == '-')
		return err_kind(e, ERR_POLICY,
				"expected: stockade trust [FILE]");
	path = realpath(file, NULL);
	if (!path && errno == ENOENT)
		return err_kind(e, ERR_POLICY, "there is no %s to trust: write "
				"one, or name it: stockade trust FILE", file);
	if (!path)
		return err_sys(e, "find %s", file);
	if (source_read_regular(path, &content, e) < 0 ||
	    keep(sv_str(path), buf_sv(&content), e) < 0)
		return -1;
	buf_put_visible(&shown, sv_str(path));
	(void)printf("trusted, as it is now: %.*s\n", SV_FMT(buf_sv(&shown)));
	return 0;
}
