/* SPDX-License-Identifier: Apache-2.0 */
/* What is listed of a directory before it is moved by its parts. */
#include "inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "own.h"
#include "tap.h"

static struct creation_rule rules[] = {
	{ .base = { "/new", 4 }, .tail = { "kept", 4 }, .why = { "x", 1 } },
	{ .base = { "/new", 4 }, .tail = { ".envrc", 6 }, .is_default = true,
	  .why = { "x", 1 } },
};
static const struct plan plan = {
	.creation = rules, .creation_n = countof(rules),
};
static char top[PATH_MAX];
static int top_fd;

static void make(const char *path)
{
	(void)close(openat(top_fd, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static int take(struct judge *j, struct inventory *v)
{
	*j = (struct judge){ .plan = &plan, .control_fd = -1, .made = j->made };
	*v = (struct inventory){ .from = sv_str(top), .to = SV("/new/x") };
	CHECK_INT(inventory_mount(top_fd, &v->mount), 0);
	return inventory_take(v, j, AT_FDCWD, top);
}

static const char *name(const struct inventory *v, size_t i)
{
	return v->names + v->parts[i].name;
}

static void test_a_directory_is_followed_by_what_is_in_it(void)
{
	static struct judge j;
	static struct inventory v;

	CHECK_INT(mkdirat(top_fd, "a", 0700), 0);
	CHECK_INT(mkdirat(top_fd, "a/b", 0500), 0);
	make("a/file");
	CHECK_INT(take(&j, &v), 0);
	CHECK_INT(v.n, 4);
	CHECK_INT(v.parts[0].end, 4);
	CHECK(strcmp(name(&v, 1), "a") == 0);
	CHECK_INT(v.parts[1].end, 4);
	for (size_t i = 2; i < v.n; i++) {
		bool is_dir = S_ISDIR(v.parts[i].mode);

		CHECK_INT(v.parts[i].end, i + 1);
		CHECK(strcmp(name(&v, i), is_dir ? "b" : "file") == 0);
		CHECK_INT(v.parts[i].state, PART_STAYS);
	}
	inventory_fini(&v);
}

static void test_each_part_is_judged_at_its_new_place(void)
{
	static struct judge j;
	static struct inventory v;

	make("a/kept");
	CHECK_INT(take(&j, &v), EACCES);
	inventory_fini(&v);
	CHECK_INT(unlinkat(top_fd, "a/kept", 0), 0);
	make("a/.envrc");
	CHECK_INT(take(&j, &v), EACCES);
	inventory_fini(&v);
	/* Where the agent has made it, at its old place, it may. */
	made_add(&j.made, top_fd, "a", time(NULL));
	CHECK_INT(take(&j, &v), 0);
	inventory_fini(&v);
	CHECK_INT(unlinkat(top_fd, "a/.envrc", 0), 0);
	free(j.made.table);
}

static void test_what_cannot_be_moved(void)
{
	static struct judge j;
	static struct inventory v;

	CHECK_INT(fchmodat(top_fd, "a/b", 0300, 0), 0);
	CHECK_INT(take(&j, &v), EXDEV);
	inventory_fini(&v);
	CHECK_INT(fchmodat(top_fd, "a/b", 0700, 0), 0);
	CHECK_INT(take(&j, &v), 0);
	inventory_fini(&v);
	/* Another mount: what masks and guards are. */
	v = (struct inventory){ .from = sv_str(top), .to = SV("/new/x") };
	CHECK_INT(inventory_mount(top_fd, &v.mount), 0);
	v.mount++;
	CHECK_INT(inventory_take(&v, &j, AT_FDCWD, top), EBUSY);
	inventory_fini(&v);
}

int main(void)
{
	const char *folder = getenv("TMPDIR");

	(void)snprintf(top, sizeof top, "%s/inventory-XXXXXX",
		       folder ? folder : "/tmp");
	if (!mkdtemp(top))
		return 1;
	top_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RUN(test_a_directory_is_followed_by_what_is_in_it);
	RUN(test_each_part_is_judged_at_its_new_place);
	RUN(test_what_cannot_be_moved);
	(void)unlinkat(top_fd, "a/file", 0);
	(void)unlinkat(top_fd, "a/b", AT_REMOVEDIR);
	(void)unlinkat(top_fd, "a", AT_REMOVEDIR);
	(void)rmdir(top);
	(void)close(top_fd);
	return tap_done();
}
