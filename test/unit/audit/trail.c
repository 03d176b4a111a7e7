/* SPDX-License-Identifier: Apache-2.0 */
/* A trail has a limit, and room behind it for how things ended. */
#include "trail.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own.h"
#include "tap.h"

static int put(struct trail *t, bool is_last)
{
	static char text[1000];
	struct json *j = is_last ? trail_begin_last(t, "response") :
				   trail_begin(t, "request");
	struct err e;

	memset(text, 'x', sizeof text - 1);
	json_put_str(j, "url", text);
	return trail_commit(t, &e);
}

/* How many could be written. */
static unsigned put_all(struct trail *t, bool is_last)
{
	unsigned n = 0;

	while (put(t, is_last) == 0)
		n++;
	return n;
}

static void open_trail(struct trail *t)
{
	char path[] = "/tmp/stockade-unit-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	(void)unlink(path);
	trail_open(t, fd);
}

static uint64_t size_of(const struct trail *t)
{
	struct stat st;

	CHECK_INT(fstat(t->fd, &st), 0);
	return (uint64_t)st.st_size;
}

static void test_trail_is_never_beyond_its_limit(void)
{
	struct trail t;
	uint64_t size;

	open_trail(&t);
	t.most = 65536;
	CHECK(put_all(&t, false) > 50);
	size = size_of(&t);
	CHECK(size <= 65536 && size > 64000);
	CHECK_INT(t.size, size);
	/* Nothing of what was refused was written, nor counted. */
	CHECK_INT(put(&t, false), -1);
	CHECK_INT(size_of(&t), size);
	trail_close(&t);
}

static void test_trail_has_a_reserve_for_what_ends(void)
{
	struct trail t;
	uint64_t sequence;

	open_trail(&t);
	t.most = 65536;
	(void)put_all(&t, false);
	sequence = t.sequence;
	CHECK_INT(put(&t, true), 0);
	CHECK_INT(put(&t, false), -1);
	CHECK_INT(put(&t, true), 0);
	/* The chain has no gap. */
	CHECK_INT(t.sequence, sequence + 2);
	CHECK(put_all(&t, true) > 10000);
	CHECK(size_of(&t) <= 65536 + AUDIT_RESERVE);
	trail_close(&t);
}

static void test_trail_limit_without_a_policy(void)
{
	struct trail t;

	open_trail(&t);
	CHECK_INT(put(&t, false), 0);
	t.size = AUDIT_SIZE - 100;
	CHECK_INT(put(&t, false), -1);
	CHECK_INT(put(&t, true), 0);
	trail_close(&t);
}

int main(void)
{
	RUN(test_trail_is_never_beyond_its_limit);
	RUN(test_trail_has_a_reserve_for_what_ends);
	RUN(test_trail_limit_without_a_policy);
	return tap_done();
}
