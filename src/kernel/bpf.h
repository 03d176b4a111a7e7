/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small assembler for classic BPF.
 *
 * Jumps of classic BPF are forward and eight bits wide; so a program is put
 * together from its end to its start: what is emitted last runs first, every
 * target is known when it is jumped to, and a place is the number of
 * instructions from there to the end, itself included.  A target that is too
 * far away gets a long jump of its own.
 */
#ifndef KERNEL_BPF_H
#define KERNEL_BPF_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum {
	/* Twice the longest of our own; a page, which is on the stack. */
	BPF_LENGTH_MAX = 512,
	/* What the kernel takes. */
	BPF_LENGTH_LIMIT = 4096,
};

struct bpf {
	/* Borrowed; filled from the end: the program is code[max - n ...]. */
	struct sock_filter *code;
	unsigned max;
	unsigned n;
	bool full;
};
#define BPF_IN(array) \
	{ .code = (array), .max = sizeof(array) / sizeof(array)[0] }

/* Emits one instruction in front of all others; returns its place. */
unsigned bpf_load(struct bpf *b, uint32_t offset);
unsigned bpf_and(struct bpf *b, uint32_t mask);
unsigned bpf_return(struct bpf *b, uint32_t value);
/* code is BPF_JEQ, BPF_JGT, BPF_JGE or BPF_JSET. */
unsigned bpf_test(struct bpf *b, uint16_t code, uint32_t value,
		  unsigned yes, unsigned no);

/* The finished program, borrowing b. */
must_check int bpf_program(struct bpf *b, struct sock_fprog *ret,
			   struct err *e);

#endif
