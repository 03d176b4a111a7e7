/* SPDX-License-Identifier: Apache-2.0 */
/* What every sandbox shows of the host's system: see system_tables.h. */
#include "system_tables.h"

#include <stddef.h>

const char *const system_roots[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/opt", "/nix/store", "/gnu/store",
	NULL,
};

/* passwd, group, hosts, hostname, nsswitch.conf and resolv.conf are written
 * by system.c instead. */
const char *const system_etc[] = {
	/* programs start */
	"alternatives", "ld.so.cache", "ld.so.preload",
	/* certificates */
	"pki",
	/* time, language, what system this is */
	"localtime", "timezone", "os-release", "lsb-release",
	"redhat-release", "fedora-release", "alpine-release",
	/* names of numbers */
	"protocols", "services",
	/* shells */
	"profile", "profile.d", "bash.bashrc", "bashrc", "zsh", "zshrc",
	"zshenv", "fish",
	/* tools */
	"gitconfig", "npmrc", "fonts", "ImageMagick-*",
	/* languages */
	"python3.*", "perl", "java-*", "ruby", "php", "R", "julia", "ghc",
	"maven", "gradle",
	/* managed settings of agents */
	"claude-code", "codex", "gemini-cli", "opencode",
	NULL,
};

const char *const system_paths[] = {
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
	NULL,
};

/* What only root could read is not listed again: outside, the agent is never
 * root (system.c leaves such names out by their mode). */
const char *const system_proc_hidden[] = {
	"asound", "interrupts", "kallsyms", "kcore", "key-users",
	"keys", "kmsg", "latency_stats", "sched_debug", "scsi",
	"sysrq-trigger", "timer_list", "timer_stats",
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
