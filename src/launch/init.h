/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pid 1 of the sandbox: applies the plan, then reaps and waits.
 *
 * One function for each kind of step; init.c has the table.  They run in the
 * cloned process, with the whole host still in view until STEP_ENTER.
 */
#ifndef LAUNCH_INIT_H
#define LAUNCH_INIT_H

#include "buf.h"
#include "java.h"
#include "keeper.h"
#include "plan.h"
#include "policy.h"
#include "pty.h"

struct init {
	const struct plan *plan;
	const struct limits_groups *groups;
	int *trees;		/* of its steps, in their order */
	size_t trees_n, trees_used;
	int stdio_fd[3];	/* borrowed */
	int control_fd;		/* owned, all of them; -1: not open */
	int root_fd;		/* the new root's mount */
	bool attached;		/* it hangs over the old root (before 6.15) */
	int host_dev_fd;
	int cover_dir_fd, cover_file_fd;
	int devpts_fd;
	int layers_fd;		/* what is held is here: layers.c */
	bool layers_shown;	/* ... and has a name for the builder */
	struct overlay_whole *overlays;	/* of the plan's; NULL: none is made */
	struct pty pty;
	int ca_fd, bundle_fd;	/* this run's certificate goes there */
	int browser_fd;
	int java_fd;		/* -1: there is no Java */
	struct buf java;	/* what it will hold (pkcs12.h) */
	const char *ca;		/* PEM, while STEP_CERTIFICATE runs */
	size_t ca_n;
	mode_t umask;		/* the caller's */
	int signal_fd;
	int mounts_fd;		/* says when mounts change: hold.c */
	bool *held;		/* by step: it is mounted still */
	int keeper_fd[2];	/* the listener comes this way (STEP_KEEPER) */
	struct keeper *keeper;	/* NULL: names are made without asking */
	bool lowers;		/* the command gets rlimits (limit.h) */
	struct sv narrow[POLICY_SYSCALLS_MAX];	/* programs for the command */
	size_t narrow_n;
	pid_t command;
	int status;		/* of the run, when a step fails: LAUNCH_* */
};

/* Never returns; early are the first steps, control_fd is pid 1's end, stdio_fd
 * what becomes 0, 1 and 2 of the command where that is not the pty. */
_Noreturn void init_run(const struct plan *plan, const struct step *early,
			const struct limits_groups *groups, int control_fd,
			const int stdio_fd[3]);

#define INIT_STEP(name) \
	must_check int name(struct init *in, const struct step *s, struct err *e)

/* root.c */
INIT_STEP(root_make);
INIT_STEP(root_directory);
INIT_STEP(root_template);
INIT_STEP(root_link);
INIT_STEP(root_private);
INIT_STEP(root_bind);
INIT_STEP(root_overlay);
INIT_STEP(root_cover);
INIT_STEP(root_pin);
INIT_STEP(key_files_make);	/* key_files.c */
INIT_STEP(root_seal);
INIT_STEP(root_enter);
INIT_STEP(root_workdir);
/* special.c */
INIT_STEP(special_device);
INIT_STEP(special_terminals);
INIT_STEP(special_proc);
INIT_STEP(special_pty);
/* trust.c */
INIT_STEP(trust_make);
INIT_STEP(trust_certificate);
/* box.c */
INIT_STEP(box_separate);
INIT_STEP(box_hostname);
INIT_STEP(box_network);
/* The answer to a call (control.h). */
must_check int box_give_socket(const struct init *in, int family,
			       struct err *e);
/* ... and to the sentry's request for this sandbox's namespaces. */
must_check int box_give_spaces(const struct init *in, struct err *e);
/* confinement.c */
INIT_STEP(confinement_limits);
INIT_STEP(confinement_forget);
INIT_STEP(confinement_capabilities);
INIT_STEP(confinement_landlock);
INIT_STEP(confinement_seccomp);
INIT_STEP(confinement_syscalls);
/* In the command's process, before it is executed: what those steps named. */
must_check int confinement_narrow(const struct init *in, struct err *e);
/* limit.c */
INIT_STEP(limits_enter);
INIT_STEP(limits_note);
/* layers.c */
must_check int layers_new(const struct plan *plan, struct err *e);
INIT_STEP(layers_make);
/* `limit workspace-files`, when all trees are known. */
must_check int layers_count(const struct plan *plan, int layers_fd,
			    struct err *e);
/* Before an overlay of pid 1's is made: its layers are there. */
must_check int layers_show(struct init *in, const struct overlay *o,
			   struct err *e);
/* thread.c */
INIT_STEP(thread_start);
INIT_STEP(thread_join);
/* Returns when it has carried out its part of the plan. */
void thread_entered(const struct init *in);
/* init.c to it: the plan's middle part, when it is whole. */
void init_build(struct init *in);
_Noreturn void init_fail(struct init *in, const struct err *e);
/* spawn.c */
INIT_STEP(spawn_keeper);
INIT_STEP(spawn_command);
/* hold.c: in->mounts_fd becomes ready (POLLPRI) when there is to be checked
 * whether all that was covered and guarded still is. */
INIT_STEP(hold_begin);
must_check int hold_check(struct init *in, struct err *e);
/* The same, where pid 1 is busy for long; of is the struct init. */
void hold_glance(void *of);

/* A copy of what the step's source is: the parent's, or made here of the tree
 * that is still what the plan has seen, restricted by `attrs`. */
must_check int root_source(struct init *in, const struct step *s,
			   uint64_t attrs, struct err *e);
/* root.c, for the others: target as a path below the new root. */
static inline struct sv init_below(struct sv target)
{
	return sv_from(target, 1);
}
/* Where a tree of the host's will be: its place, O_PATH. */
must_check int root_place(const struct init *in, const struct step *s,
			  struct err *e);
/* To the old root, if it is not yet. */
must_check int root_be_attached(struct init *in, struct err *e);
must_check int root_attach(struct init *in, int tree_fd, int at_fd,
			   const char *path, struct err *e);
/* A copy of what `fd` (with path "") or a path below it shows. */
must_check int root_clone(struct init *in, int fd, const char *path,
			  bool recursive, struct err *e);

#endif
