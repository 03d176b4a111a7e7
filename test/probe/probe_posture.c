/* SPDX-License-Identifier: Apache-2.0 */
/* What a process inside is and has, as key=value lines. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Values are of this machine's making, but a newline would forge a line. */
static void say(const char *key, const char *value)
{
	printf("%s=", key);
	for (; *value; value++)
		(void)putchar(*value == '\n' ? '?' : *value);
	(void)putchar('\n');
}

static void identity(void)
{
	gid_t groups[256];
	int n = getgroups(256, groups);
	struct utsname name;
	char cwd[PATH_MAX];

	printf("uid=%u\neuid=%u\ngid=%u\negid=%u\n", getuid(), geteuid(),
	       getgid(), getegid());
	printf("groups=");
	for (int i = 0; i < n; i++)
		printf("%s%u", i ? "," : "", groups[i]);
	printf("\npid=%d\nppid=%d\npgrp=%d\nsid=%d\n", getpid(), getppid(),
	       getpgrp(), getsid(0));
	if (uname(&name) == 0)
		say("hostname", name.nodename);
	say("cwd", getcwd(cwd, sizeof cwd) ? cwd : strerrorname_np(errno));
	printf("dumpable=%d\nno_new_privs=%d\nsecurebits=%d\n",
	       prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
	       prctl(PR_GET_SECUREBITS));
}

/* The lines of a file that start with one of the names, or all of them. */
static void file(const char *path, const char *key, const char *const *names)
{
	FILE *f = fopen(path, "re");
	char line[4096];

	if (!f) {
		printf("%s=%s\n", key, strerrorname_np(errno));
		return;
	}
	while (fgets(line, sizeof line, f)) {
		bool wanted = !names;

		line[strcspn(line, "\n")] = 0;
		for (size_t i = 0; names && names[i]; i++)
			wanted |= strncmp(line, names[i],
					  strlen(names[i])) == 0;
		if (wanted)
			printf("%s=%s\n", key, line);
	}
	(void)fclose(f);
}

static void descriptors(void)
{
	for (int fd = 0; fd < 4096; fd++) {
		char path[64], target[PATH_MAX];
		struct stat st;
		ssize_t n;

		if (fstat(fd, &st) < 0)
			continue;
		(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof target - 1);
		target[n < 0 ? 0 : n] = 0;
		printf("fd=%d %o %s\n", fd, st.st_mode & S_IFMT, target);
	}
}

static void limits(void)
{
	static const struct { const char *name; int which; } rows[] = {
		{ "core", RLIMIT_CORE },     { "nofile", RLIMIT_NOFILE },
		{ "nproc", RLIMIT_NPROC },   { "as", RLIMIT_AS },
		{ "fsize", RLIMIT_FSIZE },   { "cpu", RLIMIT_CPU },
		{ "memlock", RLIMIT_MEMLOCK }, { "stack", RLIMIT_STACK },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct rlimit r;

		if (getrlimit((__rlimit_resource_t)rows[i].which, &r) == 0)
			printf("rlimit_%s=%lld,%lld\n", rows[i].name,
			       (long long)r.rlim_cur, (long long)r.rlim_max);
	}
}

static void namespaces(void)
{
	static const char *const names[] = { "user", "mnt", "pid", "net",
					     "ipc", "uts", "cgroup", "time" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char path[64], target[64];
		ssize_t n;

		(void)snprintf(path, sizeof path, "/proc/self/ns/%s",
			       names[i]);
		n = readlink(path, target, sizeof target - 1);
		target[n < 0 ? 0 : n] = 0;
		printf("ns_%s=%s\n", names[i],
		       n < 0 ? strerrorname_np(errno) : target);
	}
}

static void list(const char *path, const char *key)
{
	DIR *d = opendir(path);
	const struct dirent *entry;

	if (!d) {
		printf("%s=%s\n", key, strerrorname_np(errno));
		return;
	}
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.')
			say(key, entry->d_name);
	(void)closedir(d);
}

int probe_posture(void)
{
	static const char *const status[] = {
		"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs",
		"Seccomp", "Threads", "Umask", NULL,
	};

	identity();
	descriptors();
	file("/proc/self/status", "status", status);
	limits();
	namespaces();
	for (char **e = environ; *e; e++)
		say("env", *e);
	file("/proc/self/mountinfo", "mount", NULL);
	file("/proc/net/dev", "netdev", NULL);
	list("/dev", "dev");
	list("/", "root");
	list("/proc", "proc");
	return 0;
}
