/* SPDX-License-Identifier: Apache-2.0 */
#include "creation.h"

#include "area.h"
#include "own.h"
#include "tap.h"

static struct creation_rule rules[] = {
	{ .base = { "/ws", 3 }, .tail = { ".envrc", 6 }, .is_default = true },
	{ .base = { "/ws", 3 }, .tail = { ".claude/settings.json", 21 },
	  .is_default = true },
	{ .tail = { "/ws/repo/.git/hooks", 19 }, .is_default = true },
	{ .base = { "/ws", 3 }, .tail = { "/*.sh", 5 } },
	{ .base = { "/ws/ci", 6 }, .tail = { "/jobs/*/run", 11 } },
	{ .base = { "/ws/a[*]/g*", 11 }, .tail = { "/*.c", 4 } },
	{ .tail = { "/ws/[[]id]/run", 14 } },
	{ .base = { "/ws", 3 }, .tail = { ".git/config", 11 },
	  .is_default = true },
};
static struct sv lifted[] = { { "/ws/a/.envrc", 12 }, { "/ws/x.sh", 8 } };
static const struct plan plan = {
	.creation = rules, .creation_n = countof(rules),
	.lifted = lifted, .lifted_n = countof(lifted),
};

static bool refused(const char *path, bool tree)
{
	return creation_refused(&plan, sv_str(path), tree, NULL) != NULL;
}

static void test_a_name_at_any_depth(void)
{
	CHECK(refused("/ws/.envrc", false));
	CHECK(refused("/ws/a/b/.envrc", false));
	CHECK(!refused("/ws/.envrc2", false));
	CHECK(!refused("/ws/x.envrc", false));
	CHECK(!refused("/ws/.envrc/x", false));
	CHECK(!refused("/other/.envrc", false));
	CHECK(!refused("/wsx/.envrc", false));
	CHECK(!refused("/.envrc", false));
}

static void test_two_segments_and_their_beginning(void)
{
	CHECK(refused("/ws/a/.claude/settings.json", false));
	CHECK(!refused("/ws/a/.claude", false));
	CHECK(refused("/ws/a/.claude", true));
	CHECK(!refused("/ws/a/settings.json", true));
	CHECK(!refused("/ws/.claude/other.json", true));
}

static void test_a_whole_path_and_what_leads_to_it(void)
{
	CHECK(refused("/ws/repo/.git/hooks", false));
	CHECK(!refused("/ws/other/.git/hooks", false));
	CHECK(!refused("/ws/repo/.git/hooks/x", false));
	CHECK(!refused("/ws/repo/.git", false));
	CHECK(refused("/ws/repo/.git", true));
	CHECK(refused("/ws/repo", true));
	CHECK(!refused("/ws/repo2", true));
}

static void test_patterns(void)
{
	CHECK(refused("/ws/run.sh", false));
	CHECK(refused("/ws/a/b/run.sh", false));
	CHECK(!refused("/ws/run.sh.txt", false));
	CHECK(refused("/ws/ci/jobs/one/run", false));
	CHECK(refused("/ws/ci/a/jobs/one/run", false));
	CHECK(!refused("/ws/ci/jobs/one/walk", false));
	CHECK(refused("/ws/ci/jobs/one", true));
	CHECK(refused("/ws/ci/jobs", true));
	CHECK(!refused("/ws/jobs", true));
}

static void test_patterns_of_what_is_above(void)
{
	CHECK(refused("/ws/a*/gen/x.c", false));
	CHECK(refused("/ws/a*/g/b/c/x.c", false));
	CHECK(!refused("/ws/ab/gen/x.c", false));
	CHECK(!refused("/ws/a*/x.c", false));
	CHECK(!refused("/ws/a*/gen", false));
	CHECK(refused("/ws/a*/gen", true));
	CHECK(refused("/ws/a*", true));
	CHECK(!refused("/ws/a*/other", true));
	CHECK(refused("/ws/[id]/run", false));
	CHECK(!refused("/ws/i/run", false));
}

static bool is_copied(const char *from, const char *to)
{
	return creation_is_copied(&plan, sv_str(from), sv_str(to));
}

static void test_what_installers_unpack(void)
{
	CHECK(!refused("/ws/node_modules/a/.envrc", false));
	CHECK(!refused("/ws/a/.venv/.claude", true));
	CHECK(refused("/ws/node_modules.x/.envrc", false));
	CHECK(refused("/ws/.git/.envrc", false));
	CHECK(refused("/ws/node_modules/a/run.sh", false));
	CHECK(is_copied("/ws/node_modules/a", "/ws/a"));
	CHECK(is_copied("/ws/node_modules", "/ws/a"));
	CHECK(!is_copied("/ws/node_modules", "/ws/a/node_modules"));
	CHECK(!is_copied("/ws/node_modules/a", "/ws/b/node_modules/.a"));
	CHECK(!is_copied("/ws/b", "/ws/c"));
	CHECK(!is_copied("/ws/b", "/ws/node_modules/b"));
}

static void test_what_comes_to_where_a_pattern_holds(void)
{
	CHECK(is_copied("/ws/b", "/ws/ci/b"));
	CHECK(is_copied("/ws/b", "/ws/a*/gen/b"));
	CHECK(!is_copied("/ws/ci/b", "/ws/ci/c"));
	CHECK(!is_copied("/ws/ci/b", "/ws/b"));
	CHECK(!is_copied("/ws/a*/g1/b", "/ws/a*/g2/b"));
}

static void test_names_that_are_the_same_elsewhere(void)
{
	CHECK(refused("/ws/.ENVRC", false));
	CHECK(refused("/ws/.envrc.", false));
	CHECK(refused("/ws/.envrc. .", false));
	CHECK(refused("/ws/.env\u200crc", false));
	CHECK(refused("/ws/\ufeff.envrc", false));
	CHECK(refused("/ws/.en\u061cvrc", false));
	CHECK(refused("/ws/.en\u3164vrc\ufe00", false));
	CHECK(refused("/ws/.en\U000e0041vrc", false));
	CHECK(!refused("/ws/.en\U000f0041vrc", false));
	CHECK(refused("/ws/.Claude/Settings.JSON", false));
	CHECK(refused("/ws/.claude/\u017fetting\u017f.json", false));
	CHECK(refused("/ws/.claude/\u017fetting\u00ads.json", false));
	CHECK(refused("/ws/run.\u017fh", false));
	CHECK(!refused("/ws/.claude/\u00dfettings.json", false));
	CHECK(refused("/ws/RUN.SH", false));
	CHECK(!refused("/ws/.env.rc", false));
	CHECK(!refused("/ws/.envr\xe2\x80", false));
}

static void test_only_a_default_is_lifted(void)
{
	CHECK(!refused("/ws/a/.envrc", false));
	CHECK(refused("/ws/b/.envrc", false));
	CHECK(refused("/ws/x.sh", false));
}

static bool is_new(struct creation_made *m, struct sv path, size_t n)
{
	(void)m;
	while (n--)
		path = area_parent(path);
	return sv_eq(path, SV("/ws/new"));
}

static void test_what_the_agent_has_made_is_its_own(void)
{
	static struct creation_made made = { .has = is_new };
	static const char *const free_paths[] = {
		"/ws/new/.envrc", "/ws/new/.claude/settings.json",
	};
	static const char *const held[] = {
		"/ws/.envrc", "/ws/new/x/.envrc", "/ws/new2/.envrc",
		"/ws/new/run.sh",
	};

	for (size_t i = 0; i < countof(free_paths); i++)
		CHECK(!creation_refused(&plan, sv_str(free_paths[i]), false,
					&made));
	for (size_t i = 0; i < countof(held); i++)
		CHECK(creation_refused(&plan, sv_str(held[i]), false, &made));
	CHECK(made.freed == &rules[1]);
	made.freed = NULL;
	CHECK(!creation_refused(&plan, SV("/ws/new/fine"), true, &made));
	CHECK(!made.freed);
	CHECK(!creation_refused(&plan, SV("/ws/new/.claude"), true, &made));
	CHECK(made.freed == &rules[1]);
	CHECK(creation_refused(&plan, SV("/ws/.claude"), true, &made));
}

/* Of a repository it counts who has made the .git. */
static bool is_git(struct creation_made *m, struct sv path, size_t n)
{
	(void)m;
	return n == 1 && sv_starts(path, SV("/ws/own/.git/"));
}

static void test_a_repository_is_its_makers(void)
{
	struct creation_made made = { .has = is_git };

	CHECK(creation_refused(&plan, SV("/ws/his/.git/config"), false, &made));
	CHECK(!creation_refused(&plan, SV("/ws/own/.git/config"), false, &made));
	CHECK(!made.freed);
	CHECK(!creation_refused(&plan, SV("/ws/his/.git"), true, &made));
	CHECK(!refused("/ws/node_modules/x/.git/config", false));
}

static void test_how_it_is_spelled(void)
{
	CHECK(creation_is_exact(&rules[0], SV("/ws/a/.envrc")));
	CHECK(!creation_is_exact(&rules[0], SV("/ws/a/.ENVRC")));
	CHECK(creation_is_exact(&rules[2], SV("/ws/repo/.git/hooks")));
	CHECK(!creation_is_exact(&rules[2], SV("/ws/repo/.git/hooks/x")));
	CHECK(!creation_is_exact(&rules[2], SV("/ws/repo/.git")));
	CHECK(creation_is_exact(&rules[3], SV("/ws/a/b.sh")));
	CHECK(creation_is_exact(&rules[4], SV("/ws/ci/x/jobs/1/run")));
}

int main(void)
{
	RUN(test_a_repository_is_its_makers);
	RUN(test_how_it_is_spelled);
	RUN(test_a_name_at_any_depth);
	RUN(test_two_segments_and_their_beginning);
	RUN(test_a_whole_path_and_what_leads_to_it);
	RUN(test_patterns);
	RUN(test_patterns_of_what_is_above);
	RUN(test_what_comes_to_where_a_pattern_holds);
	RUN(test_what_installers_unpack);
	RUN(test_names_that_are_the_same_elsewhere);
	RUN(test_only_a_default_is_lifted);
	RUN(test_what_the_agent_has_made_is_its_own);
	return tap_done();
}
