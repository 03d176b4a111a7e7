/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address policy: see address.h.
 *
 * The tables are text, so that they can be compared with the registries that
 * they come from (IANA's special-purpose registries for IPv4 and IPv6, and
 * what the clouds document for their metadata services).  A line that does
 * not parse makes every address invalid, which denies.
 */
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "own.h"

struct range {
	const char *net;
	unsigned bits;
	enum address_kind kind;
};

/* Services that hand a machine's credentials to whoever asks; looked at
 * first, since several lie inside a range below. */
static const struct range metadata[] = {
	{ "169.254.169.254", 32, ADDRESS_METADATA },	/* nearly every cloud */
	{ "169.254.169.253", 32, ADDRESS_METADATA },	/* AWS, DNS */
	{ "169.254.169.123", 32, ADDRESS_METADATA },	/* AWS, time */
	{ "169.254.170.2", 32, ADDRESS_METADATA },	/* AWS, ECS tasks */
	{ "169.254.170.23", 32, ADDRESS_METADATA },	/* AWS, EKS pods */
	{ "169.254.42.42", 32, ADDRESS_METADATA },	/* Scaleway */
	{ "169.254.0.23", 32, ADDRESS_METADATA },	/* Tencent */
	{ "168.63.129.16", 32, ADDRESS_METADATA },	/* Azure, WireServer */
	{ "100.100.100.200", 32, ADDRESS_METADATA },	/* Alibaba */
	{ "192.0.0.192", 32, ADDRESS_METADATA },	/* Oracle, classic */
	{ "fd00:ec2::", 32, ADDRESS_METADATA },		/* AWS */
	{ "fd20:ce::254", 128, ADDRESS_METADATA },	/* Google */
	{ "fd00:c1::a9fe:a9fe", 128, ADDRESS_METADATA },	/* Oracle */
	{ "fd00:42::42", 128, ADDRESS_METADATA },	/* Scaleway */
	{ "fd00:a9fe:a9fe::1", 128, ADDRESS_METADATA },	/* Linode */
	{ "fd00:100::100:200", 128, ADDRESS_METADATA },	/* Alibaba */
	{ "fe80::a9fe:a9fe", 128, ADDRESS_METADATA },	/* OpenStack */
};

static const struct range special[] = {
	{ "0.0.0.0", 8, ADDRESS_UNSPECIFIED },
	{ "10.0.0.0", 8, ADDRESS_PRIVATE },
	{ "100.64.0.0", 10, ADDRESS_SHARED },
	{ "127.0.0.0", 8, ADDRESS_LOOPBACK },
	{ "169.254.0.0", 16, ADDRESS_LINK_LOCAL },
	{ "172.16.0.0", 12, ADDRESS_PRIVATE },
	{ "192.0.0.0", 24, ADDRESS_RESERVED },
	{ "192.0.2.0", 24, ADDRESS_DOCUMENTATION },
	{ "192.31.196.0", 24, ADDRESS_RESERVED },	/* AS112 */
	{ "192.52.193.0", 24, ADDRESS_TRANSITION },	/* AMT */
	{ "192.88.99.0", 24, ADDRESS_TRANSITION },	/* 6to4 relays */
	{ "192.168.0.0", 16, ADDRESS_PRIVATE },
	{ "192.175.48.0", 24, ADDRESS_RESERVED },	/* AS112 */
	{ "198.18.0.0", 15, ADDRESS_RESERVED },		/* benchmarks, ours */
	{ "198.51.100.0", 24, ADDRESS_DOCUMENTATION },
	{ "203.0.113.0", 24, ADDRESS_DOCUMENTATION },
	{ "224.0.0.0", 4, ADDRESS_MULTICAST },
	{ "255.255.255.255", 32, ADDRESS_BROADCAST },
	{ "240.0.0.0", 4, ADDRESS_RESERVED },

	{ "::", 128, ADDRESS_UNSPECIFIED },
	{ "::1", 128, ADDRESS_LOOPBACK },
	{ "::", 96, ADDRESS_TRANSITION },		/* IPv4-compatible */
	{ "::ffff:0:0", 96, ADDRESS_TRANSITION },	/* IPv4-mapped */
	{ "::ffff:0:0:0", 96, ADDRESS_TRANSITION },	/* IPv4-translated */
	{ "64:ff9b::", 96, ADDRESS_TRANSITION },	/* NAT64 */
	{ "64:ff9b:1::", 48, ADDRESS_TRANSITION },	/* NAT64, local use */
	{ "100::", 64, ADDRESS_RESERVED },		/* discard-only */
	{ "2001::", 23, ADDRESS_TRANSITION },		/* Teredo, ORCHID, ... */
	{ "2001:db8::", 32, ADDRESS_DOCUMENTATION },
	{ "2002::", 16, ADDRESS_TRANSITION },		/* 6to4 */
	{ "2620:4f:8000::", 48, ADDRESS_RESERVED },	/* AS112 */
	{ "3fff::", 20, ADDRESS_DOCUMENTATION },
	{ "5f00::", 16, ADDRESS_RESERVED },		/* segment routing */
	{ "fc00::", 7, ADDRESS_PRIVATE },
	{ "fe80::", 10, ADDRESS_LINK_LOCAL },
	{ "fec0::", 10, ADDRESS_PRIVATE },		/* site-local */
	{ "ff00::", 8, ADDRESS_MULTICAST },
};

/* Nothing outside of it is assigned to public hosts. */
static const struct range global_unicast = { "2000::", 3, ADDRESS_PUBLIC };

/* How IPv6 addresses carry an IPv4 one: four byte positions. */
struct carrier {
	const char *net;
	unsigned bits;
	uint8_t at[4];
	uint8_t xor;
};

static const struct carrier carriers[] = {
	{ "::", 96, { 12, 13, 14, 15 }, 0 },
	{ "::ffff:0:0", 96, { 12, 13, 14, 15 }, 0 },
	{ "::ffff:0:0:0", 96, { 12, 13, 14, 15 }, 0 },
	{ "64:ff9b::", 96, { 12, 13, 14, 15 }, 0 },
	/* The local prefix may be cut at 48, 56, 64 or 96 bits: RFC 6052. */
	{ "64:ff9b:1::", 48, { 6, 7, 9, 10 }, 0 },
	{ "64:ff9b:1::", 48, { 7, 9, 10, 11 }, 0 },
	{ "64:ff9b:1::", 48, { 9, 10, 11, 12 }, 0 },
	{ "64:ff9b:1::", 48, { 12, 13, 14, 15 }, 0 },
	{ "2002::", 16, { 2, 3, 4, 5 }, 0 },
	{ "2001::", 32, { 4, 5, 6, 7 }, 0 },		/* Teredo's server */
	{ "2001::", 32, { 12, 13, 14, 15 }, 0xff },	/* Teredo's client */
};

static struct address parse_str(const char *text)
{
	struct address a = { 0 };

	if (inet_pton(AF_INET, text, a.bytes) == 1)
		a.n = 4;
	else if (inet_pton(AF_INET6, text, a.bytes) == 1)
		a.n = 16;
	return a;
}

struct address address_parse(struct sv text)
{
	char s[INET6_ADDRSTRLEN];

	if (text.n == 0 || text.n >= sizeof s || memchr(text.p, 0, text.n))
		return (struct address){ 0 };
	memcpy(s, text.p, text.n);
	s[text.n] = 0;
	return parse_str(s);
}

struct address address_of(const struct sockaddr *sa)
{
	struct address a = { 0 };

	if (sa && sa->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof in);
		a.n = 4;
		memcpy(a.bytes, &in.sin_addr, 4);
	} else if (sa && sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, sa, sizeof in6);
		a.n = 16;
		memcpy(a.bytes, &in6.sin6_addr, 16);
	}
	return a;
}

socklen_t address_to_socket(const struct address *a, uint16_t port,
			    struct sockaddr_storage *ret)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };

	memset(ret, 0, sizeof *ret);
	if (a->n == 4) {
		memcpy(&in.sin_addr, a->bytes, 4);
		memcpy(ret, &in, sizeof in);
		return sizeof in;
	}
	if (a->n == 16) {
		memcpy(&in6.sin6_addr, a->bytes, 16);
		memcpy(ret, &in6, sizeof in6);
		return sizeof in6;
	}
	return 0;
}

const char *address_text(const struct address *a, char ret[ADDRESS_TEXT])
{
	if (a->n == 0 || !inet_ntop(a->n == 4 ? AF_INET : AF_INET6, a->bytes,
				    ret, ADDRESS_TEXT))
		(void)snprintf(ret, ADDRESS_TEXT, "?");
	return ret;
}

/* 1 inside, 0 outside or of another family, -1 when the table is wrong. */
static int within(const struct address *a, const char *net, unsigned bits)
{
	struct address base = parse_str(net);
	unsigned whole = bits / 8, rest = bits % 8;

	if (base.n == 0 || bits > base.n * 8U)
		return -1;
	if (base.n != a->n || memcmp(base.bytes, a->bytes, whole) != 0)
		return 0;
	return rest == 0 ||
	       ((base.bytes[whole] ^ a->bytes[whole]) >> (8 - rest)) == 0;
}

static enum address_kind find(const struct address *a, const struct range *r,
			      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int in = within(a, r[i].net, r[i].bits);

		if (in != 0)
			return in < 0 ? ADDRESS_INVALID : r[i].kind;
	}
	return ADDRESS_PUBLIC;
}

/* What the tables say of a itself. */
static enum address_kind judge_outer(const struct address *a)
{
	enum address_kind kind = find(a, metadata, countof(metadata));

	if (kind != ADDRESS_PUBLIC)
		return kind;
	kind = find(a, special, countof(special));
	if (kind == ADDRESS_PUBLIC && a->n == 16 &&
	    within(a, global_unicast.net, global_unicast.bits) != 1)
		return ADDRESS_RESERVED;
	return kind;
}

static enum address_kind judge_carried(const struct address *a,
				       const uint8_t at[4], uint8_t xor)
{
	struct address inner = { .n = 4 };

	for (unsigned i = 0; i < 4; i++)
		inner.bytes[i] = a->bytes[at[i]] ^ xor;
	return judge_outer(&inner);
}

/* Any metadata address inside outweighs whatever else is to be said. */
static enum address_kind judge_inner(const struct address *a)
{
	static const uint8_t tail[4] = { 12, 13, 14, 15 };
	enum address_kind worst = ADDRESS_PUBLIC;

	for (size_t i = 0; i < countof(carriers); i++) {
		const struct carrier *c = &carriers[i];
		enum address_kind kind;

		if (within(a, c->net, c->bits) == 0)
			continue;
		kind = judge_carried(a, c->at, c->xor);
		if (kind == ADDRESS_METADATA)
			return kind;
		if (worst == ADDRESS_PUBLIC)
			worst = kind;
	}
	/* ISATAP: an interface identifier below any prefix, also a public one,
	 * so that it is refused whatever it carries. */
	if ((a->bytes[8] & 0xfd) == 0 && a->bytes[9] == 0 &&
	    a->bytes[10] == 0x5e && a->bytes[11] == 0xfe) {
		enum address_kind kind = judge_carried(a, tail, 0);

		if (kind == ADDRESS_METADATA || worst == ADDRESS_PUBLIC)
			worst = kind;
		if (worst == ADDRESS_PUBLIC)
			worst = ADDRESS_TRANSITION;
	}
	return worst;
}

enum address_kind address_judge(const struct address *a,
				const struct addresses *own)
{
	enum address_kind outer, inner;

	if (a->n != 4 && a->n != 16)
		return ADDRESS_INVALID;
	outer = judge_outer(a);
	inner = a->n == 16 ? judge_inner(a) : ADDRESS_PUBLIC;
	if (inner == ADDRESS_METADATA)
		return inner;
	/* "::1" is loopback, not the IPv4 address 0.0.0.1. */
	if (outer != ADDRESS_PUBLIC && outer != ADDRESS_TRANSITION)
		return outer;
	if (inner != ADDRESS_PUBLIC)
		return inner;
	for (size_t i = 0; outer == ADDRESS_PUBLIC && i < own->n; i++)
		if (own->v[i].n == a->n &&
		    memcmp(own->v[i].bytes, a->bytes, a->n) == 0)
			return ADDRESS_OWN;
	return outer;
}

bool address_may_be_proxy(enum address_kind kind)
{
	return kind == ADDRESS_PUBLIC || kind == ADDRESS_LOOPBACK ||
	       kind == ADDRESS_PRIVATE || kind == ADDRESS_SHARED ||
	       kind == ADDRESS_OWN;
}

const char *address_kind_name(enum address_kind kind)
{
	switch (kind) {
	case ADDRESS_INVALID: return "not an address";
	case ADDRESS_PUBLIC: return "public";
	case ADDRESS_UNSPECIFIED: return "unspecified";
	case ADDRESS_LOOPBACK: return "loopback";
	case ADDRESS_PRIVATE: return "private";
	case ADDRESS_SHARED: return "shared by a carrier";
	case ADDRESS_LINK_LOCAL: return "link-local";
	case ADDRESS_METADATA: return "cloud metadata";
	case ADDRESS_MULTICAST: return "multicast";
	case ADDRESS_BROADCAST: return "broadcast";
	case ADDRESS_DOCUMENTATION: return "documentation";
	case ADDRESS_TRANSITION: return "IPv4 inside IPv6";
	case ADDRESS_RESERVED: return "reserved";
	case ADDRESS_OWN: return "this host's own";
	}
	return "?";
}

/*
 * Resolvers read more than dotted quads as IPv4 (decimal, octal, hexadecimal,
 * fewer parts).  No top-level domain ends in a number, so that a last label
 * which does is enough.
 */
bool address_is_literal(struct sv host)
{
	struct sv last = host;
	size_t dot;

	if (host.n == 0 || sv_find(host, ':') < host.n ||
	    sv_find(host, '[') < host.n || sv_find(host, '%') < host.n)
		return true;
	if (host.p[host.n - 1] == '.')
		last = host = sv_head(host, host.n - 1);
	while ((dot = sv_find(last, '.')) < last.n)
		last = sv_from(last, dot + 1);
	if (last.n >= 2 && last.p[0] == '0' && ascii_lower(last.p[1]) == 'x')
		return true;
	for (size_t i = 0; i < last.n; i++)
		if (!is_digit(last.p[i]))
			return false;
	return true;
}

struct special_name {
	const char *name;	/* without dots at the ends */
	bool below;		/* also every name below it */
};

static const struct special_name special_names[] = {
	{ "localhost", true },
	{ "localdomain", true },
	{ "local", true },
	{ "internal", true },		/* metadata.google.internal, Docker's */
	{ "home.arpa", true },
	{ "in-addr.arpa", true },
	{ "ip6.arpa", true },
	{ "metadata", false },
	{ "metadata.goog", true },
	{ "metadata.tencentyun.com", false },
	{ "instance-data", false },
	{ "kubernetes.default", true },
	{ "kubernetes.default.svc", true },
};

bool address_name_is_special(struct sv host)
{
	if (host.n && host.p[host.n - 1] == '.')
		host = sv_head(host, host.n - 1);
	if (host.n == 0)
		return true;
	for (size_t i = 0; i < countof(special_names); i++) {
		struct sv name = sv_str(special_names[i].name);
		struct sv tail = sv_from(host, host.n - (host.n < name.n ?
					       host.n : name.n));

		if (sv_eq_nocase(tail, name) &&
		    (host.n == name.n ||
		     (special_names[i].below &&
		      host.p[host.n - name.n - 1] == '.')))
			return true;
	}
	return false;
}
