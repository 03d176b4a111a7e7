/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stockade policy`: the effective policy, merged, each line with its origin.
 *
 * On standard error it says which wildcards stand in front of a name below which
 * anybody may have one (`*.github.io`), as far as this machine has a list of
 * those.  That is for who writes a policy: such a rule means what it says, and a
 * run does not look.
 */
#include <fcntl.h>

#include "complaint.h"
#include "io.h"
#include "json_form.h"
#include "own.h"
#include "policy_verbs.h"
#include "public_suffix.h"
#include "source.h"
#include "statement.h"
#include "text_form.h"

enum { LIST_MAX = 4 << 20 };

/* Where Debian's publicsuffix puts it. */
static const char list_path[] = "/usr/share/publicsuffix/public_suffix_list.dat";

static void tell_wildcard(struct sv list, struct sv host,
			  const struct origin *origin)
{
	auto_buf struct buf text = buf_new(1024);
	struct sv suffix = { 0 };

	if (sv_starts(host, SV("*.")))
		suffix = public_suffix_within(list, sv_from(host, 2));
	if (suffix.n == 0)
		return;
	origin_put(&text, origin);
	buf_printf(&text, ": `%.*s` covers the names of strangers: anybody may have"
		   " one below %.*s", SV_FMT(host), SV_FMT(suffix));
	if (buf_cstr(&text))
		complain("", text.p, false);
}

static void tell_wildcards(const struct policy *p)
{
	auto_buf struct buf list = buf_new(LIST_MAX);
	struct sv before = { 0 };
	struct err ignored;

	if (io_read_file(AT_FDCWD, list_path, &list, &ignored) < 0)
		return;
	for (size_t i = 0; i < p->rules_n; i++) {
		const struct rule *r = &p->rules[i];

		/* Rules for the same host mostly follow each other. */
		if (r->effect == VERDICT_DENY || sv_eq(r->host, before))
			continue;
		before = r->host;
		tell_wildcard(buf_sv(&list), r->host, &r->origin);
	}
	for (size_t i = 0; i < p->relays_n; i++)
		if (p->relays[i].effect != VERDICT_DENY)
			tell_wildcard(buf_sv(&list), p->relays[i].host,
				      &p->relays[i].origin);
}

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
	tell_wildcards(&p);
	return 0;
}
