/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: what is written is read back, and nothing else is accepted. */
#include "apply.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "entry.h"
#include "io.h"
#include "own.h"
#include "tap.h"

static char place[] = "/tmp/unit-journal-XXXXXX";

static struct apply filled(struct arena *arena, int store_fd)
{
	static struct held_tree trees[] = { { .path = SV("/one"), .ino = 11 },
					    { .path = SV("/two\n"), .ino = 12 } };
	static struct apply_op ops[] = {
		{ .kind = APPLY_REPLACE, .tree = 1, .path = SV("a\n\x1b/b"),
		  .ours = SV(".stockade-1"), .new = { 1, 2, 3, 4 },
		  .old = { 5, 6, 7, 8 }, .parent_seen = true },
		{ .kind = APPLY_MODE, .path = SV("d"), .ours = SV(".x"),
		  .mode = 0700, .old_mode = 0755 },
	};
	static struct apply_host hosts[] = {
		{ .tree = 1, .path = SV("h/i"), .was = { 9, 8, 7, 6 } },
	};

	return (struct apply){
		.arena = arena, .store_fd = store_fd, .state = APPLY_COMMIT,
		.id = SV("20261130-000000-abcdef"), .trees = trees,
		.trees_n = countof(trees), .ops = ops, .ops_n = countof(ops),
		.hosts = hosts, .hosts_n = countof(hosts),
	};
}

static void test_what_is_written_is_read_back(void)
{
	auto_arena struct arena arena = arena_new(1 << 20);
	auto_fd int fd = open(place, O_RDONLY | O_DIRECTORY);
	struct apply a = filled(&arena, fd);
	struct apply b = { .arena = &arena, .store_fd = fd };
	struct err e;

	CHECK(!journal_is_there(fd));
	CHECK_INT(journal_read(&b, &e), 0);
	CHECK_INT(journal_write(&a, &e), 0);
	CHECK(journal_is_there(fd));
	CHECK_INT(journal_read(&b, &e), 1);
	CHECK_INT(b.state, APPLY_COMMIT);
	CHECK_SV(b.id, "20261130-000000-abcdef");
	CHECK_INT(b.trees_n, 2);
	CHECK_SV(b.trees[1].path, "/two\n");
	CHECK_INT(b.trees[1].ino, 12);
	CHECK_INT(b.ops_n, 2);
	CHECK_INT(b.ops[0].kind, APPLY_REPLACE);
	CHECK_INT(b.ops[0].tree, 1);
	CHECK_SV(b.ops[0].path, "a\n\x1b/b");
	CHECK_SV(b.ops[0].ours, ".stockade-1");
	CHECK(apply_is_same(&b.ops[0].new, &a.ops[0].new));
	CHECK(apply_is_same(&b.ops[0].old, &a.ops[0].old));
	CHECK(b.ops[0].parent_seen && !b.ops[1].parent_seen);
	CHECK_INT(b.hosts_n, 1);
	CHECK_INT(b.hosts[0].tree, 1);
	CHECK_SV(b.hosts[0].path, "h/i");
	CHECK(apply_is_same(&b.hosts[0].was, &a.hosts[0].was));
	CHECK_INT(b.ops[1].mode, 0700);
	CHECK_INT(b.ops[1].old_mode, 0755);
	CHECK_INT(journal_remove(&a, &e), 0);
	CHECK(!journal_is_there(fd));
}

static void test_a_journal_that_is_cut_off_is_refused(void)
{
	auto_arena struct arena arena = arena_new(1 << 20);
	auto_fd int fd = open(place, O_RDONLY | O_DIRECTORY);
	struct apply a = filled(&arena, fd);
	auto_buf struct buf whole = buf_new(1 << 16);
	struct err e;

	CHECK_INT(journal_write(&a, &e), 0);
	CHECK_INT(io_read_file(fd, ".apply", &whole, &e), 0);
	for (size_t n = 0; n < whole.n; n++) {
		struct apply b = { .arena = &arena, .store_fd = fd };
		auto_fd int file = openat(fd, ".apply", O_WRONLY | O_TRUNC);

		CHECK_INT(io_write_all(file, buf_sv(&whole), &e), 0);
		CHECK_INT(ftruncate(file, (off_t)n), 0);
		CHECK_INT(journal_read(&b, &e), -1);
		CHECK_INT(e.kind, ERR_PROTO);
	}
	CHECK_INT(journal_remove(&a, &e), 0);
}

int main(void)
{
	struct err e;

	if (!mkdtemp(place))
		return 1;
	RUN(test_what_is_written_is_read_back);
	RUN(test_a_journal_that_is_cut_off_is_refused);
	return entry_remove(AT_FDCWD, place, &e) < 0 ? 1 : tap_done();
}
