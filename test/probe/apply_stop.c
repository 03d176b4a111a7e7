/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies all that a run holds, and is stopped on the way:
 *
 *	apply-stop STORE RUN kill|fail N
 *
 * It is killed before its Nth change of anything on the disk, or that one
 * fails; 0 when there are fewer, 1 when the apply failed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "apply.h"

int main(int argc, char **argv)
{
	struct apply apply = { 0 };
	struct changes changes;
	char id[HELD_ID_MAX];
	struct held held;
	struct err e;
	size_t n = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
	int store_fd = n ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;

	if (store_fd < 0)
		return 2;
	*(argv[3][0] == 'k' ? &apply.kill_at : &apply.fail_at) = n;
	if (apply_recover(store_fd, id, &e) < 0 ||
	    held_open(store_fd, argv[2], &held, &e) < 0 ||
	    changes_find(&held, true, &changes, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.msg);
		return 2;
	}
	for (size_t i = 0; i < changes.n; i++)
		changes.list[i].chosen = true;
	if (apply_changes(&apply, &held, &changes, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	return 0;
}
