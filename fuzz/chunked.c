/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunked coding against a decoder of whole buffers that is written line
 * by line and shares nothing with it; and cut at two points.
 */
#include "buf.h"
#include "chunked.h"
#include "fuzz.h"

/* A line that ends in CRLF, off the front; -1 bad, 0 more, 1 a line. */
static int line_take(struct sv *in, struct sv *line)
{
	size_t cr = sv_find(*in, '\r');
	size_t lf = sv_find(*in, '\n');

	if (lf < cr || (cr + 1 < in->n && in->p[cr + 1] != '\n'))
		return -1;
	if (cr + 1 >= in->n)
		return 0;
	*line = sv_head(*in, cr);
	*in = sv_from(*in, cr + 2);
	return 1;
}

static bool is_clean(struct sv v)
{
	for (size_t i = 0; i < v.n; i++)
		if (((uint8_t)v.p[i] < ' ' && v.p[i] != '\t') ||
		    v.p[i] == 0x7f)
			return false;
	return true;
}

/* Quotes are closed. */
static bool is_extension(struct sv v)
{
	bool quoted = false;

	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] == '"')
			quoted = !quoted;
		else if (v.p[i] == '\\' && quoted && ++i == v.n)
			return false;
	}
	return !quoted && is_clean(v);
}

static bool size_read(struct sv line, uint64_t *ret)
{
	size_t mark = sv_find(line, ';');
	struct sv digits = sv_head(line, mark);
	uint64_t size = 0;

	if (digits.n == 0 || digits.n > 16 || line.n - mark > 256)
		return false;
	for (size_t i = 0; i < digits.n; i++) {
		if (hex_value(digits.p[i]) < 0)
			return false;
		size = size * 16 + (uint64_t)hex_value(digits.p[i]);
	}
	if (size > INT64_MAX || !is_extension(sv_from(line, mark)))
		return false;
	*ret = size;
	return true;
}

static bool is_trailer(struct sv line)
{
	size_t colon = sv_find(line, ':');

	if (colon == 0 || colon == line.n || !is_clean(line))
		return false;
	for (size_t i = 0; i < colon; i++)
		if (line.p[i] <= ' ' || line.p[i] >= 0x7f ||
		    strchr("\"(),/;<=>?@[\\]{}", line.p[i]))
			return false;
	return true;
}

/* END with *rest set, or something else. */
static enum chunked_result reference(struct sv in, struct buf *out,
				     struct sv *rest)
{
	for (;;) {
		struct sv line;
		uint64_t size;
		int r = line_take(&in, &line);

		if (r <= 0)
			return r < 0 ? CHUNKED_BAD : CHUNKED_MORE;
		if (!size_read(line, &size))
			return CHUNKED_BAD;
		if (size == 0)
			break;
		buf_put(out, sv_head(in, size < in.n ? (size_t)size : in.n));
		if (size > in.n || in.n - size < 2)
			return CHUNKED_MORE;
		in = sv_from(in, (size_t)size);
		if (in.p[0] != '\r' || in.p[1] != '\n')
			return CHUNKED_BAD;
		in = sv_from(in, 2);
	}
	for (;;) {
		struct sv line;
		int r = line_take(&in, &line);

		if (r <= 0)
			return r < 0 ? CHUNKED_BAD : CHUNKED_MORE;
		*rest = in;
		if (line.n == 0)
			return CHUNKED_END;
		if (!is_trailer(line))
			return CHUNKED_BAD;
	}
}

static enum chunked_result decode(struct sv in, size_t first, size_t second,
				  struct buf *out, size_t *rest)
{
	struct sv pieces[3] = { sv_head(in, first),
				sv_head(sv_from(in, first), second),
				sv_from(in, first + second) };
	struct chunked c = { 0 };
	enum chunked_result r = CHUNKED_MORE;

	*rest = 0;
	for (size_t i = 0; i < 3; i++) {
		struct sv data;

		while (r == CHUNKED_MORE || r == CHUNKED_DATA) {
			r = chunked_next(&c, &pieces[i], &data);
			if (r != CHUNKED_DATA)
				break;
			MUST(data.n);
			buf_put(out, data);
		}
		*rest += pieces[i].n;
	}
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);
	size_t first = fuzz_byte(&in), second = fuzz_byte(&in);
	auto_buf struct buf whole = buf_new(1 << 20);
	auto_buf struct buf cut = buf_new(1 << 20);
	auto_buf struct buf other = buf_new(1 << 20);
	size_t rest, rest_cut;
	struct sv rest_other = { 0 };
	enum chunked_result r = decode(in, 0, 0, &whole, &rest);
	enum chunked_result expected = reference(in, &other, &rest_other);

	MUST(decode(in, first, second, &cut, &rest_cut) == r);
	MUST(sv_eq(buf_sv(&whole), buf_sv(&cut)));
	if (r == CHUNKED_END)
		MUST(rest == rest_cut);
	MUST((r == CHUNKED_END) == (expected == CHUNKED_END) ||
	     size > CHUNK_TRAILERS_MAX);
	/* The reference sees a bad line only once it is whole. */
	MUST(!(r == CHUNKED_MORE && expected == CHUNKED_BAD));
	if (expected == CHUNKED_END && r == CHUNKED_END) {
		MUST(rest == rest_other.n);
		MUST(sv_eq(buf_sv(&whole), buf_sv(&other)));
	}
	return 0;
}
