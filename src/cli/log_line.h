/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of the trail as a person reads it.
 *
 * Records are parsed JSON of which nothing is believed: what one lacks, and
 * all of a record that is NULL, reads as "" and as 0.
 */
#ifndef CLI_LOG_LINE_H
#define CLI_LOG_LINE_H

#include <jansson.h>
#include <stdbool.h>

#include "buf.h"

/* A member of the record, which owns it. */
const char *log_line_text(const json_t *record, const char *key);
long long log_line_number(const json_t *record, const char *key);

/* The command that the run was started with, made visible. */
void log_line_put_command(struct buf *b, const json_t *record);

/* Something was refused, held back or has failed: what `--denied` asks for. */
bool log_line_is_denial(const json_t *record);

/* Appends the record, made visible, and a newline; details take more lines. */
void log_line_put(struct buf *b, const json_t *record, bool colour);

#endif
