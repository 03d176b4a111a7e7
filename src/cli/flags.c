/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a verb: see flags.h. */
#include "flags.h"

#include <string.h>

#include "nearest.h"
#include "own.h"
#include "parse.h"

/* One flag of argv, taken apart. */
struct flag {
	struct sv name;		/* without dashes and question mark */
	struct sv written;	/* without dashes */
	const char *value;	/* behind a `=`, or NULL */
};

static struct flag flag_of(const char *arg)
{
	struct sv whole = sv_str(arg + 2);
	size_t equals = sv_find(whole, '=');
	struct flag f = {
		.name = sv_head(whole, equals),
		.written = sv_head(whole, equals),
		.value = equals < whole.n ? whole.p + equals + 1 : NULL,
	};

	if (f.name.n && f.name.p[f.name.n - 1] == '?')
		f.name.n--;
	return f;
}

static bool is_statement(struct sv name)
{
	for (size_t i = 0; policy_word(i); i++)
		if (sv_eq(name, sv_str(policy_word(i))))
			return true;
	return false;
}

static const struct flag_spec *find_own(const struct flag_spec *own,
					struct sv name)
{
	for (; own->name; own++)
		if (sv_eq(name, sv_str(own->name)))
			return own;
	return NULL;
}

static int unknown_flag(const struct flag_spec *own, const struct flag *f,
			struct err *e)
{
	struct nearest n = nearest_to(f->name);

	for (; own->name; own++)
		nearest_offer(&n, sv_str(own->name));
	nearest_offer(&n, SV("policy"));
	for (size_t i = 0; policy_word(i); i++)
		if (policy_form(i))
			nearest_offer(&n, sv_str(policy_word(i)));
	if (n.best.p)
		return err_kind(e, ERR_POLICY,
			"unknown flag --%.*s; did you mean --%.*s?",
			(int)(f->name.n < 64 ? f->name.n : 64), f->name.p,
			SV_FMT(n.best));
	return err_kind(e, ERR_POLICY, "unknown flag --%.*s; stockade-policy(5) "
			"has the statements, each of which is a flag",
			(int)(f->name.n < 64 ? f->name.n : 64), f->name.p);
}

/* The value behind `=`, or the next argument. */
static int take_value(struct flag *f, int argc, char **argv, int *i,
		      struct err *e)
{
	if (f->value)
		return 0;
	if (*i + 1 >= argc)
		return err_kind(e, ERR_POLICY, "--%.*s needs a value",
				SV_FMT(f->written));
	f->value = argv[++*i];
	return 0;
}

static int add_statement(struct source_options *o, const struct flag *f,
			 struct err *e)
{
	if (o->statements_n == countof(o->statements))
		return err_kind(e, ERR_LIMIT,
				"more than %d flags; write them into a file",
				FLAGS_STATEMENTS_MAX);
	o->statements[o->statements_n++] = (struct source_flag){
		.word = f->written.p, .word_n = f->written.n,
		.value = f->value,
	};
	return 0;
}

static int parse_flag(const struct flag_spec *own, struct source_options *o,
		      int argc, char **argv, int *i, struct err *e)
{
	struct flag f = flag_of(argv[*i]);
	const struct flag_spec *spec = find_own(own, f.name);

	if (spec && spec->set) {
		if (f.value)
			return err_kind(e, ERR_POLICY, "--%s takes no value",
					spec->name);
		*spec->set = true;
		return 0;
	}
	if (!spec && !sv_eq(f.name, SV("policy")) && !is_statement(f.name))
		return unknown_flag(own, &f, e);
	if (take_value(&f, argc, argv, i, e) < 0)
		return -1;
	if (spec) {
		*spec->text = f.value;
		return 0;
	}
	if (is_statement(f.name))
		return add_statement(o, &f, e);
	if (o->files_n == countof(o->files))
		return err_kind(e, ERR_LIMIT, "more than %d policy files",
				FLAGS_FILES_MAX);
	o->files[o->files_n++] = f.value;
	return 0;
}

int flags_parse(const struct flag_spec *own, struct source_options *o,
		int argc, char **argv, int *ret_first, struct err *e)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (argv[i][1] != '-')
			return err_kind(e, ERR_POLICY,
				"unknown flag %.64s; flags have two dashes",
				argv[i]);
		if (parse_flag(own, o, argc, argv, &i, e) < 0)
			return -1;
	}
	*ret_first = i;
	return 0;
}
