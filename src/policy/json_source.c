/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the canonical JSON form: see json_source.h.
 *
 * jansson checks the syntax, rejects duplicate keys and counts the depth; what
 * is said here is which keys each kind of entry has.  base/json.h is not
 * included: the two use the same names.
 */
#include "json_source.h"

#include "hostpattern.h"
#include "json_text.h"
#include "lexer.h"
#include "nearest.h"
#include "own.h"
#include "text_form.h"
#include "words.h"

enum { ENTRIES_MAX = 16384, ENTRY_WORDS_MAX = 32 };

/* The entry that is being read, for messages and for its statement. */
struct entry {
	struct policy *p;
	const struct policy_source *source;
	const char *section;	/* "rules" */
	size_t index;
	json_t *object;		/* borrowed */
	struct word words[ENTRY_WORDS_MAX];
	size_t words_n;
	bool failed;		/* *e says why */
	struct err *e;
};

static int entry_error(struct entry *n, const char *what, const char *key)
{
	n->failed = true;
	return err_kind(n->e, ERR_POLICY, "%.*s: %s[%zu]: %s%s%.60s%s",
			WORD_FMT(n->source->name), n->section, n->index, what,
			*key ? " \"" : "", key, *key ? "\"" : "");
}

/* Only keys of the list, which ends with NULL. */
static void check_keys(struct entry *n, const char *const *known)
{
	const char *key;
	json_t *value;

	if (!json_is_object(n->object)) {
		(void)entry_error(n, "expected an object", "");
		return;
	}
	json_object_foreach(n->object, key, value) {
		struct nearest near = nearest_to(sv_str(key));
		size_t i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			nearest_offer(&near, sv_str(known[i++]));
		if (known[i])
			continue;
		/* The key may hold anything; the nearest one is ours. */
		if (near.best.p)
			(void)entry_error(n, "unknown key; did you mean",
					  near.best.p);
		else
			(void)entry_error(n, "unknown key", "");
		return;
	}
}

/* The string behind key; empty when it may be absent and is. */
static struct sv text_of(struct entry *n, json_t *object, const char *key,
			 bool required)
{
	json_t *value = json_object_get(object, key);
	struct sv v;

	if (n->failed || (!value && !required))
		return (struct sv){ 0 };
	if (!json_is_string(value)) {
		(void)entry_error(n, "expected a string for", key);
		return (struct sv){ 0 };
	}
	v = sv_of(json_string_value(value), json_string_length(value));
	if (!lexer_is_plain(v) || v.n > POLICY_TEXT_MAX / 2) {
		(void)entry_error(n, "a control or invisible character in", key);
		return (struct sv){ 0 };
	}
	return v;
}

static bool flag_of(struct entry *n, const char *key)
{
	json_t *value = json_object_get(n->object, key);

	if (value && !json_is_boolean(value))
		(void)entry_error(n, "expected true or false for", key);
	return json_is_true(value);
}

static void add_word(struct entry *n, struct sv text)
{
	struct sv kept = arena_dup(&n->p->arena, text);

	if (n->failed)
		return;
	if (!kept.p || n->words_n == ENTRY_WORDS_MAX) {
		(void)entry_error(n, "the policy is too large", "");
		return;
	}
	n->words[n->words_n++] = (struct word){
		.text = kept, .line = 0, .column = 1, .quoted = true,
	};
}

/* HOST[:PORT]PATH[?QUERY] of an object, each part unable to become another. */
static void put_target(struct entry *n, json_t *object, struct buf *b)
{
	struct sv host = text_of(n, object, "host", true);
	struct sv path = text_of(n, object, "path", false);
	struct sv query = text_of(n, object, "query", false);
	json_t *port = json_object_get(object, "port");

	if (n->failed)
		return;
	for (size_t i = 0; i < host.n; i++)
		if (strchr(":/?,#@", host.p[i]))
			(void)entry_error(n, "expected only a name for", "host");
	if ((path.p && (path.n == 0 || path.p[0] != '/')) ||
	    sv_find(path, '?') < path.n || sv_find(path, '#') < path.n)
		(void)entry_error(n, "expected a path for", "path");
	buf_put(b, host);
	if (port) {
		json_int_t value = json_integer_value(port);

		if (!json_is_integer(port) || value < 1 || value > 65535)
			(void)entry_error(n, "expected 1 to 65535 for", "port");
		buf_printf(b, ":%lld", (long long)value);
	}
	buf_put(b, path);
	if (query.p) {
		buf_putc(b, '?');
		buf_put(b, query);
	}
}

/* The entry's own. */
static void add_target(struct entry *n)
{
	auto_buf struct buf b = buf_new(POLICY_TEXT_MAX);

	put_target(n, n->object, &b);
	add_word(n, buf_sv(&b));
}

/* The word of the statement, with its question mark. */
static void add_first(struct entry *n, struct sv word)
{
	auto_buf struct buf b = buf_new(256);

	buf_put(&b, word);
	if (flag_of(n, "optional"))
		buf_putc(&b, '?');
	add_word(n, buf_sv(&b));
}

/* One of these words, which then stands in the entry's statement. */
static struct sv word_of(struct entry *n, const char *key,
			 const struct sv *known, size_t known_n)
{
	struct sv v = text_of(n, n->object, key, true);

	for (size_t i = 0; i < known_n; i++)
		if (sv_eq(v, known[i]))
			return v;
	if (!n->failed)
		(void)entry_error(n, "not a word of the language:", key);
	return v;
}

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

/* A key that the word in front of it must, may or may not have. */
static void add_clause(struct entry *n, const char *key, bool has,
		       const char *word)
{
	struct sv v = text_of(n, n->object, key, false);

	if (n->failed || !v.p)
		return;
	if (!has) {
		(void)entry_error(n, "nothing here can have a", key);
		return;
	}
	if (word)
		add_word(n, sv_str(word));
	add_word(n, v);
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

static void read_secret(struct entry *n)
{
	static const char *const keys[] = {
		"name", "optional", "from", "source", "key", "for", "as",
		"user", "header", "prefix", "add", "origin", NULL,
	};
	struct sv from, as;

	check_keys(n, keys);
	add_first(n, SV("secret"));
	add_word(n, text_of(n, n->object, "name", true));
	add_word(n, SV("from"));
	from = text_of(n, n->object, "from", true);
	add_word(n, from);
	add_clause(n, "source", !sv_eq(from, SV("env")), NULL);
	add_clause(n, "key", sv_eq(from, SV("file")), "key");
	add_scopes(n);
	add_word(n, SV("as"));
	as = text_of(n, n->object, "as", true);
	add_word(n, as);
	add_clause(n, "user", sv_eq(as, SV("basic")), NULL);
	add_clause(n, "header", sv_eq(as, SV("header")), NULL);
	add_clause(n, "prefix", sv_eq(as, SV("header")), "prefix");
	if (flag_of(n, "add"))
		add_word(n, SV("add"));
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
