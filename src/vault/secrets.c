/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets: see secrets.h. */
#include "secrets.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static size_t whole_pages(size_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

int secret_init(struct secret *s, uint32_t id, struct sv name, size_t room,
		struct err *e)
{
	size_t mapped = whole_pages(room);
	void *p = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_sys(e, "map memory for secret %.*s", SV_FMT(name));
	if (madvise(p, mapped, MADV_DONTDUMP) < 0 ||
	    madvise(p, mapped, MADV_WIPEONFORK) < 0 || mlock(p, mapped) < 0) {
		err_sys(e, "lock memory for secret %.*s (see ulimit -l)",
			SV_FMT(name));
		munmap(p, mapped);
		return -1;
	}
	*s = (struct secret){
		.id = id, .value = p, .mapped = mapped, .room = room,
	};
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

/* Gives the pages behind the value back. */
static void trim(struct secret *s)
{
	size_t keep = whole_pages(s->n);

	if (keep < s->mapped && munmap(s->value + keep, s->mapped - keep) == 0)
		s->mapped = keep;
}

/* A value becomes a part of a header field: what could end that or hide in it is
 * refused, never repaired. */
int secret_accept(struct secret *s, struct err *e)
{
	if (s->n == 0)
		return err_kind(e, ERR_POLICY, "its source is empty");
	if (s->n > SECRET_SIZE_MAX)
		return err_kind(e, ERR_POLICY, "longer than %d bytes",
				SECRET_SIZE_MAX);
	for (size_t i = 0; i < s->n; i++)
		if (s->value[i] <= ' ' || s->value[i] > '~')
			return err_kind(e, ERR_POLICY, "not one line of "
					"visible ASCII");
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
