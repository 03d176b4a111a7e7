/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upper layers as overlayfs makes them, made by hand, and what is found in them.
 * (The whole, with real overlays, is test/system/test_workspace.py.)
 */
#include "changes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "entry.h"
#include "io.h"
#include "own.h"
#include "tap.h"

static char place[] = "/tmp/unit-changes-XXXXXX";
static struct held held;

static void put(int dir_fd, const char *path, const char *text)
{
	auto_fd int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC,
				0644);
	struct err e;

	CHECK(fd >= 0 && io_write_all(fd, sv_str(text), &e) == 0);
}

/* A store with one run, a tree, and its upper layer. */
static void begin(int *lower_fd, int *upper_fd)
{
	static char tree[64];
	struct err e;
	struct path_identity id;
	int store_fd = open(place, O_RDONLY | O_DIRECTORY);

	(void)snprintf(tree, sizeof tree, "%s/tree", place);
	CHECK_INT(mkdirat(store_fd, "tree", 0755), 0);
	*lower_fd = openat(store_fd, "tree", O_RDONLY | O_DIRECTORY);
	CHECK_INT(path_identify(*lower_fd, &id, &e), 0);
	CHECK_INT(held_make(store_fd, "run-1", &held, &e), 0);
	CHECK_INT(held_add(&held, &(struct held_tree){
				   .path = sv_str(tree), .ino = id.ino,
				   .only = SV("") }, &e), 0);
	CHECK_INT(mkdirat(held.fd, "0", 0700), 0);
	CHECK_INT(mkdirat(held.fd, "0/upper", 0755), 0);
	*upper_fd = openat(held.fd, "0/upper", O_RDONLY | O_DIRECTORY);
}

static void end(int lower_fd, int upper_fd)
{
	int store_fd = held.store_fd;
	struct err e;

	CHECK_INT(held_remove(&held, &e), 0);
	held_close(&held);
	(void)close(lower_fd);
	(void)close(upper_fd);
	CHECK_INT(entry_remove(store_fd, "tree", &e), 0);
	(void)close(store_fd);
}

/* "M a, A b/" */
static struct sv listed(struct buf *b)
{
	struct changes c;
	struct err e;

	held.began.tv_sec += 1000;	/* nothing is later */
	if (changes_find(&held, false, &c, &e) < 0)
		printf("# %s\n", e.msg);
	held.began.tv_sec -= 1000;
	for (size_t i = 0; i < c.n; i++)
		buf_printf(b, "%s%c %.*s%s", i ? ", " : "",
			   (char)c.list[i].kind, SV_FMT(c.list[i].path),
			   S_ISDIR(c.list[i].mode) ? "/" : "");
	return buf_sv(b);
}

static void test_each_kind_of_change(void)
{
	auto_buf struct buf b = buf_new(4096);
	int lower_fd, upper_fd;

	begin(&lower_fd, &upper_fd);
	put(lower_fd, "same", "1");
	put(upper_fd, "same", "1");
	put(lower_fd, "changed", "1");
	put(upper_fd, "changed", "2");
	put(upper_fd, "new", "1");
	put(lower_fd, "gone", "1");
	CHECK_INT(mknodat(upper_fd, "gone", S_IFCHR, makedev(0, 0)), 0);
	CHECK_INT(mknodat(upper_fd, "gone-on-both", S_IFCHR, 0), 0);
	put(lower_fd, "kind", "1");
	CHECK_INT(symlinkat("x", upper_fd, "kind"), 0);
	CHECK_INT(mkdirat(lower_fd, "dir", 0755), 0);
	CHECK_INT(mkdirat(upper_fd, "dir", 0700), 0);
	put(upper_fd, "dir/in", "1");
	CHECK_INT(mkdirat(lower_fd, "dir.d", 0755), 0);
	CHECK_INT(mkdirat(upper_fd, "dir.d", 0755), 0);
	CHECK_SV(listed(&b), "M changed, M dir/, A dir/in, D gone, T kind, "
		 "A new");
	end(lower_fd, upper_fd);
}

static void test_a_replaced_directory_shows_what_differs(void)
{
	auto_buf struct buf b = buf_new(4096);
	struct changes c;
	struct err e;
	int lower_fd, upper_fd;

	begin(&lower_fd, &upper_fd);
	CHECK_INT(mkdirat(lower_fd, "d", 0755), 0);
	CHECK_INT(mkdirat(lower_fd, "d/sub", 0755), 0);
	put(lower_fd, "d/sub/x", "1");
	put(lower_fd, "d/kept", "1");
	put(lower_fd, "d/lost", "1");
	CHECK_INT(mkdirat(upper_fd, "d", 0755), 0);
	CHECK_INT(mkdirat(upper_fd, "d/sub", 0755), 0);
	put(upper_fd, "d/kept", "1");
	CHECK_SV(listed(&b), "");
	{
		auto_fd int fd = openat(upper_fd, "d", O_RDONLY);

		CHECK_INT(fsetxattr(fd, "user.overlay.opaque", "y", 1, 0), 0);
	}
	CHECK_SV(listed(&b), "D d/lost, D d/sub/x");
	/* Settled, it says the same by whiteouts. */
	CHECK_INT(changes_find(&held, true, &c, &e), 0);
	buf_reset(&b);
	CHECK_SV(listed(&b), "D d/lost, D d/sub/x");
	CHECK_INT(faccessat(upper_fd, "d/lost", F_OK, 0), 0);
	end(lower_fd, upper_fd);
}

static void test_what_is_later_is_a_conflict(void)
{
	int lower_fd, upper_fd;
	struct changes c;
	struct err e;

	begin(&lower_fd, &upper_fd);
	put(lower_fd, "a", "1");
	put(upper_fd, "a", "2");
	held.began.tv_sec -= 10;
	CHECK_INT(changes_find(&held, false, &c, &e), 0);
	CHECK_INT(c.n, 1);
	CHECK(c.n == 1 && c.list[0].conflict);
	held.began.tv_sec += 1000;
	CHECK_INT(changes_find(&held, false, &c, &e), 0);
	CHECK(c.n == 1 && !c.list[0].conflict);
	end(lower_fd, upper_fd);
}

/* Upper layer: three names of one file, of which the host has one as it is. */
static void test_names_of_one_file(void)
{
	int lower_fd, upper_fd;
	struct changes c;
	struct err e;

	begin(&lower_fd, &upper_fd);
	put(lower_fd, "b", "1");
	put(upper_fd, "b", "1");
	CHECK_INT(linkat(upper_fd, "b", upper_fd, "a", 0), 0);
	CHECK_INT(linkat(upper_fd, "b", upper_fd, "c", 0), 0);
	held.began.tv_sec += 1000;
	CHECK_INT(changes_find(&held, false, &c, &e), 0);
	CHECK_INT(c.n, 2);
	CHECK_INT(changes_link(&held, &c, &e), 0);
	CHECK_SV(change_linked(&c, &c.list[0]), "");	/* none is chosen */
	c.list[0].chosen = c.list[1].chosen = true;
	CHECK_INT(changes_link(&held, &c, &e), 0);
	CHECK_SV(change_linked(&c, &c.list[0]), "b");
	CHECK_SV(change_linked(&c, &c.list[1]), "b");
	/* The host's has another name by now, of which nothing is known. */
	CHECK_INT(linkat(lower_fd, "b", lower_fd, "z", 0), 0);
	CHECK_INT(changes_find(&held, false, &c, &e), 0);
	c.list[0].chosen = c.list[1].chosen = true;
	CHECK_INT(changes_link(&held, &c, &e), 0);
	CHECK_SV(change_linked(&c, &c.list[0]), "");
	CHECK_SV(change_linked(&c, &c.list[1]), "a");
	c.list[0].guarded = true;
	CHECK_INT(changes_link(&held, &c, &e), 0);
	CHECK_SV(change_linked(&c, &c.list[1]), "");
	held.began.tv_sec -= 1000;
	end(lower_fd, upper_fd);
}

static void test_two_that_were_made_one(void)
{
	auto_buf struct buf b = buf_new(4096);
	int lower_fd, upper_fd;

	begin(&lower_fd, &upper_fd);
	put(lower_fd, "a", "1");
	put(lower_fd, "b", "1");
	put(upper_fd, "a", "1");
	put(upper_fd, "b", "1");
	CHECK_SV(listed(&b), "");
	CHECK_INT(unlinkat(upper_fd, "b", 0), 0);
	CHECK_INT(linkat(upper_fd, "a", upper_fd, "b", 0), 0);
	CHECK_SV(listed(&b), "M b");
	end(lower_fd, upper_fd);
}

static void test_paths_are_taken_apart(void)
{
	CHECK_SV(change_parent(SV("a/b/c")), "a/b");
	CHECK_SV(change_parent(SV("a")), "");
	CHECK_SV(change_base(SV("a/b/c")), "c");
	CHECK_SV(change_base(SV("a")), "a");
	CHECK(change_is_below(SV("a/b"), SV("a")));
	CHECK(change_is_below(SV("a"), SV("")));
	CHECK(!change_is_below(SV("ab"), SV("a")));
	CHECK(!change_is_below(SV("a"), SV("a")));
}

int main(void)
{
	if (!mkdtemp(place))
		return 1;
	RUN(test_each_kind_of_change);
	RUN(test_a_replaced_directory_shows_what_differs);
	RUN(test_what_is_later_is_a_conflict);
	RUN(test_names_of_one_file);
	RUN(test_two_that_were_made_one);
	RUN(test_paths_are_taken_apart);
	return rmdir(place) < 0 ? 1 : tap_done();
}
