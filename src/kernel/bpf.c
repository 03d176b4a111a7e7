/* SPDX-License-Identifier: Apache-2.0 */
/* The assembler: see bpf.h. */
#include "bpf.h"

enum { JUMP_MAX = 255 };

static unsigned emit(struct bpf *b, struct sock_filter instruction)
{
	if (b->n == b->max) {
		b->full = true;
		return b->n;
	}
	b->n++;
	b->code[b->max - b->n] = instruction;
	return b->n;
}

unsigned bpf_load(struct bpf *b, uint32_t offset)
{
	return emit(b, (struct sock_filter){
		.code = BPF_LD | BPF_W | BPF_ABS, .k = offset,
	});
}

unsigned bpf_and(struct bpf *b, uint32_t mask)
{
	return emit(b, (struct sock_filter){
		.code = BPF_ALU | BPF_AND | BPF_K, .k = mask,
	});
}

unsigned bpf_return(struct bpf *b, uint32_t value)
{
	return emit(b, (struct sock_filter){
		.code = BPF_RET | BPF_K, .k = value,
	});
}

/* The instruction about to be emitted is followed by b->n others: it jumps
 * over all but the last `to` of them. */
static unsigned emit_goto(struct bpf *b, unsigned to)
{
	return emit(b, (struct sock_filter){
		.code = BPF_JMP | BPF_JA, .k = b->n - to,
	});
}

unsigned bpf_test(struct bpf *b, uint16_t code, uint32_t value, unsigned yes,
		  unsigned no)
{
	/* Two, because the second long jump pushes the first target away. */
	if (b->n - yes > JUMP_MAX - 1)
		yes = emit_goto(b, yes);
	if (b->n - no > JUMP_MAX)
		no = emit_goto(b, no);
	return emit(b, (struct sock_filter){
		.code = (uint16_t)(BPF_JMP | BPF_K | code),
		.jt = (uint8_t)(b->n - yes), .jf = (uint8_t)(b->n - no),
		.k = value,
	});
}

int bpf_program(struct bpf *b, struct sock_fprog *ret, struct err *e)
{
	if (b->full || b->n == 0)
		return err_kind(e, ERR_BUG, "a filter of more than %u "
				"instructions", b->max);
	ret->len = (unsigned short)b->n;
	ret->filter = b->code + b->max - b->n;
	return 0;
}
