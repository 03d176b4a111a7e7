/* SPDX-License-Identifier: Apache-2.0 */
/* Placeholders that stay what they are: see stray.h. */
#include "stray.h"

#include "credential_query.h"

static void add(struct credential_use *use, const struct credential *c,
		const char *where, struct sv name)
{
	if (use->n_strays < STRAYS_MAX)
		use->strays[use->n_strays++] = (struct stray){
			.credential = c, .where = where, .name = name };
}

/* name: of what text is the value of. */
static void look(const struct credential_set *s, struct sv text,
		 const char *where, struct sv name, struct credential_use *use)
{
	struct placeholder_core found;
	bool ours = false;

	if (!placeholder_find(text, &found))
		return;
	for (size_t i = 0; i < s->n; i++)
		if (placeholder_is_in(text, credential_core(&s->v[i]))) {
			add(use, &s->v[i], where, name);
			ours = true;
		}
	/* One of another run is nobody's here, but worth a line. */
	if (!ours)
		add(use, NULL, where, name);
}

static void look_at_query(const struct credential_set *s, struct sv query,
			  struct credential_use *use)
{
	while (query.n) {
		struct sv pair = sv_cut(&query, '&');

		if (!credential_query_is_edited_pair(use, pair))
			look(s, pair, "query", sv_head(pair, sv_find(pair, '=')),
			     use);
	}
}

void stray_find(const struct credential_set *s, const struct http_request *r,
		struct credential_use *use)
{
	look(s, r->path, "path", (struct sv){ 0 }, use);
	look_at_query(s, r->query, use);
	for (size_t i = 0; i < r->fields.n; i++) {
		const struct http_field *f = &r->fields.v[i];

		look(s, f->name, "field", f->name, use);
		if (!credential_use_is_edited(use, f->name))
			look(s, f->value, "field", f->name, use);
	}
}
