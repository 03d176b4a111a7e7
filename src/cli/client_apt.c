/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apt's sources, from the list of what an update would fetch.
 *
 *	'https://example.com/debian/dists/stable/InRelease' NAME 0
 *	'mirror+file:/etc/apt/mirrors/debian.list/dists/stable/InRelease' NAME 0
 *
 * What is in front of /dists/ is the archive; an archive without that is flat,
 * and is the folder.  A list of mirrors has one archive a line.  What is no web
 * address (a disc, a folder) is not for the network.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#include "client_answer.h"
#include "dir.h"
#include "io.h"
#include "own.h"

enum { ANSWER_MAX = 4 << 20, MIRRORS_MAX = 1 << 16, FILES_MAX = 512 };

#define APT_DIR "/etc/apt"

static size_t last_of(struct sv v, struct sv needle)
{
	for (size_t at = v.n; at-- > 0;)
		if (sv_starts(sv_from(v, at), needle))
			return at;
	return v.n;
}

static struct sv archive_of(struct sv url)
{
	size_t at = last_of(url, SV("/dists/"));

	if (at < url.n)
		return sv_head(url, at);
	url = sv_head(url, last_of(url, SV("/")));
	while (sv_ends(url, SV("/.")))
		url.n -= 2;
	return url;
}

static bool is_web(struct sv url)
{
	return sv_starts(url, SV("http://")) || sv_starts(url, SV("https://"));
}

static int put_mirrors(struct sv path, struct buf *ret, struct err *e)
{
	auto_buf struct buf name = buf_new(PATH_MAX);
	auto_buf struct buf text = buf_new(MIRRORS_MAX);
	struct sv rest;

	buf_put(&name, path);
	if (!buf_cstr(&name))
		return err_kind(e, ERR_LIMIT, "a list of mirrors is too long");
	if (io_read_file(AT_FDCWD, name.p, &text, e) < 0)
		return err_ctx(e, "its list of mirrors");
	(void)client_answer_put(ret, "file", path);
	for (rest = buf_sv(&text); rest.n;) {
		struct sv line = sv_trim(sv_cut(&rest, '\n'));
		size_t tab = sv_find(line, '\t'), blank = sv_find(line, ' ');

		line = sv_head(line, tab < blank ? tab : blank);
		if (is_web(line) && !client_answer_put(ret, "url", line))
			return err_kind(e, ERR_POLICY,
					"a mirror that cannot be read");
	}
	return 0;
}

static int put_source(struct sv line, struct buf *ret, struct err *e)
{
	static const struct sv list = SV("mirror+file:");
	struct sv url = line.n && line.p[0] == '\'' ? sv_from(line, 1) :
						      (struct sv){ 0 };

	url = archive_of(sv_head(url, sv_find(url, '\'')));
	if (sv_starts(url, list))
		return put_mirrors(sv_from(url, list.n), ret, e);
	if (!is_web(url) || client_answer_put(ret, "url", url))
		return 0;
	return err_kind(e, ERR_POLICY, "a source that cannot be read");
}

/* Where its sources and settings are, and everything in the folders of them,
 * which are themselves older than any file that comes to them. */
static void put_files(struct buf *ret)
{
	static const char *const folders[] = {
		APT_DIR, APT_DIR "/sources.list.d", APT_DIR "/apt.conf.d",
	};
	size_t n = 0;

	(void)client_answer_put(ret, "file", sv_str(secure_getenv("APT_CONFIG")));
	for (size_t i = 0; i < countof(folders); i++) {
		auto_dir DIR *dir = opendir(folders[i]);
		const struct dirent *entry;

		(void)client_answer_put(ret, "file", sv_str(folders[i]));
		while (dir && (entry = dir_next(dir)) && n++ < FILES_MAX) {
			auto_buf struct buf path = buf_new(PATH_MAX);

			buf_printf(&path, "%s/%s", folders[i], entry->d_name);
			(void)client_answer_put(ret, "file", buf_sv(&path));
		}
	}
}

int client_apt(const struct client_program *apt, struct buf *ret,
	       struct err *e)
{
	static const char *const argv[] = {
		"apt-get", "update", "--print-uris", NULL,
	};
	auto_buf struct buf said = buf_new(ANSWER_MAX);
	struct sv rest;

	if (client_program_ask(apt, (char *const *)(uintptr_t)argv, &said,
			       e) < 0)
		return -1;
	for (rest = buf_sv(&said); rest.n;)
		if (put_source(sv_cut(&rest, '\n'), ret, e) < 0)
			return -1;
	if (ret->n == 0)
		return err_kind(e, ERR_POLICY, "its sources name no host");
	put_files(ret);
	return 0;
}
