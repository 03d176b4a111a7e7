/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ownership that is visible where a variable is declared.
 *
 * auto_fd, auto_dir and auto_free release at the end of the scope and keep errno.
 * steal_fd() and steal_ptr() give the thing away.  A function that has such a
 * variable uses no goto: a jump over the declaration would release garbage.
 */
#ifndef BASE_OWN_H
#define BASE_OWN_H

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static inline void auto_close_(const int *fd)
{
	if (*fd >= 0) {
		int saved = errno;

		/* Linux frees the number even on EINTR: never retry. */
		(void)close(*fd);
		errno = saved;
	}
}
#define auto_fd __attribute__((cleanup(auto_close_)))

static inline void auto_closedir_(DIR *const *d)
{
	if (*d) {
		int saved = errno;

		(void)closedir(*d);
		errno = saved;
	}
}
#define auto_dir __attribute__((cleanup(auto_closedir_)))

static inline void auto_free_(void *p)
{
	int saved = errno;

	free(*(void **)p);
	errno = saved;
}
#define auto_free __attribute__((cleanup(auto_free_)))

static inline int steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define steal_ptr(pp) \
	({ __typeof__(*(pp)) taken_ = *(pp); *(pp) = NULL; taken_; })

/* Closes *fd if it is open and marks it closed. */
static inline void close_fd(int *fd)
{
	auto_close_(fd);
	*fd = -1;
}

#define countof(a) (sizeof(a) / sizeof((a)[0]))

#endif
