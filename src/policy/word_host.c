/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device, publish and `reach unix:`: what of the machine comes in, and what goes
 * out to it.
 */
#include "filepath.h"
#include "nearest.h"
#include "own.h"
#include "text_form.h"
#include "words.h"

/* What a word stands for is found by launch/. */
static const struct sv device_words[] = { SV("gpu"), SV("kvm"), SV("fuse") };

static int device_path(const struct statement *s, const struct word *w,
		       struct arena *a, struct sv *ret, struct err *e)
{
	struct filepath f;
	const char *fault = filepath_clean(w->text, s->source->base,
					   s->source->home, a, &f);

	if (!fault && f.is_glob)
		fault = "name each device, without wildcards";
	if (!fault && !sv_starts(f.path, SV("/dev/")))
		fault = "devices are below /dev";
	if (fault)
		return statement_error(s, w, e, "%s", fault);
	*ret = f.path;
	return 0;
}

static int device_name(const struct statement *s, const struct word *w,
		       struct arena *a, struct sv *ret, struct err *e)
{
	struct nearest n = nearest_to(w->text);

	for (size_t i = 0; i < countof(device_words); i++) {
		if (sv_eq(w->text, device_words[i])) {
			*ret = device_words[i];
			return 0;
		}
		nearest_offer(&n, device_words[i]);
	}
	if (sv_find(w->text, '/') == w->text.n && n.best.p)
		return statement_error(s, w, e, "unknown device \"%.*s\"; did "
				       "you mean `%.*s`?", WORD_FMT(w->text),
				       SV_FMT(n.best));
	return device_path(s, w, a, ret, e);
}

int word_device(const struct statement *s, struct policy *p, struct err *e)
{
	if (!statement_word(s, 1, "the device", e))
		return -1;
	for (size_t i = 1; i < s->words_n; i++) {
		struct device_rule *r;
		struct sv name;

		if (device_name(s, &s->words[i], &p->arena, &name, e) < 0)
			return -1;
		r = arena_push(&p->arena, &p->devices, &p->devices_n,
			       &p->devices_cap);
		if (!r)
			return statement_full(s, e);
		*r = (struct device_rule){
			.name = name, .optional = s->optional,
			.origin = s->origin,
		};
		if (text_form_device(r, &p->arena) < 0)
			return statement_full(s, e);
	}
	return 0;
}

int word_publish(const struct statement *s, struct policy *p, struct err *e)
{
	if (!statement_word(s, 1, "the port", e))
		return -1;
	for (size_t i = 1; i < s->words_n; i++) {
		const struct word *w = &s->words[i];
		struct publish_rule *r;
		uint64_t port;

		if (!sv_to_u64(w->text, UINT16_MAX, &port) || port == 0)
			return statement_error(s, w, e, "expected a port from 1 "
					       "to 65535, found \"%.*s\"",
					       WORD_FMT(w->text));
		r = arena_push(&p->arena, &p->publishes, &p->publishes_n,
			       &p->publishes_cap);
		if (!r)
			return statement_full(s, e);
		*r = (struct publish_rule){
			.port = (uint16_t)port, .origin = s->origin,
		};
		if (text_form_publish(r, &p->arena) < 0)
			return statement_full(s, e);
	}
	return 0;
}

int word_socket_path(const struct statement *s, const struct word *w,
		     struct policy *p, struct sv *ret, struct err *e)
{
	struct filepath f;
	const char *fault;

	fault = filepath_clean(sv_from(w->text, strlen("unix:")),
			       s->source->base, s->source->home, &p->arena, &f);
	if (!fault && f.is_glob)
		fault = "name the socket, without wildcards";
	if (fault)
		return statement_error(s, w, e, "%s", fault);
	*ret = f.path;
	return 0;
}

/* reach unix:PATH */
int word_socket(const struct statement *s, struct policy *p, struct err *e)
{
	struct sv path;
	struct grant *g;

	if (statement_end(s, 2, e) < 0 ||
	    word_socket_path(s, &s->words[1], p, &path, e) < 0)
		return -1;
	g = arena_push(&p->arena, &p->grants, &p->grants_n, &p->grants_cap);
	if (!g)
		return statement_full(s, e);
	*g = (struct grant){
		.kind = GRANT_SOCKET, .path = path, .origin = s->origin,
	};
	return text_form_grant(g, &p->arena) < 0 ? statement_full(s, e) : 0;
}
