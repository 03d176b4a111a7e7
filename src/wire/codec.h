/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to bytes and back, made from the table in messages.h. */
#ifndef WIRE_CODEC_H
#define WIRE_CODEC_H

#include "buf.h"
#include "err.h"
#include "messages.h"

const char *msg_name(enum msg_kind kind);

/* Appends kind and fields; a view above its maximum sets b->full. */
void msg_encode(struct buf *b, const struct msg *m);

/*
 * Decodes bytes that `from` sent to `to`, and checks all that the table says
 * about kind, pair, phase and lengths; ERR_PROTO else.  Views in *ret point
 * into bytes.  Descriptors are the channel's business, but their number is
 * checked here: n_fds of *ret is an input.
 */
must_check int msg_decode(struct sv bytes, enum role from, enum role to,
			  enum phase phase, struct msg *ret, struct err *e);
/* The same of the first of several, which *bytes loses. */
must_check int msg_decode_first(struct sv *bytes, enum role from, enum role to,
				enum phase phase, struct msg *ret,
				struct err *e);

#endif
