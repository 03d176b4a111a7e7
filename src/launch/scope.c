/* SPDX-License-Identifier: Apache-2.0 */
/* A scope of systemd's: see scope.h. */
#include "scope.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "bus.h"
#include "io.h"
#include "own.h"

#define SYSTEM_BUS "/run/dbus/system_bus_socket"

enum { BODY_MAX = 1024, MOVE_TRIES = 500, MOVE_PAUSE_NS = 10000000 };

static void put_text(struct buf *b, const char *name, const char *value)
{
	bus_begin_struct(b);
	bus_put_string(b, sv_str(name));
	bus_put_signature(b, "s");
	bus_put_string(b, sv_str(value));
}

/* ssa(sv)a(sa(sv)): name, mode, properties, and no further units. */
static void put_body(struct buf *b, const char *name)
{
	size_t properties, list;

	bus_put_string(b, sv_str(name));
	bus_put_string(b, SV("fail"));
	properties = bus_begin_array(b, 8);
	put_text(b, "Description", "limits of a stockade run");
	put_text(b, "CollectMode", "inactive-or-failed");
	bus_begin_struct(b);
	bus_put_string(b, SV("Delegate"));
	bus_put_signature(b, "b");
	bus_put_u32(b, 1);
	/* 0 is who asks, whatever pid namespace he is in. */
	bus_begin_struct(b);
	bus_put_string(b, SV("PIDs"));
	bus_put_signature(b, "au");
	list = bus_begin_array(b, 4);
	bus_put_u32(b, 0);
	bus_end_array(b, list, 4);
	bus_end_array(b, properties, 8);
	bus_end_array(b, bus_begin_array(b, 8), 8);
}

/* Where logind has it; XDG_RUNTIME_DIR is another user's after su. */
static void bus_path(char *ret, size_t n)
{
	if (geteuid() == 0)
		(void)snprintf(ret, n, SYSTEM_BUS);
	else
		(void)snprintf(ret, n, "/run/user/%u/bus", geteuid());
}

static bool is_in(const char *name)
{
	auto_buf struct buf b = buf_new(65536);
	struct err ignored;

	return io_read_file(AT_FDCWD, "/proc/self/cgroup", &b, &ignored) == 0 &&
	       sv_find_sv(buf_sv(&b), sv_str(name)) < b.n;
}

/* It says that it has begun, and moves us when it comes to that. */
static int await_move(const char *name, struct err *e)
{
	const struct timespec pause = { .tv_nsec = MOVE_PAUSE_NS };

	for (int i = 0; i < MOVE_TRIES; i++) {
		if (is_in(name))
			return 0;
		(void)nanosleep(&pause, NULL);
	}
	return err_kind(e, ERR_UNSUPP, "it did not move this process into %s",
			name);
}

int scope_enter(struct err *e)
{
	auto_buf struct buf body = buf_new(BODY_MAX);
	struct bus_call call = {
		.destination = "org.freedesktop.systemd1",
		.path = "/org/freedesktop/systemd1",
		.interface = "org.freedesktop.systemd1.Manager",
		.member = "StartTransientUnit",
		.signature = "ssa(sv)a(sa(sv))",
	};
	char path[PATH_MAX], name[64];
	uint32_t noise;

	if (getrandom(&noise, sizeof noise, 0) != sizeof noise)
		return err_sys(e, "getrandom");
	(void)snprintf(name, sizeof name, "stockade-%d-%08" PRIx32 ".scope",
		       getpid(), noise);
	put_body(&body, name);
	if (buf_check(&body, "a message", e) < 0)
		return -1;
	call.body = buf_sv(&body);
	bus_path(path, sizeof path);
	if (bus_ask(path, &call, e) < 0) {
		e->kind = ERR_UNSUPP;
		return err_ctx(e, "%s", geteuid() == 0 ?
			       "the service manager" :
			       "the user's service manager");
	}
	return await_move(name, e);
}
