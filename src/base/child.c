/* SPDX-License-Identifier: Apache-2.0 */
/* A program beside us: see child.h. */
#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

static int arrange(const struct child *c, posix_spawn_file_actions_t *actions)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < c->fds_n; i++)
		if (c->fds[i] == CHILD_NULL)
			rc = posix_spawn_file_actions_addopen(
				actions, (int)i, "/dev/null", O_RDWR, 0);
		else if (c->fds[i] != CHILD_SAME)
			rc = posix_spawn_file_actions_adddup2(
				actions, c->fds[i], (int)i);
	if (rc == 0 && c->cwd)
		rc = posix_spawn_file_actions_addchdir_np(actions, c->cwd);
	if (rc == 0)
		rc = posix_spawn_file_actions_addclosefrom_np(actions,
							      (int)c->fds_n);
	return rc;
}

static int set(const struct child *c, posix_spawnattr_t *attr)
{
	short flags = POSIX_SPAWN_SETSIGMASK;
	sigset_t none, all;
	int rc;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	rc = posix_spawnattr_setsigmask(attr, &none);
	if (rc == 0 && c->own_group) {
		flags |= POSIX_SPAWN_SETPGROUP;
		rc = posix_spawnattr_setpgroup(attr, 0);
	}
	if (rc == 0 && c->default_signals) {
		flags |= POSIX_SPAWN_SETSIGDEF;
		rc = posix_spawnattr_setsigdefault(attr, &all);
	}
	return rc ? rc : posix_spawnattr_setflags(attr, flags);
}

int child_start(const struct child *c, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int rc;

	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attr);
	rc = arrange(c, &actions);
	if (rc == 0)
		rc = set(c, &attr);
	if (rc == 0)
		rc = posix_spawn(ret, c->path, &actions, &attr, c->argv,
				 c->envp);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attr);
	return rc;
}
