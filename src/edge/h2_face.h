/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 with the agent: each stream is a call of its own. */
#ifndef EDGE_H2_FACE_H
#define EDGE_H2_FACE_H

#include "face.h"
#include "h2_session.h"

extern const struct face h2_face;

/* For h2_session.c: an idle call for a stream; NULL: there are too many. */
must_check struct call *h2_take_call(struct h2 *h);

/* For h2_face.c: the requests, in h2_reader.c. */
bool h2_step(struct conn *c);
void h2_check_deadline(struct conn *c, uint64_t waited_ms);

/* For h2_reader.c: the call is through with its stream, for good or not. */
void h2_part(struct h2_stream *s);
/* The call cannot go on: its number ends. */
void h2_retire_call(struct call *call);
/* The stream is not answered, and its call ends. */
void h2_give_up(struct h2_stream *s, uint32_t error);

#endif
