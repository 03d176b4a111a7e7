/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing to the trail of a run that is over: see resume.h.
 *
 * The next record's hash follows from the last one's, so the trail is verified
 * first: a chain that is broken would look as if this record had broken it.
 */
#include "resume.h"

#include "io.h"
#include "own.h"
#include "run_dir.h"
#include "verify.h"

int resume_trail(const char *id, struct trail *ret, struct err *e)
{
	auto_buf struct buf text = buf_new(AUDIT_TRAIL_MAX);
	struct verdict_of_trail v;
	struct err missing;
	int fd = -1;

	trail_open(ret, -1);
	ret->worth_syncing = true;
	ret->most = AUDIT_TRAIL_MAX;
	if (run_open_append(id, &fd, &missing) < 0) {
		*e = missing;
		if (missing.kind != ERR_SYS || missing.code != ENOENT)
			return -1;
		return run_create(id, &ret->fd, e);
	}
	ret->fd = fd;
	if (io_read_all(fd, &text, e) < 0)
		return err_ctx(e, "read the record of run %s", id);
	if (verify_trail(buf_sv(&text), &v, e) < 0)
		return err_ctx(e, "the record of run %s is not intact, so "
			       "nothing can be added to it; move it away from "
			       "the state's directory `runs`, and a new one "
			       "is begun", id);
	ret->sequence = v.records + 1;
	ret->size = text.n;
	memcpy(ret->hash, v.hash, sizeof ret->hash);
	return 0;
}
