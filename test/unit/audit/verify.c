/* SPDX-License-Identifier: Apache-2.0 */
/* The chain: every change of a trail is seen. */
#include "verify.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "io.h"
#include "own.h"
#include "tap.h"

static void write_trail(struct buf *ret)
{
	char dir[] = "/tmp/stockade-unit-XXXXXX";
	struct trail t;
	struct err e;
	auto_fd int dirfd = -1;

	CHECK(mkdtemp(dir) != NULL);
	dirfd = open(dir, O_DIRECTORY | O_CLOEXEC);
	trail_open(&t, openat(dirfd, "t", O_WRONLY | O_CREAT | O_APPEND |
			      O_CLOEXEC, 0600));
	for (int i = 0; i < 4; i++) {
		struct json *j = trail_begin(&t, i == 3 ? "end" : "request");

		json_put_str(j, "url", "https://x/\n\",\"event\":\"end\",");
		CHECK(trail_commit(&t, &e) == 0);
	}
	CHECK(trail_sync(&t, &e) == 0);
	trail_close(&t);
	CHECK(io_read_file(dirfd, "t", ret, &e) == 0);
	(void)unlinkat(dirfd, "t", 0);
	(void)rmdir(dir);
}

static void test_verify_trail_of_a_whole_run_is_sealed(void)
{
	auto_buf struct buf text = buf_new(10000);
	struct verdict_of_trail v;
	struct err e;

	write_trail(&text);
	CHECK_INT(verify_trail(buf_sv(&text), &v, &e), 0);
	CHECK_INT(v.records, 4);
	CHECK(v.sealed);
}

static void test_verify_trail_every_changed_byte_is_seen(void)
{
	auto_buf struct buf text = buf_new(10000);
	struct verdict_of_trail v;
	unsigned missed = 0;
	struct err e;

	write_trail(&text);
	for (size_t i = 0; i < text.n; i++) {
		text.p[i] ^= 1;
		missed += verify_trail(buf_sv(&text), &v, &e) == 0;
		text.p[i] ^= 1;
	}
	CHECK_INT(missed, 0);
	CHECK_INT(verify_trail(buf_sv(&text), &v, &e), 0);
}

/* The offset of line i. */
static size_t line_at(struct sv text, unsigned i)
{
	size_t at = 0;

	while (i--)
		at += sv_find(sv_from(text, at), '\n') + 1;
	return at;
}

static void test_verify_trail_missing_line_is_seen(void)
{
	auto_buf struct buf text = buf_new(10000);
	struct verdict_of_trail v;
	struct err e;

	write_trail(&text);
	for (unsigned i = 0; i < 3; i++) {
		auto_buf struct buf cut = buf_new(10000);
		size_t from = line_at(buf_sv(&text), i);
		size_t to = line_at(buf_sv(&text), i + 1);

		buf_put(&cut, sv_of(text.p, from));
		buf_put(&cut, sv_from(buf_sv(&text), to));
		CHECK_INT(verify_trail(buf_sv(&cut), &v, &e), -1);
	}
}

static void test_verify_trail_without_its_tail_is_not_sealed(void)
{
	auto_buf struct buf text = buf_new(10000);
	struct verdict_of_trail v;
	struct err e;

	write_trail(&text);
	CHECK_INT(verify_trail(sv_of(text.p, line_at(buf_sv(&text), 3)), &v,
			       &e), 0);
	CHECK(!v.sealed);
	CHECK_INT(verify_trail(sv_of(text.p, text.n - 1), &v, &e), -1);
}

static void test_verify_trail_lines_after_the_end_are_seen(void)
{
	auto_buf struct buf text = buf_new(20000);
	struct verdict_of_trail v;
	struct err e;

	write_trail(&text);
	buf_puts(&text, "{}\n");
	CHECK_INT(verify_trail(buf_sv(&text), &v, &e), -1);
}

/* A trail of these events, and whether it is sound and sealed. */
static int verify_events(const char *const *events, bool *ret_sealed)
{
	auto_buf struct buf text = buf_new(20000);
	char path[] = "/tmp/stockade-unit-XXXXXX";
	auto_fd int fd = mkstemp(path);
	struct verdict_of_trail v;
	struct trail t;
	struct err e;
	int rc;

	CHECK(fd >= 0);
	trail_open(&t, dup(fd));
	for (; *events; events++) {
		(void)trail_begin(&t, *events);
		CHECK(trail_commit(&t, &e) == 0);
	}
	trail_close(&t);
	CHECK(io_read_file(AT_FDCWD, path, &text, &e) == 0);
	(void)unlink(path);
	rc = verify_trail(buf_sv(&text), &v, &e);
	*ret_sealed = v.sealed;
	return rc;
}

static void test_verify_trail_only_what_became_of_changes_may_follow(void)
{
	const char *const good[] = { "run", "end", "apply", "undone",
				     "discard", NULL };
	const char *const bad[] = { "run", "end", "apply", "request", NULL };
	const char *const twice[] = { "run", "end", "apply", "end", NULL };
	const char *const early[] = { "run", "apply", NULL };
	bool sealed;

	CHECK_INT(verify_events(good, &sealed), 0);
	CHECK(sealed);
	CHECK_INT(verify_events(bad, &sealed), -1);
	CHECK_INT(verify_events(twice, &sealed), -1);
	CHECK_INT(verify_events(early, &sealed), 0);
	CHECK(!sealed);
}

int main(void)
{
	RUN(test_verify_trail_of_a_whole_run_is_sealed);
	RUN(test_verify_trail_every_changed_byte_is_seen);
	RUN(test_verify_trail_missing_line_is_seen);
	RUN(test_verify_trail_without_its_tail_is_not_sealed);
	RUN(test_verify_trail_lines_after_the_end_are_seen);
	RUN(test_verify_trail_only_what_became_of_changes_may_follow);
	return tap_done();
}
