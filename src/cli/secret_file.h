/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of secrets: $XDG_STATE_HOME/stockade/secrets/store, which only
 * stockade-seal reads and writes (seal.h).
 *
 * Here it is found, locked against another change, and replaced, by a rename; and
 * it is unlocked: by a key that `stockade secret unlock` has left in the kernel's
 * keyring, else by the passphrase, which a person is asked for.
 */
#ifndef CLI_SECRET_FILE_H
#define CLI_SECRET_FILE_H

#include "policy.h"
#include "seal.h"

#define SECRET_DIR "secrets"	/* below the state directory */
#define SECRET_KEY_NAME_MAX 128

struct secret_file {
	int dir_fd;		/* owned; -1: there is none */
	bool is_there;		/* the file, which seal has read */
	struct seal seal;
	char key_name[SECRET_KEY_NAME_MAX];	/* in the keyring */
};

#define SECRET_FILE_NONE \
	((struct secret_file){ .dir_fd = -1, .seal = SEAL_NONE })

/* To be changed: makes the directory, and waits for its turn. */
must_check int secret_file_open(struct secret_file *f, bool change,
				struct err *e);
void secret_file_close(struct secret_file *f);
#define auto_secret_file __attribute__((cleanup(secret_file_close)))

/* How the keyring calls its key; the rest stays as it is. */
must_check int secret_file_name_key(struct secret_file *f, struct err *e);
/* Of one that is there. */
must_check int secret_file_unlock(struct secret_file *f, struct err *e);
/* By the passphrase alone, asked for as often as one is wrong, three times. */
must_check int secret_file_ask(struct secret_file *f, struct err *e);
/* A new one, with a passphrase that is asked for twice. */
must_check int secret_file_make(struct secret_file *f, struct err *e);
/* What seal has now takes the file's place. */
must_check int secret_file_write(struct secret_file *f, struct err *e);
/* ERR_POLICY: there is no such entry, and which one may be meant. */
must_check int secret_file_check(struct secret_file *f, struct sv name,
				 struct err *e);

/* For a run: opens and unlocks it where the policy takes a secret from it that it
 * has.  What is missing, and may not be, is an error. */
must_check int secret_file_prepare(struct secret_file *f,
				   const struct policy *p, struct err *e);

#endif
