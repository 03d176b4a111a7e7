/* SPDX-License-Identifier: Apache-2.0 */
/* The program's directory: see program.h. */
#include "program.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

struct sv program_dir(void)
{
	static char path[PATH_MAX];
	static size_t n;
	const char *slash;

	if (n == 0) {
		ssize_t all = readlink("/proc/self/exe", path, sizeof path);

		if (all <= 0 || all == sizeof path)
			return SV("");
		slash = memrchr(path, '/', (size_t)all);
		n = slash ? (size_t)(slash - path) : 0;
	}
	return sv_of(path, n);
}
