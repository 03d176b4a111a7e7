/* SPDX-License-Identifier: Apache-2.0 */
/* What every sandbox shows of the host's system: see system_tables.h. */
#include "system_tables.h"

#include <stddef.h>

const char *const system_roots[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/opt", "/nix/store", "/gnu/store",
	NULL,
};

const char *const system_etc[] = {
	/* programs start */
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.preload",
	/* certificates */
	"/etc/pki",
	/* time, language, what system this is */
	"/etc/localtime", "/etc/timezone", "/etc/os-release",
	"/etc/lsb-release", "/etc/redhat-release", "/etc/fedora-release",
	"/etc/alpine-release",
	/* names of numbers */
	"/etc/protocols", "/etc/services",
	/* shells */
	"/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc",
	"/etc/zsh", "/etc/zshrc", "/etc/zshenv", "/etc/fish",
	/* tools */
	"/etc/gitconfig", "/etc/npmrc", "/etc/fonts", "/etc/ImageMagick-6",
	"/etc/ImageMagick-7",
	/* languages */
	"/etc/java", "/etc/java-8-openjdk", "/etc/java-11-openjdk",
	"/etc/java-17-openjdk", "/etc/java-21-openjdk",
	"/etc/java-25-openjdk", "/etc/ruby", "/etc/php", "/etc/R",
	"/etc/julia", "/etc/ghc", "/etc/maven", "/etc/gradle",
	/* what starts browsers */
	"/etc/chromium.d",
	/* managed settings of agents */
	"/etc/claude-code", "/etc/codex", "/etc/gemini-cli", "/etc/opencode",
	/* of directories that are not shown whole (/etc/ssl/private) */
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
	NULL,
};

const char *const system_written[] = {
	"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/hostname",
	"/etc/nsswitch.conf", "/etc/resolv.conf",
	NULL,
};

const char *const system_browsers[] = {
	"/etc/chromium", "/etc/opt/chrome", "/etc/opt/chrome_for_testing",
	"/etc/opt/edge", "/etc/brave",
	NULL,
};

/* What only root can read or write (kcore, kmsg, sysrq-trigger, timer_list) is
 * not listed: outside, the agent is never root. */
const char *const system_proc_hidden[] = {
	"/proc/asound", "/proc/interrupts", "/proc/kallsyms",
	"/proc/key-users", "/proc/keys", "/proc/latency_stats", "/proc/scsi",
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
