/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets: see secrets.h. */
#include "secrets.h"

#include <sys/mman.h>
#include <unistd.h>

#include "locked.h"

int secret_init(struct secret *s, uint32_t id, struct sv name, size_t room,
		struct err *e)
{
	char *p = locked_new(room, e);

	if (!p)
		return err_ctx(e, "secret %.*s", SV_FMT(name));
	*s = (struct secret){
		.id = id, .value = p, .mapped = locked_size(room), .room = room,
	};
	name = sv_head(name, SECRET_NAME_MAX);
	if (name.n)
		memcpy(s->name, name.p, name.n);
	return 0;
}

void secret_wipe(struct secret *s)
{
	locked_free(s->value, s->mapped);
	*s = (struct secret){ 0 };
}

/* Gives the pages behind the value back. */
static void trim(struct secret *s)
{
	size_t keep = locked_size(s->n);

	if (keep < s->mapped && munmap(s->value + keep, s->mapped - keep) == 0)
		s->mapped = keep;
}

int secret_accept(struct secret *s, struct err *e)
{
	const char *fault = secret_value_fault(sv_of(s->value, s->n));

	if (fault)
		return err_kind(e, ERR_POLICY, "%s", fault);
	trim(s);
	s->complete = true;
	return 0;
}

int secret_fill(struct secret *s, int fd, struct err *e)
{
	ssize_t n = read(fd, s->value + s->n, s->room - s->n);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return err_sys(e, "read its source");
	s->n += (size_t)n;
	return n == 0 || s->n == s->room;
}

int secret_read(struct secret *s, int fd, struct err *e)
{
	int got = secret_fill(s, fd, e);

	/* A source is one line. */
	if (got > 0 && s->n > 0 && s->value[s->n - 1] == '\n')
		s->value[--s->n] = '\0';
	if (got < 0 || (got > 0 && secret_accept(s, e) < 0))
		return err_ctx(e, "secret %s", s->name);
	return got;
}
