/* SPDX-License-Identifier: Apache-2.0 */
/* What a header field may be, and which of them end at this hop. */
#ifndef HTTP_FIELD_H
#define HTTP_FIELD_H

#include "request.h"

/* A character of a method or a field name (RFC 9110, 5.6.2). */
bool is_token_char(char c);
bool is_token(struct sv v);
/* Lower-case token. */
bool is_field_name(struct sv v);
/* Visible ASCII, space, tab and bytes from 0x80 on; no blank at either end. */
bool is_field_value(struct sv v);

/* Framing, routing or hop-by-hop: never in http_request.fields. */
bool field_is_hop(struct sv name);
/* Never forwarded and refused in a request: would replace the method. */
bool field_is_override(struct sv name);
/* Made for who is asking; not those that are for it and more, as Cookie. */
bool field_is_credential(struct sv name);
/* Never removed because a Connection field names it. */
bool field_is_protected(struct sv name);
/* May it be forwarded as a trailer: it does not frame, route or authenticate, and
 * says nothing of what the body is. */
bool field_is_trailer(struct sv name);
/* Would somebody take one for the other?  A gateway in front of an origin, or
 * its interface, reads "private_token", "private.token" and "private-token" as
 * one name. */
bool field_is_alias(struct sv a, struct sv b);
/* An alias of one that is hop or protected, and not that name itself. */
bool field_is_misspelt(struct sv name);

/* The next element of a comma-separated list, trimmed, or false at its end;
 * empty elements are skipped. */
bool list_next(struct sv *rest, struct sv *ret);
/* Is the token an element of the list?  Case-insensitive. */
bool list_has(struct sv list, struct sv token);

#endif
