/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One entry of a file: the same outcome each time, and a value whose bytes are
 * the file's, in their order (JSON's escapes aside).  What a general parser of
 * JSON finds at the pointer is what is found.
 *
 * Input: a byte for the format, a key, a line feed, the file.
 */
#include <jansson.h>
#include <stdlib.h>

#include "fuzz.h"
#include "keyfile.h"

enum { ROOM = 512 };

struct outcome {
	int got;
	char room[ROOM];
	struct buf value;
	struct err e;
};

static void find(enum keyfile_format f, struct sv text, struct sv key,
		 struct outcome *ret)
{
	ret->e = (struct err){ 0 };
	ret->value = (struct buf){ .p = ret->room, .cap = ROOM, .max = ROOM };
	ret->got = keyfile_find(f, text, key, &ret->value, &ret->e);
	MUST(ret->value.p == ret->room && ret->value.n <= ROOM);
	MUST(ret->got < 0 ? ret->e.msg[0] : !ret->e.msg[0]);
	MUST(ret->got <= 0 || ret->value.n > 0);
}

static bool comes_from(struct sv value, struct sv text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n && n < value.n; i++)
		n += text.p[i] == value.p[n];
	return n == value.n;
}

/* A NUL, which jansson overlooks behind a number. */
static bool has_nul(struct sv v)
{
	return sv_find(v, '\0') < v.n;
}

/* The pointer followed in jansson's tree. */
static json_t *follow(json_t *at, struct sv pointer)
{
	while (at && pointer.n) {
		char name[256];
		struct sv part;
		uint64_t index;
		size_t n = 0;

		pointer = sv_from(pointer, 1);
		part = sv_head(pointer, sv_find(pointer, '/'));
		pointer = sv_from(pointer, part.n);
		if (json_is_array(at)) {
			at = sv_to_u64(part, UINT32_MAX, &index) ?
				json_array_get(at, index) : NULL;
			continue;
		}
		for (size_t i = 0; i < part.n && n < sizeof name - 1; i++)
			if (part.p[i] == '~')
				name[n++] = part.p[++i] == '1' ? '/' : '~';
			else
				name[n++] = part.p[i];
		at = json_object_getn(at, name, n);
	}
	return at;
}

static void compare(struct sv text, struct sv key, const struct outcome *ours)
{
	json_t *root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES |
				  JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
				  NULL);
	json_t *at = follow(root, key);
	struct sv theirs = sv_of(json_string_value(at), json_string_length(at));

	if (root && !at)
		MUST(ours->got == 0 || strstr(ours->e.msg, "brackets"));
	if (at && !json_is_string(at))
		MUST(ours->got < 0);
	if (json_is_string(at) && theirs.n && theirs.n <= ROOM)
		MUST(ours->got == 1 || strstr(ours->e.msg, "brackets"));
	if (at && ours->got == 1)
		MUST(sv_eq(theirs, buf_sv(&ours->value)));
	json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct outcome one, two;
	struct sv text = fuzz_input(data, size);
	enum keyfile_format f = fuzz_byte(&text) % (KEYFILE_DOTENV + 1);
	struct sv key = sv_cut(&text, '\n');
	char *alone;

	if (keyfile_format_fault(f, key) || key.n > 200)
		return 0;
	find(f, text, key, &one);
	/* Where nothing is behind it that could be read. */
	alone = malloc(text.n ? text.n : 1);
	if (!alone)
		return 0;
	if (text.n)
		memcpy(alone, text.p, text.n);
	find(f, sv_of(alone, text.n), key, &two);
	MUST(one.got == two.got && strcmp(one.e.msg, two.e.msg) == 0);
	MUST(sv_eq(buf_sv(&one.value), buf_sv(&two.value)));
	free(alone);
	if (f == KEYFILE_JSON && !has_nul(text))
		compare(text, key, &one);
	else if (f != KEYFILE_JSON && one.got > 0)
		MUST(comes_from(buf_sv(&one.value), text));
	return 0;
}
