/* SPDX-License-Identifier: Apache-2.0 */
/* From text and flags to a policy: see parse.h. */
#include "parse.h"

#include "json_source.h"
#include "lexer.h"
#include "words.h"

void policy_free(struct policy *p)
{
	arena_free(&p->arena);
	*p = (struct policy){ .arena = arena_new(p->arena.max) };
}

bool policy_has_shapes(const struct policy *p)
{
	for (size_t i = 0; i < p->secrets_n; i++)
		if (p->secrets[i].like.n)
			return true;
	return false;
}

bool policy_needs_tls(const struct policy *p)
{
	/* Every port may speak TLS: a rule names none of the two. */
	for (size_t i = 0; i < p->rules_n; i++)
		if (p->rules[i].effect != VERDICT_DENY)
			return true;
	return false;
}

/* Copies what the policy's views will point into. */
static int keep(struct policy *p, const struct policy_source *s,
		struct policy_source *ret, struct err *e)
{
	*ret = *s;
	ret->name = arena_dup(&p->arena, s->name);
	ret->text = arena_dup(&p->arena, s->text);
	if (!ret->name.p || !ret->text.p)
		return err_kind(e, ERR_LIMIT, "the policy is too large");
	/* A statement with such a path could not be printed and read again. */
	if (!lexer_is_plain(s->base) || !lexer_is_plain(s->home))
		return err_kind(e, ERR_POLICY,
			"the working or home directory has a control character or "
			"malformed UTF-8 in its name");
	return 0;
}

/* origin: where each is said to stand, or NULL for its own line. */
static int parse_lines(struct policy *p, const struct policy_source *s,
		       const struct origin *origin, struct err *e)
{
	struct lexer l;

	if (lexer_open(&l, s, s->text, &p->arena, e) < 0)
		return -1;
	for (;;) {
		struct statement statement;
		int got = lexer_next(&l, &statement, e);

		if (got <= 0)
			return got;
		if (origin)
			statement.origin = *origin;
		if (words_apply(&statement, p, e) < 0)
			return -1;
	}
}

int policy_parse(struct policy *p, const struct policy_source *s,
		 struct err *e)
{
	struct policy_source kept;

	if (s->text.n > POLICY_TEXT_MAX)
		return err_kind(e, ERR_LIMIT, "%.*s: more than %d bytes",
				WORD_FMT(s->name), POLICY_TEXT_MAX);
	if (keep(p, s, &kept, e) < 0)
		return -1;
	if (json_source_is(kept.text))
		return json_source_parse(p, &kept, e);
	return parse_lines(p, &kept, NULL, e);
}

int policy_expand(struct policy *p, const struct policy_source *s,
		  const struct origin *origin, struct err *e)
{
	struct policy_source kept;

	return keep(p, s, &kept, e) < 0 ? -1 :
					  parse_lines(p, &kept, origin, e);
}

int policy_flag(struct policy *p, struct sv word, struct sv value,
		const struct policy_source *s, struct err *e)
{
	struct policy_source flag = *s, kept;
	struct origin origin = { .column = 1 };
	auto_buf struct buf name = buf_new(64);
	auto_buf struct buf text = buf_new(POLICY_TEXT_MAX);

	buf_puts(&name, "--");
	buf_put(&name, word);
	buf_put(&text, word);
	buf_putc(&text, ' ');
	buf_put(&text, value);
	if (name.full || text.full)
		return err_kind(e, ERR_LIMIT, "--%.*s: the value is too long",
				WORD_FMT(word));
	flag.name = buf_sv(&name);
	flag.text = buf_sv(&text);
	if (keep(p, &flag, &kept, e) < 0)
		return -1;
	/* A second line would be a second statement, which nobody saw. */
	if (sv_find(kept.text, '\n') < kept.text.n)
		return err_kind(e, ERR_POLICY, "%.*s: a flag is one line",
				SV_FMT(kept.name));
	if (sv_trim(value).n == 0)
		return err_kind(e, ERR_POLICY, "%.*s: the value is missing",
				SV_FMT(kept.name));
	origin.file = kept.name;
	return parse_lines(p, &kept, &origin, e);
}
