/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the table calls "fields" and "edits", and the canonical request as a
 * message.
 */
#ifndef WIRE_HEAD_H
#define WIRE_HEAD_H

#include "buf.h"
#include "codec.h"
#include "request.h"

/* Fields: a sequence of (name, value), each with its length. */
void head_put_fields(struct buf *b, const struct http_fields *f);
/* Views into bytes; the array is the arena's. */
must_check int head_get_fields(struct sv bytes, struct arena *a,
			       struct http_fields *ret, struct err *e);

/* An edit: where dial puts a credential into an exchange. */
enum edit_form {
	EDIT_REPLACE = 1,	/* the placeholder inside the field's value */
	EDIT_BASIC = 2,		/* the password of "Basic base64(user:...)" */
	EDIT_ADD = 3,		/* the whole value: prefix + secret */
	EDIT_ADD_BASIC = 4,	/* "Basic " + base64(prefix ":" secret) */
	EDIT_MASK = 5,		/* nowhere: only masked in the response */
	EDIT_QUERY = 6,		/* the value of the query's pair */
	EDIT_ADD_QUERY = 7,	/* a pair more */
};

enum { EDITS_MAX = 8 };

struct edit {
	enum edit_form form;
	struct sv field;	/* lower-case name; ADD removes all of it first;
				   with MASK the field that it would be in;
				   with QUERY and ADD_QUERY the pair's key */
	struct sv placeholder;	/* with REPLACE, BASIC and QUERY */
	struct sv prefix;	/* with ADD: "Bearer "; with ADD_BASIC: user */
	uint32_t secret;	/* its number */
};

static inline bool edit_is_of_query(const struct edit *edit)
{
	return edit->form == EDIT_QUERY || edit->form == EDIT_ADD_QUERY;
}

void head_put_edit(struct buf *b, const struct edit *edit);
/* At most EDITS_MAX; views into bytes. */
must_check int head_get_edits(struct sv bytes, struct edit ret[EDITS_MAX],
			      size_t *ret_n, struct err *e);

/* The shared part of REQUEST and EXCHANGE.  scratch holds the fields and must
 * outlive the message. */
void head_to_request(const struct http_request *r, uint32_t conn, uint32_t id,
		     struct buf *scratch, struct msg_REQUEST *ret);
must_check int head_from_request(const struct msg_REQUEST *m, struct arena *a,
				 struct http_request *ret, struct err *e);
/* EXCHANGE begins with the members of REQUEST; this copies them. */
void head_exchange_of(const struct msg_REQUEST *m, struct msg_EXCHANGE *ret);
void head_request_of(const struct msg_EXCHANGE *m, struct msg_REQUEST *ret);

#endif
