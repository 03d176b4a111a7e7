/* SPDX-License-Identifier: Apache-2.0 */
/* The network's proxy: see proxy.h. */
#include "proxy.h"

#include <stdlib.h>

#include "cur.h"
#include "own.h"
#include "proxy_url.h"
#include "warden.h"

enum { PROXY_ARENA = 65536 };

/* In this order: everything is asked of the proxy by CONNECT, as for https. */
static const char *const variables[] = {
	"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy",
};

static const char *first_of(const char *a, const char *b)
{
	const char *value = secure_getenv(a);

	return value && *value ? value : secure_getenv(b);
}

/* None of them may stay behind with a password; `http_proxy` neither, when it
 * is another one's. */
static void wipe_variables(void)
{
	for (size_t i = 0; i < countof(variables); i++) {
		char *value = secure_getenv(variables[i]);

		if (!value || !strchr(value, '@'))
			continue;
		explicit_bzero(value, strlen(value));
		(void)unsetenv(variables[i]);
	}
}

static int take_url(struct proxy *p, const char *name, struct err *e)
{
	struct proxy_url url;
	const char *fault = proxy_url_parse(sv_str(secure_getenv(name)),
					    &p->arena, &url);

	if (fault)
		return err_kind(e, ERR_POLICY, "via proxy: %s: %s", name,
				fault);
	p->host = url.host;
	p->port = url.port;
	if (!url.has_login)
		return 0;
	p->user = url.user;
	(void)buf_reserve(&p->password, url.password.n);
	buf_put(&p->password, url.password);
	explicit_bzero((char *)(uintptr_t)url.password.p, url.password.n);
	return buf_check(&p->password, "the proxy's password", e);
}

static int take_environment(struct proxy *p, struct err *e)
{
	const char *exceptions = first_of("no_proxy", "NO_PROXY");

	p->exceptions = arena_dup(&p->arena, sv_str(exceptions));
	if (exceptions && *exceptions && !p->exceptions.p)
		return err_kind(e, ERR_LIMIT, "via proxy: no_proxy is too long");
	for (size_t i = 0; i < countof(variables); i++) {
		const char *value = secure_getenv(variables[i]);

		if (value && *value)
			return take_url(p, variables[i], e);
	}
	return err_kind(e, ERR_POLICY, "via proxy: the environment names no "
			"proxy (https_proxy, all_proxy or http_proxy); write "
			"`via proxy http://HOST:PORT`");
}

int proxy_init(struct proxy *p, const struct proxy_rule *rule, struct err *e)
{
	*p = (struct proxy){
		.arena = arena_new(PROXY_ARENA), .password = buf_new(16384),
		.host = rule->host, .port = rule->port,
		.by_name = rule->by_name, .user = rule->user,
		.login = { .name = SV("proxy"), .source = rule->source,
			   .source_arg = rule->source_arg },
	};
	if (rule->text.n == 0 || rule->host.n)
		return 0;
	return take_environment(p, e);
}

void proxy_fini(struct proxy *p)
{
	buf_wipe(&p->password);
	arena_free(&p->arena);
}

int proxy_give_login(struct proxy *p, struct credential_set *s, struct err *e)
{
	struct err why = { 0 };

	if (p->host.n && p->login.source_arg.n == 0)
		wipe_variables();
	if (p->user.n == 0)
		return 0;
	if (credential_set_login(s, &p->login, buf_sv(&p->password),
				 &why) < 0) {
		*e = why;
		return err_ctx(e, "via proxy");
	}
	buf_wipe(&p->password);
	return 0;
}

void proxy_put_start(const struct proxy *p, struct msg_DIAL_START *m)
{
	m->proxy = p->host;
	m->proxy_port = p->port;
	m->user = p->user;
}

int proxy_grant_login(struct warden *w, struct err *e)
{
	auto_buf struct buf secrets = buf_new(2 * sizeof(uint32_t));
	struct msg out = { .kind = MSG_GRANT };

	if (w->proxy.user.n == 0)
		return 0;
	buf_put_u32(&secrets, (uint32_t)w->credentials.n);
	buf_put_u32(&secrets, 0);
	out.GRANT.secrets = buf_sv(&secrets);
	return channel_send(&w->vault.channel, &out, e);
}

/* host is `entry` or, as clients read it, a name below it. */
static bool is_within(struct sv host, struct sv entry)
{
	if (sv_eq(entry, SV("*")))
		return true;
	if (entry.n && entry.p[0] == '.')
		entry = sv_from(entry, 1);
	if (entry.n == 0 || host.n < entry.n ||
	    !sv_eq_nocase(sv_from(host, host.n - entry.n), entry))
		return false;
	return host.n == entry.n || host.p[host.n - entry.n - 1] == '.';
}

static bool is_excepted(const struct proxy *p, struct sv host)
{
	struct sv rest = p->exceptions;

	while (rest.n) {
		struct sv entry = sv_head(rest, sv_find(rest, ','));

		rest = sv_from(rest, entry.n + 1);
		if (is_within(host, sv_trim(entry)))
			return true;
	}
	return false;
}

void proxy_put_connect(const struct proxy *p, struct msg_CONNECT *m)
{
	if (p->host.n == 0 || is_excepted(p, m->host))
		return;
	m->proxy = p->host;
	m->proxy_port = p->port;
	m->by_name = p->by_name;
}
