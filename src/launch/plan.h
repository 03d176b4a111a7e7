/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: what the launch will do, as data.
 *
 * It lies in memory that pid 1 shares: pid 1 is made first, and carries out the
 * early steps while the parent still looks at the host for the others.  A
 * second thread of it has those that build the root (thread.c).  From
 * sandbox_build() on nobody writes to the plan.
 *
 * Steps are applied in the order of the array.  STEP_NAMESPACES is the
 * parent's; the others are pid 1's.  Sources
 * are known by identity (device and inode), not by name alone: pid 1 opens the
 * name again, refusing every symbolic link, and compares.
 */
#ifndef LAUNCH_PLAN_H
#define LAUNCH_PLAN_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arena.h"
#include "limit.h"
#include "path.h"
#include "sv.h"

/* STEP(NAME, word): the word is what --explain prints. */
#define PLAN_STEPS(STEP)                                              \
	/* pid 1, early */                                            \
	STEP(NAMESPACES, "namespaces")	/* the process, in new ones */ \
	STEP(IDENTITY, "identity")	/* its maps, its ids */        \
	STEP(CGROUP, "cgroup")		/* where limits need one */    \
	STEP(SEPARATE, "separate")	/* the other namespaces */     \
	STEP(LAYERS, "layers")		/* with limit workspace */     \
	STEP(HOSTNAME, "hostname")                                    \
	STEP(THREAD, "thread")		/* the one that builds */      \
	STEP(NETWORK, "network")                                      \
	STEP(LIMITS, "limits")                                        \
	STEP(FORGET, "forget")		/* the caller's environment */ \
	STEP(CAPABILITIES, "capabilities")                            \
	STEP(SECCOMP, "seccomp")                                      \
	/* its thread, meanwhile */                                   \
	STEP(ROOT, "root")		/* an empty tmpfs */           \
	STEP(DIRECTORY, "directory")	/* in it */                    \
	STEP(TEMPLATE, "template")	/* /etc or /dev (template.h) */ \
	STEP(FILE, "file")		/* source: its contents */     \
	STEP(COPY, "copy")		/* source: version of the host's */ \
	STEP(LINK, "link")		/* source: what it says */     \
	STEP(PRIVATE, "private")	/* a writable directory */     \
	STEP(BIND, "bind")		/* host's source on target */  \
	STEP(OVERLAY, "overlay")	/* target, what is written held */ \
	STEP(DEVICE, "device")		/* the same, verified */       \
	STEP(TERMINALS, "terminals")	/* an own devpts */            \
	STEP(PROC, "proc")		/* of the own pid namespace */ \
	STEP(PIN, "pin")		/* target cannot be renamed */ \
	STEP(GUARD, "guard")		/* the same, and read-only */  \
	STEP(COVER, "cover")		/* hide what target has there */ \
	STEP(KEY_FILE, "key-file")	/* source: placeholders */     \
	STEP(TRUST, "trust")		/* room for the CA bundle */   \
	STEP(SEAL, "seal")		/* the root is read-only */    \
	STEP(ENTER, "enter")		/* ... and the only one, soon */ \
	STEP(WORKDIR, "workdir")                                      \
	/* pid 1 again */                                             \
	STEP(HOLD, "hold")		/* notice what the host lifts */ \
	STEP(PTY, "pty")		/* for the command's stdio */  \
	STEP(REPORT, "report")		/* the pty to the parent */    \
	STEP(LANDLOCK, "landlock")                                    \
	STEP(GO, "go")			/* the parent's word */        \
	STEP(JOIN, "join")		/* the thread: the host is gone */ \
	STEP(CERTIFICATE, "certificate")                              \
	STEP(RLIMITS, "rlimits")                                      \
	STEP(KEEPER, "keeper")		/* names are made by pid 1 */  \
	STEP(SYSCALLS, "syscalls")	/* fewer of them; source: a program */ \
	STEP(COMMAND, "command")

#define PLAN_STEP_KIND(NAME, word) STEP_##NAME,
enum step_kind { STEP_NONE = 0, PLAN_STEPS(PLAN_STEP_KIND) STEP_KINDS };
#undef PLAN_STEP_KIND

enum step_flag {
	STEP_WRITE = 1,		/* BIND: writable */
	STEP_OPTIONAL = 2,	/* nothing there any more: nothing to do */
	STEP_TREE = 4,		/* tree_fd holds the copy; of BIND, idmapped;
				   of OVERLAY, the whole */
	STEP_SYSTEM = 8,	/* part of every sandbox, not of the policy */
	STEP_READY = 16,	/* in the template: nothing to do for pid 1 */
	STEP_PLACED = 32,	/* a mount whose place is in the template */
	STEP_THERE = 64,	/* BIND, KEY_FILE: its place is there, or it
				   fails */
	STEP_HELD = 128,	/* PIN, GUARD: in an overlay */
};

struct step {
	enum step_kind kind;
	uint8_t flags;			/* enum step_flag */
	uint16_t mode;			/* DIRECTORY, PRIVATE */
	int tree_fd;			/* owned; -1 without STEP_TREE */
	struct sv source;		/* of OVERLAY, where changes are held */
	struct sv target;		/* absolute, inside */
	struct path_identity identity;	/* of source, or of target for PIN,
					   GUARD and OVERLAY; type 0: any */
	struct sv why;			/* the statement that asked for it */
	uint64_t dir_ino;		/* OVERLAY of a file: its directory's */
	uint32_t overlay;		/* OVERLAY: which of the plan's shows it */
};

/* An overlay while its trees are taken from it. */
struct overlay_whole {
	int fd;			/* owned; -1: not made yet, or all are taken */
	uint32_t taken;
	bool attached;		/* to the new root, for that (before 6.15) */
};

/* One for each directory that is a lower layer: overlay.h. */
struct overlay {
	struct sv base;		/* that directory, of the host's */
	struct path_identity identity;
	struct sv held;		/* its layers: "HELD/N", or "" to be looked at */
	bool again;		/* an earlier run has written to them */
	uint32_t trees;		/* that are shown by it */
	uid_t owner;		/* theirs */
	gid_t group;
	struct overlay_whole whole;	/* made by root, who gives the trees away */
};

/* How a standard descriptor of the command is made. */
enum plan_stdio {
	PLAN_STDIO_PASS = 0,	/* the caller's own: a pipe, a file */
	PLAN_STDIO_PTY,		/* a terminal: the inner one */
	PLAN_STDIO_RELAY,	/* a socket, or output that is counted: a pipe,
				   and the caller relays */
};

/* What may not be made (creation.h). */
struct creation_rule {
	struct sv base;		/* at any depth below it; .n 0: tail is a path */
	struct sv tail;		/* like base a pattern: segments and slashes */
	struct sv why;		/* the statement */
	bool is_default;	/* a `write` of the path itself lifts it */
};

struct builder;
struct exposure;
struct kept;
struct made_log;

struct plan {
	struct arena arena;
	struct step *steps;
	size_t steps_n, steps_cap;
	size_t early;		/* from here on its thread's ... */
	size_t built;		/* ... and pid 1's again */
	struct overlay *overlays;
	size_t overlays_n, overlays_cap;

	/* Identity.  The host's ids are what the kernel checks. */
	uid_t uid, host_uid;
	gid_t gid, host_gid;
	bool as_root;			/* started by root: ids are mapped */

	/* Names that do not exist and are to stay so; none without something
	 * that can be written. */
	struct creation_rule *creation;
	size_t creation_n, creation_cap;
	/* With rules only, and written while the command runs: */
	struct made_log *made;		/* by pid 1 */
	struct kept *kept;		/* by the sentry */
	struct sv *lifted;		/* by a `write` of just that path */
	size_t lifted_n, lifted_cap;

	/* The command; all pointers are into the arena. */
	const char *path;		/* absolute, inside */
	char **argv;
	char **envp;
	int stdio_fd[3];		/* borrowed */
	enum plan_stdio stdio[3];
	bool wants_ca;
	bool wants_pty;
	bool debug;			/* the agent may trace its own */
	uint16_t *local_ports;		/* of the loopback inside, which lead
					   out (`reach localhost:PORT`) */
	size_t local_ports_n, local_ports_cap;
	struct plan_limits limits;

	/* What the host was looked at by, for who goes on looking (sentry.h);
	 * nobody adds to it. */
	const struct builder *seen;
	_Atomic uint64_t sentry_since_ms;	/* it is at something; 0: at none */

	/* What vault looks through; owned, the parent's alone; NULL without a
	 * secret. */
	struct exposure *exposure;

	cpu_set_t cpus;			/* of the command; empty: not known */
	int status;			/* after a failure: LAUNCH_* */
	/* For tests: the index of a step that is to fail, counted from 1.
	 * Nothing in the program sets it. */
	size_t fail_step;
};

#endif
