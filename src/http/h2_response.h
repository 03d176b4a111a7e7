/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads and trailers of HTTP/2 responses, from their lists of fields (h2_head.h)
 * to what those of HTTP/1 become.  What the frames were is not known here.
 */
#ifndef HTTP_H2_RESPONSE_H
#define HTTP_H2_RESPONSE_H

#include "h2_head.h"

/*
 * The response to a request with that method, or -1 with the reason in
 * list->why.  ended: no body follows.  A status below 200 (100 or 103 only) is
 * an interim head.  The fields of the list are used up.
 */
must_check int h2_parse_response(struct h2_list *list, bool ended,
				 struct sv method, struct arena *a,
				 struct http_response *ret);

/*
 * Trailers that may be forwarded: without those that frame, route or authenticate,
 * or say what the body is.  -1: malformed, as above.
 */
must_check int h2_parse_trailers(struct h2_list *list,
				 struct http_fields *ret);

#endif
