/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `device gpu|kvm|fuse|PATH`: nodes of the host's /dev that are there inside.
 *
 * What a node opens is its driver's doing, so a node is judged by its drivers,
 * as the kernel names them: those on the list below, and no other.  Most of what
 * is not on it equals the machine (memory, disks, keyboards, terminals, the
 * network), and for that the refusal says so.
 *
 * The node is bound as it is, so that its own mode decides as it does outside.
 * Root's agent is nobody on the host: it gets a node of the same number that
 * belongs to it, in a file system that only this sandbox has.
 */
#include "devices.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "area.h"
#include "device.h"
#include "driver.h"
#include "glob.h"
#include "mount.h"
#include "own.h"

#define NODE "node"

/* Drivers whose devices may be named; of misc devices (driver.h) the device. */
static const char *const permitted[] = {
	/* computing and pictures */
	"drm", "accel", "kfd", "dxg", "nvidia", "nvidia-*", "nvidiactl",
	"habanalabs", "dma_heap",
	/* sound, cameras */
	"alsa", "video4linux", "media",
	/* what hangs on a cable */
	"ttyUSB", "ttyACM", "gpiochip",
	"kvm", "fuse", "hw_random", "ntsync", "ptp", "pps",
};

static const struct {
	const char *driver, *why;
} refused[] = {
	{ "mem", "it is the machine's memory, ports or kernel log" },
	{ "cpu/msr", "it reaches all of the machine" },
	{ "vfio", "it lets hardware write to all of the memory" },
	{ "iommu", "it lets hardware write to all of the memory" },
	{ "usb_device", "it is every disk and keyboard on that bus" },
	{ "input", "it reads what is typed, in every program" },
	{ "hidraw", "it reads what is typed, in every program" },
	{ "uinput", "it types, into every program" },
	{ "uhid", "it types, into every program" },
	{ "fb", "it is the screen, with all that is on it" },
	{ "tty", "it is a terminal of the host" },
	{ "ttyS", "it is a terminal of the host" },
	{ "ttyAMA", "it is a terminal of the host" },
	{ "/dev/vc/0", "it is a terminal of the host" },
	{ "/dev/tty", "it is a terminal of the host" },
	{ "/dev/console", "it is a terminal of the host" },
	{ "/dev/ptmx", "it is a terminal of the host" },
	{ "ptm", "it is a terminal of the host" },
	{ "pts", "it is a terminal of the host" },
	{ "vcs", "it is the screen of a terminal of the host" },
	{ "tun", "it is the host's network" },
	{ "macvtap", "it is the host's network" },
	{ "ppp", "it is the host's network" },
	{ "vhost*", "it is the host's network, past every rule" },
	{ "vsock", "it is a network, past every rule" },
	{ "loop-control", "it makes disks of files" },
	{ "device-mapper", "it makes disks of disks" },
	{ "btrfs-control", "it is a disk" },
	{ "sg", "it is a disk" }, { "bsg", "it is a disk" },
	{ "st", "it is a tape" }, { "raw", "it is a disk" },
	{ "nvme*", "it is a disk" }, { "mtd*", "it is the firmware's memory" },
	{ "ubi*", "it is the firmware's memory" },
};

int device_judge(struct sv name, mode_t mode, dev_t number, struct err *e)
{
	auto_buf struct buf drivers = buf_new(4096);
	struct sv rest;

	if (S_ISBLK(mode))
		return err_kind(e, ERR_POLICY, "%.*s: it is a disk, and who "
				"reads or writes one is root", SV_FMT(name));
	if (!S_ISCHR(mode))
		return err_kind(e, ERR_POLICY, "%.*s: it is no device",
				SV_FMT(name));
	if (driver_names(number, &drivers, e) < 0)
		return err_ctx(e, "%.*s", SV_FMT(name));
	for (rest = buf_sv(&drivers); rest.n;) {
		struct sv driver = sv_head(rest, sv_find(rest, '\n'));
		bool good = false;

		rest = sv_from(rest, driver.n + 1);
		for (size_t i = 0; i < countof(permitted); i++)
			good |= glob_match_segment(sv_str(permitted[i]),
						   driver);
		for (size_t i = 0; !good && i < countof(refused); i++)
			if (glob_match_segment(sv_str(refused[i].driver),
					       driver))
				return err_kind(e, ERR_POLICY, "%.*s: %s; no "
						"statement opens it",
						SV_FMT(name), refused[i].why);
		if (!good)
			return err_kind(e, ERR_POLICY, "%.*s: its driver, %.*s, "
					"is not among those that are known to "
					"open nothing but their device",
					SV_FMT(name), SV_FMT(driver));
	}
	return 0;
}

/* null, zero and the like are in every sandbox. */
static bool is_there_already(dev_t number)
{
	for (const struct device *d = device_list; d->name; d++)
		if (makedev(d->major, d->minor) == number)
			return true;
	return false;
}

/* A node of the agent's own, as root: nothing inside can make one. */
static int make_node(const struct plan *plan, dev_t number, struct err *e)
{
	static const struct mount_option options[] = { { "mode", "0700" } };
	auto_fd int fs_fd = mount_new_fs("tmpfs", options, countof(options),
					 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
					 e);
	int fd;

	if (fs_fd < 0)
		return -1;
	if (mknodat(fs_fd, NODE, S_IFCHR | 0600, number) < 0)
		return err_sys(e, "make a node for the agent");
	/* The mode again: the umask may have taken from it. */
	if (fchmodat(fs_fd, NODE, 0600, 0) < 0 ||
	    fchownat(fs_fd, NODE, plan->host_uid, plan->host_gid,
		     AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "give the node to the agent");
	fd = mount_clone_restricted(fs_fd, NODE, false, MOUNT_ATTR_RDONLY, e);
	if (fd < 0 && e->code == EINVAL)
		return err_kind(e, ERR_UNSUPP, "started by root, and the node is "
				"root's alone: giving it to the agent needs "
				"Linux 6.15; run as an ordinary user");
	return fd;
}

static int add_node(struct builder *b, struct sv path,
		    const struct device_rule *r, struct err *e)
{
	struct area found;
	struct stat st;
	struct step *s;

	if (area_resolve(b, path, &found, e) < 0)
		return -1;
	if (!area_strictly_contains(SV("/dev"), found.path))
		return err_kind(e, ERR_POLICY, "it leads to %.*s; devices are "
				"below /dev", SV_FMT(found.path));
	if (fstatat(AT_FDCWD, builder_str(b, found.path), &st,
		    AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "look at %.*s", SV_FMT(found.path));
	if (st.st_dev != found.identity.dev || st.st_ino != found.identity.ino)
		return err_kind(e, ERR_DENIED, "it was replaced meanwhile");
	if (S_ISCHR(st.st_mode) && is_there_already(st.st_rdev))
		return 0;
	if (device_judge(found.path, st.st_mode, st.st_rdev, e) < 0)
		return -1;
	if (!sv_eq(path, found.path))
		builder_mount(b, STEP_LINK, path, r->text)->source = found.path;
	s = builder_mount(b, STEP_DEVICE, found.path, r->text);
	s->source = found.path;
	s->identity = found.identity;
	if (!b->plan->as_root || (st.st_mode & 06) == 06 || !b->in->store)
		return 0;
	s->tree_fd = make_node(b->plan, st.st_rdev, e);
	if (s->tree_fd < 0)
		return -1;
	s->flags |= STEP_TREE;
	return 0;
}

struct search {
	struct builder *b;
	const struct device_rule *rule;
	unsigned found;
};

/* Nodes of a directory whose names match; a pattern is for names alone. */
static int add_matching(struct search *x, const char *dir_path,
			const char *pattern, struct err *e)
{
	auto_dir DIR *dir = opendir(dir_path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		struct stat st;

		if (!glob_match_segment(sv_str(pattern),
					sv_str(entry->d_name)) ||
		    fstatat(dirfd(dir), entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) < 0 || !S_ISCHR(st.st_mode))
			continue;
		x->found++;
		if (add_node(x->b, builder_printf(x->b, "%s/%s", dir_path,
						  entry->d_name),
			     x->rule, e) < 0)
			return -1;
	}
	return 0;
}

static int add_gpus(struct builder *b, const struct device_rule *r,
		    struct err *e)
{
	static const struct {
		const char *dir, *pattern;
	} places[] = {
		{ "/dev/dri", "card*" }, { "/dev/dri", "render*" },
		{ "/dev", "nvidia*" }, { "/dev/nvidia-caps", "nvidia-cap*" },
		{ "/dev", "kfd" }, { "/dev", "dxg" }, { "/dev/accel", "accel*" },
	};
	struct search x = { .b = b, .rule = r };

	for (size_t i = 0; i < countof(places); i++)
		if (add_matching(&x, places[i].dir, places[i].pattern, e) < 0)
			return -1;
	if (x.found == 0 && !r->optional)
		return err_kind(e, ERR_POLICY, "there is no such device on this "
				"machine; `device? gpu` makes it optional");
	return 0;
}

static int add_device(struct builder *b, const struct device_rule *r,
		      struct err *e)
{
	bool is_path = r->name.p[0] == '/';

	if (sv_eq(r->name, SV("gpu")))
		return add_gpus(b, r, e);
	if (add_node(b, is_path ? r->name :
		     builder_printf(b, "/dev/%.*s", SV_FMT(r->name)),
		     r, e) == 0)
		return 0;
	if (e->kind != ERR_SYS || (e->code != ENOENT && e->code != ENOTDIR))
		return -1;
	if (r->optional)
		return 0;
	return err_kind(e, ERR_POLICY, "there is no such device on this machine; "
			"`device? %.*s` makes it optional", SV_FMT(r->name));
}

int devices_plan(struct builder *b, struct err *e)
{
	for (size_t i = 0; i < b->policy->devices_n; i++)
		if (add_device(b, &b->policy->devices[i], e) < 0)
			return err_ctx(e, "%.*s",
				       SV_FMT(b->policy->devices[i].text));
	return 0;
}
