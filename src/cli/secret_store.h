/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs below `stockade secret` that keep the store; argv[0] is the verb. */
#ifndef CLI_SECRET_STORE_H
#define CLI_SECRET_STORE_H

#include "err.h"

must_check int secret_set(int argc, char **argv, struct err *e);
must_check int secret_list(int argc, char **argv, struct err *e);
must_check int secret_remove(int argc, char **argv, struct err *e);
must_check int secret_unlock(int argc, char **argv, struct err *e);
must_check int secret_lock(int argc, char **argv, struct err *e);

#endif
