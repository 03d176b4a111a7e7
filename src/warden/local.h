/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reach NAME via unix:PATH`: connections to a socket of this machine.
 *
 * warden makes them, as it has the rights of the person who named the socket:
 * the helpers have given up theirs when root started them, and none but resolve
 * can make a socket.  Nothing is read or written here.
 */
#ifndef WARDEN_LOCAL_H
#define WARDEN_LOCAL_H

#include "sv.h"

/* A connected stream, not blocking; or -1 and why. */
int local_connect(struct sv path, const char **why);

#endif
