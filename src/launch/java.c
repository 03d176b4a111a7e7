/* SPDX-License-Identifier: Apache-2.0 */
/* The stores of Java: see java.h. */
#include "java.h"

#include <sys/statvfs.h>

#include "buf.h"
#include "dir.h"
#include "init.h"
#include "own.h"

#define PACKAGES "usr/lib/jvm"

static const char *const fixed[] = {
	"etc/ssl/certs/java/cacerts",
	"etc/pki/ca-trust/extracted/java/cacerts",
	"etc/pki/java/cacerts",
};

/* Since Java 9, and before. */
static const char *const in_home[] = {
	"lib/security/cacerts", "jre/lib/security/cacerts",
};

static bool is_same(int a_fd, int b_fd)
{
	struct stat a, b;

	return fstat(a_fd, &a) == 0 && fstat(b_fd, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Most are links to one of the distribution's. */
static bool is_new_store(const struct java_stores *stores, int fd)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fstatvfs(fd, &fs) < 0 || !(fs.f_flag & ST_RDONLY))
		return false;
	for (size_t i = 0; i < stores->n; i++)
		if (is_same(stores->fd[i], fd))
			return false;
	return stores->n < JAVA_STORES_MAX;
}

static void look(const struct init *in, struct java_stores *stores,
		 struct sv path)
{
	struct err absent;
	auto_fd int fd = path_open_in(in->root_fd, path, O_PATH, &absent);

	if (fd >= 0 && is_new_store(stores, fd))
		stores->fd[stores->n++] = steal_fd(&fd);
}

static void look_in(const struct init *in, struct java_stores *stores,
		    struct sv home)
{
	for (size_t i = 0; i < countof(in_home); i++) {
		auto_buf struct buf path = buf_new(PATH_MAX);

		buf_printf(&path, "%.*s/%s", SV_FMT(home), in_home[i]);
		if (!path.full)
			look(in, stores, buf_sv(&path));
	}
}

static void look_in_packages(const struct init *in, struct java_stores *stores)
{
	struct err absent;
	auto_fd int fd = path_open_in(in->root_fd, SV(PACKAGES), O_RDONLY |
				      O_DIRECTORY, &absent);
	auto_dir DIR *dir = dir_take(&fd);
	const struct dirent *d;

	while (dir && (d = dir_next(dir)) != NULL) {
		auto_buf struct buf home = buf_new(PATH_MAX);

		if (d->d_type != DT_DIR && d->d_type != DT_LNK)
			continue;
		buf_printf(&home, PACKAGES "/%s", d->d_name);
		look_in(in, stores, buf_sv(&home));
	}
}

/* JDK/bin; /usr/bin has its Java by links, which lead to a package. */
static void look_in_path(const struct init *in, struct java_stores *stores,
			 struct sv path)
{
	while (path.n) {
		struct sv bin = sv_cut(&path, ':');

		if (sv_starts(bin, SV("/")) && sv_ends(bin, SV("/bin")))
			look_in(in, stores, sv_head(bin, bin.n - 3));
	}
}

void java_find(const struct init *in, struct java_stores *stores)
{
	for (size_t i = 0; i < countof(fixed); i++)
		look(in, stores, sv_str(fixed[i]));
	look_in_packages(in, stores);
	for (char *const *at = in->plan->envp; at && *at; at++) {
		struct sv value = sv_str(*at), name = sv_cut(&value, '=');

		if (sv_eq(name, SV("JAVA_HOME")) && sv_starts(value, SV("/")))
			look_in(in, stores, value);
		if (sv_eq(name, SV("PATH")))
			look_in_path(in, stores, value);
		if (sv_find_sv(value, SV(JAVA_STORE)) < value.n)
			stores->wanted = true;
	}
}
