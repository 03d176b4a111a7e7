/* SPDX-License-Identifier: Apache-2.0 */
/* From statements and a tree on disk to the steps of a plan. */
#include "launch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own.h"
#include "parse.h"
#include "tap.h"

static char top[64], work[80];
static struct policy policy;
static struct plan *plan;
static struct err e;
static const char *const *sealed;
static const char *store;
static size_t sealed_n;

static const char *at(const char *name)
{
	static char paths[8][200];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof paths[0], "%s/%s", work, name);
	return path;
}

static void make_dir(const char *name)
{
	CHECK_INT(mkdir(at(name), 0755), 0);
}

static void make_file(const char *name)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	CHECK(fd >= 0);
	(void)close(fd);
}

static void begin(void)
{
	(void)snprintf(top, sizeof top, "/tmp/plan-XXXXXX");
	CHECK(mkdtemp(top) != NULL);
	(void)snprintf(work, sizeof work, "%s/proj", top);
	CHECK_INT(mkdir(work, 0755), 0);
	policy = policy_new();
	sealed_n = 0;
	store = NULL;
}

/* ... with a place for what later plans can use again. */
static void begin_with_store(void)
{
	static char path[100];

	begin();
	(void)snprintf(path, sizeof path, "%s/store", top);
	CHECK_INT(mkdir(path, 0700), 0);
	store = path;
}

static void statement(const char *word, const char *value)
{
	struct policy_source source = {
		.base = sv_str(work), .home = sv_str(top),
	};

	if (policy_flag(&policy, sv_str(word), sv_str(value), &source, &e) < 0)
		printf("# %s %s: %s\n", word, value, e.msg);
}

static int build_with(char *const *argv, const int stdio[3])
{
	static char home[80];
	char *environ_now[] = { home, (char[]){ "PATH=/usr/bin:/bin" },
				(char[]){ "TOKEN=x" }, (char[]){ "LANG=C" },
				NULL };
	struct launch_input in = {
		.argv = argv, .environ = environ_now, .cwd = work,
		.sealed = sealed, .sealed_n = sealed_n, .store = store,
	};
	int rc;

	(void)snprintf(home, sizeof home, "HOME=%s/home", top);
	if (policy_check(&policy, &e) < 0)
		return -1;
	plan = plan_new(stdio, &policy, &e);
	rc = plan ? plan_build(plan, &policy, &in, &e) : -1;
	if (rc < 0)
		printf("# %s\n", e.msg);
	return rc;
}

static int build(void)
{
	char *const argv[] = { (char[]){ "true" }, NULL };
	static int null_fd = -1;

	if (null_fd < 0)
		null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return build_with(argv, (int[]){ null_fd, null_fd, null_fd });
}

static void end(void)
{
	char command[100];

	plan_free(plan);
	plan = NULL;
	policy_free(&policy);
	(void)snprintf(command, sizeof command, "rm -rf %s", top);
	CHECK_INT(system(command), 0);
}

/* The index of the step, counted from 1; 0: none. */
static size_t find(enum step_kind kind, const char *target)
{
	for (size_t i = 0; i < plan->steps_n; i++)
		if (plan->steps[i].kind == kind &&
		    sv_eq(plan->steps[i].target, sv_str(target)))
			return i + 1;
	return 0;
}

static bool says(const char *text)
{
	return strstr(e.msg, text) != NULL;
}

static void test_cwd_is_read_only_without_a_statement(void)
{
	size_t i;

	begin();
	CHECK_INT(build(), 0);
	i = find(STEP_BIND, work);
	CHECK(i > 0);
	CHECK(i && !(plan->steps[i - 1].flags & STEP_WRITE));
	end();
}

static void test_dot_files_are_covered_unless_shown(void)
{
	begin();
	make_file(".env");
	make_file(".gitignore");
	make_file(".token");
	make_dir("sub");
	make_file("sub/.npmrc");
	make_dir("node_modules");
	make_file("node_modules/.hidden");
	statement("show", ".token");
	CHECK_INT(build(), 0);
	CHECK(find(STEP_COVER, at(".env")));
	CHECK(find(STEP_COVER, at("sub/.npmrc")));
	CHECK(!find(STEP_COVER, at(".gitignore")));
	CHECK(!find(STEP_COVER, at(".token")));
	CHECK(!find(STEP_COVER, at("node_modules/.hidden")));
	end();
}

static void test_other_names_get_what_the_first_has(void)
{
	begin();
	make_file(".env");
	make_dir("sub");
	make_dir(".git");
	make_dir("node_modules");
	make_file(".git/config");
	make_file("free");
	CHECK_INT(link(at(".env"), at("sub/other")), 0);
	CHECK_INT(link(at(".env"), at("node_modules/third")), 0);
	CHECK_INT(link(at(".env"), at(".shown")), 0);
	CHECK_INT(link(at(".git/config"), at("sub/config")), 0);
	CHECK_INT(link(at("free"), at("sub/free")), 0);
	statement("write", ".");
	statement("show", ".shown");
	CHECK_INT(build(), 0);
	CHECK(find(STEP_COVER, at("sub/other")));
	CHECK(find(STEP_COVER, at("node_modules/third")));
	CHECK(!find(STEP_COVER, at(".shown")));
	CHECK(find(STEP_GUARD, at("sub/config")));
	CHECK(!find(STEP_COVER, at("sub/free")));
	CHECK(!find(STEP_GUARD, at("sub/free")));
	end();
}

static void test_show_inside_a_hidden_directory_opens_only_that(void)
{
	begin();
	make_dir(".config");
	make_file(".config/a");
	make_file(".config/b");
	statement("show", ".config/a");
	CHECK_INT(build(), 0);
	CHECK(!find(STEP_COVER, at(".config")));
	CHECK(!find(STEP_COVER, at(".config/a")));
	CHECK(find(STEP_COVER, at(".config/b")));
	end();
}

static void test_hide_beats_show_and_write(void)
{
	begin();
	make_file("key.pem");
	make_dir("node_modules");
	make_file("node_modules/x.pem");
	statement("write", ".");
	statement("write", "key.pem");
	statement("show", "key.pem");
	statement("hide", "**/*.pem");
	CHECK_INT(build(), 0);
	CHECK(find(STEP_COVER, at("key.pem")));
	CHECK(find(STEP_COVER, at("node_modules/x.pem")));
	end();
}

static void test_hooks_are_guarded_and_their_ancestors_pinned(void)
{
	size_t pin, guard;

	begin();
	make_dir("sub");
	make_dir("sub/.git");
	make_dir("sub/.git/hooks");
	make_file("sub/.git/config");
	statement("write", ".");
	CHECK_INT(build(), 0);
	pin = find(STEP_PIN, at("sub/.git"));
	guard = find(STEP_GUARD, at("sub/.git/hooks"));
	CHECK(find(STEP_PIN, at("sub")) > 0);
	CHECK(find(STEP_GUARD, at("sub/.git/config")) > 0);
	CHECK(find(STEP_BIND, work) < find(STEP_PIN, at("sub")));
	CHECK(find(STEP_PIN, at("sub")) < pin && pin < guard);
	end();
}

static void test_write_of_the_guarded_path_lifts_a_default_guard(void)
{
	begin();
	make_dir(".vscode");
	statement("write", ".");
	statement("write", ".vscode");
	CHECK_INT(build(), 0);
	CHECK(!find(STEP_GUARD, at(".vscode")));
	end();
}

static void test_a_guard_that_is_a_link_is_refused(void)
{
	begin();
	make_dir("elsewhere");
	CHECK_INT(symlink("elsewhere", at(".vscode")), 0);
	statement("write", ".");
	CHECK_INT(build(), -1);
	CHECK(says("symbolic link"));
	end();
}

static void test_a_missing_grant_names_the_question_mark(void)
{
	begin();
	statement("read", "absent");
	CHECK_INT(build(), -1);
	CHECK(says("does not exist") && says("read?"));
	CHECK_INT(plan->status, LAUNCH_FAILED);
	end();
}

static void test_an_optional_grant_may_be_missing(void)
{
	begin();
	statement("read?", "absent");
	CHECK_INT(build(), 0);
	end();
}

static void test_the_longer_path_wins(void)
{
	size_t outer, inner;

	begin();
	make_dir("rw");
	make_dir("rw/ro");
	statement("write", "rw");
	statement("read", "rw/ro");
	CHECK_INT(build(), 0);
	outer = find(STEP_BIND, at("rw"));
	inner = find(STEP_BIND, at("rw/ro"));
	CHECK(outer && (plan->steps[outer - 1].flags & STEP_WRITE));
	CHECK(inner > outer && !(plan->steps[inner - 1].flags & STEP_WRITE));
	end();
}

static void test_a_link_is_resolved_and_made_again(void)
{
	char target[100];

	begin();
	(void)snprintf(target, sizeof target, "%s/real", top);
	CHECK_INT(mkdir(target, 0755), 0);
	(void)snprintf(target, sizeof target, "%s/link", top);
	CHECK_INT(symlink("real", target), 0);
	statement("read", target);
	CHECK_INT(build(), 0);
	CHECK(find(STEP_LINK, target) > 0);
	(void)snprintf(target, sizeof target, "%s/real", top);
	CHECK(find(STEP_BIND, target) > 0);
	end();
}

static void test_writing_over_what_is_sealed_is_refused(void)
{
	static const char *list[1];

	begin();
	make_dir("state");
	make_dir("state/runs");
	list[0] = at("state");
	sealed = list;
	sealed_n = 1;
	statement("write", ".");
	CHECK_INT(build(), -1);
	CHECK(says("belongs to stockade"));
	end();
	begin();
	make_dir("state");
	make_dir("state/runs");
	list[0] = at("state");
	sealed_n = 1;
	statement("write", "state/runs");
	CHECK_INT(build(), -1);
	end();
}

static void test_root_and_system_places_are_refused(void)
{
	static const char *const places[] = { "/proc", "/dev", "/etc", "/sys" };

	for (size_t i = 0; i < 4; i++) {
		begin();
		statement("write", places[i]);
		CHECK_INT(build(), -1);
		end();
	}
}

/* What pid 1 cannot do: it must be in the template. */
static size_t count_unready(void)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->steps_n; i++) {
		const struct step *s = &plan->steps[i];

		n += (s->kind == STEP_FILE || s->kind == STEP_COPY) &&
		     !(s->flags & STEP_READY);
	}
	return n;
}

static struct sv template_of(const char *target)
{
	size_t i = find(STEP_TEMPLATE, target);

	return i ? plan->steps[i - 1].source : SV("");
}

static void test_all_files_are_in_the_template_whatever_is_granted(void)
{
	static const char *const grants[] = {
		"/etc/ssl", "/etc/passwd", "/etc/hosts", "/etc/s*", "/usr/bin",
	};

	for (size_t i = 0; i < countof(grants); i++) {
		begin_with_store();
		statement("read", grants[i]);
		CHECK_INT(build(), 0);
		CHECK(find(STEP_FILE, "/etc/passwd") > 0);
		CHECK_INT(count_unready(), 0);
		CHECK(sv_starts(template_of("/etc"), sv_str(store)));
		CHECK(sv_ends(template_of("/dev"), SV("/dev")));
		end();
	}
}

static void test_the_same_plan_has_the_same_template(void)
{
	char first[200];

	begin_with_store();
	CHECK_INT(build(), 0);
	(void)snprintf(first, sizeof first, "%.*s", SV_FMT(template_of("/etc")));
	plan_free(plan);
	CHECK_INT(build(), 0);
	CHECK(sv_eq(template_of("/etc"), sv_str(first)));
	plan_free(plan);
	statement("write", ".");
	CHECK_INT(build(), 0);
	CHECK(sv_eq(template_of("/etc"), sv_str(first)));
	plan_free(plan);
	statement("read", "/etc/passwd");
	CHECK_INT(build(), 0);
	CHECK(!sv_eq(template_of("/etc"), sv_str(first)));
	end();
}

static void test_a_plan_to_be_looked_at_makes_no_template(void)
{
	begin();
	CHECK_INT(build(), 0);
	CHECK(find(STEP_TEMPLATE, "/etc") > 0);
	CHECK(find(STEP_FILE, "/etc/passwd") > 0);
	CHECK_INT(template_of("/etc").n, 0);
	end();
}

static void test_a_copy_that_is_hidden_is_not_made(void)
{
	static const char *const statements[] = {
		"/etc/protocols", "/etc/proto*", "/etc",
	};

	begin();
	CHECK_INT(build(), 0);
	CHECK(access("/etc/protocols", R_OK) < 0 ||
	      find(STEP_COPY, "/etc/protocols") > 0);
	end();
	for (size_t i = 0; i < countof(statements); i++) {
		begin();
		statement("hide", statements[i]);
		CHECK_INT(build(), 0);
		CHECK(!find(STEP_COPY, "/etc/protocols"));
		CHECK(find(STEP_FILE, "/etc/passwd") > 0);
		end();
	}
}

static void test_an_unknown_command_is_127(void)
{
	char *const argv[] = { (char[]){ "no-such-command" }, NULL };

	begin();
	CHECK_INT(build_with(argv, (int[]){ 0, 1, 2 }), -1);
	CHECK_INT(plan->status, LAUNCH_NOT_FOUND);
	end();
}

static void test_directories_as_stdio_are_refused(void)
{
	char *const argv[] = { (char[]){ "true" }, NULL };
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	begin();
	CHECK_INT(build_with(argv, (int[]){ fd, 1, 2 }), -1);
	(void)close(fd);
	end();
}

/* Not one step, and so not one call, where nothing is limited. */
static void test_limits_are_steps_only_where_there_are_some(void)
{
	begin();
	CHECK_INT(build(), 0);
	CHECK_INT(find(STEP_CGROUP, ""), 0);
	CHECK_INT(find(STEP_RLIMITS, ""), 0);
	CHECK_INT(plan->stdio[1], PLAN_STDIO_PASS);
	end();
	begin();
	statement("limit", "processes 100");
	statement("limit", "files 100");
	statement("limit", "disk 10M");
	statement("limit", "output 10M");
	CHECK_INT(build(), 0);
	CHECK(find(STEP_RLIMITS, "") > find(STEP_GO, ""));
	CHECK(find(STEP_CGROUP, "") || plan->limits.by_rlimit);
	/* Before the namespace that shows groups is made, to begin there. */
	CHECK(find(STEP_CGROUP, "") < find(STEP_SEPARATE, ""));
	CHECK_SV(plan->steps[find(STEP_ROOT, "/") - 1].source, "disk 10M");
	CHECK_INT(plan->stdio[0], PLAN_STDIO_PASS);
	CHECK_INT(plan->stdio[1], PLAN_STDIO_RELAY);
	CHECK_INT(plan->stdio[2], PLAN_STDIO_RELAY);
	end();
}

static void test_the_environment_is_an_allow_list(void)
{
	bool token = false, lang = false;

	begin();
	CHECK_INT(build(), 0);
	for (char **v = plan->envp; *v; v++) {
		token |= strncmp(*v, "TOKEN=", 6) == 0;
		lang |= strcmp(*v, "LANG=C") == 0;
	}
	CHECK(!token);
	CHECK(lang);
	end();
}

static void test_a_secret_is_never_passed(void)
{
	bool token = false;

	begin();
	statement("env", "pass TOKEN");
	statement("secret", "TOKEN from env for api.example.com as bearer");
	if (build() == 0)
		for (char **v = plan->envp; *v; v++)
			token |= strncmp(*v, "TOKEN=", 6) == 0;
	CHECK(!token);
	end();
}

static void test_printing_shows_no_value(void)
{
	struct buf text = buf_new(1 << 20);

	begin();
	statement("env", "set HIDDEN=canary-value");
	CHECK_INT(build(), 0);
	plan_print(plan, &text, false);
	plan_print(plan, &text, true);
	CHECK_INT(buf_check(&text, "plan", &e), 0);
	CHECK(sv_find_sv(buf_sv(&text), SV("HIDDEN")) < text.n);
	CHECK(sv_find_sv(buf_sv(&text), SV("canary-value")) == text.n);
	buf_free(&text);
	end();
}

int main(void)
{
	RUN(test_cwd_is_read_only_without_a_statement);
	RUN(test_dot_files_are_covered_unless_shown);
	RUN(test_other_names_get_what_the_first_has);
	RUN(test_show_inside_a_hidden_directory_opens_only_that);
	RUN(test_hide_beats_show_and_write);
	RUN(test_hooks_are_guarded_and_their_ancestors_pinned);
	RUN(test_write_of_the_guarded_path_lifts_a_default_guard);
	RUN(test_a_guard_that_is_a_link_is_refused);
	RUN(test_a_missing_grant_names_the_question_mark);
	RUN(test_an_optional_grant_may_be_missing);
	RUN(test_the_longer_path_wins);
	RUN(test_a_link_is_resolved_and_made_again);
	RUN(test_writing_over_what_is_sealed_is_refused);
	RUN(test_root_and_system_places_are_refused);
	RUN(test_all_files_are_in_the_template_whatever_is_granted);
	RUN(test_the_same_plan_has_the_same_template);
	RUN(test_a_plan_to_be_looked_at_makes_no_template);
	RUN(test_a_copy_that_is_hidden_is_not_made);
	RUN(test_an_unknown_command_is_127);
	RUN(test_directories_as_stdio_are_refused);
	RUN(test_limits_are_steps_only_where_there_are_some);
	RUN(test_the_environment_is_an_allow_list);
	RUN(test_a_secret_is_never_passed);
	RUN(test_printing_shows_no_value);
	return tap_done();
}
