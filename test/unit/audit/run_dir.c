/* SPDX-License-Identifier: Apache-2.0 */
/* Names of runs. */
#include "run_dir.h"

#include "tap.h"

/* `stockade log` and `stockade apply` go by it, where runs are short. */
static void test_run_new_id_sorts_behind_those_of_the_same_second(void)
{
	char last[RUN_ID_MAX] = "", id[RUN_ID_MAX];
	struct err e;

	for (int i = 0; i < 100; i++) {
		CHECK_INT(run_new_id(id, &e), 0);
		CHECK(strcmp(last, id) < 0);
		memcpy(last, id, sizeof last);
	}
	CHECK_INT(strlen(id), strlen("20261129-163000-4f2a9c01b7"));
	CHECK_INT(strspn(id + 16, "0123456789abcdef"), 10);
}

int main(void)
{
	RUN(test_run_new_id_sorts_behind_those_of_the_same_second);
	return tap_done();
}
