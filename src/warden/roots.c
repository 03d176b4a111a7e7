/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What upstream TLS may trust: the system's roots, those of the environment
 * that stockade itself was started in, and the policy's.  All are opened here,
 * outside; nothing that the agent can write is among them.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "own.h"
#include "roots.h"

enum { ROOTS_FILES_MAX = 512 };

static const char *const system_bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",	/* Debian, Arch, Alpine */
	"/etc/pki/tls/certs/ca-bundle.crt",	/* Fedora */
	"/etc/ssl/ca-bundle.pem",		/* SUSE */
	"/etc/ssl/cert.pem",
};

static int send_fd(struct warden *w, int fd, bool required, struct err *e)
{
	struct msg out = { .kind = MSG_ROOTS, .n_fds = 1 };

	out.ROOTS.required = required;
	out.fds[0] = fd;
	return channel_send(&w->dial.channel, &out, e);
}

/* 0 with *ret_sent false when the file is not there and may be missing. */
static int send_file(struct warden *w, int dirfd, const char *path,
		     bool required, bool *ret_sent, struct err *e)
{
	auto_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	*ret_sent = fd >= 0;
	if (fd < 0)
		return required ? err_sys(e, "open the roots %s", path) : 0;
	return send_fd(w, fd, required, e);
}

static void close_dir(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

static int send_dir(struct warden *w, const char *path, struct err *e)
{
	__attribute__((cleanup(close_dir))) DIR *d = opendir(path);
	const struct dirent *entry;
	unsigned n = 0;
	bool sent;

	if (!d)
		return err_sys(e, "open SSL_CERT_DIR %s", path);
	while ((entry = readdir(d))) {
		/* Hash links (".0") name the same certificates again. */
		if (entry->d_name[0] == '.' || entry->d_type == DT_DIR)
			continue;
		if (n++ == ROOTS_FILES_MAX)
			return err_kind(e, ERR_LIMIT, "more than %d files in "
					"SSL_CERT_DIR %s", ROOTS_FILES_MAX,
					path);
		if (send_file(w, dirfd(d), entry->d_name, false, &sent, e) < 0)
			return -1;
	}
	return 0;
}

static int send_system(struct warden *w, struct err *e)
{
	bool sent = false;

	for (size_t i = 0; i < countof(system_bundles) && !sent; i++)
		if (send_file(w, AT_FDCWD, system_bundles[i], false, &sent,
			      e) < 0)
			return -1;
	/* None at all: every TLS request fails, and dial says why. */
	return 0;
}

int roots_send(struct warden *w, struct err *e)
{
	const char *file = secure_getenv("SSL_CERT_FILE");
	const char *dir = secure_getenv("SSL_CERT_DIR");
	bool sent;

	if (send_system(w, e) < 0)
		return -1;
	if (file && *file &&
	    send_file(w, AT_FDCWD, file, true, &sent, e) < 0)
		return -1;
	if (dir && *dir && send_dir(w, dir, e) < 0)
		return -1;
	for (size_t i = 0; i < w->policy->roots_n; i++) {
		const struct roots_rule *rule = &w->policy->roots[i];
		auto_arena struct arena a = arena_new(8192);
		const char *path = arena_str(&a, rule->path);

		if (!path)
			return err_kind(e, ERR_LIMIT, "out of memory");
		if (send_file(w, AT_FDCWD, path, !rule->optional, &sent,
			      e) < 0)
			return -1;
	}
	return 0;
}
