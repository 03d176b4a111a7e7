/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `publish PORT`: a port of the host's loopback leads to the same one inside.
 *
 * For each connection pid 1 makes a socket, which belongs to the network that
 * it was made in whoever has it; it is connected from here, and joined to the
 * one that came (tunnel.h).  So nobody enters the sandbox's network, and nothing
 * inside learns of the host's but that somebody has called.  The record has a
 * line for each before anything is passed on.
 */
#ifndef CLI_PUBLISH_H
#define CLI_PUBLISH_H

#include "launch.h"
#include "loop.h"
#include "warden.h"

struct publish;

/* Listens; *ret is NULL where the policy publishes nothing.  A port that is in
 * use is an error.  All arguments are borrowed until publish_close(). */
must_check int publish_open(struct publish **ret, const struct policy *p,
			    struct loop *loop, struct sandbox *sandbox,
			    struct warden *warden, struct err *e);
/* Not where the sandbox's own listener has such a port: a call would reach edge,
 * as if the agent had made it. */
must_check int publish_check(const struct publish *p, int capture_fd,
			     struct err *e);
/* From here on connections are accepted: the command runs. */
must_check int publish_serve(struct publish *p, struct err *e);
/* The answer of pid 1 to the oldest call; takes the socket, -1 where there is
 * none. */
void publish_take(struct publish *p, int socket_fd);
/* Accepts NULL. */
void publish_close(struct publish *p);

#endif
