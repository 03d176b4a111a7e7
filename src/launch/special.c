/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own file systems, devices, terminals; and the CA bundle. */
#include "init.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "io.h"
#include "mount.h"
#include "own.h"

#define TRUST_DIR "etc/stockade"	/* two empty files, in the template */
#define CA_FILE ".authority"
#define BUNDLE_FILE ".bundle"

/* Where libraries look for the roots they trust, over all distributions. */
static const char *const bundles[] = {
	"etc/ssl/certs/ca-certificates.crt",
	"etc/pki/tls/certs/ca-bundle.crt",
	"etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"etc/ssl/ca-bundle.pem",
	"etc/ssl/cert.pem",
};

/* One that the policy names: the plan has judged this very node. */
static int granted_device(struct init *in, const struct step *s,
			  struct err *e)
{
	auto_fd int tree_fd =
		root_source(in, s, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NOEXEC, e);
	struct stat st;

	if (tree_fd < 0)
		return -1;
	if (fstat(tree_fd, &st) < 0)
		return err_sys(e, "identify it");
	if (!S_ISCHR(st.st_mode))
		return err_kind(e, ERR_DENIED, "it is no character device");
	return root_attach(in, tree_fd, in->root_fd, s->target.p + 1, e);
}

int special_device(struct init *in, const struct step *s, struct err *e)
{
	const struct device *d = device_list;
	auto_fd int tree_fd = -1;

	if (!(s->flags & STEP_SYSTEM))
		return granted_device(in, s, e);

	while (d->name && !sv_eq(sv_from(s->source, strlen("/dev/")),
				 sv_str(d->name)))
		d++;
	if (!d->name)
		return err_kind(e, ERR_BUG, "no such device");
	if (in->host_dev_fd < 0)
		in->host_dev_fd = path_open_exact(AT_FDCWD, SV("/dev"), O_PATH |
						  O_DIRECTORY, e);
	if (in->host_dev_fd < 0)
		return -1;
	tree_fd = mount_clone(in->host_dev_fd, d->name, false, e);
	if (tree_fd < 0 || device_check(tree_fd, d, e) < 0)
		return -1;
	return root_attach(in, tree_fd, in->root_fd, s->target.p + 1, e);
}

int special_terminals(struct init *in, const struct step *s, struct err *e)
{
	static const struct mount_option options[] = {
		{ "newinstance", NULL }, { "ptmxmode", "0666" },
		{ "mode", "0620" },
	};

	in->devpts_fd = mount_new_fs("devpts", options, countof(options),
				     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e);
	if (in->devpts_fd < 0)
		return -1;
	return root_attach(in, in->devpts_fd, in->root_fd, s->target.p + 1, e);
}

/*
 * Read-only as a whole: the sysctls, the triggers, and what a process could
 * change of itself (its maps, its score for the OOM killer).  Links in it to
 * open files are not affected.
 */
int special_proc(struct init *in, const struct step *s, struct err *e)
{
	static const struct mount_option options[] = {
		{ "hidepid", "invisible" },
	};
	auto_fd int fd = mount_new_fs("proc", options, countof(options),
				      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
				      MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, e);

	if (fd < 0)
		return err_ctx(e, "a container that masks parts of its /proc "
			       "permits no other; have it unmasked (docker: "
			       "--security-opt systempaths=unconfined, podman: "
			       "--security-opt unmask=ALL), or start stockade "
			       "outside");
	if (mkdirat(in->root_fd, s->target.p + 1, 0755) < 0)
		return err_sys(e, "make its directory");
	return root_attach(in, fd, in->root_fd, s->target.p + 1, e);
}

/* A read-only mount of one of the two files. */
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

static int make_trusted(int dir_fd, const char *name, struct err *e)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
			O_NOFOLLOW, 0644);

	if (fd < 0)
		return err_sys(e, "make %s", name);
	return fd;
}

/* The certificate comes last, when the root is read-only and pid 1 confined:
 * both files are opened now, by a copy of the root's mount that is attached
 * nowhere, and written then. */
static int make_files(struct init *in, struct err *e)
{
	auto_fd int copy_fd = root_clone(in, in->root_fd, "", false, e);

	if (copy_fd < 0)
		return -1;
	in->ca_fd = make_trusted(copy_fd, CA_FILE, e);
	if (in->ca_fd < 0)
		return -1;
	in->bundle_fd = make_trusted(copy_fd, BUNDLE_FILE, e);
	return in->bundle_fd < 0 ? -1 : 0;
}

int special_trust(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int host_fd = -1;

	(void)s;
	if (make_files(in, e) < 0 ||
	    show(in, CA_FILE, in->root_fd, TRUST_DIR "/ca.pem", e) < 0 ||
	    show(in, BUNDLE_FILE, in->root_fd, TRUST_DIR "/bundle.pem", e) < 0)
		return -1;
	for (size_t i = 0; i < countof(bundles); i++)
		if (replace_bundle(in, bundles[i], &host_fd, e) < 0)
			return err_ctx(e, "/%s", bundles[i]);
	/* The mounts keep what they show; the names need not stay. */
	if (unlinkat(in->root_fd, CA_FILE, 0) < 0 ||
	    unlinkat(in->root_fd, BUNDLE_FILE, 0) < 0)
		return err_sys(e, "remove their names");
	if (host_fd >= 0 && io_copy(in->bundle_fd, host_fd, e) < 0)
		return err_ctx(e, "the system's certificates");
	return io_write_all(in->bundle_fd, SV("\n"), e);
}

int special_certificate(struct init *in, const struct step *s, struct err *e)
{
	struct sv pem = sv_of(in->ca, in->ca_n);

	(void)s;
	if (pem.n == 0)
		return err_kind(e, ERR_BUG, "no certificate came");
	if (io_write_all(in->ca_fd, pem, e) < 0 ||
	    io_write_all(in->bundle_fd, pem, e) < 0)
		return -1;
	close_fd(&in->ca_fd);
	close_fd(&in->bundle_fd);
	return 0;
}

/* A session of its own in any case; with a terminal, that is its terminal. */
int special_pty(struct init *in, const struct step *s, struct err *e)
{
	(void)s;
	if (setsid() < 0)
		return err_sys(e, "begin a session");
	if (in->plan->wants_pty) {
		if (pty_open(in->devpts_fd, &in->pty, e) < 0 ||
		    pty_control(in->pty.slave, e) < 0)
			return -1;
	}
	close_fd(&in->devpts_fd);
	return 0;
}
