/* SPDX-License-Identifier: Apache-2.0 */
/* stockade: one program, one verb. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "caches.h"
#include "complaint.h"
#include "doctor.h"
#include "held_verbs.h"
#include "log.h"
#include "nearest.h"
#include "own.h"
#include "policy_verbs.h"
#include "run.h"
#include "run_control.h"

enum { STATUS_CANNOT = 125 };

struct verb {
	const char *name;
	int (*main)(int argc, char **argv, struct err *e);
	const char *synopsis;
	const char *purpose;
};

static const struct verb verbs[] = {
	{ "run", run_main, "[FLAGS] [--] COMMAND...",
	  "run a command inside the boundary" },
	{ "check", check_main, "[FLAGS] QUESTION...",
	  "may it? `read PATH`, `write PATH`, 'POST https://HOST/PATH'" },
	{ "policy", policy_main, "[--json] [FLAGS]",
	  "the effective policy, each line with its origin" },
	{ "trust", trust_main, "[FILE]",
	  "use this project's stockade.policy from now on" },
	{ "log", log_main, "[RUN] [--denied] [--follow] [--json]",
	  "what happened in a run; `log verify [RUN]` checks the chain" },
	{ "runs", runs_main, "[--json]", "the runs on record, newest first" },
	{ "caches", caches_main, "[--json] | remove KEY...|--all",
	  "the directories that `cache` keeps, and removing them" },
	{ "diff", diff_main, "[RUN|NAME] [--patch | --json] [-- PATH...]",
	  "the changes that a run with `workspace overlay` holds" },
	{ "apply", apply_main, "[RUN|NAME] [--guarded] [-- PATH...]",
	  "make them on the host, all or none" },
	{ "discard", discard_main, "[RUN|NAME] [-- PATH...]", "forget them" },
	{ "secret", secret_main, "set NAME | list [--json] | remove NAME | "
	  "unlock [--for TIME] | lock | revoke NAME [RUN]",
	  "the store of secrets; taking one away from a run that is under way" },
	{ "doctor", doctor_main, "[--json] [--syscalls [FLAGS]]",
	  "what this kernel and this user allow; which system calls work inside" },
};

static void print_usage(FILE *to)
{
	(void)fprintf(to, "stockade runs an autonomous agent, or any command, "
		      "inside a boundary\nthat the kernel holds shut.\n\n");
	for (size_t i = 0; i < countof(verbs); i++)
		(void)fprintf(to, "  stockade %s %s\n      %s\n",
			      verbs[i].name, verbs[i].synopsis,
			      verbs[i].purpose);
	(void)fprintf(to, "\nEvery statement of stockade-policy(5) is also a "
		      "flag:\n  stockade run --write . --allow "
		      "'GET example.com/**' -- COMMAND\n");
}

/*
 * With a standard descriptor closed, the next file opened would become it, and
 * be written to by mistake.
 */
static int open_standard_descriptors(struct err *e)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return err_sys(e, "open /dev/null");
	return 0;
}

static int report(const struct err *e)
{
	complain("", e->msg, false);
	return STATUS_CANNOT;
}

static int is_word(const char *arg, const char *a, const char *b)
{
	return strcmp(arg, a) == 0 || strcmp(arg, b) == 0;
}

static bool is_foreground(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (tcgetpgrp(fd) == getpgrp())
			return true;
	return false;
}

/*
 * All is done and told.  The terminal would have sent the signal to the whole
 * job, had it not been for the command alone: a script that runs us in a loop
 * ends as it does without us.  The status is the same to who asks by $?.
 */
static int end_by_interrupt(void)
{
	sigset_t set;

	(void)signal(SIGINT, SIG_DFL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)fflush(NULL);
	if (is_foreground())
		(void)kill(0, SIGINT);
	(void)raise(SIGINT);
	return 128 + SIGINT;
}

static int unknown_verb(const char *verb, struct err *e)
{
	struct nearest n = nearest_to(sv_str(verb));

	for (size_t i = 0; i < countof(verbs); i++)
		nearest_offer(&n, sv_str(verbs[i].name));
	if (n.best.p)
		return err_kind(e, ERR_POLICY, "unknown verb '%.64s'; did you "
				"mean `%.*s`?", verb, SV_FMT(n.best));
	return err_kind(e, ERR_POLICY, "unknown verb '%.64s' (`stockade "
			"--help` lists them; a command is started by "
			"`stockade run -- COMMAND`)", verb);
}

int main(int argc, char **argv)
{
	struct err e = { 0 };

	if (open_standard_descriptors(&e) < 0)
		return report(&e);
	if (argc < 2) {
		(void)err_kind(&e, ERR_POLICY, "no verb given (`stockade "
			       "--help` lists them)");
		return report(&e);
	}
	if (is_word(argv[1], "--version", "version")) {
		(void)printf("stockade %s\n", STOCKADE_VERSION);
		return 0;
	}
	if (is_word(argv[1], "--help", "help") || strcmp(argv[1], "-h") == 0 ||
	    (argc == 3 && is_word(argv[2], "--help", "-h"))) {
		print_usage(stdout);
		return 0;
	}
	for (size_t i = 0; i < countof(verbs); i++) {
		int status;

		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		status = verbs[i].main(argc - 1, argv + 1, &e);
		if (status == RUN_INTERRUPTED)
			return end_by_interrupt();
		return status < 0 ? report(&e) : status;
	}
	(void)unknown_verb(argv[1], &e);
	return report(&e);
}
