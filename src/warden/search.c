/* SPDX-License-Identifier: Apache-2.0 */
/* Where the agent could read what it is to have a placeholder of: see warden.h. */
#include <sys/mman.h>
#include <unistd.h>

#include "io.h"
#include "own.h"
#include "warden.h"

int warden_search(struct warden *w, struct sv text, struct err *e)
{
	struct msg out = { .kind = MSG_SEARCH };
	auto_fd int fd = -1;

	if (w->vault.pid_fd < 0 || text.n == 0)
		return 0;
	fd = memfd_create("search", MFD_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "memfd_create");
	if (io_write_all(fd, text, e) < 0)
		return -1;
	out.SEARCH.size = (uint32_t)text.n;
	out.fds[out.n_fds++] = fd;
	if (channel_send(&w->vault.channel, &out, e) < 0)
		return -1;
	w->search.asked = true;
	return 0;
}

bool warden_has_found(const struct warden *w, struct sv *ret_name,
		      size_t *ret_at)
{
	const struct msg_FOUND *found = &w->search.found;
	const struct credential_set *s = &w->credentials;

	if (!w->search.answered || !found->found)
		return false;
	*ret_name = found->secret < s->n ? s->v[found->secret].rule->name :
					   SV("of the proxy");
	*ret_at = found->at;
	return true;
}
