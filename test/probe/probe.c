/* SPDX-License-Identifier: Apache-2.0 */
/* The program: see probe.h. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

long probe_number(const char *text)
{
	int base = text[0] == '0' && text[1] == 'x' ? 16 : 10;
	long value = 0;

	if (base == 16)
		text += 2;
	if (!*text)
		return -1;
	for (; *text; text++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = strchr(digits, *text);

		if (!digit || digit - digits >= base || value > 1L << 40)
			return -1;
		value = value * base + (digit - digits);
	}
	return value;
}

int probe_result(long rc)
{
	return rc < 0 ? -errno : 0;
}

/* The child's answer comes through a pipe: a status has eight bits only. */
static int answer(probe_fn *attempt, char **args, int *signal_number)
{
	int ends[2], result = -EIO, status = 0;
	ssize_t n = 0;
	pid_t pid;

	*signal_number = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		(void)alarm(15);
		result = attempt(args);
		_exit(write(ends[1], &result, sizeof result) < 0);
	}
	(void)close(ends[1]);
	if (pid < 0)
		result = -errno;
	else
		n = read(ends[0], &result, sizeof result);
	/* Without an answer it became another program, or was killed. */
	if (pid > 0 && n != sizeof result)
		result = n == 0 ? 0 : -EIO;
	(void)close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		*signal_number = WTERMSIG(status);
	return result;
}

void probe_report(const char *name, const char *detail, probe_fn *attempt,
		  char **args)
{
	int signal_number;
	int result;

	(void)fflush(stdout);
	result = answer(attempt, args, &signal_number);
	printf("%s%s%s\t", name, detail ? " " : "", detail ? detail : "");
	if (signal_number)
		printf("BLOCKED\tSIG%s\n", sigabbrev_np(signal_number));
	else if (result < 0)
		printf("BLOCKED\t%s\n", strerrorname_np(-result));
	else
		printf("ALLOWED\t0\n");
}

static const struct probe_verb *find(const char *name)
{
	const struct probe_verb *const tables[] = { probe_files, probe_network,
						    probe_kernel,
						    probe_calls };

	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		for (const struct probe_verb *v = tables[i]; v->name; v++)
			if (strcmp(v->name, name) == 0)
				return v;
	return NULL;
}

static int usage(void)
{
	const struct probe_verb *const tables[] = { probe_files, probe_network,
						    probe_kernel,
						    probe_calls };

	(void)fprintf(stderr, "probe posture\nprobe syscall [NAME...]\n");
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		for (const struct probe_verb *v = tables[i]; v->name; v++)
			(void)fprintf(stderr, "probe %s%s%s\n", v->name,
				      v->n_args > 0 ? " ARGUMENT" : "",
				      v->n_args > 1 ? "..." : "");
	return 2;
}

int main(int argc, char **argv)
{
	const struct probe_verb *verb;
	char detail[512] = "";

	if (argc < 2)
		return usage();
	if (strcmp(argv[1], "posture") == 0)
		return probe_posture();
	if (strcmp(argv[1], "syscall") == 0)
		return probe_syscalls(argc - 2, argv + 2);
	verb = find(argv[1]);
	if (!verb || (verb->n_args != argc - 2 &&
		      !(verb->n_args == 1 && argc > 2)))
		return usage();
	if (verb->n_args <= 1) {	/* an attempt for each argument */
		int i = 2;

		do {
			probe_report(verb->name, argv[i], verb->attempt,
				     argv + i);
		} while (++i < argc);
		return 0;
	}
	for (int i = 2; i < argc; i++) {
		size_t n = strlen(detail);

		(void)snprintf(detail + n, sizeof detail - n, "%s%s",
			       n ? " " : "", argv[i]);
	}
	probe_report(verb->name, detail, verb->attempt, argv + 2);
	return 0;
}
