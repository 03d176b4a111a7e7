/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of the canonical JSON form: see json_entry.h. */
#include "json_entry.h"

#include "lexer.h"
#include "nearest.h"
#include "own.h"

int entry_error(struct entry *n, const char *what, const char *key)
{
	n->failed = true;
	return err_kind(n->e, ERR_POLICY, "%.*s: %s[%zu]: %s%s%.60s%s",
			WORD_FMT(n->source->name), n->section, n->index, what,
			*key ? " \"" : "", key, *key ? "\"" : "");
}

/* Only keys of the list, which ends with NULL. */
void check_keys(struct entry *n, const char *const *known)
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
struct sv text_of(struct entry *n, json_t *object, const char *key,
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

bool flag_of(struct entry *n, const char *key)
{
	json_t *value = json_object_get(n->object, key);

	if (value && !json_is_boolean(value))
		(void)entry_error(n, "expected true or false for", key);
	return json_is_true(value);
}

void add_word(struct entry *n, struct sv text)
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
void put_target(struct entry *n, json_t *object, struct buf *b)
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
void add_target(struct entry *n)
{
	auto_buf struct buf b = buf_new(POLICY_TEXT_MAX);

	put_target(n, n->object, &b);
	add_word(n, buf_sv(&b));
}

/* The word of the statement, with its question mark. */
void add_first(struct entry *n, struct sv word)
{
	auto_buf struct buf b = buf_new(256);

	buf_put(&b, word);
	if (flag_of(n, "optional"))
		buf_putc(&b, '?');
	add_word(n, buf_sv(&b));
}

/* One of these words, which then stands in the entry's statement. */
struct sv word_of(struct entry *n, const char *key, const struct sv *known,
		  size_t known_n)
{
	struct sv v = text_of(n, n->object, key, true);

	for (size_t i = 0; i < known_n; i++)
		if (sv_eq(v, known[i]))
			return v;
	if (!n->failed)
		(void)entry_error(n, "not a word of the language:", key);
	return v;
}

/* A key that the word in front of it must, may or may not have. */
void add_clause(struct entry *n, const char *key, bool has, const char *word)
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
