/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checked policy, as data.
 *
 * Text and flags become statements (parse.h), statements become this; nothing
 * here makes a system call.  Everything is allocated in the policy's arena.
 * Paths are absolute and lexically clean, but not resolved: launch/ opens them.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "arena.h"
#include "err.h"
#include "relay_kind.h"
#include "sv.h"

enum { POLICY_TEXT_MAX = 1 << 20, POLICY_ARENA_MAX = 16 << 20 };
/* Each is a filter more that the kernel asks about every call. */
enum { POLICY_SYSCALLS_MAX = 8 };

struct seccomp_filter;
struct syscall_profile;

/* Where a statement stands, for messages and for `stockade policy`. */
struct origin {
	struct sv file;		/* "stockade.policy", "profile claude", "--allow" */
	unsigned line, column;	/* from 1; line 0 for a flag */
};

enum grant_kind {
	GRANT_READ, GRANT_WRITE, GRANT_SHOW, GRANT_HIDE, GRANT_GUARD, GRANT_CACHE,
	GRANT_SOCKET,		/* `reach unix:PATH` */
};

struct grant {
	enum grant_kind kind;
	bool optional;		/* `read? PATH` */
	bool is_glob;		/* has *, ? or [ : segments, and ** */
	struct sv path;		/* absolute */
	struct origin origin;
	struct sv text;		/* the statement in canonical form */
};

enum env_kind { ENV_PASS, ENV_SET };

struct env_rule {
	enum env_kind kind;
	struct sv name;
	struct sv value;	/* with ENV_SET */
	struct origin origin;
	struct sv text;
};

enum verdict { VERDICT_DENY = 0, VERDICT_ASK, VERDICT_ALLOW };

/* allow, ask or deny. */
struct rule {
	enum verdict effect;
	struct sv *methods;	/* none: any */
	size_t methods_n;
	struct sv host;		/* lower case; "*", "*.example.com" or a name */
	uint16_t port;		/* 0: the default (deny, ask: every port) */
	struct sv path;		/* canonical pattern, starts with '/' */
	struct sv path_other;	/* its %2F read as '/'; .p NULL without one */
	bool has_query;
	struct sv query;
	struct origin origin;
	struct sv text;
};

/* allow, ask or deny tcp|tls HOST[:PORT] */
struct relay_rule {
	enum verdict effect;
	enum relay_kind kind;
	struct sv host;		/* as in struct rule */
	uint16_t port;		/* 0: every port, never with VERDICT_ALLOW */
	struct origin origin;
	struct sv text;
};

/* reach NAME[:PORT] via ADDRESS:PORT | unix:PATH */
struct reach {
	struct sv host;
	uint16_t port;		/* 0: every allowed port of the name */
	struct sv via;		/* "127.0.0.1:80", "[::1]:80", "unix:/run/x" */
	struct sv socket;	/* the path in it; .p NULL with an address */
	struct origin origin;
	struct sv text;
};

enum secret_source { SECRET_ENV, SECRET_FILE, SECRET_COMMAND, SECRET_STORE };
enum secret_form { SECRET_BEARER, SECRET_BASIC, SECRET_HEADER, SECRET_QUERY,
		   SECRET_COOKIE };

/* `until`: a moment, in seconds since 1970, or milliseconds from the start of the
 * run. */
enum secret_until { UNTIL_EVER = 0, UNTIL_MOMENT, UNTIL_AFTER };
#define SECRET_TIMES_MOST UINT64_C(1000000000)

struct secret_scope {
	struct sv host;		/* a name, never a wildcard */
	uint16_t port;		/* 0: 443 */
	struct sv path;		/* pattern; "/" + "**" when none was given */
	struct sv path_other;	/* as in struct rule */
};

struct secret_rule {
	struct sv name;		/* the variable that holds the placeholder */
	bool optional;
	enum secret_source source;
	struct sv source_arg;	/* file path, command, variable (= name), or
				   the store's entry */
	struct sv entry;	/* of a file, what its `key` says; .n is 0: all */
	struct secret_scope *scopes;
	size_t scopes_n;
	enum secret_form form;
	struct sv user;		/* with SECRET_BASIC */
	struct sv header;	/* lower case, with SECRET_HEADER */
	struct sv key;		/* with SECRET_QUERY and SECRET_COOKIE; letters,
				   digits, '-', '_' and '.' */
	struct sv prefix;	/* `header NAME prefix P`, may be empty; `cookie`:
				   the name and "=" */
	bool add;		/* also where the agent sends none */
	struct sv like;		/* what the placeholder looks like: `jwt`, or how
				   it begins; .n is 0: plain */
	/* A file that is made inside, with the placeholder; .n is 0: none. */
	struct sv place;
	struct sv place_key;	/* its entry there */
	bool place_base64;	/* with SECRET_BASIC: USER:PLACEHOLDER, encoded */
	/* Milliseconds after which a command's value is old; 0: it is read once. */
	uint64_t renew_ms;
	uint64_t times;		/* requests of a run; 0: any number */
	enum secret_until until;
	uint64_t end;		/* unless UNTIL_EVER */
	struct origin origin;
	struct sv text;
};

/* via proxy [URL] [by name] [login USER from SOURCE] */
struct proxy_rule {
	struct sv host;		/* lower case, or a bare address; .n is 0: the
				   environment says */
	uint16_t port;
	bool by_name;		/* the proxy looks names up, nobody here does */
	struct sv user;		/* .n is 0: without a login */
	enum secret_source source;
	struct sv source_arg;	/* as in struct secret_rule */
	struct origin origin;
	struct sv text;		/* .n is 0: there is no such statement */
};

struct roots_rule {
	struct sv path;
	bool optional;
	struct origin origin;
	struct sv text;
};

/* syscalls strict | FILE */
struct syscalls_rule {
	bool strict;
	bool optional;
	struct sv path;		/* unless strict */
	/* Made where the policy is loaded; not when an optional file is not
	 * there.  In the policy's arena. */
	const struct syscall_profile *profile;	/* unless strict */
	const struct seccomp_filter *filter;
	struct sv program;	/* its instructions */
	struct origin origin;
	struct sv text;
};

/* device gpu|kvm|fuse|PATH */
struct device_rule {
	struct sv name;		/* one of the words, or a path below /dev */
	bool optional;
	struct origin origin;
	struct sv text;
};

/* publish PORT: of the host's loopback, to the same one inside */
struct publish_rule {
	uint16_t port;
	struct origin origin;
	struct sv text;
};

enum limit_kind {
	LIMIT_NONE = 0,
	LIMIT_TIME,		/* value in milliseconds */
	LIMIT_MEMORY,		/* bytes */
	LIMIT_SWAP,		/* bytes */
	LIMIT_PROCESSES,	/* processes and threads */
	LIMIT_CPU,		/* thousandths of a processor */
	LIMIT_IO,		/* bytes a second of each disk, each way */
	LIMIT_FILES,		/* descriptors of one process */
	LIMIT_FILE_SIZE,	/* bytes */
	LIMIT_DISK,		/* bytes */
	LIMIT_OUTPUT,		/* bytes */
	LIMIT_WORKSPACE,	/* bytes that are held */
	LIMIT_WORKSPACE_FILES,	/* ... and names */
	LIMIT_RECORD,		/* bytes of the run's trail */
	LIMIT_KINDS,
	/* Budgets: struct budget_rule. */
	LIMIT_REQUESTS = LIMIT_KINDS, /* that were allowed */
	LIMIT_UPLOAD,		/* bytes of their heads and bodies */
	LIMIT_NAMES,		/* different hosts that only a wildcard allowed */
};

/* By its kind in struct policy. */
struct limit {
	bool set;
	bool optional;		/* not where the machine cannot hold it */
	uint64_t value;
	struct sv text;		/* "limit memory 64M" ... */
	struct sv shown;	/* ... its end "memory 64M" ... */
	struct sv amount;	/* ... and "64M" */
	struct origin origin;
};
/* Names are looked through for each request; sums of amounts do not overflow. */
enum { BUDGET_NAMES_MAX = 4096 };
#define BUDGET_MOST UINT64_C(1000000000000)

/* limit requests|upload|names AMOUNT [for HOST]: of a run, and of all hosts
 * together that it is for. */
struct budget_rule {
	enum limit_kind kind;	/* LIMIT_KINDS or more */
	struct sv host;		/* as in struct rule; .n is 0: all hosts */
	uint64_t value;
	struct sv word, amount;	/* "upload", "50M" */
	struct origin origin;
	struct sv text;
};

/* Where what is written goes: to the host at once, or held for `apply`. */
enum workspace { WORKSPACE_UNSAID = 0, WORKSPACE_DIRECT, WORKSPACE_OVERLAY };
/* What of the command's output the person's terminal gets: all of it, or not
 * what it would act upon. */
enum screen { SCREEN_UNSAID = 0, SCREEN_EXACT, SCREEN_FILTER };

/* A letter first, which tells it from a run's; then also digits and ._- */
enum { KEEP_NAME_MAX = 24 };

struct policy {
	struct arena arena;
	struct grant *grants;
	size_t grants_n, grants_cap;
	struct env_rule *env;
	size_t env_n, env_cap;
	struct rule *rules;
	size_t rules_n, rules_cap;
	struct relay_rule *relays;
	size_t relays_n, relays_cap;
	struct reach *reaches;
	size_t reaches_n, reaches_cap;
	struct proxy_rule proxy;
	struct secret_rule *secrets;
	size_t secrets_n, secrets_cap;
	struct roots_rule *roots;
	size_t roots_n, roots_cap;
	struct syscalls_rule *syscalls;
	size_t syscalls_n, syscalls_cap;
	struct device_rule *devices;
	size_t devices_n, devices_cap;
	struct publish_rule *publishes;
	size_t publishes_n, publishes_cap;
	struct sv *profiles;	/* names, in order of use */
	size_t profiles_n, profiles_cap;
	struct sv *files;	/* absolute paths of the files that were read */
	size_t files_n, files_cap;
	struct sv *named;	/* of these, what this run's policy is known by:
				   --policy, or the project's */
	size_t named_n, named_cap;
	struct limit limits[LIMIT_KINDS];
	struct budget_rule *budgets;
	size_t budgets_n, budgets_cap;
	bool debug;
	struct origin debug_origin;
	enum workspace workspace;	/* unsaid is direct */
	struct origin workspace_origin;
	enum screen screen;		/* unsaid is exact */
	struct origin screen_origin;
	struct sv keep;		/* what the next run of that name continues from;
				   .n is 0 without */
	struct sv keep_text;	/* "keep NAME" */
	struct origin keep_origin;
};

void policy_free(struct policy *p);
#define auto_policy __attribute__((cleanup(policy_free)))

/* Some allow or ask rule can match a request over TLS. */
bool policy_needs_tls(const struct policy *p);
/* Some secret has a `like`. */
bool policy_has_shapes(const struct policy *p);

#endif
