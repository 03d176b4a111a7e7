/* SPDX-License-Identifier: Apache-2.0 */
/* Tests in a process of their own: see child.h. */
#include "child.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own.h"
#include "sv.h"
#include "userns.h"

struct err child_err;

int child_run(int (*body)(void))
{
	int status;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int rc = body();

		(void)fflush(stdout);
		_exit(rc);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return CHILD_FAILED;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return WTERMSIG(status) == SIGSYS ? CHILD_KILLED : CHILD_FAILED;
}

int child_enter(int flags)
{
	struct userns_map uids = userns_one(0, geteuid());
	struct userns_map gids = userns_one(0, getegid());
	auto_fd int fd = open("/proc/self", O_PATH | O_CLOEXEC);

	if (fd < 0 || unshare(CLONE_NEWUSER) < 0)
		return err_sys(&child_err, "user namespace");
	if (userns_write_maps(fd, &uids, &gids, true, &child_err) < 0)
		return -1;
	if (unshare(flags) < 0)
		return err_sys(&child_err, "unshare");
	return 0;
}

bool child_is_root(void)
{
	auto_fd int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	char text[128] = "";

	if (geteuid() != 0 || read(fd, text, sizeof text - 1) < 0)
		return false;
	return sv_ends(sv_str(text), SV("4294967295\n"));
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *place)
{
	(void)st;
	(void)type;
	(void)place;
	return remove(path);
}

void child_remove_tree(const char *path)
{
	(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void child_complain(const char *file, int line, const char *text)
{
	char out[800];
	int n = snprintf(out, sizeof out, "# %s:%d: not true: %s (%s; %s)\n",
			 file, line, text, child_err.msg, strerror(errno));

	/* write(): a filter may have taken the rest away. */
	if (n > 0 && write(1, out, (size_t)n) < 0)
		_exit(CHILD_FAILED);
}
