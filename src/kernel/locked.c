/* SPDX-License-Identifier: Apache-2.0 */
/* Locked memory: see locked.h. */
#include "locked.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

size_t locked_size(size_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

char *locked_new(size_t n, struct err *e)
{
	const size_t mapped = locked_size(n);
	void *p = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		(void)err_sys(e, "map memory for a secret");
		return NULL;
	}
	if (madvise(p, mapped, MADV_DONTDUMP) < 0 ||
	    madvise(p, mapped, MADV_WIPEONFORK) < 0 || mlock(p, mapped) < 0) {
		(void)err_sys(e, "lock memory for a secret (see ulimit -l)");
		(void)munmap(p, mapped);
		return NULL;
	}
	return p;
}

void locked_free(char *p, size_t n)
{
	if (!p)
		return;
	explicit_bzero(p, locked_size(n));
	(void)munmap(p, locked_size(n));
}
