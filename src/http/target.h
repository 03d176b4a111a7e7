/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, ports, request targets and paths: the one spelling of each.
 *
 * Every function returns NULL when its input is acceptable and otherwise a
 * constant sentence that says why not: what was sent never becomes part of an
 * error page or a log line.  Outputs are untouched on failure.
 *
 * An ambiguous input is refused, never repaired: two servers that read the
 * same bytes differently are two different requests, and only one of them
 * would have been decided.
 */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include "request.h"

/*
 * A host name: lower case, without its one trailing dot, labels of 1 to 63
 * bytes of [a-z0-9_-], 253 bytes in all.  *ret points into out.  It may still
 * be an address in disguise: see host_is_literal().
 */
must_check const char *host_canonical(struct sv raw, char out[HTTP_HOST_MAX],
				      struct sv *ret);
/*
 * Would any resolver or URL parser read it as an address?  Dotted, decimal,
 * octal, hexadecimal, shortened, bracketed or with a colon: everything whose
 * last label is a number.
 */
bool host_is_literal(struct sv host);
/* What the functions below return for an address in place of a name: worth a
 * status of its own (403), since nothing is malformed. */
extern const char target_literal[];

/* 1 to 65535, digits only, no leading zero. */
bool port_parse(struct sv raw, uint16_t *ret);

/* The port that a URL of that scheme means when it names none. */
uint16_t scheme_port(enum http_scheme scheme);

struct authority {
	struct sv host;		/* canonical, never a literal */
	uint16_t port;		/* 0: none was written */
	char text[HTTP_HOST_MAX]; /* what host points into */
};

/* "name" or "name:port", as in Host or CONNECT; no userinfo. */
must_check const char *authority_parse(struct sv raw, struct authority *ret);

/* The same, for a connection to host.  When that is localhost, 127.0.0.1 and [::1]
 * are other spellings of it: clients write what they connected to. */
must_check const char *authority_parse_for(struct sv host, struct sv raw,
					   struct authority *ret);

/* The forms of RFC 9112, 3.2; a caller says which of them it accepts. */
enum target_form {
	TARGET_ORIGIN = 1,	/* /path?query */
	TARGET_ABSOLUTE = 2,	/* http://host/path?query */
	TARGET_AUTHORITY = 4,	/* host:port, CONNECT only */
	TARGET_ASTERISK = 8,	/* *, OPTIONS only */
};

struct target {
	enum target_form form;
	enum http_scheme scheme;	/* with ABSOLUTE */
	struct authority authority;	/* with ABSOLUTE and AUTHORITY */
	struct sv path;			/* canonical; "/" for an absolute target
					   without one */
	bool has_query;
	struct sv query;
};

/* accepted: one or more enum target_form.  Views are the arena's or raw's. */
must_check const char *target_parse(struct sv raw, unsigned accepted,
				    struct arena *a, struct target *ret);

/*
 * The canonical path: unreserved characters decoded, hexadecimal digits in
 * upper case, %2F left in its segment.  Refused: dot segments in either
 * reading, empty segments, double encodings, backslashes, controls, what is
 * not UTF-8, and what normalises to a dot or a slash.
 * path_canonical(path_canonical(x)) is path_canonical(x).
 */
must_check const char *path_canonical(struct sv raw, struct arena *a,
				      struct sv *ret);
bool path_is_canonical(struct sv path);
/* Behind the '?': printable ASCII without '#', valid escapes. */
must_check const char *query_check(struct sv query);

#endif
