/* SPDX-License-Identifier: Apache-2.0 */
/* What every sandbox shows of the host's system: see system_tables.h. */
#include "system_tables.h"

#include <stddef.h>
#include <string.h>

const char *const system_roots[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/opt", "/nix/store", "/gnu/store",
	NULL,
};

#define NAME(name) { (name), 0, 0, NULL }
const struct system_name system_etc[] = {
	/* programs start */
	NAME("alternatives"), NAME("ld.so.cache"), NAME("ld.so.preload"),
	/* certificates */
	NAME("pki"),
	/* time, language, what system this is */
	NAME("localtime"), NAME("timezone"), NAME("os-release"), NAME("lsb-release"),
	NAME("redhat-release"), NAME("fedora-release"), NAME("alpine-release"),
	/* names of numbers */
	NAME("protocols"), NAME("services"),
	/* shells */
	NAME("profile"), NAME("profile.d"), NAME("bash.bashrc"), NAME("bashrc"),
	NAME("zsh"), NAME("zshrc"), NAME("zshenv"), NAME("fish"),
	/* tools */
	NAME("gitconfig"), NAME("npmrc"), NAME("fonts"),
	{ "ImageMagick-", 6, 8, "" },
	/* languages */
	{ "python3.", 9, 19, "" }, NAME("perl"), NAME("java"),
	{ "java-", 8, 29, "-openjdk" }, NAME("java-1.8.0-openjdk"), NAME("ruby"),
	NAME("php"), NAME("R"), NAME("julia"), NAME("ghc"), NAME("maven"), NAME("gradle"),
	/* managed settings of agents */
	NAME("claude-code"), NAME("codex"), NAME("gemini-cli"), NAME("opencode"),
	{ NULL, 0, 0, NULL },
};

/* Those that system.c writes. */
static const char *const written[] = {
	"passwd", "group", "hosts", "hostname", "nsswitch.conf", "resolv.conf",
};

static bool is_one_of(const struct system_name *at, struct sv name)
{
	uint64_t number;
	size_t n = 0;

	if (at->last == 0)
		return sv_eq(name, sv_str(at->name));
	if (!sv_starts(name, sv_str(at->name)))
		return false;
	name = sv_from(name, strlen(at->name));
	while (n < name.n && name.p[n] >= '0' && name.p[n] <= '9')
		n++;
	return sv_to_u64(sv_head(name, n), at->last, &number) &&
	       number >= at->first &&
	       sv_eq(sv_from(name, n), sv_str(at->rest));
}

bool system_etc_has(struct sv name)
{
	for (size_t i = 0; i < sizeof written / sizeof written[0]; i++)
		if (sv_eq(name, sv_str(written[i])))
			return true;
	for (const struct system_name *at = system_etc; at->name; at++)
		if (is_one_of(at, name))
			return true;
	return false;
}

const char *const system_paths[] = {
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
	NULL,
};

/* What only root can read or write (kcore, kmsg, sysrq-trigger, timer_list) is
 * not listed: outside, the agent is never root. */
const char *const system_proc_hidden[] = {
	"asound", "interrupts", "kallsyms", "key-users", "keys",
	"latency_stats", "scsi",
	NULL,
};

const struct system_private system_privates[] = {
	{ "/tmp", 01777 },
	{ "/run", 0755 },
	/* No link to /tmp: a grant below it could not be mounted. */
	{ "/var/tmp", 01777 },
	{ NULL, 0 },
};

const struct system_link system_links[] = {
	{ "/dev/fd", "/proc/self/fd" },
	{ "/dev/stdin", "/proc/self/fd/0" },
	{ "/dev/stdout", "/proc/self/fd/1" },
	{ "/dev/stderr", "/proc/self/fd/2" },
	{ "/dev/ptmx", "pts/ptmx" },
	{ "/dev/shm", "/run/shm" },
	{ "/var/run", "/run" },
	{ NULL, NULL },
};
