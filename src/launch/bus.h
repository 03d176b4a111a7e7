/* SPDX-License-Identifier: Apache-2.0 */
/*
 * D-Bus, as much of it as one call takes (D-Bus Specification, "Message
 * Protocol"): little-endian messages, put together and taken apart in memory,
 * and one exchange with a message bus.
 *
 * A body is a struct buf whose first byte is aligned to 8; each bus_put_*() adds
 * the padding that its type asks for.  Running out of room is remembered there
 * (buf_check()).
 */
#ifndef LAUNCH_BUS_H
#define LAUNCH_BUS_H

#include <stdint.h>

#include "buf.h"

void bus_put_u32(struct buf *b, uint32_t value);
void bus_put_string(struct buf *b, struct sv text);
/* At most 255 bytes. */
void bus_put_signature(struct buf *b, const char *signature);
/* An array whose elements are aligned to `align` bytes: what is put until
 * bus_end_array(), which gets what this returns. */
size_t bus_begin_array(struct buf *b, size_t align);
void bus_end_array(struct buf *b, size_t at, size_t align);
/* Each element that is a structure begins on 8 bytes. */
void bus_begin_struct(struct buf *b);

struct bus_call {
	const char *destination, *path, *interface, *member;
	const char *signature;		/* NULL: no body */
	struct sv body;
};

/* The whole message; serial is not 0. */
void bus_put_call(struct buf *b, const struct bus_call *call, uint32_t serial);

enum bus_type { BUS_RETURN = 2, BUS_ERROR = 3 };	/* those we wait for */

/* What came; borrows from the bytes it was read from. */
struct bus_message {
	uint8_t type;
	uint32_t reply_to;	/* the call's serial; 0: to none */
	struct sv error;	/* the name of an error */
	struct sv text;		/* the body's first string, where it has one */
};

enum { BUS_MESSAGE_MAX = 65536 };

/* The first message of `bytes`: how long it is, 0 where it is not whole yet, -1
 * where it is none that we read (malformed, big-endian, too large). */
long bus_parse(struct sv bytes, struct bus_message *ret);

/* Connects to the bus at `path`, says who we are, and makes the call; fails with
 * what the other side says about it.  Waits for five seconds at most each time
 * that nothing comes. */
must_check int bus_ask(const char *path, const struct bus_call *call,
		       struct err *e);

#endif
