/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources: where secrets come from.
 *
 * warden opened the file or started the command; this side only reads, from
 * the loop, so that a command that hangs does not outlive warden.  A regular
 * file cannot be watched and never makes one wait: it is read at once, whole, also
 * where one entry of it is the secret (keyfile.h).
 */
#include <sys/stat.h>

#include "cur.h"
#include "keyfile.h"
#include "own.h"
#include "vault.h"

struct source {
	struct watch watch;	/* watch.fd is owned */
	struct vault *vault;
	struct secret *secret;	/* borrowed from the vault's table */
	struct source *next;
};

static void source_free(struct source *s)
{
	struct source **at = &s->vault->sources;
	int fd = s->watch.fd;

	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
	loop_forget(s->vault->loop, &s->watch);
	close_fd(&fd);
	free(s);
}

void vault_drop_sources(struct vault *v)
{
	while (v->sources)
		source_free(v->sources);
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct source *s = container_of(w, struct source, watch);
	struct vault *v = s->vault;
	struct err e = { 0 };
	int got = secret_read(s->secret, w->fd, &e);

	(void)events;
	if (got == 0)
		return;
	source_free(s);
	if (got < 0) {
		vault_fail(v, &e);
		return;
	}
	v->n_complete++;
	vault_check_ready(v);
}

static int read_value(struct secret *s, int fd, struct err *e)
{
	int got;

	do {
		got = secret_read(s, fd, e);
	} while (got == 0);
	return got < 0 ? -1 : 0;
}

/* The entry in the whole file, which lies in pages of its own: 1, 0 or -1. */
static int take_entry(struct secret *s, const struct secret *file,
		      const struct msg_SOURCE *source, struct err *e)
{
	/* Its memory is the secret's, and is all that it may use. */
	struct buf value = buf_of(s->value, SECRET_SIZE_MAX);
	struct err why = { 0 };
	int got;

	if (file->n > KEYFILE_SIZE_MAX)
		got = err_kind(&why, ERR_POLICY, "longer than %d bytes",
			       KEYFILE_SIZE_MAX);
	else if (file->n == file->room)
		got = err_kind(&why, ERR_POLICY, "it grows while it is read");
	else
		got = keyfile_find(source->format,
				   sv_of(file->value, file->n), source->key,
				   &value, &why);
	s->n = value.n;
	if (got < 0)
		return err_kind(e, ERR_POLICY, "%s (a `from command` can print "
				"what is not read here)", why.msg);
	if (got == 0 && !source->optional)
		return err_kind(e, ERR_POLICY, "no such entry (write "
				"`secret? %s` if it may be missing)", s->name);
	return got && secret_accept(s, e) < 0 ? -1 : got;
}

static int read_entry(struct vault *v, struct secret *s, int fd, off_t size,
		      const struct msg_SOURCE *source, struct err *e)
{
	size_t most = KEYFILE_SIZE_MAX;
	struct secret file;
	int got;

	if (size >= 0 && (size_t)size < most)
		most = (size_t)size;
	/* A byte more than there may be shows that there is. */
	if (secret_init(&file, source->secret, source->name, most + 1, e) < 0)
		return -1;
	do {
		got = secret_fill(&file, fd, e);
	} while (got == 0);
	if (got > 0)
		got = take_entry(s, &file, source, e);
	secret_wipe(&file);
	if (got < 0)
		return err_ctx(e, "secret %s: key %.*s in %.*s, read as %s",
			       s->name, SV_FMT(sv_head(source->key, 60)),
			       SV_FMT(source->file),
			       keyfile_format_name(source->format));
	if (got == 0)
		buf_put_u32(&v->absent, s->id);
	return buf_check(&v->absent, "the entries that are missing", e);
}

static int read_now(struct vault *v, struct secret *s, int fd, off_t size,
		    const struct msg_SOURCE *source, struct err *e)
{
	int rc = source->format ? read_entry(v, s, fd, size, source, e) :
				  read_value(s, fd, e);

	if (rc < 0)
		return -1;
	v->n_complete++;
	vault_check_ready(v);
	return 0;
}

int vault_on_source(struct vault *v, struct msg *m, struct err *e)
{
	const struct msg_SOURCE *source = &m->SOURCE;
	struct secret *secret = &v->secrets[v->n_secrets];
	struct source *s;
	struct stat st;

	if (m->n_fds != 1)
		return err_kind(e, ERR_PROTO, "SOURCE without a descriptor");
	if (!v->started || v->n_secrets == v->n_wanted)
		return err_kind(e, ERR_PROTO, "a source that was not announced");
	for (unsigned i = 0; i < v->n_secrets; i++)
		if (v->secrets[i].id == source->secret)
			return err_kind(e, ERR_PROTO, "two sources of secret "
					"%u", source->secret);
	if (secret_init(secret, source->secret, source->name, SECRET_ROOM,
			e) < 0)
		return -1;
	v->n_secrets++;
	if (fstat(m->fds[0], &st) < 0)
		return err_sys(e, "stat the source of secret %s", secret->name);
	if (S_ISREG(st.st_mode))
		return read_now(v, secret, m->fds[0], st.st_size, source, e);
	if (source->format)
		return err_kind(e, ERR_PROTO, "an entry of no regular file");
	s = calloc(1, sizeof *s);
	if (!s)
		return err_sys(e, "read secret %s", secret->name);
	s->vault = v;
	s->secret = secret;
	s->watch.ready = on_ready;
	if (loop_watch(v->loop, &s->watch, m->fds[0], EPOLLIN, e) < 0) {
		free(s);
		return -1;
	}
	m->fds[0] = -1;
	s->next = v->sources;
	v->sources = s;
	return 0;
}
