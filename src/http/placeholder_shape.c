/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making placeholders: see placeholder.h.
 *
 * What clients check is what is known of each service's tokens: how they begin,
 * how long they are, which characters they have.  Two random bytes make one
 * character: that some are likelier by one in a thousand costs no bit.
 */
#include "base64.h"
#include "own.h"
#include "placeholder.h"
#include "placeholder_core.h"

_Static_assert(sizeof(PLACEHOLDER_MARK) - 1 + PLACEHOLDER_DIGITS ==
		       PLACEHOLDER_CORE_MAX, "the plain core is the longest");

/*
 * Behind the prefix: `!` is the core, `*N` N characters of the alphabet, `#N` N
 * decimal digits, `%` the checksum of what is behind the prefix (six characters);
 * anything else is itself.
 */
static const struct shape {
	struct sv like;
	const char *layout;
} shapes[] = {
	{ SV("ghp_"), "!%" },			/* GitHub */
	{ SV("gho_"), "!%" },
	{ SV("ghu_"), "!%" },
	{ SV("ghs_"), "!%" },
	{ SV("ghr_"), "!*46" },
	{ SV("github_pat_"), "*22_!*29" },
	{ SV("npm_"), "!%" },
	{ SV("glpat-"), "!*10.01#7" },		/* GitLab */
	{ SV("pypi-"), "AgEIcHlwaS5vcmc!*80" },
	{ SV("sk-ant-api03-"), "!*63AA" },	/* Anthropic */
	{ SV("sk-ant-oat01-"), "!*63AA" },
	{ SV("sk-proj-"), "!*28T3BlbkFJ*58" },	/* OpenAI */
	{ SV("sk-svcacct-"), "!*28T3BlbkFJ*58" },
	{ SV("sk-"), "!*18" },
	{ SV("sk-or-v1-"), "!*34" },		/* OpenRouter */
	{ SV("AIza"), "!*5" },			/* Google */
	{ SV("xoxb-"), "#12-#12-!" },		/* Slack */
	{ SV("xoxp-"), "#12-#12-!" },
};

/* Forty characters where nothing is known. */
static const char any_layout[] = "!*10";

struct maker {
	struct placeholder *p;
	struct buf text;	/* in p->text */
	const uint8_t *noise, *end;
};

static unsigned draw(struct maker *m, unsigned below)
{
	unsigned v;

	if (m->end - m->noise < 2) {	/* no layout asks for so many */
		m->text.full = true;
		return 0;
	}
	v = (unsigned)m->noise[0] << 8 | m->noise[1];
	m->noise += 2;
	return v % below;
}

static void put_letters(struct maker *m, unsigned n)
{
	static const char alphabet[] = PLACEHOLDER_ALPHABET;

	while (n--)
		buf_putc(&m->text, alphabet[draw(m, sizeof alphabet - 1)]);
}

static void put_digits(struct maker *m, unsigned n)
{
	/* The first is none that a number would not have. */
	buf_putc(&m->text, (char)('1' + draw(m, 9)));
	while (--n)
		buf_putc(&m->text, (char)('0' + draw(m, 10)));
}

static void put_core(struct maker *m)
{
	m->p->core_at = (uint8_t)m->text.n;
	buf_puts(&m->text, PLACEHOLDER_SHAPED_MARK);
	put_letters(m, PLACEHOLDER_LETTERS);
	m->p->core_n = (uint8_t)(m->text.n - m->p->core_at);
}

static uint32_t crc32(struct sv v)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < v.n; i++) {
		crc ^= (uint8_t)v.p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static void put_checksum(struct maker *m, size_t from)
{
	static const char alphabet[] = PLACEHOLDER_ALPHABET;
	uint32_t crc = crc32(sv_from(buf_sv(&m->text), from));
	char text[6];

	for (size_t i = sizeof text; i-- > 0; crc /= 62)
		text[i] = alphabet[crc % 62];
	buf_put(&m->text, sv_of(text, sizeof text));
}

static unsigned number_at(const char **at)
{
	unsigned n = 0;

	while (is_digit((*at)[1]))
		n = 10 * n + (unsigned)(*++*at - '0');
	return n;
}

static void put_layout(struct maker *m, const char *layout)
{
	size_t start = m->text.n;

	for (const char *at = layout; *at; at++) {
		if (*at == '!')
			put_core(m);
		else if (*at == '*')
			put_letters(m, number_at(&at));
		else if (*at == '#')
			put_digits(m, number_at(&at));
		else if (*at == '%')
			put_checksum(m, start);
		else
			buf_putc(&m->text, *at);
	}
}

/* What would decode, was signed by nobody, and is good for long.  A text of ASCII
 * and a length that three divides has the same base64 in both alphabets. */
static void put_jwt(struct maker *m)
{
	static const char last[] = "048AEIMQUYcgkosw";	/* no stray bits */
	static const struct sv header = SV("{\"alg\":\"HS256\",\"typ\":\"JWT\"}");
	char plain[72];
	struct buf claims = buf_of(plain, sizeof plain - 1);
	struct buf text = m->text;

	m->text = claims;
	buf_puts(&m->text, "{\"sub\":\"stockade\",\"exp\":4102444800,"
			   "\"jti\":\"");
	put_letters(m, PLACEHOLDER_LETTERS);
	buf_puts(&m->text, "\"}");
	claims = m->text;
	m->text = text;
	buf_put_base64(&m->text, header);
	buf_putc(&m->text, '.');
	buf_put_base64(&m->text, buf_sv(&claims));
	buf_putc(&m->text, '.');
	/* 43 characters are 32 bytes. */
	put_core(m);
	put_letters(m, 12);
	buf_putc(&m->text, last[draw(m, sizeof last - 1)]);
}

static void put_plain(struct maker *m)
{
	buf_puts(&m->text, PLACEHOLDER_MARK);
	buf_put_hex(&m->text, sv_of((const char *)m->noise,
				    PLACEHOLDER_DIGITS / 2));
	m->p->core_n = (uint8_t)m->text.n;
}

bool placeholder_make(const uint8_t noise[PLACEHOLDER_NOISE], struct sv like,
		      struct placeholder *ret)
{
	const char *layout = any_layout;
	struct maker m = { .p = ret, .noise = noise,
			   .end = noise + PLACEHOLDER_NOISE };

	*ret = (struct placeholder){ 0 };
	m.text = buf_of(ret->text, PLACEHOLDER_MAX);
	for (size_t i = 0; i < countof(shapes); i++)
		if (sv_eq(shapes[i].like, like))
			layout = shapes[i].layout;
	if (like.n == 0) {
		put_plain(&m);
	} else if (sv_eq(like, SV("jwt"))) {
		put_jwt(&m);
	} else {
		buf_put(&m.text, like);
		put_layout(&m, layout);
	}
	ret->n = (uint8_t)m.text.n;
	return !m.text.full;
}
