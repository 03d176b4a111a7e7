/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets: see secrets.h. */
#include "secrets.h"

#include <sys/mman.h>
#include <unistd.h>

/* The value, its newline, and a byte that shows that there is more. */
enum { PAGE = 4096, ROOM = SECRET_SIZE_MAX + 2,
       MAPPED = (ROOM + PAGE - 1) / PAGE * PAGE };

int secret_init(struct secret *s, uint32_t id, struct sv name, struct err *e)
{
	void *p = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_sys(e, "map memory for secret %.*s", SV_FMT(name));
	if (madvise(p, MAPPED, MADV_DONTDUMP) < 0 ||
	    madvise(p, MAPPED, MADV_WIPEONFORK) < 0 || mlock(p, MAPPED) < 0) {
		err_sys(e, "lock memory for secret %.*s (see ulimit -l)",
			SV_FMT(name));
		munmap(p, MAPPED);
		return -1;
	}
	*s = (struct secret){ .id = id, .value = p, .mapped = MAPPED };
	name = sv_head(name, SECRET_NAME_MAX);
	if (name.n)
		memcpy(s->name, name.p, name.n);
	return 0;
}

void secret_wipe(struct secret *s)
{
	if (s->value) {
		explicit_bzero(s->value, s->mapped);
		munmap(s->value, s->mapped);
	}
	*s = (struct secret){ 0 };
}

/* A source is one line.  A value becomes a part of a header field: what could
 * end that or hide in it is refused, never repaired. */
static int accept(struct secret *s, struct err *e)
{
	if (s->n > 0 && s->value[s->n - 1] == '\n')
		s->value[--s->n] = '\0';
	if (s->n == 0)
		return err_kind(e, ERR_POLICY, "secret %s: its source is empty",
				s->name);
	if (s->n > SECRET_SIZE_MAX)
		return err_kind(e, ERR_POLICY, "secret %s: longer than %d "
				"bytes", s->name, SECRET_SIZE_MAX);
	for (size_t i = 0; i < s->n; i++)
		if (s->value[i] <= ' ' || s->value[i] > '~')
			return err_kind(e, ERR_POLICY, "secret %s: not one "
					"line of visible ASCII", s->name);
	return 0;
}

/* Gives the pages behind the value back. */
static void trim(struct secret *s)
{
	size_t keep = (s->n + PAGE - 1) / PAGE * PAGE;

	if (keep < s->mapped && munmap(s->value + keep, s->mapped - keep) == 0)
		s->mapped = keep;
}

int secret_read(struct secret *s, int fd, struct err *e)
{
	ssize_t n = read(fd, s->value + s->n, (size_t)ROOM - s->n);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return err_sys(e, "secret %s: read its source", s->name);
	s->n += (size_t)n;
	if (n > 0 && s->n < ROOM)
		return 0;
	if (accept(s, e) < 0)
		return -1;
	trim(s);
	s->complete = true;
	return 1;
}
