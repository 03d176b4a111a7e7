/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade policy`: the effective policy, merged, each line with its origin. */
#include <stdio.h>

#include "io.h"
#include "json_form.h"
#include "own.h"
#include "policy_verbs.h"
#include "source.h"
#include "text_form.h"

int policy_main(int argc, char **argv, struct err *e)
{
	static struct source_options options;
	auto_policy struct policy p = { 0 };
	auto_buf struct buf out = buf_new(POLICY_ARENA_MAX);
	bool json = false;
	const struct flag_spec own[] = {
		{ .name = "json", .set = &json },
		{ 0 },
	};
	int first = 0;

	if (flags_parse(own, &options, argc, argv, &first, e) < 0)
		return -1;
	if (first < argc)
		return err_kind(e, ERR_POLICY,
				"expected: stockade policy [--json] [FLAGS]");
	if (source_load(&options, &p, e) < 0)
		return -1;
	if (json)
		policy_json(&p, &out);
	else
		policy_print(&p, &out, true);
	if (buf_check(&out, "the policy", e) < 0 ||
	    io_write_all(STDOUT_FILENO, buf_sv(&out), e) < 0)
		return -1;
	return 0;
}
