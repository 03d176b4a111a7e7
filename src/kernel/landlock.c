/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock: see landlock.h. */
#include "landlock.h"

#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "feature.h"
#include "own.h"
#include "uapi.h"

#define FS(name) LANDLOCK_ACCESS_FS_##name

/* Rights that make sense on something that is not a directory; the kernel
 * refuses a rule for a file that has any other. */
#define FILE_RIGHTS \
	(FS(EXECUTE) | FS(WRITE_FILE) | FS(READ_FILE) | FS(TRUNCATE) | \
	 FS(IOCTL_DEV))
/* Device nodes stay out of every grant. */
#define WRITE_RIGHTS                                                     \
	(FS(WRITE_FILE) | FS(TRUNCATE) | FS(REMOVE_DIR) |                \
	 FS(REMOVE_FILE) | FS(MAKE_DIR) | FS(MAKE_REG) | FS(MAKE_SOCK) | \
	 FS(MAKE_FIFO) | FS(MAKE_SYM) | FS(REFER))

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static uint64_t rights_of(int abi)
{
	uint64_t rights = (FS(MAKE_SYM) << 1) - 1;	/* ABI 1 */

	rights |= FS(REFER);
	if (abi >= 3)
		rights |= FS(TRUNCATE);
	if (abi >= 5)
		rights |= FS(IOCTL_DEV);
	return rights;
}

int landlock_new(struct landlock *ret, bool scoped, struct err *e)
{
	struct uapi_landlock_ruleset attr = { 0 };
	int abi = landlock_abi();
	long fd;

	*ret = (struct landlock){ .fd = -1 };
	if (abi == 0)
		return err_kind(e, ERR_UNSUPP, "Landlock needs Linux 5.19 with "
				"landlock in its list of security modules");
	if (abi < LANDLOCK_ABI_MIN)
		return err_kind(e, ERR_UNSUPP,
				"Landlock ABI %d needs Linux 5.19; this is %d",
				LANDLOCK_ABI_MIN, abi);
	attr.handled_access_fs = rights_of(abi);
	if (scoped && abi >= 6)
		attr.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET |
			      LANDLOCK_SCOPE_SIGNAL;
	fd = syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	if (fd < 0)
		return err_sys(e, "make a Landlock ruleset");
	*ret = (struct landlock){
		.fd = (int)fd, .abi = abi, .handled = attr.handled_access_fs,
	};
	return 0;
}

int landlock_allow(const struct landlock *l, int fd, unsigned grants,
		   struct err *e)
{
	struct landlock_path_beneath_attr attr = { .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "identify a granted path");
	if (grants & LANDLOCK_READ)
		attr.allowed_access |= FS(READ_FILE) | FS(READ_DIR);
	if (grants & LANDLOCK_EXECUTE)
		attr.allowed_access |= FS(EXECUTE);
	if (grants & LANDLOCK_WRITE)
		attr.allowed_access |= WRITE_RIGHTS;
	if (grants & LANDLOCK_IOCTL)
		attr.allowed_access |= FS(IOCTL_DEV);
	attr.allowed_access &= l->handled;
	if (!S_ISDIR(st.st_mode))
		attr.allowed_access &= FILE_RIGHTS;
	/* LANDLOCK_IOCTL alone is nothing before ABI 5. */
	if (attr.allowed_access == 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, l->fd, LANDLOCK_RULE_PATH_BENEATH,
		    &attr, 0) < 0)
		return err_sys(e, "add a Landlock rule");
	return 0;
}

int landlock_enforce(struct landlock *l, struct err *e)
{
	if (syscall(SYS_landlock_restrict_self, l->fd, 0) < 0) {
		if (errno == E2BIG)
			return err_kind(e, ERR_UNSUPP, "more than 16 Landlock "
					"domains cannot be nested");
		return err_sys(e, "enter the Landlock domain");
	}
	landlock_free(l);
	return 0;
}

void landlock_free(struct landlock *l)
{
	close_fd(&l->fd);
}
