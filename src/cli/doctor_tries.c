/* SPDX-License-Identifier: Apache-2.0 */
/* The tries: see doctor_tries.h. */
#include "doctor_tries.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "caps.h"
#include "confine.h"
#include "filter.h"
#include "io.h"
#include "landlock.h"
#include "mount.h"
#include "netlink.h"
#include "nft.h"
#include "obstacle.h"
#include "own.h"
#include "path.h"
#include "process.h"
#include "program.h"
#include "pty.h"
#include "uapi.h"
#include "userns.h"

#define note_printf(note, ...) \
	((void)snprintf((note), DOCTOR_NOTE_MAX, __VA_ARGS__))

static int try_kernel(char *note, struct err *e)
{
	struct utsname name;

	if (uname(&name) < 0)
		return err_sys(e, "uname");
	note_printf(note, "Linux %.80s %.40s", name.release, name.machine);
	return 0;
}

/* Where the machine says why. */
static int explain_userns(struct err *e)
{
	const char *cause = obstacle_cause(obstacle_find(e));
	int code = e->code;

	if (!cause)
		return err_ctx(e, "user namespace");
	(void)err_kind(e, ERR_UNSUPP, "%s", cause);
	e->code = code;
	return -1;
}

/* Into a user namespace as its root, and others as `flags` says. */
static int enter(int flags, struct err *e)
{
	struct userns_map uids = userns_one(0, geteuid());
	struct userns_map gids = userns_one(0, getegid());
	auto_fd int proc_fd = open("/proc/self", O_PATH | O_CLOEXEC);

	if (proc_fd < 0)
		return err_sys(e, "open /proc/self");
	if (unshare(CLONE_NEWUSER) < 0) {
		err_sys(e, "unshare");
		return explain_userns(e);
	}
	if (userns_write_maps(proc_fd, &uids, &gids, true, e) < 0)
		return explain_userns(e);
	if (unshare(flags) < 0) {
		err_sys(e, "unshare");
		return explain_userns(e);
	}
	return 0;
}

static int try_userns(char *note, struct err *e)
{
	note_printf(note, "with mounts of its own");
	return enter(CLONE_NEWNS, e);
}

#define TRY_NAMESPACE(name, flag)                                  \
	static int try_##name(char *note, struct err *e)           \
	{                                                          \
		(void)note;                                        \
		return enter((flag), e);                           \
	}
TRY_NAMESPACE(pid, CLONE_NEWPID)
TRY_NAMESPACE(net, CLONE_NEWNET)
TRY_NAMESPACE(ipc, CLONE_NEWIPC)
TRY_NAMESPACE(uts, CLONE_NEWUTS)
TRY_NAMESPACE(cgroup, CLONE_NEWCGROUP)
TRY_NAMESPACE(time, CLONE_NEWTIME)

static int try_clone3(char *note, struct err *e)
{
	struct process_end end;
	auto_fd int pid_fd = -1;
	pid_t pid = process_clone(0, &pid_fd, e);

	if (pid < 0)
		return -1;
	if (pid == 0)
		for (;;)
			(void)pause();
	if (process_signal(pid_fd, SIGKILL, e) < 0 ||
	    process_wait(pid_fd, &end, e) < 0)
		return -1;
	note_printf(note, "made, signalled and reaped by descriptor");
	return 0;
}

static int try_openat2(char *note, struct err *e)
{
	auto_fd int root_fd = path_open_exact(AT_FDCWD, SV("/"),
					      O_PATH | O_DIRECTORY, e);
	auto_fd int fd = -1;

	(void)note;
	if (root_fd < 0)
		return -1;
	fd = path_open_in(root_fd, SV("../../proc"), O_PATH, e);
	return fd < 0 ? -1 : 0;
}

static int try_mounts(char *note, struct err *e)
{
	const uint64_t attrs = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			       MOUNT_ATTR_NODEV;
	auto_fd int root_fd = -1;
	auto_fd int tmp_fd = -1;

	if (enter(CLONE_NEWNS, e) < 0)
		return -1;
	root_fd = mount_clone(AT_FDCWD, "/", true, e);
	if (root_fd < 0 || mount_set_attrs(root_fd, attrs, true, e) < 0 ||
	    mount_set_private(root_fd, "", true, e) < 0)
		return -1;
	tmp_fd = mount_new_fs("tmpfs", NULL, 0, MOUNT_ATTR_NODEV, e);
	if (tmp_fd < 0)
		return -1;
	note_printf(note, "copied, restricted and made by descriptor");
	return 0;
}

static int try_nesting(char *note, struct err *e)
{
	int rc;

	if (enter(CLONE_NEWNS, e) < 0)
		return -1;
	rc = mount_can_nest(e);
	if (rc == 0)
		return err_kind(e, ERR_UNSUPP, "needs Linux 6.15; the root is "
				"attached first instead");
	note_printf(note, "the root is built before it is attached");
	return rc < 0 ? -1 : 0;
}

static int try_idmap(char *note, struct err *e)
{
	struct userns_map ids = userns_one(0, 1000);
	auto_fd int tree_fd = -1;
	auto_fd int userns_fd = -1;

	note_printf(note, "for root only; an ordinary user needs none");
	if (geteuid() != 0)
		return 0;
	if (unshare(CLONE_NEWNS) < 0)
		return err_sys(e, "unshare");
	tree_fd = mount_clone(AT_FDCWD, "/", false, e);
	userns_fd = userns_make(&ids, &ids, e);
	if (tree_fd < 0 || userns_fd < 0 ||
	    mount_idmap(tree_fd, userns_fd, false, e) < 0)
		return -1;
	note_printf(note, "of the root file system");
	return 0;
}

/* In memory; whether the state directory's file system can be an upper layer,
 * the run says. */
static int try_overlay(char *note, struct err *e)
{
	static const char *const names[] = { "lower", "upper", "work" };
	auto_fd int tmp_fd = -1, lower_fd = -1, upper_fd = -1, work_fd = -1;
	int *const fds[] = { &lower_fd, &upper_fd, &work_fd };
	auto_fd int fd = -1;

	if (enter(CLONE_NEWNS, e) < 0)
		return -1;
	tmp_fd = mount_new_fs("tmpfs", NULL, 0, MOUNT_ATTR_NODEV, e);
	/* Before 6.15 the layers have to be attached somewhere. */
	if (tmp_fd < 0 || mount_attach(tmp_fd, AT_FDCWD, "/tmp", e) < 0)
		return -1;
	for (size_t i = 0; i < countof(fds); i++) {
		if (mkdirat(tmp_fd, names[i], 0700) < 0)
			return err_sys(e, "make a directory");
		*fds[i] = openat(tmp_fd, names[i], O_PATH | O_CLOEXEC);
		if (*fds[i] < 0)
			return err_sys(e, "open a directory");
	}
	fd = mount_new_overlay(&(struct mount_layers){ lower_fd, upper_fd,
						       work_fd }, 0, e);
	if (fd < 0)
		return -1;
	if (mkdirat(fd, "made", 0700) < 0 ||
	    faccessat(upper_fd, "made", F_OK, 0) < 0)
		return err_sys(e, "write to it");
	note_printf(note, "for `workspace overlay`");
	return 0;
}

/* In a child, because the caller stays outside its new pid namespace. */
static int in_pid_namespace(const char *type, struct err *e)
{
	static const struct mount_option instance[] = {
		{ "subset", "pid" },
	};
	struct process_end end;
	auto_fd int pid_fd = -1;
	auto_fd int fd = -1;
	pid_t pid;

	if (enter(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC, e) < 0)
		return -1;
	pid = process_clone(0, &pid_fd, e);
	if (pid < 0)
		return -1;
	if (pid == 0) {
		fd = mount_new_fs(type, instance, 1, MOUNT_ATTR_NOSUID, e);
		_exit(fd >= 0 ? 0 : e->code ? e->code & 0x7f : EIO);
	}
	if (process_wait(pid_fd, &end, e) < 0)
		return -1;
	if (process_status(&end) == 0)
		return 0;
	errno = process_status(&end);
	return err_sys(e, "mount %s", type);
}

static int try_proc(char *note, struct err *e)
{
	note_printf(note, "showing only the sandbox's processes");
	return in_pid_namespace("proc", e);
}

static int try_pty(char *note, struct err *e)
{
	static const struct mount_option options[] = {
		{ "newinstance", NULL }, { "ptmxmode", "0666" },
		{ "mode", "0620" },
	};
	struct pty pty;
	auto_fd int fd = -1;

	if (enter(CLONE_NEWNS, e) < 0)
		return -1;
	fd = mount_new_fs("devpts", options, countof(options), 0, e);
	if (fd < 0 || pty_open(fd, &pty, e) < 0)
		return -1;
	close_fd(&pty.master);
	close_fd(&pty.slave);
	note_printf(note, "of an instance of its own");
	return 0;
}

static int try_landlock(char *note, struct err *e)
{
	auto_landlock struct landlock l = LANDLOCK_NONE;
	auto_fd int fd = -1;

	if (landlock_new(&l, true, e) < 0 || caps_no_new_privs(e) < 0)
		return -1;
	note_printf(note, "ABI %d", l.abi);
	if (landlock_enforce(&l, e) < 0)
		return -1;
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return err_kind(e, ERR_UNSUPP, "it forbids nothing");
	return 0;
}

static int try_seccomp(char *note, struct err *e)
{
	if (filter_apply(false, e) < 0)
		return -1;
	if (unshare(CLONE_NEWUSER) == 0 || errno != EPERM)
		return err_kind(e, ERR_UNSUPP, "the filter forbids nothing");
	note_printf(note, "filter installed and tried");
	return 0;
}

static int try_confine(char *note, struct err *e)
{
	auto_fd int fd = -1;

	if (confine_helper(CONFINE_DIAL, e) < 0)
		return -1;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return err_kind(e, ERR_UNSUPP, "a helper can still open files");
	note_printf(note, "no identity, no file, no socket of its own");
	return 0;
}

/* The listener that nft.h describes. */
static int listener(struct err *e)
{
	const int one = 1, zero = 0;
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6, .sin6_port = htons(NFT_CAPTURE_PORT),
	};
	auto_fd int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(e, "IPv6 socket");
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero) ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &one, sizeof one) ||
	    setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof one))
		return err_sys(e, "make a socket transparent");
	if (bind(fd, (struct sockaddr *)&any, sizeof any) < 0 ||
	    listen(fd, 4) < 0)
		return err_sys(e, "listen");
	return steal_fd(&fd);
}

static int try_capture(char *note, struct err *e)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(80),
		.sin_addr.s_addr = htonl(0xcb007107),	/* 203.0.113.7 */
	};
	struct sockaddr_in6 dialled;
	socklen_t n = sizeof dialled;
	auto_fd int listen_fd = -1;
	auto_fd int client_fd = -1;
	auto_fd int fd = -1;

	if (enter(CLONE_NEWNET, e) < 0 || netlink_capture(e) < 0 ||
	    nft_capture(NFT_CAPTURE_PORT, e) < 0)
		return -1;
	listen_fd = listener(e);
	if (listen_fd < 0)
		return -1;
	client_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client_fd < 0 ||
	    connect(client_fd, (struct sockaddr *)&to, sizeof to) < 0)
		return err_sys(e, "connect to 203.0.113.7:80 inside");
	fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&dialled, &n) < 0)
		return err_sys(e, "accept the captured connection");
	if (memcmp(dialled.sin6_addr.s6_addr + 12, &to.sin_addr, 4) != 0 ||
	    dialled.sin6_port != to.sin_port)
		return err_kind(e, ERR_UNSUPP, "the dialled address was lost");
	note_printf(note, "a connection to 203.0.113.7:80 was caught");
	return 0;
}

/* Beside the program, as after a build, or where it is installed. */
static int try_helpers(char *note, struct err *e)
{
	static const char *const names[] = { "edge", "vault", "dial",
					     "resolve" };
	struct sv here = program_dir();

	for (size_t i = 0; i < countof(names); i++) {
		char near[PATH_MAX], installed[PATH_MAX];

		(void)snprintf(near, sizeof near, "%.*s/stockade-%s",
			       SV_FMT(here), names[i]);
		(void)snprintf(installed, sizeof installed, "%s/stockade-%s",
			       STOCKADE_LIBEXECDIR, names[i]);
		if (access(near, X_OK) < 0 && access(installed, X_OK) < 0)
			return err_sys(e, "stockade-%s in %s or %s", names[i],
				       near, installed);
	}
	note_printf(note, "all four");
	return 0;
}

#define NEWER "run a newer kernel, or stockade inside a virtual machine"
#define DELEGATED                                                          \
	"where systemd is, be logged in, or have a manager without that "   \
	"(`loginctl enable-linger`); else give this user a control group"

const struct doctor_try doctor_tries[] = {
	{ "kernel", true, DOCTOR_HOST, try_kernel, NULL },
	{ "user namespace", true, DOCTOR_DOOR, try_userns, DOCTOR_IN_CONTAINER },
	{ "pid namespace", true, DOCTOR_INSIDE, try_pid, DOCTOR_IN_CONTAINER },
	{ "network namespace", true, DOCTOR_INSIDE, try_net, DOCTOR_IN_CONTAINER },
	{ "ipc namespace", true, DOCTOR_INSIDE, try_ipc, DOCTOR_IN_CONTAINER },
	{ "uts namespace", true, DOCTOR_INSIDE, try_uts, DOCTOR_IN_CONTAINER },
	{ "cgroup namespace", true, DOCTOR_INSIDE, try_cgroup, DOCTOR_IN_CONTAINER },
	{ "time namespace", true, DOCTOR_INSIDE, try_time, NEWER " (5.6)" },
	{ "clone3 and pidfd", true, DOCTOR_HOST, try_clone3, NEWER " (5.4)" },
	{ "openat2", true, DOCTOR_HOST, try_openat2, NEWER " (5.6)" },
	{ "mounts", true, DOCTOR_INSIDE, try_mounts, NEWER " (5.12)" },
	{ "detached trees", false, DOCTOR_INSIDE, try_nesting, NEWER " (6.15)" },
	{ "idmapped mounts", false, DOCTOR_HOST, try_idmap, NEWER " (5.12)" },
	{ "overlay", false, DOCTOR_INSIDE, try_overlay,
	  NEWER " (5.11); or use `workspace direct`" },
	{ "fresh /proc", true, DOCTOR_PROC, try_proc,
	  "a container runtime covers parts of /proc, and then no new one may "
	  "be mounted: start stockade outside the container, or give that one "
	  "container an unmasked /proc (docker: --security-opt "
	  "systempaths=unconfined, podman: --security-opt unmask=ALL; a service "
	  "of systemd: without ProtectKernelTunables= and what else covers "
	  "/proc)" },
	{ "terminal", true, DOCTOR_INSIDE, try_pty, DOCTOR_IN_CONTAINER },
	{ "Landlock", true, DOCTOR_HOST, try_landlock,
	  "a kernel since 5.19 with `landlock` in its list of security "
	  "modules (the lsm= parameter)" },
	{ "seccomp", true, DOCTOR_HOST, try_seccomp,
	  NEWER " (CONFIG_SECCOMP_FILTER)" },
	{ "network capture", true, DOCTOR_INSIDE, try_capture,
	  "load the modules nf_tables and nft_tproxy, or " NEWER },
	{ "helper confinement", true, DOCTOR_HOST, try_confine, NEWER },
	{ "helpers", true, DOCTOR_HOST, try_helpers,
	  "build or install all of stockade" },
	{ "limit memory, swap", false, DOCTOR_SELF, doctor_try_memory,
	  DELEGATED },
	{ "limit processes", false, DOCTOR_SELF, doctor_try_processes,
	  DELEGATED },
	{ "limit cpu", false, DOCTOR_SELF, doctor_try_cpu, DELEGATED },
	{ "limit io", false, DOCTOR_SELF, doctor_try_io,
	  "control groups of version 2 whose io controller this user has; "
	  DELEGATED },
	{ "limit workspace", false, DOCTOR_SELF, doctor_try_workspace,
	  NEWER " (6.6)" },
	{ "other limits", false, DOCTOR_SELF, doctor_try_others, NULL },
	{ 0 },
};
