/* SPDX-License-Identifier: Apache-2.0 */
/* What the sentry has guarded: see kept.h. */
#include "kept.h"

#include <stdatomic.h>
#include <string.h>

#include "area.h"

bool kept_add(struct kept *k, struct sv path)
{
	const size_t n = atomic_load_explicit(&k->n, memory_order_relaxed);

	/* The memory was zero: what is behind the path ends it. */
	if (path.n >= sizeof k->paths - n)
		return false;
	memcpy(k->paths + n, path.p, path.n);
	atomic_store_explicit(&k->n, n + path.n + 1, memory_order_release);
	return true;
}

bool kept_below(const struct kept *k, struct sv dir,
		bool (*is_still)(const char *path))
{
	struct sv rest;

	if (!k)
		return false;
	rest = sv_of(k->paths, atomic_load_explicit(&k->n,
						    memory_order_acquire));
	while (rest.n) {
		const struct sv path = sv_head(rest, sv_find(rest, '\0'));

		if (area_strictly_contains(dir, path) && is_still(path.p))
			return true;
		rest = sv_from(rest, path.n + 1);
	}
	return false;
}
