/* SPDX-License-Identifier: Apache-2.0 */
/* Who drives a device number: see driver.h. */
#include "driver.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include "io.h"
#include "own.h"

enum { TABLE_MAX = 1 << 16, MISC_MAJOR = 10 };

static struct sv take_line(struct sv *rest)
{
	struct sv line = sv_head(*rest, sv_find(*rest, '\n'));

	*rest = sv_from(*rest, line.n + 1);
	return line;
}

/* Lines of " 10 name", up to an empty one. */
static int find(const char *table, unsigned number, struct buf *ret,
		struct err *e)
{
	auto_buf struct buf text = buf_new(TABLE_MAX);
	struct sv rest;

	if (io_read_file(AT_FDCWD, table, &text, e) < 0)
		return -1;
	for (rest = buf_sv(&text); rest.n;) {
		struct sv line = sv_trim(take_line(&rest));
		size_t digits = sv_find(line, ' ');
		uint64_t listed;

		if (line.n == 0)
			break;	/* block devices follow */
		if (!sv_to_u64(sv_head(line, digits), UINT32_MAX, &listed) ||
		    listed != number)
			continue;
		buf_put(ret, sv_trim(sv_from(line, digits)));
		buf_putc(ret, '\n');
	}
	return 0;
}

int driver_names(dev_t number, struct buf *ret, struct err *e)
{
	size_t before = ret->n;
	int rc = major(number) == MISC_MAJOR ?
			 find("/proc/misc", minor(number), ret, e) :
			 find("/proc/devices", major(number), ret, e);

	if (rc < 0)
		return err_ctx(e, "find the driver of device %u:%u",
			       major(number), minor(number));
	if (ret->n == before)
		return err_kind(e, ERR_DENIED, "the kernel knows no driver of "
				"device %u:%u", major(number), minor(number));
	return buf_check(ret, "the names of its drivers", e);
}
