/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON (reading is jansson's, where it is needed).
 *
 * The writer appends to a buffer and puts the commas itself.  Strings come
 * from hostile places: everything outside printable ASCII is escaped, invalid
 * UTF-8 becomes U+FFFD, so that a line stays one line and a terminal stays
 * itself.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "buf.h"

struct json {
	struct buf *out;	/* borrowed */
	bool comma;		/* the next value or key needs one */
	bool keyed;		/* a key was written, its value is next */
	int indent;		/* 0: one line; else current depth + 1 */
};

static inline struct json json_line(struct buf *out)
{
	return (struct json){ .out = out };
}

static inline struct json json_pretty(struct buf *out)
{
	return (struct json){ .out = out, .indent = 1 };
}

void json_open(struct json *j, char bracket);	/* '{' or '[' */
void json_close(struct json *j, char bracket);	/* '}' or ']' */
void json_key(struct json *j, const char *key);
void json_sv(struct json *j, struct sv v);
void json_str(struct json *j, const char *s);	/* NULL gives null */
void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);
void json_bool(struct json *j, bool v);
/* null; jansson owns the obvious name, also in the dynamic linker's eyes. */
void json_nil(struct json *j);

/* Key and value at once, the usual case. */
void json_put_sv(struct json *j, const char *key, struct sv v);
void json_put_str(struct json *j, const char *key, const char *s);
void json_put_u64(struct json *j, const char *key, uint64_t v);
void json_put_bool(struct json *j, const char *key, bool v);

/* How much of v, from the front, a terminal may be shown as it is. */
size_t visible_length(struct sv v);

/* v for a terminal or a one-line message: control bytes, escapes and invalid
 * UTF-8 are shown as \xNN. */
void buf_put_visible(struct buf *b, struct sv v);

#endif
