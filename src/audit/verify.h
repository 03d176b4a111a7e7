/* SPDX-License-Identifier: Apache-2.0 */
/* Checking an audit trail: the chain, the sequence, the seal. */
#ifndef AUDIT_VERIFY_H
#define AUDIT_VERIFY_H

#include "trail.h"

struct verdict_of_trail {
	uint64_t records;	/* good ones from the start */
	bool sealed;		/* the run's end is on record, and at most what
				   became of its changes follows */
	char hash[AUDIT_HASH_HEX];	/* of the last good record */
};

/* ERR_DENIED at the first line that does not follow from the ones before. */
must_check int verify_trail(struct sv text, struct verdict_of_trail *ret,
			    struct err *e);

#endif
