/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of an HTTP/2 request, from its list of fields to struct
 * http_request.  What the frames were is not known here.
 */
#ifndef HTTP_H2_HEAD_H
#define HTTP_H2_HEAD_H

#include "h1_head.h"
#include "h1_request.h"		/* struct h1_inlet */

/* The fields as they came, pseudo-header fields among them.  A cookie may come
 * in crumbs, so there may be more of them than of a request. */
enum { H2_FIELDS_MAX = 256 };

struct h2_list {
	struct http_fields fields;
	size_t cap, bytes;
	struct h1_refusal why;	/* set: no request any more */
};

/* Copies into the arena.  What does not fit, or comes behind it, is dropped,
 * and the request will be refused. */
void h2_list_add(struct h2_list *l, struct arena *a, struct sv name,
		 struct sv value);

/*
 * The canonical request, or -1 with the reason in list->why.  It is for the
 * inlet's scheme, host and port: what it says of them must agree.  ended: no
 * body follows.  The fields of the list are used up.
 */
must_check int h2_parse_request(struct h2_list *list, bool ended,
				const struct h1_inlet *inlet, struct arena *a,
				struct http_request *ret);

/* For h2_response.c: a field that is no pseudo-header field. */
must_check int h2_field_check(const struct http_field *f,
			      struct h1_refusal *why);

#endif
