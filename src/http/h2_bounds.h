/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an HTTP/2 peer may make nghttp2 do, the same for the agent and for
 * origins; and the bytes that it hands on.
 */
#ifndef HTTP_H2_BOUNDS_H
#define HTTP_H2_BOUNDS_H

#include <nghttp2/nghttp2.h>

#include "sv.h"

enum {
	/* Of a connection.  It bounds nothing, as it is opened at once: with a small
	 * one a client waits for us and not for the socket. */
	H2_SESSION_WINDOW = 1 << 24,
	H2_SETTINGS_MAX = 16,		/* in a frame */
	H2_ACKS_MAX = 100,		/* that wait to be sent */
	H2_CONTINUATIONS_MAX = 8,	/* of a head */
};

/* The caller's; NULL: out of memory. */
static inline nghttp2_option *h2_bounds_new(void)
{
	nghttp2_option *o;

	if (nghttp2_option_new(&o) != 0)
		return NULL;
	/* Windows open as the other side of us takes what came. */
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_max_settings(o, H2_SETTINGS_MAX);
	nghttp2_option_set_max_outbound_ack(o, H2_ACKS_MAX);
	nghttp2_option_set_max_continuations(o, H2_CONTINUATIONS_MAX);
	return o;
}

static inline struct sv sv_of_u8(const uint8_t *p, size_t n)
{
	return sv_of((const char *)p, n);
}

#endif
