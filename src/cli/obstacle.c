/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the way of a user namespace: see obstacle.h. */
#include "obstacle.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "buf.h"
#include "io.h"

enum { FILTER_MODE = 2 };

/* The number in a file of /proc/sys, or -1 when it is absent. */
static int64_t sysctl_value(const char *path)
{
	auto_buf struct buf b = buf_new(32);
	struct err ignored;
	uint64_t value;

	if (io_read_file(AT_FDCWD, path, &b, &ignored) < 0)
		return -1;
	while (b.n && b.p[b.n - 1] == '\n')
		b.n--;
	return sv_to_u64(buf_sv(&b), INT64_MAX, &value) ? (int64_t)value : -1;
}

static bool apparmor_restricts(void)
{
	return geteuid() != 0 &&
	       sysctl_value("/proc/sys/kernel/"
			    "apparmor_restrict_unprivileged_userns") > 0;
}

enum obstacle obstacle_find(const struct err *e)
{
	bool filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == FILTER_MODE;

	if (e->code != EPERM && e->code != EACCES && e->code != ENOSPC &&
	    e->code != ENOSYS)
		return OBSTACLE_NONE;
	if (filtered && getenv("STOCKADE"))
		return OBSTACLE_OWN;
	if (e->code == ENOSYS)
		return filtered ? OBSTACLE_FILTER : OBSTACLE_NONE;
	if (sysctl_value("/proc/sys/user/max_user_namespaces") == 0)
		return OBSTACLE_OFF;
	if (geteuid() != 0 &&
	    sysctl_value("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return OBSTACLE_ROOT_ONLY;
	/* A filter says EPERM as a rule, a security module EACCES. */
	if (apparmor_restricts() && (e->code == EACCES || !filtered))
		return OBSTACLE_APPARMOR;
	return filtered ? OBSTACLE_FILTER : OBSTACLE_NONE;
}

const char *obstacle_cause(enum obstacle o)
{
	switch (o) {
	case OBSTACLE_OWN:
		return "a sandbox of stockade is around this one, and none "
		       "can be made inside";
	case OBSTACLE_OFF:
		return "user namespaces are switched off on this machine: "
		       "user.max_user_namespaces is 0";
	case OBSTACLE_ROOT_ONLY:
		return "only root may make user namespaces on this machine: "
		       "kernel.unprivileged_userns_clone is 0";
	case OBSTACLE_APPARMOR:
		return "AppArmor leaves a user namespace without rights here, "
		       "unless a profile names the program";
	case OBSTACLE_FILTER:
		return "the seccomp filter of an outer container or sandbox "
		       "refuses it";
	case OBSTACLE_NONE:
		break;
	}
	return NULL;
}

/* Of this very program: nothing else on the machine is given anything. */
static const char *apparmor_profile(void)
{
	static char text[OBSTACLE_REMEDY_MAX];
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n <= 0 || memchr(path, '"', (size_t)n))
		n = snprintf(path, sizeof path, "/PATH/OF/stockade");
	path[n] = '\0';
	(void)snprintf(text, sizeof text,
		"as root, write these lines to /etc/apparmor.d/stockade and "
		"run `apparmor_parser -r /etc/apparmor.d/stockade`; nothing "
		"else on the machine changes\n"
		"    abi <abi/4.0>,\n"
		"    include <tunables/global>\n"
		"    profile stockade \"%s\" flags=(unconfined) {\n"
		"      userns,\n"
		"    }\n", path);
	return text;
}

const char *obstacle_remedy(enum obstacle o)
{
	switch (o) {
	case OBSTACLE_OWN:
		return "run the command itself: the boundary around holds for "
		       "all that is started in it";
	case OBSTACLE_OFF:
		return "whoever runs the machine or the container can allow "
		       "some; else start stockade in a virtual machine";
	case OBSTACLE_ROOT_ONLY:
		return "start stockade as root, whose command is nobody on the "
		       "host, or in a virtual machine";
	case OBSTACLE_APPARMOR:
		return apparmor_profile();
	case OBSTACLE_FILTER:
		return "start stockade outside of the container, or give that "
		       "one container a profile that permits it (docker: "
		       "--security-opt seccomp=FILE, or =unconfined; a service "
		       "of systemd: RestrictNamespaces=no)";
	case OBSTACLE_NONE:
		break;
	}
	return NULL;
}

/* A file that may not be opened is no obstacle of the machine's. */
static bool is_of_machine(const struct err *e)
{
	static const char *const steps[] = { "namespaces: ", "separate: ",
					     "root /: ", "network: " };

	if (e->kind != ERR_SYS && e->kind != ERR_UNSUPP)
		return false;
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
		if (sv_starts(sv_str(e->msg), sv_str(steps[i])))
			return true;
	return false;
}

void obstacle_explain(struct err *e)
{
	const char *cause = obstacle_cause(obstacle_find(e));
	size_t n = strlen(e->msg);

	if (e->kind == ERR_UNSUPP && sv_starts(sv_str(e->msg), SV("limit ")))
		(void)snprintf(e->msg + n, sizeof e->msg - n,
			       " (`stockade doctor` says what would hold it; "
			       "`limit?` goes on without)");
	if (!is_of_machine(e))
		return;
	if (cause)
		(void)snprintf(e->msg + n, sizeof e->msg - n,
			       " (%s; `stockade doctor` says what helps)",
			       cause);
	else
		(void)snprintf(e->msg + n, sizeof e->msg - n,
			       " (`stockade doctor` tries all that is needed "
			       "here, and says what helps)");
}
