/* SPDX-License-Identifier: Apache-2.0 */
/* Device files of /dev: see device.h. */
#include "device.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

const struct device device_list[] = {
	{ "null", 1, 3 },   { "zero", 1, 5 },	 { "full", 1, 7 },
	{ "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 },
	{ 0 },
};

int device_check(int fd, const struct device *d, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "identify /dev/%s", d->name);
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(d->major, d->minor))
		return err_kind(e, ERR_DENIED,
				"/dev/%s is not character device %u:%u",
				d->name, d->major, d->minor);
	return 0;
}
