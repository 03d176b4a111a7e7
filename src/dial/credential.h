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

/*
 * Applies edit with the value that vault leased.  The new field's value is
 * appended to scratch, which its owner wipes (buf_wipe) once the request is
 * written; scratch must be able to hold it without moving what earlier edits
 * put there: reserve CREDENTIAL_ROOM for each edit beforehand.
 *
 * On failure f is unchanged and nothing may be sent: ERR_PROTO when the
 * placeholder is not exactly once in exactly one field of that name, or the
 * value is not visible ASCII; ERR_LIMIT when there is no room.
 */
enum { CREDENTIAL_ROOM = 65536 };
must_check int credential_apply(const struct edit *edit, struct sv value,
				struct http_fields *f, struct arena *a,
				struct buf *scratch, struct err *e);

/*
 * What every request that carries a credential must look like, so that the
 * response can be scrubbed: no coding but identity, and whole, not in ranges
 * that would hand out a reflected value byte by byte.
 */
must_check int credential_shape(struct http_fields *f, struct arena *a,
				struct err *e);

#endif
