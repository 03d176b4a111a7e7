/* SPDX-License-Identifier: Apache-2.0 */
/* Which area a path belongs to. */
#include "area.h"

#include "tap.h"

static struct plan plan;
static struct builder b;

static void begin(void)
{
	plan = (struct plan){ .arena = arena_new(1 << 20) };
	b = (struct builder){ .plan = &plan, .arena = &plan.arena };
}

static struct area *add(enum area_kind kind, bool write, const char *path)
{
	struct area *area = area_add(&b, kind, sv_str(path), SV("test"));

	area->write = write;
	return area;
}

static void test_contains_compares_components(void)
{
	CHECK(area_contains(SV("/data"), SV("/data")));
	CHECK(area_contains(SV("/data"), SV("/data/x")));
	CHECK(!area_contains(SV("/data"), SV("/database")));
	CHECK(!area_contains(SV("/data/x"), SV("/data")));
	CHECK(area_contains(SV("/"), SV("/data")));
	CHECK(!area_strictly_contains(SV("/data"), SV("/data")));
}

static void test_parent_and_base(void)
{
	CHECK_SV(area_parent(SV("/a/b")), "/a");
	CHECK_SV(area_parent(SV("/a")), "/");
	CHECK_SV(area_base(SV("/a/b")), "b");
}

static void test_settle_puts_parents_first(void)
{
	begin();
	add(AREA_NAMED, false, "/w/a/b");
	add(AREA_NAMED, false, "/w-2");
	add(AREA_NAMED, true, "/w");
	areas_settle(&b);
	CHECK_SV(b.areas[0].path, "/w");
	CHECK_SV(b.areas[1].path, "/w/a/b");
	CHECK_SV(b.areas[2].path, "/w-2");
	arena_free(&plan.arena);
}

static void test_settle_write_wins_over_read_of_one_path(void)
{
	begin();
	add(AREA_NAMED, true, "/w");
	add(AREA_NAMED, false, "/w");
	areas_settle(&b);
	CHECK_INT(b.areas_n, 1);
	CHECK(b.areas[0].write);
	arena_free(&plan.arena);
}

static void test_settle_marks_what_its_parent_shows_already(void)
{
	begin();
	add(AREA_NAMED, true, "/w");
	add(AREA_NAMED, false, "/w/ro");
	add(AREA_NAMED, true, "/w/ro/rw");
	add(AREA_NAMED, true, "/w/rw");
	add(AREA_CODE, false, "/w/tool");
	add(AREA_PRIVATE, false, "/w/tmp");
	areas_settle(&b);
	for (size_t i = 0; i < b.areas_n; i++) {
		struct sv path = b.areas[i].path;
		bool redundant = sv_eq(path, SV("/w/rw")) ||
				 sv_eq(path, SV("/w/tool"));

		CHECK(b.areas[i].redundant == redundant);
	}
	arena_free(&plan.arena);
}

static void test_find_gives_the_innermost(void)
{
	begin();
	add(AREA_NAMED, true, "/w");
	add(AREA_NAMED, false, "/w/ro");
	areas_settle(&b);
	CHECK_SV(areas_find(&b, SV("/w/ro/x"))->path, "/w/ro");
	CHECK_SV(areas_find(&b, SV("/w/rock"))->path, "/w");
	CHECK_SV(areas_around(&b, SV("/w/ro"))->path, "/w");
	CHECK(!areas_find(&b, SV("/other")));
	arena_free(&plan.arena);
}

int main(void)
{
	RUN(test_contains_compares_components);
	RUN(test_parent_and_base);
	RUN(test_settle_puts_parents_first);
	RUN(test_settle_write_wins_over_read_of_one_path);
	RUN(test_settle_marks_what_its_parent_shows_already);
	RUN(test_find_gives_the_innermost);
	return tap_done();
}
