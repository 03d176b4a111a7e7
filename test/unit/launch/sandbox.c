/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every step of a launch, made to fail, ends in an error, and the command has
 * not run: it would have left a file.
 */
#include "launch.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parse.h"
#include "tap.h"

static char work[64], store[64], marker[80];
static struct policy policy;
static struct plan *plan;
static int null_fd = -1;

/* For each launch anew: the mapped trees of one by root are used up by it. */
static void make_plan(void)
{
	char *const argv[] = { (char[]){ "touch" }, marker, NULL };
	struct launch_input in = {
		.argv = argv, .environ = environ, .cwd = work, .store = store,
		.wants_ca = true,
	};
	struct err e;

	plan_free(plan);
	plan = plan_new((int[]){ null_fd, null_fd, null_fd }, &policy, &e);
	if (!plan || plan_build(plan, &policy, &in, &e) < 0)
		printf("# %s\n", e.msg);
	CHECK(plan && plan->steps_n > plan->early);
}

static void begin(void)
{
	struct policy_source source = { .base = sv_str("/tmp") };
	struct err e;

	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	(void)snprintf(work, sizeof work, "/tmp/sandbox-XXXXXX");
	CHECK(mkdtemp(work) != NULL);
	(void)snprintf(store, sizeof store, "/tmp/store-XXXXXX");
	CHECK(mkdtemp(store) != NULL);
	(void)snprintf(marker, sizeof marker, "%s/marker", work);
	policy = policy_new();
	CHECK_INT(policy_flag(&policy, SV("write"), sv_str(work), &source, &e),
		  0);
	/* Whatever this machine can hold of them: each has its part in a step. */
	CHECK_INT(policy_flag(&policy, SV("limit"), SV("processes 500"),
			      &source, &e), 0);
	CHECK_INT(policy_flag(&policy, SV("limit?"), SV("memory 1G"), &source,
			      &e), 0);
	CHECK_INT(policy_flag(&policy, SV("limit"), SV("files 500"), &source,
			      &e), 0);
	CHECK_INT(policy_flag(&policy, SV("limit"), SV("disk 100M"), &source,
			      &e), 0);
	CHECK_INT(policy_check(&policy, &e), 0);
	make_plan();
}

static int launch(struct err *e)
{
	struct sandbox sb;
	struct sandbox_event event = { 0 };
	int rc = sandbox_start(plan, &sb, e);

	if (rc == 0)
		rc = sandbox_build(plan, &sb, e);

	if (rc == 0)
		rc = sandbox_network(&sb, e);
	if (rc == 0)
		rc = sandbox_go(&sb, SV("certificate\n"), e);
	while (rc == 0 && event.kind == SANDBOX_NOTHING) {
		event = sandbox_next(&sb);
		(void)usleep(1000);
	}
	if (rc < 0)
		CHECK_INT(sb.status, LAUNCH_FAILED);
	else
		CHECK_INT(event.kind, SANDBOX_EXITED);
	sandbox_kill(&sb);
	return rc;
}

static void test_a_plan_that_holds_runs_the_command(void)
{
	struct err e = { 0 };

	CHECK_INT(launch(&e), 0);
	CHECK_INT(access(marker, F_OK), 0);
	if (e.kind)
		printf("# %s\n", e.msg);
	(void)unlink(marker);
}

/* As `stockade run` does it: what the plan is made of is not there yet when pid
 * 1 is made, and no longer when the plan is carried out. */
static void test_the_plan_owns_what_pid_1_reads(void)
{
	char *words[] = { strdup("sh"), strdup("-c"),
			  strdup("test \"$X\" = value && touch \"$0\""),
			  strdup(marker), NULL };
	char *value = strdup("value"), *pinned;
	const struct launch_variable x = { sv_str("X"), sv_str(value) };
	struct launch_input in = {
		.argv = words, .environ = environ, .cwd = work, .store = store,
		.variables = &x, .variables_n = 1, .pinned_n = 1,
	};
	struct sandbox sb;
	struct sandbox_event event = { 0 };
	char policy_file[100];
	struct err e = { 0 };
	int fd;

	(void)snprintf(policy_file, sizeof policy_file, "%s/policy", work);
	fd = open(policy_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	(void)close(fd);
	plan_free(plan);
	plan = plan_new((int[]){ null_fd, null_fd, null_fd }, &policy, &e);
	CHECK(plan != NULL);
	CHECK_INT(sandbox_start(plan, &sb, &e), 0);
	pinned = strdup(policy_file);
	in.pinned = (const char *const[]){ pinned };
	CHECK_INT(plan_build(plan, &policy, &in, &e), 0);
	memset(pinned, 'x', strlen(pinned));
	memset(value, 'x', strlen(value));
	for (int i = 0; i < 4; i++)
		memset(words[i], 'x', strlen(words[i]));
	CHECK_INT(sandbox_build(plan, &sb, &e), 0);
	CHECK_INT(sandbox_network(&sb, &e), 0);
	CHECK_INT(sandbox_go(&sb, SV(""), &e), 0);
	while (event.kind == SANDBOX_NOTHING) {
		event = sandbox_next(&sb);
		(void)usleep(1000);
	}
	CHECK_INT(event.kind, SANDBOX_EXITED);
	CHECK_INT(event.value, 0);
	sandbox_kill(&sb);
	if (e.kind)
		printf("# %s\n", e.msg);
	CHECK_INT(access(marker, F_OK), 0);
	(void)unlink(marker);
	(void)unlink(policy_file);
	free(pinned);
	free(value);
	for (int i = 0; i < 4; i++)
		free(words[i]);
}

static void test_every_step_that_fails_ends_the_launch(void)
{
	for (size_t i = 1; i <= plan_step_count(plan); i++) {
		struct err e = { 0 };

		make_plan();
		plan->fail_step = i;
		CHECK_INT(launch(&e), -1);
		CHECK(strstr(e.msg, "made to fail") != NULL);
		CHECK(access(marker, F_OK) < 0);
	}
}

static void test_a_tree_that_was_swapped_ends_the_launch(void)
{
	char other[80];
	struct err e = { 0 };

	make_plan();
	(void)snprintf(other, sizeof other, "%s.old", work);
	CHECK_INT(rename(work, other), 0);
	CHECK_INT(mkdir(work, 0755), 0);
	/* Started by root, the tree was copied when the plan was made. */
	if (plan->as_root) {
		CHECK_INT(launch(&e), 0);
	} else {
		CHECK_INT(launch(&e), -1);
		CHECK(strstr(e.msg, "replaced") != NULL);
	}
	CHECK(access(marker, F_OK) < 0);
	CHECK_INT(rmdir(work), 0);
	CHECK_INT(rename(other, work), 0);
	(void)unlink(marker);
}

static void end(void)
{
	char command[160];

	(void)snprintf(command, sizeof command, "rm -rf %s %s", work, store);
	CHECK_INT(system(command), 0);
}

/* A filter that the kernel does not take is no reason to do without. */
static void test_a_filter_that_cannot_be_entered_ends_the_launch(void)
{
	static const struct sock_filter good = BPF_STMT(BPF_RET | BPF_K,
							SECCOMP_RET_ALLOW);
	static const struct sock_filter bad = BPF_STMT(0xffff, 0);
	const struct sock_filter *const programs[] = { &good, &bad };
	struct syscalls_rule rule = { .text = SV("syscalls /p.json") };

	policy.syscalls = &rule;
	policy.syscalls_n = 1;
	for (int i = 0; i < 2; i++) {
		struct err e = { 0 };

		rule.program = sv_of((const char *)programs[i], sizeof good);
		make_plan();
		CHECK_INT(launch(&e), -i);
		CHECK_INT(access(marker, F_OK), -i);
		CHECK(i == 0 || strstr(e.msg, "syscalls"));
		(void)unlink(marker);
	}
	policy.syscalls_n = 0;
}

/* Nor is one that nobody has made. */
static void test_a_rule_without_a_filter_is_no_plan(void)
{
	char *const argv[] = { (char[]){ "true" }, NULL };
	struct launch_input in = {
		.argv = argv, .environ = environ, .cwd = work,
	};
	struct syscalls_rule rule = { .text = SV("syscalls /p.json") };
	struct err e = { 0 };
	struct plan *other = plan_new((int[]){ null_fd, null_fd, null_fd },
				      &policy, &e);

	policy.syscalls = &rule;
	policy.syscalls_n = 1;
	CHECK(other && plan_build(other, &policy, &in, &e) < 0);
	CHECK(strstr(e.msg, "no filter was made"));
	policy.syscalls_n = 0;
	plan_free(other);
}

int main(void)
{
	begin();
	RUN(test_a_plan_that_holds_runs_the_command);
	RUN(test_the_plan_owns_what_pid_1_reads);
	RUN(test_every_step_that_fails_ends_the_launch);
	RUN(test_a_tree_that_was_swapped_ends_the_launch);
	RUN(test_a_filter_that_cannot_be_entered_ends_the_launch);
	RUN(test_a_rule_without_a_filter_is_no_plan);
	end();
	plan_free(plan);
	policy_free(&policy);
	return tap_done();
}
