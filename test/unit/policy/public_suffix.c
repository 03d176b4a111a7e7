/* SPDX-License-Identifier: Apache-2.0 */
/* The Public Suffix List. */
#include "public_suffix.h"

#include "tap.h"

static const char list[] =
	"// com : a comment that names github.io\n"
	"\n"
	"uk\n"
	"co.uk\r\n"
	"*.ck   // behind a blank\n"
	"!www.ck\n"
	"*.compute.amazonaws.com\n"
	"s3.amazonaws.com\n"
	"github.io";

static void test_a_domain_in_which_anybody_has_names(void)
{
	static const struct {
		const char *domain, *entry;
	} cases[] = {
		{ "co.uk", "co.uk" },
		{ "github.io", "github.io" },
		{ "foo.ck", "*.ck" },
		{ "eu.compute.amazonaws.com", "*.compute.amazonaws.com" },
		{ "amazonaws.com", "*.compute.amazonaws.com" },
		{ "s3.amazonaws.com", "s3.amazonaws.com" },
		{ "me.github.io", "" },
		{ "xgithub.io", "" },
		{ "hub.io", "" },
		{ "www.ck", "" },
		{ "a.foo.ck", "" },
		{ "example.com", "" },
		{ "bbc.co.uk", "" },
		{ "internal.example.uk", "" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		CHECK_SV(public_suffix_within(sv_of(list, sizeof list - 1),
					      sv_str(cases[i].domain)),
			 cases[i].entry);
}

static void test_no_list_says_nothing(void)
{
	CHECK_INT(public_suffix_within(SV(""), SV("co.uk")).n, 0);
	CHECK_INT(public_suffix_within(SV("\n\n//\n*.\n!\n."), SV("co.uk")).n, 0);
}

int main(void)
{
	RUN(test_a_domain_in_which_anybody_has_names);
	RUN(test_no_list_says_nothing);
	return tap_done();
}
