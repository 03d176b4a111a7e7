/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade caches`, and `stockade caches remove`. */
#ifndef CLI_CACHES_H
#define CLI_CACHES_H

#include "err.h"

int caches_main(int argc, char **argv, struct err *e);

#endif
