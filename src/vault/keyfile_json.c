/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON (RFC 8259), and a JSON Pointer (RFC 6901) into it.
 *
 * The whole text is checked, no tree of it is made: what a general parser would
 * leave behind in memory are the other secrets of the file.
 */
#include "keyfile.h"

enum { DEPTH_MAX = 64 };

struct document {
	struct sv text;
	size_t at;
	unsigned depth;
	bool found;
	struct buf *ret;
	struct err *e;
};

/* Where the characters of a string go: to *out, or, without, to be compared
 * with a part of the pointer. */
struct sink {
	struct buf *out;
	struct sv want;
	bool differs;
};

static int fault(const struct document *d, const char *what)
{
	return keyfile_fault(d->e, d->text, d->text.p + d->at, what);
}

static int malformed(const struct document *d)
{
	return fault(d, "malformed JSON");
}

/* NUL at the end, and no JSON has one. */
static char peek(const struct document *d)
{
	return d->at < d->text.n ? d->text.p[d->at] : '\0';
}

static void skip_blanks(struct document *d)
{
	while (peek(d) && strchr(" \t\r\n", peek(d)))
		d->at++;
}

static bool accept(struct document *d, char c)
{
	if (peek(d) != c)
		return false;
	d->at++;
	return true;
}

static void put(struct sink *to, uint32_t byte)
{
	char want;

	if (to->out) {
		buf_putc(to->out, (char)byte);
		return;
	}
	if (to->want.n == 0) {
		to->differs = true;
		return;
	}
	want = to->want.p[0];
	if (want == '~' && to->want.n > 1) {
		want = to->want.p[1] == '1' ? '/' : '~';
		to->want = sv_from(to->want, 1);
	}
	to->differs |= want != (char)byte;
	to->want = sv_from(to->want, 1);
}

/* As UTF-8. */
static void put_code(struct sink *to, uint32_t code)
{
	static const uint32_t front[] = { 0, 0xc0, 0xe0, 0xf0 };
	unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 :
			code < 0x10000 ? 2 : 3;

	put(to, front[more] | code >> 6 * more);
	while (more--)
		put(to, 0x80 | (code >> 6 * more & 0x3f));
}

static int four_digits(struct document *d, uint32_t *ret)
{
	uint32_t code = 0;

	for (int i = 0; i < 4; i++) {
		int digit = hex_value(peek(d));

		if (digit < 0)
			return malformed(d);
		code = code << 4 | (uint32_t)digit;
		d->at++;
	}
	*ret = code;
	return 0;
}

/* Behind \u; the second half of a pair as well. */
static int read_code(struct document *d, struct sink *to)
{
	uint32_t code, low;

	if (four_digits(d, &code) < 0)
		return -1;
	if (code >= 0xd800 && code < 0xdc00) {
		if (!accept(d, '\\') || !accept(d, 'u'))
			return malformed(d);
		if (four_digits(d, &low) < 0)
			return -1;
		if (low < 0xdc00 || low > 0xdfff)
			return malformed(d);
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	} else if (code >= 0xdc00 && code < 0xe000) {
		return malformed(d);
	}
	put_code(to, code);
	return 0;
}

static int read_escape(struct document *d, struct sink *to)
{
	static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	const char *name;

	if (accept(d, 'u'))
		return read_code(d, to);
	name = peek(d) ? strchr(names, peek(d)) : NULL;
	if (!name)
		return malformed(d);
	d->at++;
	put(to, (unsigned char)means[name - names]);
	return 0;
}

/* From its opening quote on. */
static int read_string(struct document *d, struct sink *to)
{
	d->at++;
	while (!accept(d, '"')) {
		unsigned char c = (unsigned char)peek(d);

		if (c < ' ')
			return malformed(d);
		d->at++;
		if (c != '\\')
			put(to, c);
		else if (read_escape(d, to) < 0)
			return -1;
	}
	return 0;
}

static bool skip_digits(struct document *d)
{
	size_t from = d->at;

	while (is_digit(peek(d)))
		d->at++;
	return d->at > from;
}

static int read_number(struct document *d)
{
	(void)accept(d, '-');
	if (!accept(d, '0') && !skip_digits(d))
		return malformed(d);
	if (accept(d, '.') && !skip_digits(d))
		return malformed(d);
	if (accept(d, 'e') || accept(d, 'E')) {
		if (!accept(d, '+'))
			(void)accept(d, '-');
		if (!skip_digits(d))
			return malformed(d);
	}
	return 0;
}

static int read_scalar(struct document *d)
{
	static const struct sv words[] = { SV("true"), SV("false"), SV("null") };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (sv_starts(sv_from(d->text, d->at), words[i])) {
			d->at += words[i].n;
			return 0;
		}
	return read_number(d);
}

static int read_value(struct document *d, struct sv pointer);

/* The pointer's first part; what is behind it, which is not NULL, in *rest. */
static struct sv first_part(struct sv pointer, struct sv *rest)
{
	struct sv part = sv_from(pointer, 1);

	part = sv_head(part, sv_find(part, '/'));
	*rest = sv_from(pointer, 1 + part.n);
	return part;
}

static int read_member(struct document *d, struct sv pointer, bool *seen)
{
	struct sv rest;
	struct sink name = { .want = first_part(pointer, &rest) };
	bool is_it;

	skip_blanks(d);
	if (peek(d) != '"')
		return malformed(d);
	if (read_string(d, &name) < 0)
		return -1;
	is_it = pointer.p && !name.differs && name.want.n == 0;
	if (is_it && *seen)
		return fault(d, KEYFILE_TWICE);
	*seen |= is_it;
	skip_blanks(d);
	if (!accept(d, ':'))
		return malformed(d);
	return read_value(d, is_it ? rest : (struct sv){ 0 });
}

static int read_element(struct document *d, struct sv pointer, uint64_t index)
{
	struct sv rest, part = first_part(pointer, &rest);
	uint64_t wanted;
	bool is_it = pointer.p && sv_to_u64(part, UINT32_MAX, &wanted) &&
		     wanted == index;

	return read_value(d, is_it ? rest : (struct sv){ 0 });
}

/* Of an object or an array, from its opening bracket on. */
static int read_inside(struct document *d, struct sv pointer)
{
	bool is_object = peek(d) == '{', seen = false;
	char end = is_object ? '}' : ']';
	uint64_t index = 0;

	d->at++;
	skip_blanks(d);
	if (accept(d, end))
		return 0;
	for (;;) {
		int rc = is_object ? read_member(d, pointer, &seen) :
				     read_element(d, pointer, index++);

		if (rc < 0)
			return -1;
		skip_blanks(d);
		if (accept(d, end))
			return 0;
		if (!accept(d, ','))
			return malformed(d);
	}
}

/* pointer is what is left of it; .p is NULL where it leads elsewhere. */
static int read_value(struct document *d, struct sv pointer)
{
	struct sink to = { 0 };
	int rc;

	skip_blanks(d);
	if (pointer.p && pointer.n == 0) {
		if (peek(d) != '"')
			return fault(d, "the entry is not a string");
		to.out = d->ret;
		d->found = true;
	}
	if (peek(d) == '"')
		return read_string(d, &to);
	if (peek(d) != '{' && peek(d) != '[')
		return read_scalar(d);
	if (++d->depth > DEPTH_MAX)
		return fault(d, "too many brackets within brackets");
	rc = read_inside(d, pointer);
	d->depth--;
	return rc;
}

int keyfile_json(struct sv text, struct sv key, struct buf *ret,
		 struct err *e)
{
	struct document d = { .text = text, .ret = ret, .e = e };

	if (read_value(&d, key) < 0)
		return -1;
	skip_blanks(&d);
	if (d.at < text.n)
		return malformed(&d);
	return d.found;
}
