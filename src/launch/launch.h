/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a checked policy to a confined, running command.
 *
 *	plan_new()		who the agent will be, and what its stdio is
 *	sandbox_start()		makes the process that will be pid 1, and returns
 *	plan_build()		looks at the host; the result is data
 *	sandbox_build()		pid 1 has the plan, and builds the new root
 *	sandbox_network()	... and has made the network
 *	sandbox_pty()		with a terminal: ... and the inner one
 *	sandbox_go()		the word to go; returns when the command executes
 *
 * The plan is an ordered list of steps (plan.h): it can be printed, compared,
 * and each step can be made to fail.  The two processes work side by side:
 * pid 1 makes the network, which takes longest, while the plan is made, and the
 * root while the helpers are started.  A plan that is only to be printed needs
 * no sandbox.
 *
 * A step that fails ends the run: nothing is skipped, and the command never
 * ran.  Closing the control descriptor, or the death of the caller by any
 * means, ends pid 1 and with it everything inside.
 */
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "err.h"
#include "plan.h"
#include "policy.h"
#include "sv.h"

struct launch_variable {
	struct sv name, value;
};

/* With placeholders, for clients that read their credentials from one. */
struct launch_file {
	struct sv path, text;
	struct sv why;		/* the statement */
};

/* Of a `cache` statement: where its directory is kept, an absolute path. */
struct launch_cache {
	struct sv path;		/* the statement's */
	const char *dir;	/* there already, unless it is to be looked at */
};

/* A directory whose changes are held, or of which those of one file are. */
struct launch_tree {
	struct sv path;
	uint64_t ino;
	struct sv only;		/* the name of that file, or "" */
	uint32_t layers;	/* its changes are in HELD/layers/upper ... */
	struct sv below;	/* ... there; "" is that directory itself */
};
/* overlay_plan.c: which that is of a STEP_OVERLAY. */
struct launch_tree overlay_tree(const struct plan *plan, const struct step *s);

/* Everything is borrowed for plan_build().  What steps keep of it they copy,
 * for pid 1 shares only the plan's memory. */
struct launch_input {
	char *const *argv;	/* the command; ends with NULL */
	char *const *environ;	/* the caller's environment; ends with NULL */
	const char *cwd;	/* absolute */
	bool wants_ca;		/* sandbox_go() brings a certificate to trust */

	/* An absolute path: a directory of the caller's, closed to others, for
	 * what later runs can use again (template.h).  NULL: the plan is to be
	 * looked at, not to be carried out. */
	const char *store;

	/* One for each `cache` of the policy. */
	const struct launch_cache *caches;
	size_t caches_n;

	/* With `workspace overlay`, an absolute path without links: an empty
	 * directory of the caller's, where the changes are held, each overlay's
	 * in its own (overlay.c).  NULL: as above. */
	const char *held;
	bool held_spare;	/* not empty: directories for it, which are */

	/* With `limit workspace`, what sandbox_layers() gave: the layers are made
	 * there, and `held` is only where they will be carried to. */
	int layers_fd;

	/* Not empty: what an earlier run has held there is continued from, and
	 * these are its trees, as many as this run has to have. */
	const struct launch_tree *held_trees;
	size_t held_trees_n;

	/* Set inside, whatever the policy says: placeholders of secrets. */
	const struct launch_variable *variables;
	size_t variables_n;
	/* ... and files with them; the texts are of no matter to the plan. */
	const struct launch_file *files;
	size_t files_n;

	/* A write grant on, above or below one of these is refused: stockade's
	 * state, the folders of its programs.  Need not exist. */
	const char *const *sealed;
	size_t sealed_n;
	/* Policy files: read-only, also where a write grant contains them. */
	const char *const *pinned;
	size_t pinned_n;
};

/* What a run that never came to its command exits with. */
enum {
	LAUNCH_FAILED = 125,
	LAUNCH_NOT_EXECUTABLE = 126,
	LAUNCH_NOT_FOUND = 127,
};

/* A plan that only begins; NULL on failure.  plan_free() takes NULL as well.
 * Its limits are those that this machine can hold (limit.h).
 * Of stdio, terminals become the inner pty, and sockets are relayed
 * (sandbox.relay_fd). */
struct plan *plan_new(const int stdio[3], const struct policy *p,
		      struct err *e);
/* The rest of it; changes nothing on the host but the
 * store.  On failure plan->status is one of the above. */
must_check int plan_build(struct plan *plan, const struct policy *p,
			  const struct launch_input *in, struct err *e);
void plan_free(struct plan *plan);
size_t plan_step_count(const struct plan *plan);
/* One line for each step, or one JSON object; never a value of a variable. */
void plan_print(const struct plan *plan, struct buf *b, bool json);

/* The parent's side of a running sandbox. */
struct sandbox {
	int pidfd;		/* owned; pid 1 of the sandbox */
	pid_t pid;		/* ... and its number out here */
	int control_fd;		/* owned; readable: sandbox_next() */
	int tcp_fd;		/* owned; the capturing listener */
	int dns_fd;		/* owned; the UDP socket of every port 53 */
	int pty_fd;		/* owned; master of the inner pty, or -1 */
	int relay_fd[3];	/* owned; where standard descriptor i is relayed
				   (plan.h) the pipe on this side, or -1 */
	const struct plan_limits *limits;	/* the plan's */
	struct limits_groups groups;	/* owned */
	enum limit_kind reached;	/* seen by sandbox_kill() */
	bool empty;		/* only pid 1 is left, waiting for our end */
	int status;		/* after a failure: LAUNCH_* */
};

/* All six: on failure call sandbox_kill(), then report. */
must_check int sandbox_start(const struct plan *plan, struct sandbox *ret,
			     struct err *e);
/* With `limit workspace`, before plan_build(): a descriptor, the caller's, of the
 * file system of that size which is to have the layers.  In it, as N/upper, may be
 * put what the run continues from; when the sandbox has ended, that is what was
 * changed, as long as the descriptor is open. */
must_check int sandbox_layers(struct sandbox *sb, const struct plan *plan,
			      struct err *e);
/* After plan_build(); takes the trees that the plan holds. */
must_check int sandbox_build(struct plan *plan, struct sandbox *sb,
			     struct err *e);
/* Brings tcp_fd and dns_fd. */
must_check int sandbox_network(struct sandbox *sb, struct err *e);
/* Only with plan->wants_pty; brings pty_fd. */
must_check int sandbox_pty(struct sandbox *sb, struct err *e);
/* ca_pem is empty without wants_ca.  Returns when the command was executed. */
must_check int sandbox_go(struct sandbox *sb, struct sv ca_pem, struct err *e);

enum { SANDBOX_SPACES_N = 3 };

enum sandbox_event_kind {
	SANDBOX_NOTHING = 0,
	SANDBOX_EXITED,		/* value is the command's wait status; nothing
				   of the agent's runs any more */
	SANDBOX_STOPPED,	/* value is the signal that stopped the command */
	SANDBOX_SOCKET,		/* of the oldest sandbox_call() */
	SANDBOX_SPACES,		/* of sandbox_enter() */
	SANDBOX_REFUSED,	/* path was not made inside, because of rule */
	SANDBOX_MADE,		/* path is a name that runs something outside, and
				   is the agent's to make */
	SANDBOX_LEFT,		/* value of those are left; paths, NUL between */
	SANDBOX_BROKEN,		/* pid 1 has ended it, and says why */
	SANDBOX_LOST,		/* pid 1 is gone without a word */
};

struct sandbox_event {
	enum sandbox_event_kind kind;
	int value;
	int socket_fd;		/* with SANDBOX_SOCKET: the caller's, or -1 */
	struct err why;		/* with SANDBOX_BROKEN */
	struct sv path, rule;	/* with SANDBOX_REFUSED; until the next event */
	struct sv paths;	/* with SANDBOX_LEFT, likewise */
	/* With SANDBOX_SPACES, the caller's: user, mount, network; else -1. */
	int space_fd[SANDBOX_SPACES_N];
};

/* Asks for a TCP socket of the sandbox's network, which SANDBOX_SOCKET brings.
 * Only while the command runs. */
must_check int sandbox_call(struct sandbox *sb, int family, struct err *e);
/* Asks for the sandbox's namespaces, which SANDBOX_SPACES brings. */
must_check int sandbox_enter(struct sandbox *sb, struct err *e);
/* The next event, without waiting. */
struct sandbox_event sandbox_next(struct sandbox *sb);
/* To the command's process group (SIGCONT also continues a stopped one). */
must_check int sandbox_signal(struct sandbox *sb, int signal, struct err *e);
/* Kills everything inside, waits until it is gone, and closes what is open.
 * After SANDBOX_EXITED only pid 1 is left, which ends with its parent as well. */
void sandbox_kill(struct sandbox *sb);

#endif
