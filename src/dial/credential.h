/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts one credential into the one place of a request that its rule names.
 */
#ifndef DIAL_CREDENTIAL_H
#define DIAL_CREDENTIAL_H

#include "arena.h"
#include "buf.h"
#include "head.h"
#include "request.h"

/* Bytes for the values of all edits of one request: buf_new(CREDENTIAL_ROOM). */
enum { CREDENTIAL_ROOM = 65536 };

/*
 * Applies edit with the value that vault leased.  What holds the value is
 * appended to scratch, which its owner wipes (buf_wipe) once the request is
 * written; scratch takes all its room at once and never moves, so the views
 * into it hold and no copy is left behind.  The array of fields is the
 * arena's; r, of which fields and query are looked at, is changed only on success.
 *
 * On failure nothing may be sent: ERR_PROTO when the placeholder is not
 * exactly once in exactly one field of that name, or pair of that key, or the
 * value is not visible ASCII; ERR_LIMIT when there is no room.
 */
must_check int credential_apply(const struct edit *edit, struct sv value,
				struct http_request *r, struct arena *a,
				struct buf *scratch, struct err *e);

/*
 * What every request that carries a credential must look like, so that the
 * response can be scrubbed: no coding but identity, and whole, not in ranges
 * that would hand out a reflected value byte by byte.
 */
must_check int credential_shape(struct http_fields *f, struct arena *a,
				struct err *e);

#endif
