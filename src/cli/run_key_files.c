/* SPDX-License-Identifier: Apache-2.0 */
/* Files with placeholders: see run_key_files.h. */
#include "run_key_files.h"

#include "keyfile_text.h"
#include "own.h"

enum { TEXT_MAX = 256 << 10 };

static bool is_absent(const struct credential_set *set, size_t i)
{
	return set && set->v[i].absent;
}

/* Not one that an earlier secret names as well. */
static bool is_first(const struct policy *p, const struct credential_set *set,
		     size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!is_absent(set, k) &&
		    sv_eq(p->secrets[k].place, p->secrets[i].place))
			return false;
	return true;
}

/* What all secrets have in the file of the i-th. */
static int make_text(struct policy *p, const struct credential_set *set,
		     size_t i, struct sv *ret, struct err *e)
{
	auto_buf struct buf text = buf_new(TEXT_MAX);
	struct sv place = p->secrets[i].place;
	struct keyfile_entry *v = arena_alloc(&p->arena,
					      p->secrets_n * sizeof *v);
	size_t n = 0;

	if (!v)
		return err_kind(e, ERR_LIMIT, "out of memory");
	for (; i < p->secrets_n; i++) {
		const struct secret_rule *r = &p->secrets[i];

		if (sv_eq(r->place, place) && !is_absent(set, i))
			v[n++] = (struct keyfile_entry){
				.key = r->place_key, .user = r->user,
				.value = credential_placeholder(&set->v[i]),
				.base64 = r->place_base64,
			};
	}
	keyfile_text_put(&text, keyfile_format_of(place), v, n);
	if (buf_check(&text, "a file of placeholders", e) < 0)
		return -1;
	*ret = arena_dup(&p->arena, buf_sv(&text));
	return ret->p ? 0 : err_kind(e, ERR_LIMIT, "out of memory");
}

int run_key_files(struct policy *p, const struct credential_set *set,
		  struct launch_input *in, struct err *e)
{
	struct launch_file *files;
	size_t n = 0;

	if (p->secrets_n == 0)
		return 0;
	files = arena_alloc(&p->arena, p->secrets_n * sizeof *files);
	if (!files)
		return err_kind(e, ERR_LIMIT, "out of memory");
	for (size_t i = 0; i < p->secrets_n; i++) {
		const struct secret_rule *r = &p->secrets[i];

		if (r->place.n == 0 || is_absent(set, i) ||
		    !is_first(p, set, i))
			continue;
		files[n] = (struct launch_file){ .path = r->place,
						 .why = r->text };
		if (set && make_text(p, set, i, &files[n].text, e) < 0)
			return -1;
		n++;
	}
	in->files = files;
	in->files_n = n;
	return 0;
}
