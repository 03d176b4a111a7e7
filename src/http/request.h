/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one canonical request.
 *
 * edge builds it from the agent's bytes, warden re-checks and decides it, dial
 * serialises it for the origin: nobody forwards the bytes that it came from.
 * All views point into memory of whoever built it.
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include "arena.h"
#include "err.h"
#include "sv.h"

enum {
	HTTP_METHOD_MAX = 32,
	HTTP_HOST_MAX = 253,		/* RFC 1035, 2.3.4 */
	HTTP_PATH_MAX = 8192,
	HTTP_QUERY_MAX = 16384,
	HTTP_FIELDS_MAX = 128,		/* fields in one head */
	HTTP_HEAD_MAX = 65536,		/* bytes of one head */
};

enum http_scheme { HTTP_PLAIN = 1, HTTP_TLS = 2 };

enum http_body {
	HTTP_BODY_NONE = 0,
	HTTP_BODY_LENGTH = 1,	/* exactly `length` bytes */
	HTTP_BODY_CHUNKED = 2,	/* until the last chunk */
	HTTP_BODY_CLOSE = 3,	/* responses only: until the connection ends */
};

struct http_field {
	struct sv name;		/* lower case token */
	struct sv value;	/* trimmed; no CR, LF, NUL or other control */
};

struct http_fields {
	struct http_field *v;
	size_t n;
};

struct http_request {
	enum http_scheme scheme;
	struct sv host;		/* lower case, no trailing dot, no port */
	uint16_t port;		/* never 0 */
	struct sv method;	/* token, case-sensitive */
	struct sv path;		/* canonical, starts with '/' */
	bool has_query;
	struct sv query;	/* behind the '?', as it was */
	struct http_fields fields; /* end-to-end ones only, without host,
				      content-length, transfer-encoding,
				      connection and the like */
	enum http_body body;
	uint64_t length;	/* with HTTP_BODY_LENGTH */
	bool upgrade;		/* to a WebSocket: a GET without a body, whose
				   key and version are not among the fields */
	bool expects_continue;	/* the agent waits for a 100 */
	bool close;		/* the agent's connection ends after it */
	bool trailers;		/* the agent takes those of the response */
	bool h2;		/* it came over HTTP/2, and may go on so */
};

struct http_response {
	uint16_t status;	/* 100 to 599 */
	bool upgrade;		/* a 101: a WebSocket follows, as the body */
	struct http_fields fields; /* end-to-end ones, as above; the answer to
				      HEAD keeps its content-length here */
	enum http_body body;
	uint64_t length;
	bool close;		/* the origin's connection ends after it */
};

/* Nothing follows its head. */
static inline bool request_is_bare(const struct http_request *r)
{
	return r->body == HTTP_BODY_NONE && !r->upgrade;
}

/* The value of the first field of that (lower-case) name; .p NULL if none. */
struct sv http_field_get(const struct http_fields *f, struct sv name);

#endif
