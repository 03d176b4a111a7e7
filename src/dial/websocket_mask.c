/* SPDX-License-Identifier: Apache-2.0 */
/* Masking in frames: see websocket_mask.h. */
#include "websocket_mask.h"

#include <stdlib.h>

#include "own.h"

enum { TEXT_MAX = 512 * 1024 };	/* a read, and what was held back before */

struct websocket_mask *websocket_mask_new(struct scrub *s, struct err *e)
{
	struct websocket_mask *m = calloc(1, sizeof *m);

	if (!m) {
		err_sys(e, "allocate the scrubber of a WebSocket");
		return NULL;
	}
	m->scrub = s;
	m->text = buf_new(TEXT_MAX);
	return m;
}

void websocket_mask_free(struct websocket_mask *m)
{
	if (!m)
		return;
	scrub_fini(m->scrub);
	free(m->scrub);
	buf_wipe(&m->text);
	free(m);
}

/* m->text leaves, and every head whose turn it is. */
static void put_text(struct websocket_mask *m, struct buf *out)
{
	struct sv text = buf_sv(&m->text);
	uint64_t given = m->taken - m->scrub->held.n;
	uint64_t at = given - text.n;
	size_t i = 0;

	for (; i < m->n_heads && m->heads[i].at <= given; i++) {
		size_t n = (size_t)(m->heads[i].at - at);

		buf_put(out, sv_head(text, n));
		buf_put(out, sv_of(m->heads[i].bytes, m->heads[i].n));
		text = sv_from(text, n);
		at += n;
	}
	buf_put(out, text);
	m->n_heads -= i;
	memmove(m->heads, m->heads + i, m->n_heads * sizeof *m->heads);
	buf_reset(&m->text);
}

/* Nothing is held back any more. */
static int let_go(struct websocket_mask *m, struct buf *out, struct err *e)
{
	if (scrub_finish(m->scrub, &m->text, e) < 0)
		return -1;
	put_text(m, out);
	return 0;
}

static int on_head(struct websocket_mask *m, const struct websocket_frames *f,
		   struct sv head, struct buf *out, struct err *e)
{
	struct websocket_mask_head *to;

	if ((f->is_control || m->n_heads == WEBSOCKET_MASK_FRAMES) &&
	    let_go(m, out, e) < 0)
		return -1;
	if (m->scrub->held.n == 0) {
		buf_put(out, head);
		return 0;
	}
	to = &m->heads[m->n_heads++];
	to->at = m->taken;
	to->n = head.n;
	memcpy(to->bytes, head.p, head.n);
	return 0;
}

static int on_data(struct websocket_mask *m, struct sv data, struct buf *out,
		   struct err *e)
{
	m->taken += data.n;
	if (scrub_push(m->scrub, data, &m->text, e) < 0)
		return -1;
	put_text(m, out);
	return 0;
}

int websocket_mask_push(struct websocket_mask *m, struct websocket_frames *f,
			struct sv in, struct buf *out, struct err *e)
{
	enum websocket_piece got;
	struct sv piece;
	int r = 0;

	while (in.n && !f->closed && r == 0) {
		got = websocket_next(f, &in, &piece);
		if (got == WEBSOCKET_MORE)
			break;
		if (got == WEBSOCKET_BAD)
			return err_kind(e, ERR_PROTO, "these are no proper "
					"frames of a WebSocket");
		r = got == WEBSOCKET_HEAD ? on_head(m, f, piece, out, e) :
					    on_data(m, piece, out, e);
		if (r == 0 && f->left == 0 && f->is_last)
			r = let_go(m, out, e);
	}
	return r < 0 ? -1 : buf_check(out, "a piece of a WebSocket", e);
}
