/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles that take an argument, and clients that are asked. */
#include "tap.h"

#include "own.h"
#include "profile_argument.h"

#include "policy_text.h"

static bool takes(const char *form, const char *argument)
{
	return !profile_argument_fault(sv_str(form), sv_str(argument));
}

static void test_an_argument_has_the_parts_of_the_form(void)
{
	CHECK(takes("NAME", "a"));
	CHECK(!takes("NAME", "a/b"));
	CHECK(takes("OWNER/REPO", "octo/App_1.js"));
	CHECK(!takes("OWNER/REPO", "octo"));
	CHECK(!takes("OWNER/REPO", "octo/a/b"));
	CHECK(takes("GROUP/.../PROJECT", "a/b"));
	CHECK(takes("GROUP/.../PROJECT", "a/b/c/d"));
	CHECK(!takes("GROUP/.../PROJECT", "a"));
	CHECK(takes("OWNER/REPO", "octo/.github"));
	CHECK(takes("OWNER/REPO", "octo/git"));
}

static void test_an_argument_means_nothing_but_itself(void)
{
	static const char *const wrong[] = {
		"", "/", "a/", "/a", "a//b", "a/.", "a/..", "../b", "./b",
		"-a/b", "a/-", "a/b*", "*/b", "a/**", "a/b?x", "a/b#x", "a/%41",
		"a/b c", "a/b\"", "a/b'", "a/b\\", "a/{}", "a/b:1", "a/b@c",
		"a/b,c", "a/b\n", "a/b\xc3\xa9", "a/b.git", "a/b.GIT",
	};

	for (size_t i = 0; i < countof(wrong); i++)
		CHECK(!takes("OWNER/REPO", wrong[i]));
	for (int c = 1; c < 256; c++) {
		char argument[4] = { 'a', '/', (char)c, '\0' };

		CHECK(takes("OWNER/REPO", argument) ==
		      (is_alpha((char)c) || is_digit((char)c) || c == '_'));
	}
}

static void test_an_argument_has_a_length(void)
{
	char part[103] = "a/";

	memset(part + 2, 'b', 100);
	CHECK(takes("OWNER/REPO", part));
	CHECK(!takes("OWNER/REPO", "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u"));
	CHECK(!takes("GROUP/.../PROJECT",
		     "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u"));
	memset(part, 'a', 102);
	CHECK(!takes("NAME", part));
}

static const struct sv texts[] = {
	SV("# One.\ntakes A/B\nallow GET h.test/{}/x # {}\n"
	   "allow GET h.test/p/{%2F}/**\nprofile plain\n"),
	SV("takes A/B\nallow GET h.test/{x}\n"),
	SV("read /plain\n"),
	SV("allow GET h.test/y\ntakes A/B\n"),
	SV("takes A/B\ntakes A/B\n"),
	SV("takes a/b\n"),
	SV("takes A//B\n"),
	SV("takes .../B\n"),
	SV("takes A/B C\n"),
	SV("takes\n"),
};
static const char *const names[] = {
	"one", "brace", "plain", "late", "twice", "lower", "empty", "dots", "two",
	"none",
};

static int load(void *ctx, struct sv name, struct sv *ret, struct err *e)
{
	(void)ctx;
	for (size_t i = 0; i < countof(names); i++)
		if (sv_eq(name, sv_str(names[i]))) {
			*ret = texts[i];
			return 0;
		}
	return err_kind(e, ERR_POLICY, "there is no such profile");
}

static int ask(void *ctx, struct sv client, struct sv *ret, struct err *e)
{
	(void)ctx;
	if (sv_eq(client, SV("apt")))
		return err_kind(e, ERR_POLICY, "apt is not there; do this");
	*ret = SV("allow GET,HEAD r.test/npm/**\ndeny * r.test/npm/-/user/**\n");
	return 0;
}

static int policy_with(const char *text, struct policy *ret, struct err *e)
{
	struct policy_source s = source_of(text);

	s.load = load;
	s.ask = ask;
	*ret = policy_new();
	if (policy_parse(ret, &s, e) < 0)
		return -1;
	return policy_check(ret, e);
}

static void test_the_argument_takes_its_place(void)
{
	auto_policy struct policy p;
	struct err e = { 0 };

	CHECK_INT(policy_with("profile one o/r\nprofile one o/r\n"
			      "profile one o/s", &p, &e), 0);
	CHECK_INT(p.rules_n, 4);
	CHECK_SV(p.rules[0].text, "allow GET h.test/o/r/x");
	CHECK_SV(p.rules[0].origin.file, "profile one o/r");
	CHECK_INT(p.rules[0].origin.line, 3);
	CHECK_SV(p.rules[2].text, "allow GET h.test/p/o%2Fr/**");
	CHECK_INT(p.grants_n, 1);
}

static void test_what_takes_says_is_held(void)
{
	static const struct {
		const char *text, *message;
	} wrong[] = {
		{ "profile one", "takes an argument: profile one A/B" },
		{ "profile one o", "is no A/B: it has another number of parts" },
		{ "profile one o/*", "is no A/B: a part is letters" },
		{ "profile plain o/r", "takes no argument" },
		{ "profile late", "only there" },
		{ "profile late o/r", "takes no argument" },
		{ "profile twice o/r", "only there" },
		{ "profile lower o/r", "upper case" },
		{ "profile empty o/r", "upper case" },
		{ "profile dots o/r", "upper case" },
		{ "profile two o/r", "nothing may follow here" },
		{ "profile none o/r", "the form is missing" },
		{ "profile brace o/r", "profile brace o/r:2: " },
		{ "profile none", "the form is missing" },
	};

	for (size_t i = 0; i < countof(wrong); i++) {
		auto_policy struct policy p;
		struct err e = { 0 };
		bool said = policy_with(wrong[i].text, &p, &e) < 0 &&
			    strstr(e.msg, wrong[i].message);

		if (!said)
			printf("# %s\n# got: %s\n", wrong[i].text, e.msg);
		CHECK(said);
	}
}

static void test_a_client_stands_for_its_rules(void)
{
	auto_policy struct policy p;
	struct err e = { 0 };

	CHECK_INT(policy_with("read /x\nclient npm", &p, &e), 0);
	CHECK_INT(p.rules_n, 2);
	CHECK_SV(p.rules[0].text, "deny * r.test/npm/-/user/**");
	CHECK_SV(p.rules[1].text, "allow GET,HEAD r.test/npm/**");
	CHECK_SV(p.rules[1].origin.file, "t.policy");
	CHECK_INT(p.rules[1].origin.line, 2);
	policy_free(&p);
	CHECK_INT(policy_with("client apt", &p, &e), -1);
	CHECK(strstr(e.msg, "t.policy:1: apt is not there; do this") != NULL);
}

int main(void)
{
	RUN(test_an_argument_has_the_parts_of_the_form);
	RUN(test_an_argument_means_nothing_but_itself);
	RUN(test_an_argument_has_a_length);
	RUN(test_the_argument_takes_its_place);
	RUN(test_what_takes_says_is_held);
	RUN(test_a_client_stands_for_its_rules);
	return tap_done();
}
