/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which limits can be held here, and by what: each group is really made and
 * set, as for a run, and removed again.
 *
 * In this process itself: with version 2 it is of matter which processes are
 * in its control group, and a child would be one more.
 */
#include "doctor_tries.h"

#include <stdio.h>

#include "limit.h"
#include "tmpfs.h"

static int try_one(enum limit_kind kind, uint64_t value, struct sv text,
		   char *note, struct err *e)
{
	struct policy p = { 0 };
	struct plan_limits l;
	struct limits_groups g;
	int rc;

	p.limits[kind] = (struct limit){
		.set = true, .value = value, .text = text, .shown = text,
	};
	if (limits_decide(&p, &l, e) < 0)
		return -1;
	rc = limits_make(&l, &g, e);
	if (rc == 0 && l.places_n)
		(void)snprintf(note, DOCTOR_NOTE_MAX,
			       "control groups version %d, below %.100s",
			       l.places[0].at.version, l.places[0].at.path);
	else if (rc == 0)
		(void)snprintf(note, DOCTOR_NOTE_MAX, "RLIMIT_NPROC of the "
			       "sandbox's user namespace; no control group "
			       "with the pids controller");
	if (rc == 0)
		limits_remove(&l, &g);
	limits_forget(&l);
	return rc;
}

int doctor_try_memory(char *note, struct err *e)
{
	return try_one(LIMIT_MEMORY, 64 << 20, SV("limit memory"), note, e);
}

int doctor_try_processes(char *note, struct err *e)
{
	return try_one(LIMIT_PROCESSES, 100, SV("limit processes"), note, e);
}

int doctor_try_cpu(char *note, struct err *e)
{
	return try_one(LIMIT_CPU, 500, SV("limit cpu"), note, e);
}

/* The disks are those of a run, which says so when one cannot be limited. */
int doctor_try_io(char *note, struct err *e)
{
	return try_one(LIMIT_IO, 64 << 20, SV("limit io"), note, e);
}

int doctor_try_workspace(char *note, struct err *e)
{
	if (tmpfs_check_attributes(e) < 0)
		return -1;
	(void)snprintf(note, DOCTOR_NOTE_MAX, "tmpfs with user attributes, for "
		       "`workspace overlay`");
	return 0;
}

int doctor_try_others(char *note, struct err *e)
{
	(void)e;
	(void)snprintf(note, DOCTOR_NOTE_MAX, "time, files, file-size, disk, "
		       "output: without help of the machine");
	return 0;
}
