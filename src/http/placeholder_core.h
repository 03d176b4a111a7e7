/* SPDX-License-Identifier: Apache-2.0 */
/* The two kinds of cores that placeholders have. */
#ifndef HTTP_PLACEHOLDER_CORE_H
#define HTTP_PLACEHOLDER_CORE_H

#include "sv.h"

#define PLACEHOLDER_MARK "stockade_placeholder_"
/* Letters alone, and short: tokens have little room. */
#define PLACEHOLDER_SHAPED_MARK "STOCKADE"
#define PLACEHOLDER_ALPHABET                                                   \
	"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

enum {
	PLACEHOLDER_DIGITS = 32,	/* hexadecimal, behind the plain mark */
	/* Of the alphabet's, behind the other: 131 bits. */
	PLACEHOLDER_LETTERS = 22,
};

#endif
