/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text to a tree, with limits: see json_text.h. */
#include "json_text.h"

#include "lexer.h"
#include "statement.h"

enum { DEPTH_MAX = 8 };

/* Brackets within brackets, before the parser recurses into them. */
static bool is_too_deep(struct sv text)
{
	bool in_string = false;
	unsigned depth = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c == '"')
			in_string = !in_string;
		else if (in_string && c == '\\')
			i++;
		else if (!in_string && (c == '{' || c == '['))
			depth++;
		else if (!in_string && (c == '}' || c == ']') && depth)
			depth--;
		if (depth > DEPTH_MAX)
			return true;
	}
	return false;
}

json_t *json_text_parse(struct sv text, struct sv name, struct err *e)
{
	json_error_t why;
	json_t *root;

	if (text.n > POLICY_TEXT_MAX) {
		(void)err_kind(e, ERR_LIMIT, "%.*s: more than %d bytes",
			       SV_FMT(name_tail(name)), POLICY_TEXT_MAX);
		return NULL;
	}
	if (is_too_deep(text)) {
		(void)err_kind(e, ERR_POLICY,
			       "%.*s: more than %d brackets within brackets",
			       SV_FMT(name_tail(name)), DEPTH_MAX);
		return NULL;
	}
	root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		(void)err_kind(e, ERR_POLICY, "%.*s:%d: column %d: %s",
			       SV_FMT(name_tail(name)), why.line, why.column,
			       lexer_is_plain(sv_str(why.text)) ?
				       why.text : "malformed JSON");
	return root;
}
