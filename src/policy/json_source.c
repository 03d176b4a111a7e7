/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the canonical JSON form: see json_source.h.
 *
 * jansson checks the syntax, rejects duplicate keys and counts the depth; what
 * is said here is which keys each kind of entry has.  base/json.h is not
 * included: the two use the same names.
 */
#include "json_source.h"

#include "json_entry.h"
#include "json_text.h"
#include "lexer.h"
#include "nearest.h"
#include "own.h"
#include "text_form.h"
#include "words.h"

enum { ENTRIES_MAX = 16384 };

/* reach unix:PATH */
static void add_socket(struct entry *n)
{
	struct sv path = text_of(n, n->object, "path", true);
	auto_buf struct buf b = buf_new(POLICY_TEXT_MAX);

	add_first(n, SV("reach"));
	buf_puts(&b, "unix:");
	buf_put(&b, path);
	add_word(n, buf_sv(&b));
}

static void read_grant(struct entry *n)
{
	static const char *const keys[] = { "word", "path", "optional", "origin", NULL };
	static const struct sv words[] = {
		SV("read"), SV("write"), SV("show"), SV("hide"), SV("guard"), SV("cache"),
		SV("socket"),
	};
	struct sv word;

	check_keys(n, keys);
	word = word_of(n, "word", words, countof(words));
	if (sv_eq(word, SV("socket"))) {
		add_socket(n);
	} else {
		add_first(n, word);
		add_word(n, text_of(n, n->object, "path", true));
	}
}

static void read_env(struct entry *n)
{
	static const char *const keys[] = { "word", "name", "value", "origin", NULL };
	static const struct sv words[] = { SV("pass"), SV("set") };
	auto_buf struct buf b = buf_new(POLICY_TEXT_MAX);
	struct sv name, value;

	check_keys(n, keys);
	add_word(n, SV("env"));
	add_word(n, word_of(n, "word", words, countof(words)));
	name = text_of(n, n->object, "name", true);
	value = text_of(n, n->object, "value", false);
	if (!n->failed && !words_is_variable(name))
		(void)entry_error(n, "expected a variable for", "name");
	buf_put(&b, name);
	if (value.p) {
		buf_putc(&b, '=');
		buf_put(&b, value);
	}
	add_word(n, buf_sv(&b));
}

static void put_methods(struct entry *n, struct buf *b)
{
	json_t *methods = json_object_get(n->object, "methods");
	json_t *method;
	size_t i;

	if (!methods) {
		buf_putc(b, '*');
		return;
	}
	if (!json_is_array(methods) || json_array_size(methods) == 0) {
		(void)entry_error(n, "expected a list that is not empty for",
				  "methods");
		return;
	}
	json_array_foreach(methods, i, method) {
		struct sv v = sv_of(json_string_value(method),
				    json_string_length(method));

		if (!json_is_string(method) || sv_find(v, ',') < v.n ||
		    !lexer_is_plain(v) || sv_eq(v, SV("*"))) {
			(void)entry_error(n, "expected names for", "methods");
			return;
		}
		buf_puts(b, i ? "," : "");
		buf_put(b, v);
	}
}

static const struct sv effects[] = { SV("allow"), SV("ask"), SV("deny") };

static void read_rule(struct entry *n)
{
	static const char *const keys[] = {
		"word", "methods", "host", "port", "path", "query", "origin", NULL,
	};
	auto_buf struct buf b = buf_new(POLICY_TEXT_MAX);

	check_keys(n, keys);
	add_word(n, word_of(n, "word", effects, countof(effects)));
	if (!n->failed)
		put_methods(n, &b);
	add_word(n, buf_sv(&b));
	add_target(n);
}

static void read_relay(struct entry *n)
{
	static const char *const keys[] = {
		"word", "protocol", "host", "port", "origin", NULL,
	};
	static const struct sv protocols[] = { SV("tcp"), SV("tls") };

	check_keys(n, keys);
	add_word(n, word_of(n, "word", effects, countof(effects)));
	add_word(n, word_of(n, "protocol", protocols, countof(protocols)));
	add_target(n);
}

static void read_reach(struct entry *n)
{
	static const char *const keys[] = { "host", "port", "via", "origin", NULL };

	check_keys(n, keys);
	add_word(n, SV("reach"));
	add_target(n);
	add_word(n, SV("via"));
	add_word(n, text_of(n, n->object, "via", true));
}

static void read_roots(struct entry *n)
{
	static const char *const keys[] = { "path", "optional", "origin", NULL };

	check_keys(n, keys);
	add_first(n, SV("roots"));
	add_word(n, text_of(n, n->object, "path", true));
}

/* strict, file (which needs the path) or debug. */
static void read_syscalls(struct entry *n)
{
	static const char *const keys[] = { "word", "path", "optional", "origin", NULL };
	static const struct sv words[] = { SV("strict"), SV("file"), SV("debug") };
	struct sv word, path;

	check_keys(n, keys);
	word = word_of(n, "word", words, countof(words));
	path = text_of(n, n->object, "path", sv_eq(word, SV("file")));
	if (n->failed)
		return;
	if (!sv_eq(word, SV("file")) && path.p) {
		(void)entry_error(n, "nothing here can have a", "path");
	} else if (sv_eq(word, SV("debug"))) {
		add_first(n, word);
		add_word(n, SV("on"));
	} else {
		/* A file of that name would be taken for the word. */
		if (path.p && sv_eq(path, SV("strict")))
			path = SV("./strict");
		add_first(n, SV("syscalls"));
		add_word(n, path.p ? path : word);
	}
}

static void read_device(struct entry *n)
{
	static const char *const keys[] = { "name", "optional", "origin", NULL };

	check_keys(n, keys);
	add_first(n, SV("device"));
	add_word(n, text_of(n, n->object, "name", true));
}

static void read_publish(struct entry *n)
{
	static const char *const keys[] = { "port", "origin", NULL };
	json_t *port = json_object_get(n->object, "port");
	auto_buf struct buf b = buf_new(64);

	check_keys(n, keys);
	add_word(n, SV("publish"));
	if (!n->failed && !json_is_integer(port))
		(void)entry_error(n, "expected a number for", "port");
	buf_printf(&b, "%lld", (long long)json_integer_value(port));
	add_word(n, buf_sv(&b));
}

/* A statement of one word behind the first. */
static void read_choice(struct entry *n)
{
	static const char *const keys[] = { "word", "origin", NULL };

	check_keys(n, keys);
	add_first(n, sv_str(n->section));
	add_word(n, text_of(n, n->object, "word", true));
}

static void read_keep(struct entry *n)
{
	static const char *const keys[] = { "name", "origin", NULL };

	check_keys(n, keys);
	add_first(n, SV("keep"));
	add_word(n, text_of(n, n->object, "name", true));
}

static void read_limit(struct entry *n)
{
	static const char *const keys[] = {
		"word", "value", "for", "optional", "origin", NULL,
	};

	check_keys(n, keys);
	add_first(n, SV("limit"));
	add_word(n, text_of(n, n->object, "word", true));
	add_word(n, text_of(n, n->object, "value", true));
	add_clause(n, "for", true, "for");
}

static void add_scopes(struct entry *n)
{
	static const char *const keys[] = { "host", "port", "path", NULL };
	json_t *scopes = json_object_get(n->object, "for");
	json_t *whole = n->object, *scope;
	auto_buf struct buf b = buf_new(POLICY_TEXT_MAX);
	size_t i;

	if (!json_is_array(scopes) || json_array_size(scopes) == 0) {
		if (!n->failed)
			(void)entry_error(n, "expected a list that is not empty for",
					  "for");
		return;
	}
	json_array_foreach(scopes, i, scope) {
		struct sv path;

		if (n->failed)
			return;
		n->object = scope;
		check_keys(n, keys);
		n->object = whole;
		path = text_of(n, scope, "path", false);
		if (!n->failed && sv_find(path, ',') < path.n)
			(void)entry_error(n, "write a comma as %2C in", "path");
		buf_puts(&b, i ? "," : "");
		put_target(n, scope, &b);
	}
	add_word(n, SV("for"));
	add_word(n, buf_sv(&b));
}

static void add_times(struct entry *n)
{
	json_t *times = json_object_get(n->object, "times");
	auto_buf struct buf b = buf_new(64);

	if (!times)
		return;
	if (!n->failed && !json_is_integer(times))
		(void)entry_error(n, "expected a number for", "times");
	buf_printf(&b, "%lld", (long long)json_integer_value(times));
	add_word(n, SV("times"));
	add_word(n, buf_sv(&b));
}

static void read_secret(struct entry *n)
{
	static const char *const keys[] = {
		"name", "optional", "from", "source", "key", "for", "as",
		"user", "header", "prefix", "query", "cookie", "add", "like",
		"in", "in_key", "base64", "renew", "times", "until", "origin",
		NULL,
	};
	struct sv from, as;

	check_keys(n, keys);
	add_first(n, SV("secret"));
	add_word(n, text_of(n, n->object, "name", true));
	add_word(n, SV("from"));
	from = text_of(n, n->object, "from", true);
	add_word(n, from);
	add_clause(n, "source", !sv_eq(from, SV("env")) &&
				!sv_eq(from, SV("store")), NULL);
	add_clause(n, "key", sv_eq(from, SV("file")) ||
			     sv_eq(from, SV("store")), "key");
	add_scopes(n);
	add_word(n, SV("as"));
	as = text_of(n, n->object, "as", true);
	add_word(n, as);
	add_clause(n, "user", sv_eq(as, SV("basic")), NULL);
	add_clause(n, "header", sv_eq(as, SV("header")), NULL);
	add_clause(n, "prefix", sv_eq(as, SV("header")), "prefix");
	add_clause(n, "query", sv_eq(as, SV("query")), NULL);
	add_clause(n, "cookie", sv_eq(as, SV("cookie")), NULL);
	if (flag_of(n, "add"))
		add_word(n, SV("add"));
	add_clause(n, "like", true, "like");
	add_clause(n, "in", true, "in");
	add_clause(n, "in_key", json_object_get(n->object, "in"), "key");
	if (flag_of(n, "base64"))
		add_word(n, SV("base64"));
	add_clause(n, "renew", true, "renew");
	add_times(n);
	add_clause(n, "until", true, "until");
}

static void read_proxy(struct entry *n)
{
	static const char *const keys[] = {
		"url", "by_name", "user", "from", "source", "origin", NULL,
	};
	struct sv url, user;

	check_keys(n, keys);
	add_word(n, SV("via"));
	add_word(n, SV("proxy"));
	url = text_of(n, n->object, "url", false);
	if (url.p)
		add_word(n, url);
	if (flag_of(n, "by_name")) {
		add_word(n, SV("by"));
		add_word(n, SV("name"));
	}
	user = text_of(n, n->object, "user", false);
	if (user.p) {
		add_word(n, SV("login"));
		add_word(n, user);
		add_word(n, SV("from"));
		add_word(n, text_of(n, n->object, "from", true));
	}
	add_clause(n, "source", user.p, NULL);
}

/* The words as one line of text, which the words then point into. */
static struct sv join_words(struct entry *n)
{
	auto_buf struct buf b = buf_new(2 * POLICY_TEXT_MAX);
	size_t starts[ENTRY_WORDS_MAX];
	struct sv text;

	for (size_t i = 0; i < n->words_n; i++) {
		buf_puts(&b, i ? " " : "");
		starts[i] = b.n;
		text_form_word(&b, n->words[i].text);
	}
	text = b.full ? (struct sv){ 0 } : arena_dup(&n->p->arena, buf_sv(&b));
	for (size_t i = 0; text.p && i < n->words_n; i++)
		n->words[i].raw = sv_of(text.p + starts[i],
			(i + 1 < n->words_n ? starts[i + 1] - 1 : text.n) -
			starts[i]);
	return text;
}

static int apply(struct entry *n)
{
	json_t *origin = json_object_get(n->object, "origin");
	struct statement s = { .source = n->source };
	struct sv file;

	if (n->failed)
		return -1;
	file = text_of(n, n->object, "origin", false);
	if (n->failed)
		return -1;
	s.origin.file = origin ? arena_dup(&n->p->arena, file) : n->source->name;
	s.text = join_words(n);
	s.words = arena_alloc(&n->p->arena, sizeof n->words[0] * n->words_n);
	if (!s.origin.file.p || !s.text.p || !s.words)
		return entry_error(n, "the policy is too large", "");
	memcpy(s.words, n->words, sizeof n->words[0] * n->words_n);
	s.words_n = n->words_n;
	return words_apply(&s, n->p, n->e);
}

static const struct section {
	const char *name;
	void (*read)(struct entry *n);
} sections[] = {
	{ "grants", read_grant }, { "env", read_env }, { "rules", read_rule },
	{ "relays", read_relay }, { "reach", read_reach },
	{ "proxy", read_proxy },
	{ "roots", read_roots }, { "secrets", read_secret },
	{ "devices", read_device }, { "publish", read_publish },
	{ "syscalls", read_syscalls }, { "limits", read_limit },
	{ "workspace", read_choice }, { "terminal", read_choice },
	{ "keep", read_keep },
};

static int read_section(struct policy *p, const struct policy_source *s,
			const struct section *section, json_t *list,
			struct err *e)
{
	json_t *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > ENTRIES_MAX)
		return err_kind(e, ERR_POLICY,
			"%.*s: %s: expected a list of at most %d entries",
			WORD_FMT(s->name), section->name, ENTRIES_MAX);
	json_array_foreach(list, i, item) {
		struct entry n = {
			.p = p, .source = s, .section = section->name,
			.index = i, .object = item, .e = e,
		};

		section->read(&n);
		if (apply(&n) < 0)
			return -1;
	}
	return 0;
}

static const struct section *find_section(const char *key)
{
	for (size_t i = 0; i < countof(sections); i++)
		if (strcmp(sections[i].name, key) == 0)
			return &sections[i];
	return NULL;
}

static int unknown_section(const struct policy_source *s, const char *key,
			   struct err *e)
{
	struct nearest near = nearest_to(sv_str(key));

	for (size_t i = 0; i < countof(sections); i++)
		nearest_offer(&near, sv_str(sections[i].name));
	return err_kind(e, ERR_POLICY, "%.*s: unknown key%s%.*s",
			WORD_FMT(s->name), near.best.p ? "; did you mean " : "",
			SV_FMT(near.best));
}

bool json_source_is(struct sv text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!strchr(" \t\r\n", text.p[i]) || !text.p[i])
			return text.p[i] == '{';
	return false;
}

int json_source_parse(struct policy *p, const struct policy_source *s,
		      struct err *e)
{
	auto_json json_t *root = json_text_parse(s->text, s->name, e);
	const char *key;
	json_t *value;

	if (!root)
		return -1;
	value = json_object_get(root, "version");
	if (!json_is_integer(value) || json_integer_value(value) != 1)
		return err_kind(e, ERR_POLICY,
				"%.*s: expected an object with \"version\": 1",
				WORD_FMT(s->name));
	json_object_foreach(root, key, value) {
		const struct section *section = find_section(key);

		if (strcmp(key, "version") == 0)
			continue;
		if (!section)
			return unknown_section(s, key, e);
		if (read_section(p, s, section, value, e) < 0)
			return -1;
	}
	return 0;
}
