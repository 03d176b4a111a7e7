/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: bytes that somebody else owns, with their length.
 *
 * Everything that comes from outside is a view, never a C string, so that a
 * NUL is just another byte and a length is never computed twice.
 */
#ifndef BASE_SV_H
#define BASE_SV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sv {
	const char *p;	/* may be NULL when n is 0 */
	size_t n;
};

#define SV(lit) ((struct sv){ .p = ("" lit), .n = sizeof(lit) - 1 })
/* For printf: "%.*s", SV_FMT(v). */
#define SV_FMT(v) (int)(v).n, (v).p ? (v).p : ""

static inline struct sv sv_of(const char *p, size_t n)
{
	return (struct sv){ .p = p, .n = n };
}

static inline struct sv sv_str(const char *s)
{
	return s ? sv_of(s, strlen(s)) : (struct sv){ 0 };
}

static inline bool sv_eq(struct sv a, struct sv b)
{
	/* NULL has no length, which clang's analyser cannot see. */
	return a.n == b.n && (a.n == 0 ||
			      (a.p && b.p && memcmp(a.p, b.p, a.n) == 0));
}

static inline bool sv_starts(struct sv v, struct sv prefix)
{
	return v.n >= prefix.n && sv_eq(sv_of(v.p, prefix.n), prefix);
}

static inline bool sv_ends(struct sv v, struct sv suffix)
{
	return v.n >= suffix.n &&
	       sv_eq(sv_of(v.p + v.n - suffix.n, suffix.n), suffix);
}

/* The part of v from offset `from` (at most v.n) on. */
static inline struct sv sv_from(struct sv v, size_t from)
{
	if (from >= v.n)	/* adding to NULL is undefined, even nothing */
		return sv_of(v.n ? v.p + v.n : v.p, 0);
	return sv_of(v.p + from, v.n - from);
}

static inline struct sv sv_head(struct sv v, size_t n)
{
	return sv_of(v.p, n < v.n ? n : v.n);
}

/* ASCII only, independent of locale. */
bool sv_eq_nocase(struct sv a, struct sv b);
/* Of two paths, as for qsort(): '/' comes before any other byte, so that what is
 * in a directory follows it at once. */
int sv_compare_paths(struct sv a, struct sv b);
/* Cuts what is before the first `separator` from *rest, and that one with it;
 * without one, all. */
struct sv sv_cut(struct sv *rest, char separator);
/* Index of the first byte c, or v.n. */
size_t sv_find(struct sv v, char c);
/* Index of the first occurrence of needle, or v.n. */
size_t sv_find_sv(struct sv v, struct sv needle);
/* Without spaces and tabs at both ends. */
struct sv sv_trim(struct sv v);
/* Decimal digits only, no sign, no leading zero but "0" itself. */
bool sv_to_u64(struct sv v, uint64_t max, uint64_t *ret);

static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_alpha(char c)
{
	c = ascii_lower(c);
	return c >= 'a' && c <= 'z';
}

/* A character that a URL never needs to encode (RFC 3986, 2.3). */
static inline bool is_unreserved(char c)
{
	return is_alpha(c) || is_digit(c) || c == '-' || c == '.' ||
	       c == '_' || c == '~';
}

/* Nothing but letters, digits, dots, dashes and underscores; also when empty. */
bool sv_is_name(struct sv v);
/* Value of a hexadecimal digit, or -1. */
int hex_value(char c);

#endif
