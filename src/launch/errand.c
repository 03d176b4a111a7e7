/* SPDX-License-Identifier: Apache-2.0 */
/* A call that waits to be carried out: see errand.h. */
#include "errand.h"

#include <sys/stat.h>

int errand_find(const struct errand *r, int dirfd, uint64_t address,
		bool follow, struct descent *ret)
{
	char path[PATH_MAX];
	int error = asker_string(&r->asker, address, path);

	*ret = (struct descent){ .dir_fd = -1 };
	return error ? error : descent_make(&r->asker, dirfd, path, follow,
					    ret);
}

int errand_umask(const struct errand *r)
{
	mode_t mask;
	int error = asker_umask(&r->asker, &mask);

	if (!error)
		(void)umask(mask);
	return error;
}
