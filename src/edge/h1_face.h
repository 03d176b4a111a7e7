/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1 with the agent: one call, one request after the other. */
#ifndef EDGE_H1_FACE_H
#define EDGE_H1_FACE_H

#include "face.h"

extern const struct face h1_face;

/* For h1_face.c: the requests, in h1_reader.c. */
bool h1_step(struct conn *c);
void h1_check_deadline(struct conn *c, uint64_t waited_ms);

#endif
