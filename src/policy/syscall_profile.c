/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a profile of system calls: see syscall_profile.h. */
#include "syscall_profile.h"

#include <errno.h>

#include "json_text.h"
#include "lexer.h"
#include "own.h"
#include "statement.h"

enum { ENTRIES_MAX = 2048, NAMES_MAX = 1024, ERRNO_MAX = 4095 };

#ifdef __x86_64__
#define OWN_GOARCH "amd64"
#else
#define OWN_GOARCH "arm64"
#endif

struct reader {
	struct arena *arena;
	struct sv name;		/* of the file */
	size_t index;		/* of the entry */
	bool in_entry;
	struct err *e;
};

static int fail(const struct reader *r, const char *what, const char *detail)
{
	/* The detail is of the file, and may hold anything. */
	const char *shown = lexer_is_plain(sv_str(detail)) ? detail : "?";

	if (r->in_entry)
		return err_kind(r->e, ERR_POLICY, "%.*s: syscalls[%zu]: %s %.60s",
				SV_FMT(r->name), r->index, what, shown);
	return err_kind(r->e, ERR_POLICY, "%.*s: %s %.60s", SV_FMT(r->name),
			what, shown);
}

static int full(const struct reader *r)
{
	return err_kind(r->e, ERR_LIMIT, "%.*s: the profile is too large",
			SV_FMT(r->name));
}

/* Only keys of the list, which ends with NULL. */
static int check_keys(const struct reader *r, json_t *object,
		      const char *const *known)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return fail(r, "expected an object", "");
	json_object_foreach(object, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			i++;
		if (!known[i])
			return fail(r, "unknown key", key);
	}
	return 0;
}

/* Null is how a Go program writes a list that is empty. */
static bool is_absent(json_t *value)
{
	return !value || json_is_null(value);
}

static bool is_one_of(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}

static const char *const architectures[] = {
	"SCMP_ARCH_NATIVE", "SCMP_ARCH_X86", "SCMP_ARCH_X86_64",
	"SCMP_ARCH_X32", "SCMP_ARCH_ARM", "SCMP_ARCH_AARCH64",
	"SCMP_ARCH_MIPS", "SCMP_ARCH_MIPS64", "SCMP_ARCH_MIPS64N32",
	"SCMP_ARCH_MIPSEL", "SCMP_ARCH_MIPSEL64", "SCMP_ARCH_MIPSEL64N32",
	"SCMP_ARCH_PPC", "SCMP_ARCH_PPC64", "SCMP_ARCH_PPC64LE",
	"SCMP_ARCH_S390", "SCMP_ARCH_S390X", "SCMP_ARCH_PARISC",
	"SCMP_ARCH_PARISC64", "SCMP_ARCH_RISCV64", "SCMP_ARCH_LOONGARCH64",
	"SCMP_ARCH_M68K", "SCMP_ARCH_SH", "SCMP_ARCH_SHEB", NULL,
};

static const char *const goarches[] = {
	"386", "amd64", "amd64p32", "arm", "arm64", "loong64", "mips",
	"mips64", "mips64le", "mips64n32", "mips64p32", "mips64p32le",
	"mipsel", "mipsel64", "mipsel64n32", "mipsle", "ppc", "ppc64",
	"ppc64le", "riscv64", "s390", "s390x", "x32", "x86", NULL,
};

/* A list of strings, each of which must be known. */
static int check_list(const struct reader *r, json_t *list,
		      const char *const *known, const char *what)
{
	json_t *item;
	size_t i;

	if (is_absent(list))
		return 0;
	if (!json_is_array(list))
		return fail(r, "expected a list of", what);
	json_array_foreach(list, i, item) {
		const char *text = json_string_value(item);

		if (!text)
			return fail(r, "expected a list of", what);
		if (known && !is_one_of(text, known))
			return fail(r, "unknown name among", what);
	}
	return 0;
}

static int read_action(const struct reader *r, json_t *value,
		       struct profile_verdict *ret)
{
	static const struct { const char *name; enum profile_action action; }
	actions[] = {
		{ "SCMP_ACT_ALLOW", PROFILE_ALLOW },
		{ "SCMP_ACT_LOG", PROFILE_LOG },
		{ "SCMP_ACT_ERRNO", PROFILE_ERRNO },
		{ "SCMP_ACT_TRAP", PROFILE_TRAP },
		{ "SCMP_ACT_KILL", PROFILE_KILL },
		{ "SCMP_ACT_KILL_THREAD", PROFILE_KILL },
		{ "SCMP_ACT_KILL_PROCESS", PROFILE_KILL },
	};
	const char *text = json_string_value(value);

	if (!text)
		return fail(r, "an action is missing", "");
	for (size_t i = 0; i < countof(actions); i++) {
		if (strcmp(actions[i].name, text) != 0)
			continue;
		*ret = (struct profile_verdict){
			.action = actions[i].action, .errnum = EPERM,
		};
		return 0;
	}
	if (strcmp(text, "SCMP_ACT_TRACE") == 0 ||
	    strcmp(text, "SCMP_ACT_NOTIFY") == 0)
		return fail(r, "somebody else would decide with", text);
	return fail(r, "unknown action", text);
}

static int number_of_errno(const char *name)
{
	for (int n = 1; n < 256; n++) {
		const char *known = strerrorname_np(n);

		if (known && strcmp(known, name) == 0)
			return n;
	}
	return -1;
}

/* As a number (errnoRet), and as Podman writes it beside that, by name. */
static int read_errno(const struct reader *r, json_t *object, const char *key,
		      const char *name_key, struct profile_verdict *v)
{
	json_t *number = json_object_get(object, key);
	json_t *name = json_object_get(object, name_key);
	json_int_t n = json_integer_value(number);
	int named;

	if (v->action != PROFILE_ERRNO) {
		/* Docker's tools write it beside every action. */
		v->errnum = 0;
		return 0;
	}
	if (!is_absent(number)) {
		/* 0 would look like success. */
		if (!json_is_integer(number) || n < 1 || n > ERRNO_MAX)
			return fail(r, "expected 1 to 4095 for", key);
		v->errnum = (uint16_t)n;
	}
	if (is_absent(name) || !json_string_length(name))
		return 0;
	named = json_is_string(name) ?
			number_of_errno(json_string_value(name)) : -1;
	if (named < 0)
		return fail(r, "unknown errno for", name_key);
	if (!is_absent(number) && named != n)
		return fail(r, "two values that differ for", key);
	v->errnum = (uint16_t)named;
	return 0;
}

static int read_u64(const struct reader *r, json_t *object, const char *key,
		    bool required, uint64_t *ret)
{
	json_t *value = json_object_get(object, key);

	*ret = 0;
	if (is_absent(value) && !required)
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return fail(r, "expected a number from 0 to 2^63 - 1 for", key);
	*ret = (uint64_t)json_integer_value(value);
	return 0;
}

static const struct { const char *name, *sign; } ops[] = {
	[PROFILE_NE] = { "SCMP_CMP_NE", "!=" },
	[PROFILE_LT] = { "SCMP_CMP_LT", "<" },
	[PROFILE_LE] = { "SCMP_CMP_LE", "<=" },
	[PROFILE_EQ] = { "SCMP_CMP_EQ", "==" },
	[PROFILE_GE] = { "SCMP_CMP_GE", ">=" },
	[PROFILE_GT] = { "SCMP_CMP_GT", ">" },
	[PROFILE_MASKED] = { "SCMP_CMP_MASKED_EQ", "&" },
};

const char *profile_op_sign(enum profile_op op)
{
	return ops[op].sign;
}

static int read_compare(const struct reader *r, json_t *object,
			struct profile_entry *n)
{
	static const char *const keys[] = {
		"index", "value", "valueTwo", "op", NULL,
	};
	struct profile_compare k = { 0 };
	const char *op;
	uint64_t index;
	size_t i = 0;

	if (check_keys(r, object, keys) < 0 ||
	    read_u64(r, object, "index", true, &index) < 0 ||
	    read_u64(r, object, "value", true, &k.value) < 0 ||
	    read_u64(r, object, "valueTwo", false, &k.value_two) < 0)
		return -1;
	op = json_string_value(json_object_get(object, "op"));
	while (op && i < countof(ops) && strcmp(ops[i].name, op) != 0)
		i++;
	if (!op || i == countof(ops))
		return fail(r, "unknown op", op ? op : "");
	if (index >= PROFILE_ARGS)
		return fail(r, "expected 0 to 5 for", "index");
	if (k.value_two && i != PROFILE_MASKED)
		return fail(r, "valueTwo means nothing with", op);
	/* Engines disagree whether both or any of them must hold. */
	for (size_t j = 0; j < n->compares_n; j++)
		if (n->compares[j].arg == index)
			return fail(r, "write two entries instead of twice the "
				    "same", "index");
	k.arg = (uint8_t)index;
	k.op = (enum profile_op)i;
	n->compares[n->compares_n++] = k;
	return 0;
}

static int read_compares(const struct reader *r, json_t *list,
			 struct profile_entry *n)
{
	json_t *item;
	size_t i;

	if (is_absent(list))
		return 0;
	if (!json_is_array(list) || json_array_size(list) > PROFILE_ARGS)
		return fail(r, "expected a list of at most 6 for", "args");
	json_array_foreach(list, i, item)
		if (read_compare(r, item, n) < 0)
			return -1;
	return 0;
}

static int read_names(const struct reader *r, json_t *entry,
		      struct profile_entry *n)
{
	json_t *list = json_object_get(entry, "names"), *item;
	json_t *one = json_object_get(entry, "name");
	size_t i, count = json_array_size(list) + 1;

	/* An entry for no call would be one that somebody relies on in vain. */
	if (is_absent(list) == is_absent(one) ||
	    (!is_absent(list) && json_array_size(list) == 0) ||
	    count > NAMES_MAX)
		return fail(r, "expected a list of calls for", "names");
	n->names = arena_alloc(r->arena, count * sizeof *n->names);
	if (!n->names)
		return full(r);
	if (is_absent(list)) {
		list = json_array();	/* so that both are read alike */
		if (!list || json_array_append(list, one) < 0)
			return full(r);
	} else {
		json_incref(list);
	}
	auto_json json_t *owned = list;
	json_array_foreach(owned, i, item) {
		struct sv v = sv_of(json_string_value(item),
				    json_string_length(item));

		if (!json_is_string(item) || v.n == 0 || !lexer_is_plain(v))
			return fail(r, "expected a list of calls for", "names");
		n->names[n->names_n] = arena_dup(r->arena, v);
		if (!n->names[n->names_n++].p)
			return full(r);
	}
	return 0;
}

/* MAJOR.MINOR */
static int read_kernel(const struct reader *r, json_t *value, uint32_t *ret)
{
	struct sv v = sv_of(json_string_value(value),
			    json_string_length(value));
	size_t dot = sv_find(v, '.');
	uint64_t major, minor;

	*ret = 0;
	if (is_absent(value) || (json_is_string(value) && v.n == 0))
		return 0;
	if (!json_is_string(value) || dot == v.n ||
	    !sv_to_u64(sv_head(v, dot), 255, &major) ||
	    !sv_to_u64(sv_from(v, dot + 1), 65535, &minor))
		return fail(r, "expected MAJOR.MINOR for", "minKernel");
	*ret = (uint32_t)(major << 16 | minor);
	return 0;
}

static bool has_own_arch(json_t *list)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		if (strcmp(json_string_value(item), OWN_GOARCH) == 0)
			return true;
	return false;
}

/* `includes` or `excludes`; *ret_applies: does what it names hold here? */
static int read_condition(const struct reader *r, json_t *object,
			  struct profile_entry *n, bool includes,
			  bool *ret_skip)
{
	static const char *const keys[] = {
		"arches", "caps", "minKernel", NULL,
	};
	json_t *arches, *caps;

	if (is_absent(object))
		return 0;
	if (check_keys(r, object, keys) < 0)
		return -1;
	arches = json_object_get(object, "arches");
	caps = json_object_get(object, "caps");
	if (check_list(r, arches, goarches, "arches") < 0 ||
	    check_list(r, caps, NULL, "caps") < 0)
		return -1;
	if (json_array_size(arches) && has_own_arch(arches) != includes)
		*ret_skip = true;
	/* There is no capability inside. */
	if (includes && json_array_size(caps))
		*ret_skip = true;
	return read_kernel(r, json_object_get(object, "minKernel"),
			   includes ? &n->from_kernel : &n->below_kernel);
}

static int read_entry(struct reader *r, json_t *object,
		      struct syscall_profile *ret)
{
	static const char *const keys[] = {
		"names", "name", "action", "args", "comment", "includes",
		"excludes", "errnoRet", "errno", NULL,
	};
	struct profile_entry n = { 0 }, *kept;
	bool skip = false;

	if (check_keys(r, object, keys) < 0 || read_names(r, object, &n) < 0 ||
	    read_action(r, json_object_get(object, "action"),
			&n.verdict) < 0 ||
	    read_errno(r, object, "errnoRet", "errno", &n.verdict) < 0 ||
	    read_compares(r, json_object_get(object, "args"), &n) < 0 ||
	    read_condition(r, json_object_get(object, "includes"), &n, true,
			   &skip) < 0 ||
	    read_condition(r, json_object_get(object, "excludes"), &n, false,
			   &skip) < 0)
		return -1;
	if (skip)
		return 0;
	kept = arena_push(r->arena, &ret->entries, &ret->entries_n,
			  &ret->entries_cap);
	if (!kept)
		return full(r);
	*kept = n;
	return 0;
}

static int read_arch_map(const struct reader *r, json_t *list)
{
	static const char *const keys[] = {
		"architecture", "subArchitectures", NULL,
	};
	json_t *item;
	size_t i;

	if (is_absent(list))
		return 0;
	if (!json_is_array(list))
		return fail(r, "expected a list for", "archMap");
	json_array_foreach(list, i, item) {
		const char *one;

		if (check_keys(r, item, keys) < 0 ||
		    check_list(r, json_object_get(item, "subArchitectures"),
			       architectures, "subArchitectures") < 0)
			return -1;
		one = json_string_value(json_object_get(item, "architecture"));
		if (!one || !is_one_of(one, architectures))
			return fail(r, "unknown name among", "archMap");
	}
	return 0;
}

/* Only the native architecture runs, whatever is listed. */
static int read_architectures(const struct reader *r, json_t *root)
{
	json_t *list = json_object_get(root, "architectures");
	json_t *map = json_object_get(root, "archMap");

	if (json_array_size(list) && json_array_size(map))
		return fail(r, "either architectures or archMap, not both", "");
	if (check_list(r, list, architectures, "architectures") < 0)
		return -1;
	return read_arch_map(r, map);
}

/* The filter enters one thread, which is the only one: TSYNC is so already.
 * The others weaken something, or need a listener. */
static int read_flags(const struct reader *r, json_t *list)
{
	static const char *const known[] = {
		"SECCOMP_FILTER_FLAG_TSYNC", NULL,
	};

	return check_list(r, list, known, "flags");
}

int syscall_profile_parse(struct sv text, struct sv name, struct arena *a,
			  struct syscall_profile *ret, struct err *e)
{
	static const char *const keys[] = {
		"defaultAction", "defaultErrnoRet", "defaultErrno",
		"architectures", "archMap", "flags", "syscalls", NULL,
	};
	auto_json json_t *root = json_text_parse(text, name, e);
	struct reader r = { .arena = a, .name = name_tail(name), .e = e };
	json_t *list, *item;
	size_t i;

	*ret = (struct syscall_profile){ 0 };
	if (!root || check_keys(&r, root, keys) < 0 ||
	    read_action(&r, json_object_get(root, "defaultAction"),
			&ret->otherwise) < 0 ||
	    read_errno(&r, root, "defaultErrnoRet", "defaultErrno",
		       &ret->otherwise) < 0 ||
	    read_architectures(&r, root) < 0 ||
	    read_flags(&r, json_object_get(root, "flags")) < 0)
		return -1;
	list = json_object_get(root, "syscalls");
	if (is_absent(list))
		return 0;
	if (!json_is_array(list) || json_array_size(list) > ENTRIES_MAX)
		return fail(&r, "expected a list of at most 2048 for",
			    "syscalls");
	r.in_entry = true;
	json_array_foreach(list, i, item) {
		r.index = i;
		if (read_entry(&r, item, ret) < 0)
			return -1;
	}
	return 0;
}
