/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pid 1 gives up before there is a command, in this order: capabilities
 * (with no_new_privs, which the others need) and seccomp while the root is being
 * built, Landlock when it stands.  The command inherits all of it, and pid 1 is
 * no more powerful than the agent.
 */
#include "init.h"

#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "caps.h"
#include "filter.h"
#include "landlock.h"
#include "own.h"
#include "process.h"

int confinement_limits(struct init *in, const struct step *s, struct err *e)
{
	/* One byte, not none: too little for any file, and what also keeps the
	 * kernel from starting the host's core handler. */
	struct rlimit core;
	/* The kernel's struct sigaction: SIG_DFL, no flag, no mask. */
	static const unsigned long plain[4] = { 0 };

	(void)in;
	(void)s;
	if (getrlimit(RLIMIT_CORE, &core) < 0)
		return err_sys(e, "read the limit of core files");
	core.rlim_max = core.rlim_cur = core.rlim_max ? 1 : 0;
	if (setrlimit(RLIMIT_CORE, &core) < 0)
		return err_sys(e, "forbid core files");
	if (personality(PER_LINUX) < 0)
		return err_sys(e, "set the personality");
	/* An ignored signal would stay ignored through exec, and with a handler
	 * pid 1 would hear the agent's.  Not sigaction(): it leaves alone what
	 * the C library has caught since there was a second thread. */
	for (int sig = 1; sig < NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, plain, NULL, NSIG / 8);
	return 0;
}

/* The strings of the caller's environment are still in this copy of its
 * memory, secrets among them. */
int confinement_forget(struct init *in, const struct step *s, struct err *e)
{
	(void)in;
	(void)s;
	for (char **at = environ; at && *at; at++)
		explicit_bzero(*at, strlen(*at));
	if (prctl(PR_SET_NAME, "stockade-init", 0, 0, 0) < 0)
		return err_sys(e, "set the process's name");
	return process_hide(e);
}

int confinement_capabilities(struct init *in, const struct step *s,
			     struct err *e)
{
	(void)in;
	(void)s;
	return caps_drop_all(e);
}

static int allow(const struct landlock *l, const char *path, unsigned grants,
		 struct err *e)
{
	auto_fd int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open %s", path);
	return landlock_allow(l, fd, grants, e);
}

/*
 * A standard descriptor is a file of the host's, reachable by its link in
 * /proc/self/fd; without a rule it could not be opened again (`cat /dev/stdin`)
 * and with this one, only in the way in which it is open already.
 */
static int allow_stdio(const struct landlock *l, int fd, struct err *e)
{
	int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "identify descriptor %d", fd);
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return 0;
	if (landlock_allow(l, fd,
			   (mode != O_WRONLY ? LANDLOCK_READ : 0u) |
			   (mode != O_RDONLY ? LANDLOCK_WRITE : 0u), e) == 0)
		return 0;
	/* A file that was never in any tree (memfd): Landlock has no say. */
	return e->code == EBADFD ? 0 : -1;
}

/*
 * The root's own inode: only what is reached through this root is readable, so
 * that a descriptor of the host's tree, however it came in, opens nothing.
 */
int confinement_landlock(struct init *in, const struct step *s, struct err *e)
{
	const unsigned look = LANDLOCK_READ | LANDLOCK_EXECUTE;
	const struct plan *plan = in->plan;
	auto_landlock struct landlock l = { .fd = -1 };

	(void)s;
	if (landlock_new(&l, true, e) < 0 || allow(&l, "/", look, e) < 0 ||
	    allow(&l, "/dev", LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_IOCTL,
		  e) < 0)
		return -1;
	for (size_t i = 0; i < plan->steps_n; i++) {
		const struct step *at = &plan->steps[i];

		if ((at->kind == STEP_PRIVATE || at->kind == STEP_OVERLAY ||
		     (at->kind == STEP_BIND && (at->flags & STEP_WRITE))) &&
		    allow(&l, at->target.p, look | LANDLOCK_WRITE, e) < 0)
			return -1;
	}
	for (int i = 0; i < 3; i++)
		if (plan->stdio[i] == PLAN_STDIO_PASS &&
		    allow_stdio(&l, plan->stdio_fd[i], e) < 0)
			return -1;
	return landlock_enforce(&l, e);
}

int confinement_seccomp(struct init *in, const struct step *s, struct err *e)
{
	(void)s;
	return filter_apply(in->plan->debug, e);
}

/* For the command alone, which enters it last: pid 1 has work that nobody knew
 * of who wrote a profile. */
int confinement_syscalls(struct init *in, const struct step *s, struct err *e)
{
	if (in->narrow_n == POLICY_SYSCALLS_MAX)
		return err_kind(e, ERR_BUG, "more than %d", POLICY_SYSCALLS_MAX);
	in->narrow[in->narrow_n++] = s->source;
	return 0;
}

int confinement_narrow(const struct init *in, struct err *e)
{
	for (size_t i = 0; i < in->narrow_n; i++)
		if (filter_narrow(in->narrow[i], e) < 0)
			return err_ctx(e, "syscalls");
	return 0;
}
