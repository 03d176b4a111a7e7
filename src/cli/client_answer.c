/* SPDX-License-Identifier: Apache-2.0 */
/* A client's answer: see client_answer.h. */
#include "client_answer.h"

#include "lexer.h"

bool client_answer_put(struct buf *answer, const char *word, struct sv v)
{
	auto_buf struct buf line = buf_new(1 << 14);
	struct sv rest = buf_sv(answer);

	/* Also no line's end. */
	if (v.n == 0 || !lexer_is_plain(v))
		return false;
	buf_printf(&line, "%s ", word);
	buf_put(&line, v);
	if (line.full)
		return false;
	while (rest.n)
		if (sv_eq(sv_cut(&rest, '\n'), buf_sv(&line)))
			return true;
	buf_put(answer, buf_sv(&line));
	buf_putc(answer, '\n');
	return true;
}

struct sv client_answer_next(struct sv *rest, const char *word)
{
	struct sv line = sv_cut(rest, '\n');
	struct sv said = sv_head(line, sv_find(line, ' '));

	return sv_eq(said, sv_str(word)) ? sv_from(line, said.n + 1) :
					   (struct sv){ 0 };
}
