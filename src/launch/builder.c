/* SPDX-License-Identifier: Apache-2.0 */
/* The builder's storage: see builder.h. */
#include "builder.h"

#include <stdarg.h>
#include <stdio.h>

static struct step *take(struct builder *b, struct step *s,
			 enum step_kind kind, struct sv target, struct sv why)
{
	if (!s) {
		b->full = true;
		s = &b->spare;
	}
	*s = (struct step){
		.kind = kind, .tree_fd = -1, .target = target, .why = why,
	};
	return s;
}

struct step *builder_step(struct builder *b, enum step_kind kind,
			  struct sv target, struct sv why)
{
	return take(b, arena_push(b->arena, &b->plan->steps,
				  &b->plan->steps_n, &b->plan->steps_cap),
		    kind, target, why);
}

struct step *builder_mount(struct builder *b, enum step_kind kind,
			   struct sv target, struct sv why)
{
	return take(b, arena_push(b->arena, &b->mounts, &b->mounts_n,
				  &b->mounts_cap), kind, target, why);
}

struct sv builder_dup(struct builder *b, struct sv v)
{
	struct sv copy = arena_dup(b->arena, v);

	if (!copy.p) {
		b->full = true;
		return SV("");
	}
	return copy;
}

const char *builder_str(struct builder *b, struct sv v)
{
	return builder_dup(b, v).p;
}

struct sv builder_printf(struct builder *b, const char *fmt, ...)
{
	char usual[256];
	va_list ap;
	char *at;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(usual, sizeof usual, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof usual)
		return builder_dup(b, sv_of(usual, (size_t)n));
	at = n < 0 ? NULL : arena_alloc(b->arena, (size_t)n + 1);
	if (!at) {
		b->full = true;
		return SV("");
	}
	va_start(ap, fmt);
	(void)vsnprintf(at, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return sv_of(at, (size_t)n);
}
