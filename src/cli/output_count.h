/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command has put out so far, and how much it still may: shared by
 * all that carries its output (terminal.c, relay.c).
 */
#ifndef CLI_OUTPUT_COUNT_H
#define CLI_OUTPUT_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output_count {
	bool limited;
	uint64_t left_bytes;
	void (*over)(struct output_count *c);	/* one byte too many: once */
	bool is_over;
};

/* How many of n bytes may go out.  c may be NULL. */
static inline size_t output_take(struct output_count *c, size_t n)
{
	if (!c || !c->limited)
		return n;
	if (n <= c->left_bytes) {
		c->left_bytes -= n;
		return n;
	}
	n = (size_t)c->left_bytes;
	c->left_bytes = 0;
	if (!c->is_over) {
		c->is_over = true;
		c->over(c);
	}
	return n;
}

#endif
