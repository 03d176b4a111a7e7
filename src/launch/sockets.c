/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reach unix:PATH`: a socket of the host that is there inside, and `reach NAME
 * via unix:PATH`: one that requests to a name are sent to.
 *
 * Who listens at it acts with the rights of whoever started it, for whoever
 * connects.  For a database that is the meaning; for others below it is a shell
 * on the host, so these are refused by the places and names that they have.  The
 * list cannot be complete (SECURITY.md): it catches what is granted by habit.
 */
#include "builder.h"

#include "area.h"
#include "glob.h"
#include "own.h"

static const struct {
	const char *pattern, *what;
} equal[] = {
	/* containers and machines: root, by one request */
	{ "/**/docker*.sock", "a container engine" },
	{ "/**/docker*/**", "a container engine" },
	{ "/**/podman*/**", "a container engine" },
	{ "/**/podman*.sock", "a container engine" },
	{ "/**/containerd*/**", "a container engine" },
	{ "/**/containerd*.sock*", "a container engine" },
	{ "/**/buildkit*/**", "a container engine" },
	{ "/**/buildkitd.sock", "a container engine" },
	{ "/**/crio/**", "a container engine" },
	{ "/**/crio.sock", "a container engine" },
	{ "/**/colima/**", "a container engine" },
	{ "/**/lxd/**", "a container engine" },
	{ "/**/incus/**", "a container engine" },
	{ "/**/kubelet*/**", "a container engine" },
	{ "/**/libvirt*", "virtual machines" },
	{ "/**/libvirt*/**", "virtual machines" },
	{ "/**/qemu*/**", "virtual machines" },
	/* the system, and the user's session */
	{ "/run/systemd/**", "the system's manager" },
	{ "/run/user/*/systemd/**", "the session's manager" },
	{ "/run/dbus/**", "the system's bus" },
	{ "/**/system_bus_socket", "the system's bus" },
	{ "/run/user/*/bus", "the session's bus" },
	{ "/**/dbus-*", "a session's bus" },
	{ "/**/at-spi/**", "a session's bus" },
	{ "/**/snapd*", "the package manager" },
	{ "/**/packagekit*/**", "the package manager" },
	{ "/run/udev/**", "the device manager" },
	{ "/**/supervisor*.sock", "a manager of services" },
	{ "/**/polkit*", "the authority over rights" },
	/* screens, keyboards, shells, editors */
	{ "/**/.X11-unix/**", "the screen and the keyboard" },
	{ "/**/wayland-*", "the screen and the keyboard" },
	{ "/**/pipewire-*", "the screen and the microphone" },
	{ "/**/sway-ipc*", "the desktop, which starts programs" },
	{ "/**/i3/**", "the desktop, which starts programs" },
	{ "/**/hypr/**", "the desktop, which starts programs" },
	{ "/**/tmux-*/**", "a shell of the host" },
	{ "/**/screen/**", "a shell of the host" },
	{ "/**/.screen/**", "a shell of the host" },
	{ "/**/kitty-*", "a shell of the host" },
	{ "/**/emacs*/**", "an editor, which runs programs" },
	{ "/**/nvim*", "an editor, which runs programs" },
	{ "/**/nvim*/**", "an editor, which runs programs" },
	{ "/**/vscode-*", "an editor, which runs programs" },
	{ "/**/.vscode-server/**", "an editor, which runs programs" },
};

static int refuse_equal(struct sv text, struct sv path, struct err *e)
{
	for (size_t i = 0; i < countof(equal); i++)
		if (glob_match(sv_str(equal[i].pattern), path))
			return err_kind(e, ERR_POLICY, "%.*s: %s listens there, "
					"which equals access to the host; no "
					"statement opens it", SV_FMT(text),
					equal[i].what);
	return 0;
}

int sockets_add(struct builder *b, const struct grant *g, struct err *e)
{
	const struct area *area;

	/* Before it is looked for: to start it would not help. */
	if (refuse_equal(g->text, g->path, e) < 0)
		return -1;
	if (area_add_named(b, AREA_NAMED, false, g->path, g->text, e) < 0) {
		if (e->code == ENOENT || e->code == ENOTDIR)
			return err_kind(e, ERR_POLICY, "%.*s: there is no such "
					"socket; what listens there has to be "
					"started first", SV_FMT(g->text));
		return err_ctx(e, "%.*s", SV_FMT(g->text));
	}
	area = &b->areas[b->areas_n - 1];
	if (area->identity.type != S_IFSOCK)
		return err_kind(e, ERR_POLICY, "%.*s: %.*s is no socket",
				SV_FMT(g->text), SV_FMT(area->path));
	if (grants_check_place(g, area->path, e) < 0)
		return -1;
	return refuse_equal(g->text, area->path, e);
}

/*
 * What listens there may start later, or again, so it is opened by its name for
 * every connection: the name is one that leads there without links, and that
 * nothing inside can give to another socket.
 */
static int check_via(struct builder *b, const struct reach *r, struct err *e)
{
	struct path_identity is;
	struct err why;
	auto_fd int fd = -1;

	if (refuse_equal(r->text, r->socket, e) < 0)
		return -1;
	builder_at(b, r->socket);
	fd = path_open_exact(AT_FDCWD, r->socket, O_PATH, &why);
	if (fd < 0 && why.code == ELOOP)
		return err_kind(e, ERR_POLICY, "%.*s: there is a link in this "
				"path; name the place it leads to",
				SV_FMT(r->text));
	if (fd < 0 && why.code != ENOENT)
		return err_kind(e, ERR_POLICY, "%.*s: %s", SV_FMT(r->text),
				why.msg);
	if (fd >= 0 && path_identify(fd, &is, e) < 0)
		return -1;
	if (fd >= 0 && is.type != S_IFSOCK)
		return err_kind(e, ERR_POLICY, "%.*s: that is no socket",
				SV_FMT(r->text));
	for (size_t i = 0; i < b->areas_n; i++)
		if (b->areas[i].kind == AREA_NAMED && b->areas[i].write &&
		    area_contains(b->areas[i].path, r->socket))
			return err_kind(e, ERR_POLICY, "%.*s: the command can "
					"write there, and so be what listens",
					SV_FMT(r->text));
	return 0;
}

int sockets_check_reach(struct builder *b, struct err *e)
{
	for (size_t i = 0; i < b->policy->reaches_n; i++)
		if (b->policy->reaches[i].socket.p &&
		    check_via(b, &b->policy->reaches[i], e) < 0)
			return -1;
	return 0;
}
