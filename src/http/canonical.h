/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second look at a canonical request, by the process that decides: it
 * trusts nothing of what the parser in front of it claims to have done.
 */
#ifndef HTTP_CANONICAL_H
#define HTTP_CANONICAL_H

#include "buf.h"
#include "request.h"

/* NULL when everything that request.h says of a request holds, else why not
 * (a constant sentence). */
must_check const char *request_check(const struct http_request *r);
/* The same of its host alone. */
must_check const char *host_check(struct sv host);
bool request_is_canonical(const struct http_request *r);

/* Its URL, for people and for the record; the port unless it is usual. */
void request_put_url(const struct http_request *r, struct buf *ret);

#endif
