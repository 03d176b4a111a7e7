/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs trust this run's authority without a flag: by the files that they
 * read of themselves, which are mounted over, and where they have none, by
 * variables (environment.c).
 *
 * Of each file there is one, with the host's own roots in it, and its mounts
 * are many.  Java's is made only where a Java is (java.c).
 */
#include "init.h"

#include <unistd.h>

#include "io.h"
#include "mount.h"
#include "own.h"
#include "pkcs12.h"

#define TRUST_DIR "etc/stockade"	/* empty files, in the template */
#define CA_FILE ".authority"
#define BUNDLE_FILE ".bundle"
#define JAVA_FILE ".java"
#define BROWSER_FILE ".browser"

enum { BUNDLE_MAX = 8 << 20, BAGS_MAX = BUNDLE_MAX };

/* Where libraries look for the roots they trust, over all distributions. */
static const char *const bundles[] = {
	"etc/ssl/certs/ca-certificates.crt",
	"etc/pki/tls/certs/ca-bundle.crt",
	"etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"etc/ssl/ca-bundle.pem",
	"etc/ssl/cert.pem",
};

/* A read-only mount of one of the files. */
static int show(struct init *in, const char *name, int at_fd, const char *path,
		struct err *e)
{
	auto_fd int tree_fd = root_clone(in, in->root_fd, name, false, e);

	if (tree_fd < 0 ||
	    mount_set_attrs(tree_fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV, false, e) < 0)
		return -1;
	return root_attach(in, tree_fd, at_fd, path, e);
}

/* The bundle of this run over one of the host's. */
static int replace_bundle(struct init *in, const char *path, int *host_fd,
			  struct err *e)
{
	struct err absent;
	auto_fd int at_fd = path_open_in(in->root_fd, sv_str(path), O_PATH,
					 &absent);

	if (at_fd < 0)
		return 0;
	if (*host_fd < 0)
		*host_fd = path_open_in(in->root_fd, sv_str(path), O_RDONLY, e);
	return *host_fd < 0 ? -1 : show(in, BUNDLE_FILE, at_fd, "", e);
}

static int make_file(int dir_fd, const char *name, struct err *e)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
			O_NOFOLLOW, 0644);

	if (fd < 0)
		return err_sys(e, "make %s", name);
	return fd;
}

/* The host's roots first: the certificate comes when they are long there. */
static int make_java(struct init *in, int copy_fd, int host_fd, struct err *e)
{
	auto_buf struct buf pem = buf_new(BUNDLE_MAX);

	in->java_fd = make_file(copy_fd, JAVA_FILE, e);
	if (in->java_fd < 0)
		return -1;
	in->java = buf_new(BAGS_MAX);
	if (host_fd < 0)
		return 0;
	if (io_read_all(host_fd, &pem, e) < 0)
		return err_ctx(e, "the system's certificates");
	if (lseek(host_fd, 0, SEEK_SET) < 0)
		return err_sys(e, "read them again");
	if (!pkcs12_put_pem(&in->java, buf_sv(&pem)))
		return err_kind(e, ERR_LIMIT, "too many certificates");
	return 0;
}

static int show_java(struct init *in, const struct java_stores *stores,
		     struct err *e)
{
	if (show(in, JAVA_FILE, in->root_fd, TRUST_DIR "/java.p12", e) < 0)
		return -1;
	for (size_t i = 0; i < stores->n; i++)
		if (show(in, JAVA_FILE, stores->fd[i], "", e) < 0)
			return -1;
	if (unlinkat(in->root_fd, JAVA_FILE, 0) < 0)
		return err_sys(e, "remove its name");
	return 0;
}

static int replace_java(struct init *in, int copy_fd, int host_fd,
			struct err *e)
{
	struct java_stores stores = { 0 };
	int rc = 0;

	java_find(in, &stores);
	if (stores.n || stores.wanted)
		rc = make_java(in, copy_fd, host_fd, e) < 0 ||
		     show_java(in, &stores, e) < 0 ? -1 : 0;
	for (size_t i = 0; i < stores.n; i++)
		close_fd(&stores.fd[i]);
	return rc;
}

/* The certificate comes last, when the root is read-only and pid 1 confined:
 * the files are opened now, by a copy of the root's mount that is attached
 * nowhere, and written then. */
int trust_make(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int copy_fd = root_clone(in, in->root_fd, "", false, e);
	auto_fd int host_fd = -1;

	(void)s;
	if (copy_fd < 0)
		return -1;
	in->ca_fd = make_file(copy_fd, CA_FILE, e);
	if (in->ca_fd < 0)
		return -1;
	in->bundle_fd = make_file(copy_fd, BUNDLE_FILE, e);
	if (in->bundle_fd < 0)
		return -1;
	in->browser_fd = make_file(copy_fd, BROWSER_FILE, e);
	if (in->browser_fd < 0 ||
	    show(in, CA_FILE, in->root_fd, TRUST_DIR "/ca.pem", e) < 0 ||
	    show(in, BUNDLE_FILE, in->root_fd, TRUST_DIR "/bundle.pem", e) < 0 ||
	    show(in, BROWSER_FILE, in->root_fd, TRUST_DIR "/browser.json", e) < 0)
		return -1;
	for (size_t i = 0; i < countof(bundles); i++)
		if (replace_bundle(in, bundles[i], &host_fd, e) < 0)
			return err_ctx(e, "/%s", bundles[i]);
	/* The mounts keep what they show; the names need not stay. */
	if (unlinkat(in->root_fd, CA_FILE, 0) < 0 ||
	    unlinkat(in->root_fd, BROWSER_FILE, 0) < 0 ||
	    unlinkat(in->root_fd, BUNDLE_FILE, 0) < 0)
		return err_sys(e, "remove their names");
	if (replace_java(in, copy_fd, host_fd, e) < 0)
		return err_ctx(e, "Java's certificates");
	if (host_fd >= 0 && io_copy(in->bundle_fd, host_fd, e) < 0)
		return err_ctx(e, "the system's certificates");
	return io_write_all(in->bundle_fd, SV("\n"), e);
}

static int write_java(struct init *in, struct sv pem, struct err *e)
{
	auto_buf struct buf head = buf_new(PKCS12_HEAD_MAX);

	if (!pkcs12_put_pem(&in->java, pem))
		return err_kind(e, ERR_LIMIT, "too many certificates");
	pkcs12_head(&head, in->java.n);
	if (buf_check(&head, "a store's head", e) < 0 ||
	    io_write_all(in->java_fd, buf_sv(&head), e) < 0 ||
	    io_write_all(in->java_fd, buf_sv(&in->java), e) < 0)
		return -1;
	buf_free(&in->java);
	close_fd(&in->java_fd);
	return 0;
}

/* Chromium's policy of the machine's administrator, where its links lead. */
static int write_browser(struct init *in, struct sv pem, struct err *e)
{
	auto_buf struct buf text = buf_new(2 * pem.n + 64);

	buf_puts(&text, "{\"CACertificates\":[\"");
	while (pem.n) {
		struct sv line = sv_cut(&pem, '\n');

		if (!sv_starts(line, SV("-----")))
			buf_put(&text, line);
	}
	buf_puts(&text, "\"]}\n");
	if (buf_check(&text, "a browser's policy", e) < 0 ||
	    io_write_all(in->browser_fd, buf_sv(&text), e) < 0)
		return -1;
	close_fd(&in->browser_fd);
	return 0;
}

int trust_certificate(struct init *in, const struct step *s, struct err *e)
{
	struct sv pem = sv_of(in->ca, in->ca_n);

	(void)s;
	if (pem.n == 0)
		return err_kind(e, ERR_BUG, "no certificate came");
	if (io_write_all(in->ca_fd, pem, e) < 0 ||
	    io_write_all(in->bundle_fd, pem, e) < 0 ||
	    write_browser(in, pem, e) < 0)
		return -1;
	if (in->java_fd >= 0 && write_java(in, pem, e) < 0)
		return err_ctx(e, "Java's certificates");
	close_fd(&in->ca_fd);
	close_fd(&in->bundle_fd);
	return 0;
}
