/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the audit trail: see trail.h. */
#include "trail.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base64.h"
#include "io.h"
#include "own.h"
#include "sha256.h"
#include "utc.h"

void trail_open(struct trail *t, int fd)
{
	*t = (struct trail){ .fd = fd, .sequence = 1, .most = AUDIT_SIZE,
			     .line = buf_new(AUDIT_LINE_MAX) };
	memset(t->hash, '0', sizeof t->hash);
}

void trail_close(struct trail *t)
{
	close_fd(&t->fd);
	buf_free(&t->line);
}

static void put_time(struct json *j)
{
	struct timespec now;
	struct utc t;
	char text[96];

	(void)clock_gettime(CLOCK_REALTIME, &now);
	t = utc_of(now.tv_sec);
	(void)snprintf(text, sizeof text,
		       "%04u-%02u-%02uT%02u:%02u:%02u.%03ldZ", t.year, t.month,
		       t.day, t.hour, t.minute, t.second,
		       now.tv_nsec / 1000000);
	json_put_str(j, "time", text);
}

struct json *trail_begin(struct trail *t, const char *event)
{
	buf_reset(&t->line);
	t->json = json_line(&t->line);
	json_open(&t->json, '{');
	json_put_u64(&t->json, "seq", t->sequence);
	put_time(&t->json);
	json_put_str(&t->json, "event", event);
	t->is_last = false;
	return &t->json;
}

struct json *trail_begin_last(struct trail *t, const char *event)
{
	struct json *j = trail_begin(t, event);

	t->is_last = true;
	return j;
}

void trail_chain(const char hash[AUDIT_HASH_HEX], struct sv body,
		 char ret[AUDIT_HASH_HEX])
{
	auto_buf struct buf text = buf_new(AUDIT_HASH_HEX + AUDIT_LINE_MAX);
	auto_buf struct buf hex = buf_new(AUDIT_HASH_HEX + 1);
	uint8_t digest[SHA256_SIZE];

	(void)buf_reserve(&text, AUDIT_HASH_HEX + body.n);
	buf_put(&text, sv_of(hash, AUDIT_HASH_HEX));
	buf_put(&text, body);
	sha256(buf_sv(&text), digest);
	buf_put_hex(&hex, sv_of((const char *)digest, sizeof digest));
	memset(ret, 0, AUDIT_HASH_HEX);
	if (!text.full && hex.n == AUDIT_HASH_HEX)
		memcpy(ret, hex.p, AUDIT_HASH_HEX);
}

static int check_room(const struct trail *t, struct err *e)
{
	uint64_t most = t->most + (t->is_last ? AUDIT_RESERVE : 0);

	if (t->size <= most && t->line.n <= most - t->size)
		return 0;
	return err_kind(e, ERR_LIMIT, "the record has no room for more "
			"(`limit record`: %" PRIu64 " bytes)", t->most);
}

int trail_commit(struct trail *t, struct err *e)
{
	char hash[AUDIT_HASH_HEX];

	trail_chain(t->hash, buf_sv(&t->line), hash);
	json_put_sv(&t->json, "hash", sv_of(hash, sizeof hash));
	json_close(&t->json, '}');
	buf_putc(&t->line, '\n');
	if (buf_check(&t->line, "an audit record", e) < 0 ||
	    check_room(t, e) < 0)
		return -1;
	if (io_write_all(t->fd, buf_sv(&t->line), e) < 0)
		return err_ctx(e, "record a decision");
	memcpy(t->hash, hash, sizeof hash);
	t->sequence++;
	t->size += t->line.n;
	return 0;
}

int trail_sync(struct trail *t, struct err *e)
{
	if (t->worth_syncing && fdatasync(t->fd) < 0)
		return err_sys(e, "sync the audit trail");
	return 0;
}
