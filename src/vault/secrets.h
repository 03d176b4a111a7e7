/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets: values that no other process but dial ever sees, one at a time.
 *
 * A value lives in pages of its own that are locked, left out of core dumps
 * and of children, and wiped; nothing that logs or prints accepts the type.
 */
#ifndef VAULT_SECRETS_H
#define VAULT_SECRETS_H

#include "err.h"
#include "secret_text.h"
#include "sv.h"

enum { SECRETS_MAX = 256, SECRET_SIZE_MAX = SECRET_VALUE_MAX, SECRET_NAME_MAX = 128,
       SECRET_RENEWED_MIN = 4,	/* dial carries none that is shorter */
       SECRET_PAST_MAX = 3,	/* values from before that are masked */
       /* The value, its newline, and a byte that shows that there is more. */
       SECRET_ROOM = SECRET_SIZE_MAX + 2 };

struct secret {
	uint32_t id;
	char name[SECRET_NAME_MAX + 1];	/* for messages */
	char *value;		/* mapped; NULL: there is none */
	size_t n, mapped, room;	/* bytes */
	bool complete;		/* read to its end, and acceptable */
	uint32_t version;	/* from which on this is the value */
};

/* Room bytes of memory; ERR_SYS where they cannot be locked. */
must_check int secret_init(struct secret *s, uint32_t id, struct sv name,
			   size_t room, struct err *e);
/* Wipes; accepts a zeroed one. */
void secret_wipe(struct secret *s);

/*
 * Reads once from fd.  1 at the end of file with a value that is acceptable:
 * 1 to SECRET_SIZE_MAX bytes of visible ASCII, after one final newline was
 * dropped; 0 when more may come; -1 with an error that names the secret.
 */
must_check int secret_read(struct secret *s, int fd, struct err *e);

/* The same in its parts, whose errors do not name it: reads once, 1 at the end of
 * file or of the room; then checks what is there, and keeps it. */
must_check int secret_fill(struct secret *s, int fd, struct err *e);
must_check int secret_accept(struct secret *s, struct err *e);

/* Empty until it is complete. */
static inline struct sv secret_value(const struct secret *s)
{
	return s->complete ? sv_of(s->value, s->n) : sv_of(NULL, 0);
}

#endif
