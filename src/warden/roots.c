/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What upstream TLS may trust: the system's roots, those of the environment
 * that stockade itself was started in, and the policy's.  All are opened here,
 * outside; nothing that the agent can write is among them.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "own.h"
#include "roots.h"

enum { ROOTS_FILES_MAX = 512, ROOTS_FILE_MAX = 1 << 20 };

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

/* "5ed36f99.0": OpenSSL's link to a file that is there by its own name. */
static bool is_hash_link(const char *name)
{
	for (size_t i = 0; i < 8; i++)
		if (hex_value(name[i]) < 0)
			return false;
	return name[8] == '.' && is_digit(name[9]);
}

static int append_file(int to_fd, int dirfd, const char *name, struct err *e)
{
	auto_buf struct buf text = buf_new(ROOTS_FILE_MAX);
	struct err unreadable;

	/* A directory, or a link to nothing: not a certificate. */
	if (io_read_file(dirfd, name, &text, &unreadable) < 0)
		return 0;
	buf_putc(&text, '\n');
	return io_write_all(to_fd, buf_sv(&text), e);
}

/* A directory of certificates travels as one file that has them all. */
static int send_dir(struct warden *w, const char *path, struct err *e)
{
	auto_dir DIR *d = opendir(path);
	auto_fd int all = memfd_create("roots", MFD_CLOEXEC);
	const struct dirent *entry;
	unsigned n = 0;

	if (!d)
		return err_sys(e, "open SSL_CERT_DIR %s", path);
	if (all < 0)
		return err_sys(e, "memfd_create");
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.' || is_hash_link(entry->d_name))
			continue;
		if (n++ == ROOTS_FILES_MAX)
			return err_kind(e, ERR_LIMIT, "more than %d files in "
					"SSL_CERT_DIR %s", ROOTS_FILES_MAX,
					path);
		if (append_file(all, dirfd(d), entry->d_name, e) < 0)
			return err_ctx(e, "SSL_CERT_DIR %s", path);
	}
	return send_fd(w, all, false, e);
}

/* The usual value of SSL_CERT_DIR and SSL_CERT_FILE: what is sent anyway. */
static bool is_system(const char *path)
{
	struct stat asked, system;

	if (stat(path, &asked) < 0)
		return false;
	for (size_t i = 0; i < countof(system_bundles); i++)
		if (stat(system_bundles[i], &system) == 0)
			return (asked.st_dev == system.st_dev &&
				asked.st_ino == system.st_ino) ||
			       strcmp(path, "/etc/ssl/certs") == 0;
	return false;
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

int roots_check(const struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->roots_n; i++) {
		const struct roots_rule *rule = &p->roots[i];
		auto_arena struct arena a = arena_new(8192);
		const char *path = arena_str(&a, rule->path);

		if (!path)
			return err_kind(e, ERR_LIMIT, "out of memory");
		if (rule->optional || access(path, R_OK) == 0)
			continue;
		if (errno == ENOENT)
			return err_kind(e, ERR_POLICY, "the roots %s do not "
					"exist; `roots? FILE` makes them "
					"optional", path);
		return err_sys(e, "open the roots %s", path);
	}
	return 0;
}

int roots_send(struct warden *w, struct err *e)
{
	const char *file = secure_getenv("SSL_CERT_FILE");
	const char *dir = secure_getenv("SSL_CERT_DIR");
	bool sent;

	if (send_system(w, e) < 0)
		return -1;
	if (file && *file && !is_system(file) &&
	    send_file(w, AT_FDCWD, file, true, &sent, e) < 0)
		return -1;
	if (dir && *dir && !is_system(dir) && send_dir(w, dir, e) < 0)
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
