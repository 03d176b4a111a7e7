/* SPDX-License-Identifier: Apache-2.0 */
/* From memory to the disk: what is carried, and what is left by a kill between any
 * two steps of it. */
#include "carry.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "duplicate.h"
#include "entry.h"
#include "io.h"
#include "own.h"
#include "tap.h"

#define FIRST "20261130-000000-000000"
#define NEXT "20261130-000001-000000"

static const struct held_tree a = { .path = SV("/a"), .ino = 7, .only = SV("") };
static const struct held_tree b = { .path = SV("/b"), .ino = 8, .only = SV(""),
				     .layers = 1 };
static char place[] = "/tmp/unit-carry-XXXXXX";
static int place_fd, store_fd, layers_fd;

static int dir(int at_fd, const char *name)
{
	(void)mkdirat(at_fd, name, 0700);
	return openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void put(int at_fd, const char *name, const char *text)
{
	auto_fd int fd = openat(at_fd, name, O_WRONLY | O_CREAT | O_TRUNC |
				O_CLOEXEC, 0600);
	struct err e;

	CHECK(fd >= 0 && io_write_all(fd, sv_str(text), &e) == 0);
}

static bool says(int at_fd, const char *name, const char *text)
{
	auto_buf struct buf found = buf_new(4096);
	struct err e;

	return io_read_file(at_fd, name, &found, &e) == 0 &&
	       sv_eq(buf_sv(&found), sv_str(text));
}

static bool is_there(int at_fd, const char *name)
{
	return faccessat(at_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Layers with one file of one tree in them. */
static void fill(const char *text)
{
	auto_fd int tree_fd = -1, upper_fd = -1;
	struct err e;

	close_fd(&layers_fd);
	CHECK_INT(entry_remove(place_fd, "layers", &e), 0);
	layers_fd = dir(place_fd, "layers");
	tree_fd = dir(layers_fd, "0");
	upper_fd = dir(tree_fd, "upper");
	put(upper_fd, "new", text);
}

static void begin(struct held *h, const char *name, const char *run)
{
	bool again;
	struct err e;

	CHECK_INT(held_keep(store_fd, name, h, &again, &e), 0);
	CHECK_INT(held_set_last(h, run, 0, &e), 0);
	if (!again)
		CHECK_INT(held_add(h, &a, &e), 0);
	CHECK_INT(carry_begin(h, run, &e), 0);
	CHECK(carry_is_pending(store_fd, name));
}

static int recovered(const char *name, const char *run)
{
	char whose[HELD_ID_MAX] = "";
	struct err e;
	int end = carry_recover(store_fd, name, whose, &e);

	CHECK(end == CARRY_NOTHING || strcmp(whose, run) == 0);
	CHECK(!carry_is_pending(store_fd, name) || end == CARRY_NOTHING);
	return end;
}

static void test_carry_out_is_held_and_carried_in_again(void)
{
	auto_fd int upper_fd = -1;
	struct held h;
	struct err e;

	fill("one");
	begin(&h, "demo", FIRST);
	CHECK(!held_is_there(store_fd, "demo"));
	CHECK_INT(recovered("demo", FIRST), CARRY_NOTHING);	/* it is locked */
	CHECK_INT(carry_out(&h, layers_fd, &e), 0);
	CHECK(held_is_there(store_fd, "demo"));
	CHECK(!carry_is_pending(store_fd, "demo"));
	CHECK(says(h.fd, "0/upper/new", "one"));
	CHECK(!is_there(h.fd, "whole") && !is_there(h.fd, "carried"));
	held_close(&h);
	CHECK_INT(recovered("demo", FIRST), CARRY_NOTHING);

	begin(&h, "demo", NEXT);
	CHECK_INT(entry_remove(layers_fd, "0", &e), 0);
	CHECK_INT(carry_in(&h, layers_fd, &e), 0);
	CHECK(says(layers_fd, "0/upper/new", "one"));
	CHECK(!is_there(layers_fd, "links"));
	upper_fd = openat(layers_fd, "0/upper", O_RDONLY | O_CLOEXEC);
	put(upper_fd, "more", "two");
	CHECK_INT(unlinkat(upper_fd, "new", 0), 0);
	CHECK_INT(carry_out(&h, layers_fd, &e), 0);
	CHECK(says(h.fd, "0/upper/more", "two"));
	CHECK(!is_there(h.fd, "0/upper/new"));
	CHECK_INT(held_remove(&h, &e), 0);
	held_close(&h);
}

static void test_carry_killed_before_it_is_whole(void)
{
	struct held h;
	struct err e;

	fill("one");
	begin(&h, FIRST, FIRST);
	(void)close(dir(h.fd, "carried"));
	held_close(&h);
	CHECK_INT(recovered(FIRST, FIRST), CARRY_LOST);
	CHECK(!is_there(store_fd, FIRST));

	begin(&h, "demo", FIRST);
	CHECK_INT(carry_out(&h, layers_fd, &e), 0);
	held_close(&h);
	begin(&h, "demo", NEXT);
	(void)close(dir(h.fd, "carried"));
	held_close(&h);
	CHECK_INT(recovered("demo", NEXT), CARRY_LOST);
	CHECK(is_there(store_fd, "demo/meta"));
	CHECK(says(store_fd, "demo/0/upper/new", "one"));
	CHECK(!is_there(store_fd, "demo/carried"));
	CHECK_INT(entry_remove(store_fd, "demo", &e), 0);
}

/* With the layer before, and where that is gone already. */
static void test_carry_killed_when_it_is_whole(void)
{
	for (int gone = 0; gone < 2; gone++) {
		auto_fd int whole_fd = -1, tree_fd = -1, upper_fd = -1;
		struct held h;
		struct err e;

		fill("one");
		begin(&h, "demo", FIRST);
		CHECK_INT(carry_out(&h, layers_fd, &e), 0);
		held_close(&h);
		begin(&h, "demo", NEXT);
		whole_fd = dir(h.fd, "whole");
		tree_fd = dir(whole_fd, "0");
		upper_fd = dir(tree_fd, "upper");
		put(upper_fd, "new", "two");
		if (gone)
			CHECK_INT(entry_remove(h.fd, "0", &e), 0);
		held_close(&h);
		CHECK_INT(recovered("demo", NEXT), CARRY_COMPLETED);
		CHECK(says(store_fd, "demo/0/upper/new", "two"));
		CHECK(is_there(store_fd, "demo/meta"));
		CHECK(!is_there(store_fd, "demo/whole"));
		CHECK_INT(entry_remove(store_fd, "demo", &e), 0);
	}
}

/* A first run's list of trees is the last that comes. */
static void test_carry_of_a_first_run_killed_when_it_is_whole(void)
{
	auto_fd int whole_fd = -1;
	struct held h;
	struct err e;

	begin(&h, FIRST, FIRST);
	whole_fd = dir(h.fd, "whole");
	(void)close(dir(whole_fd, "0"));
	CHECK_INT(held_write_in(&h, whole_fd, &e), 0);
	CHECK(!held_is_there(store_fd, FIRST));
	held_close(&h);
	CHECK_INT(recovered(FIRST, FIRST), CARRY_COMPLETED);
	CHECK(held_is_there(store_fd, FIRST) && is_there(store_fd, FIRST "/0"));
	CHECK_INT(entry_remove(store_fd, FIRST, &e), 0);
}

static void test_carry_fails_whole(void)
{
	struct held h;
	struct err e;

	fill("one");
	begin(&h, "demo", FIRST);
	CHECK_INT(held_add(&h, &b, &e), 0);	/* has no layer */
	CHECK_INT(carry_out(&h, layers_fd, &e), -1);
	CHECK(!carry_is_whole(&h) && !is_there(h.fd, "carried"));
	CHECK(!held_is_there(store_fd, "demo"));
	CHECK_INT(held_remove(&h, &e), 0);
	held_close(&h);
}

static void test_duplicate_keeps_what_overlayfs_notes(void)
{
	auto_fd int from_fd = dir(place_fd, "from"), to_fd = dir(place_fd, "to");
	auto_fd int links_fd = dir(place_fd, "links"), sub_fd = -1;
	struct stat st, other;
	char value = 0;
	struct err e;

	sub_fd = dir(from_fd, "sub");
	CHECK_INT(fsetxattr(sub_fd, "user.overlay.opaque", "y", 1, 0), 0);
	CHECK_INT(mknodat(from_fd, "gone", S_IFCHR, makedev(0, 0)), 0);
	CHECK_INT(linkat(from_fd, "gone", sub_fd, "gone", 0), 0);
	put(from_fd, "shut", "text");
	CHECK_INT(fchmodat(from_fd, "shut", 0, 0), 0);
	CHECK_INT(fchmod(sub_fd, 0), 0);
	CHECK_INT(duplicate_tree(from_fd, to_fd, links_fd, &e), 0);

	CHECK(fstatat(to_fd, "gone", &st, 0) == 0 && entry_is_whiteout(&st));
	CHECK(fstatat(to_fd, "sub", &st, 0) == 0 && (st.st_mode & 07777) == 0);
	CHECK(fstat(sub_fd, &st) == 0 && (st.st_mode & 07777) == 0);
	CHECK(fstatat(to_fd, "shut", &st, 0) == 0 && st.st_size == 4 &&
	      (st.st_mode & 07777) == 0);
	CHECK_INT(fchmodat(to_fd, "sub", 0700, 0), 0);
	close_fd(&sub_fd);
	sub_fd = dir(to_fd, "sub");
	CHECK(fgetxattr(sub_fd, "user.overlay.opaque", &value, 1) == 1 &&
	      value == 'y');
	CHECK(fstatat(to_fd, "gone", &st, 0) == 0 &&
	      fstatat(sub_fd, "gone", &other, 0) == 0 &&
	      st.st_ino == other.st_ino);
}

int main(void)
{
	struct err e;

	layers_fd = -1;
	if (!mkdtemp(place))
		return 1;
	place_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	store_fd = dir(place_fd, "store");
	RUN(test_carry_out_is_held_and_carried_in_again);
	RUN(test_carry_killed_before_it_is_whole);
	RUN(test_carry_killed_when_it_is_whole);
	RUN(test_carry_of_a_first_run_killed_when_it_is_whole);
	RUN(test_carry_fails_whole);
	RUN(test_duplicate_keeps_what_overlayfs_notes);
	(void)!entry_remove(AT_FDCWD, place, &e);
	return tap_done();
}
