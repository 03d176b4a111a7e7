/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders that stay what they are: in every place of a request where none is
 * replaced.  They are harmless there, and tell that a client was given the wrong
 * one, or that somebody tries to send it away.
 */
#ifndef WARDEN_STRAY_H
#define WARDEN_STRAY_H

#include "credential_set.h"

/* Adds to use->strays what the head of r has, beside what use edits. */
void stray_find(const struct credential_set *s, const struct http_request *r,
		struct credential_use *use);

#endif
