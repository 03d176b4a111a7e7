/* SPDX-License-Identifier: Apache-2.0 */
/* Confining a helper: see confine.h.  The calls are in confine_filter.c. */
#include "confine.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include "caps.h"
#include "landlock.h"
#include "own.h"
#include "process.h"

enum { NOBODY = 65534 };

#ifdef STOCKADE_SANITIZED
/* The leak check traces its own process, which no helper permits. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

/*
 * Root gives its id away.  In a user namespace that has no other id root is
 * its only one (EINVAL): there it stays, with no capability and no file.
 */
static int drop_identity(struct err *e)
{
	if (geteuid() != 0)
		return 0;
	if (setresuid((uid_t)-1, (uid_t)-1, NOBODY) < 0 && errno == EINVAL)
		return 0;
	return caps_become(NOBODY, NOBODY, e);
}

static int no_core(struct err *e)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_sys(e, "forbid core files");
	return process_hide(e);
}

/*
 * What the C library and its modules read to look up a name.  An absent path
 * is not granted, and a resolver that appears later stays unseen.  Connecting
 * to a local socket is not something that Landlock asks about here.
 */
static const char *const resolver_paths[] = {
	"/etc", "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo",
	"/run/systemd/resolve", "/run/nscd", "/var/run/nscd",
	"/nix/store", "/run/resolvconf", "/run/NetworkManager", "/var/lib/sss",
	/* Its target, wherever that is. */
	"/etc/resolv.conf",
};

static int allow_resolver(const struct landlock *l, struct err *e)
{
	for (size_t i = 0; i < countof(resolver_paths); i++) {
		auto_fd int fd = open(resolver_paths[i], O_PATH | O_CLOEXEC);

		if (fd < 0 && (errno == ENOENT || errno == EACCES))
			continue;
		if (fd < 0)
			return err_sys(e, "open %s", resolver_paths[i]);
		if (landlock_allow(l, fd, LANDLOCK_READ, e) < 0)
			return err_ctx(e, "%s", resolver_paths[i]);
	}
	return 0;
}

static int close_files(enum confine_role role, struct err *e)
{
	auto_landlock struct landlock l = LANDLOCK_NONE;

	if (landlock_new(&l, true, e) < 0)
		return -1;
	if (role == CONFINE_RESOLVE && allow_resolver(&l, e) < 0)
		return -1;
	return landlock_enforce(&l, e);
}

int confine_helper(enum confine_role role, struct err *e)
{
	const struct seccomp_filter *filter = confine_filter(role);

	if (!filter)
		return err_kind(e, ERR_BUG, "no such role: %u", role);
	if (drop_identity(e) < 0 || caps_drop_all(e) < 0 || no_core(e) < 0 ||
	    close_files(role, e) < 0 || seccomp_install(filter, true, e) < 0)
		return err_ctx(e, "confine this helper");
	return 0;
}

int confine_sentry(struct err *e)
{
	uint64_t kept = UINT64_C(1) << CAP_SYS_ADMIN;

	/* Root of a container may be without: then it reads what it can. */
	if (caps_have(CAP_DAC_READ_SEARCH))
		kept |= UINT64_C(1) << CAP_DAC_READ_SEARCH;
	if (caps_drop_others(kept, e) < 0 || no_core(e) < 0 ||
	    seccomp_install(confine_filter(CONFINE_SENTRY), true, e) < 0)
		return err_ctx(e, "confine the sentry");
	return 0;
}
