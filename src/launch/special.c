/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own file systems, devices, terminals. */
#include "init.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "io.h"
#include "mount.h"
#include "own.h"

/* One that the policy names: the plan has judged this very node. */
static int granted_device(struct init *in, const struct step *s,
			  struct err *e)
{
	auto_fd int tree_fd =
		root_source(in, s, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NOEXEC, e);
	struct stat st;

	if (tree_fd < 0)
		return -1;
	if (fstat(tree_fd, &st) < 0)
		return err_sys(e, "identify it");
	if (!S_ISCHR(st.st_mode))
		return err_kind(e, ERR_DENIED, "it is no character device");
	return root_attach(in, tree_fd, in->root_fd, s->target.p + 1, e);
}

int special_device(struct init *in, const struct step *s, struct err *e)
{
	const struct device *d = device_list;
	auto_fd int tree_fd = -1;

	if (!(s->flags & STEP_SYSTEM))
		return granted_device(in, s, e);

	while (d->name && !sv_eq(sv_from(s->source, strlen("/dev/")),
				 sv_str(d->name)))
		d++;
	if (!d->name)
		return err_kind(e, ERR_BUG, "no such device");
	if (in->host_dev_fd < 0)
		in->host_dev_fd = path_open_exact(AT_FDCWD, SV("/dev"), O_PATH |
						  O_DIRECTORY, e);
	if (in->host_dev_fd < 0)
		return -1;
	tree_fd = mount_clone(in->host_dev_fd, d->name, false, e);
	if (tree_fd < 0 || device_check(tree_fd, d, e) < 0)
		return -1;
	return root_attach(in, tree_fd, in->root_fd, s->target.p + 1, e);
}

int special_terminals(struct init *in, const struct step *s, struct err *e)
{
	static const struct mount_option options[] = {
		{ "newinstance", NULL }, { "ptmxmode", "0666" },
		{ "mode", "0620" },
	};

	in->devpts_fd = mount_new_fs("devpts", options, countof(options),
				     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e);
	if (in->devpts_fd < 0)
		return -1;
	return root_attach(in, in->devpts_fd, in->root_fd, s->target.p + 1, e);
}

/*
 * Read-only as a whole: the sysctls, the triggers, and what a process could
 * change of itself (its maps, its score for the OOM killer).  Links in it to
 * open files are not affected.
 */
int special_proc(struct init *in, const struct step *s, struct err *e)
{
	static const struct mount_option options[] = {
		{ "hidepid", "invisible" },
	};
	auto_fd int fd = mount_new_fs("proc", options, countof(options),
				      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
				      MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, e);

	if (fd < 0)
		return err_ctx(e, "a container that masks parts of its /proc "
			       "permits no other; have it unmasked (docker: "
			       "--security-opt systempaths=unconfined, podman: "
			       "--security-opt unmask=ALL), or start stockade "
			       "outside");
	if (mkdirat(in->root_fd, s->target.p + 1, 0755) < 0)
		return err_sys(e, "make its directory");
	return root_attach(in, fd, in->root_fd, s->target.p + 1, e);
}

/* A session of its own in any case; with a terminal, that is its terminal. */
int special_pty(struct init *in, const struct step *s, struct err *e)
{
	(void)s;
	if (setsid() < 0)
		return err_sys(e, "begin a session");
	if (in->plan->wants_pty) {
		if (pty_open(in->devpts_fd, &in->pty, e) < 0 ||
		    pty_control(in->pty.slave, e) < 0)
			return -1;
	}
	close_fd(&in->devpts_fd);
	return 0;
}
