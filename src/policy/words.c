/* SPDX-License-Identifier: Apache-2.0 */
/* The table of words: see words.h. */
#include "words.h"

#include "nearest.h"
#include "own.h"

enum { VARIABLE_MAX = 128 };

#define RULE_FORM \
	"METHODS HOST[:PORT][/PATH][?QUERY] | tcp HOST:PORT | tls HOST[:PORT]"

static const struct word_info table[] = {
	{ SV("profile"), word_profile, "NAME [ARGUMENT]", false },
	{ SV("takes"), word_takes, "NAME[/NAME...]", false },
	{ SV("client"), word_client, "npm | apt", false },
	{ SV("read"), word_read, "PATH...", true },
	{ SV("write"), word_write, "PATH...", true },
	{ SV("show"), word_show, "PATH...", true },
	{ SV("hide"), word_hide, "PATH...", true },
	{ SV("guard"), word_guard, "PATH...", true },
	{ SV("cache"), word_cache, "PATH...", false },
	{ SV("env"), word_env, "pass NAME... | set NAME=VALUE...", false },
	{ SV("allow"), word_allow, RULE_FORM, false },
	{ SV("ask"), word_ask, RULE_FORM, false },
	{ SV("deny"), word_deny, RULE_FORM, false },
	{ SV("reach"), word_reach, "NAME[:PORT] via ADDRESS:PORT | unix:PATH",
	  false },
	{ SV("via"), word_via,
	  "proxy [http://HOST:PORT] [by name] [login USER from SOURCE]", false },
	{ SV("secret"), word_secret,
	  "NAME from SOURCE for HOST[,HOST...] as FORM [add] [like SHAPE] "
	  "[in FILE key KEY [base64]] [renew TIME] [times N] "
	  "[until TIME]", true },
	{ SV("roots"), word_roots, "PATH...", true },
	{ SV("device"), word_device, "gpu | kvm | fuse | PATH...", true },
	{ SV("publish"), word_publish, "PORT...", false },
	{ SV("limit"), word_limit, "WHAT AMOUNT [for HOST]", true },
	{ SV("workspace"), word_workspace, "direct | overlay", false },
	{ SV("terminal"), word_terminal, "exact | filter", false },
	{ SV("keep"), word_keep, "NAME", false },
	{ SV("isolation"), word_isolation, "native", false },
	{ SV("syscalls"), word_syscalls, "strict | FILE", true },
	{ SV("debug"), word_debug, "on", false },
	{ SV("nest"), NULL, NULL, false },
	{ { 0 }, NULL, NULL, false },
};

/* The last one, whose name is empty, for what is behind it. */
static const struct word_info *info_at(size_t i)
{
	return &table[i < countof(table) ? i : countof(table) - 1];
}

const char *policy_word(size_t i)
{
	return info_at(i)->name.p;
}

const char *policy_form(size_t i)
{
	return info_at(i)->form;
}

static const struct word_info *find(struct sv name)
{
	for (size_t i = 0; table[i].name.n; i++)
		if (sv_eq(table[i].name, name))
			return &table[i];
	return NULL;
}

static int unknown_word(const struct statement *s, struct sv name,
			struct err *e)
{
	struct nearest n = nearest_to(name);

	for (size_t i = 0; table[i].name.n; i++)
		if (table[i].parse)
			nearest_offer(&n, table[i].name);
	if (n.best.p)
		return statement_error(s, &s->words[0], e,
			"unknown word \"%.*s\"; did you mean `%.*s`?",
			WORD_FMT(name), SV_FMT(n.best));
	return statement_error(s, &s->words[0], e,
			       "unknown word \"%.*s\"; stockade-policy(5) has "
			       "them all", WORD_FMT(name));
}

int words_refuse(const struct statement *s, const struct word *w,
		 struct err *e)
{
	return statement_error(s, w, e,
		"this version cannot enforce `%.*s` yet, so it refuses it",
		WORD_FMT(w->text));
}

int words_apply(struct statement *s, struct policy *p, struct err *e)
{
	struct sv name = s->words[0].text;
	const struct word_info *info;

	if (name.n > 1 && name.p[name.n - 1] == '?') {
		s->optional = true;
		name.n--;
	}
	info = find(name);
	if (!info)
		return unknown_word(s, name, e);
	if (!info->parse)
		return words_refuse(s, &s->words[0], e);
	s->form = info->form;
	if (s->optional && !info->may_be_optional)
		return statement_error(s, &s->words[0], e,
				       "`%.*s` cannot be optional",
				       SV_FMT(info->name));
	return info->parse(s, p, e);
}

bool words_is_variable(struct sv v)
{
	if (v.n == 0 || v.n > VARIABLE_MAX || is_digit(v.p[0]))
		return false;
	for (size_t i = 0; i < v.n; i++)
		if (!is_alpha(v.p[i]) && !is_digit(v.p[i]) && v.p[i] != '_')
			return false;
	return true;
}
