/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tries of `stockade doctor`: each really does the thing, in a process of
 * its own that ends right afterwards, so that nothing of it remains.
 */
#ifndef CLI_DOCTOR_TRIES_H
#define CLI_DOCTOR_TRIES_H

#include <stdbool.h>

#include "err.h"

enum { DOCTOR_NOTE_MAX = 160 };

/* Most tries need the user namespace that one of them makes; those of limits
 * are made in the doctor's own process (doctor_limits.c).  DOCTOR_PROC is inside
 * as well, but what refuses it is not what refuses the others. */
enum doctor_place {
	DOCTOR_HOST, DOCTOR_DOOR, DOCTOR_INSIDE, DOCTOR_PROC, DOCTOR_SELF,
};

struct doctor_try {
	const char *name;
	bool required;		/* without it `stockade run` cannot work */
	enum doctor_place place;
	/* 0 or -1 with *e; may write a note of DOCTOR_NOTE_MAX bytes. */
	int (*attempt)(char *note, struct err *e);
	const char *remedy;	/* what helps, never by weakening the host */
};

int doctor_try_memory(char *note, struct err *e);
int doctor_try_processes(char *note, struct err *e);
int doctor_try_cpu(char *note, struct err *e);
int doctor_try_io(char *note, struct err *e);
int doctor_try_workspace(char *note, struct err *e);
int doctor_try_others(char *note, struct err *e);

/* Where a call is refused, and not missing. */
#define DOCTOR_IN_CONTAINER                                                \
	"in a container, its runtime's profile forbids this: start stockade " \
	"outside, or give that one container a profile that permits it "      \
	"(docker: --security-opt seccomp=FILE and apparmor=NAME, or "         \
	"=unconfined)"

/* Ended by a NULL name. */
extern const struct doctor_try doctor_tries[];

#endif
