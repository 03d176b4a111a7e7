/* SPDX-License-Identifier: Apache-2.0 */
/* A store of trusted certificates: see pkcs12.h. */
#include "pkcs12.h"

#include "base64.h"

enum {
	TAG_OCTETS = 0x04,
	TAG_SEQUENCE = 0x30,
	TAG_EXPLICIT = 0xa0,	/* [0] */
	CERTIFICATE_MAX = 1 << 16,
	BASE64_MAX = 2 * CERTIFICATE_MAX,
};

/* Object identifiers, with tag and length. */
#define DATA SV("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01")
#define CERT_BAG SV("\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x03")
#define X509 SV("\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x09\x16\x01")
#define VERSION SV("\x02\x01\x03")
/* Java takes a certificate for trusted by an attribute of its own: the set of
 * one that has trustedKeyUsage 2.16.840.1.113894.746875.1.1, any usage. */
#define TRUSTED SV("\x31\x18\x30\x16" \
		   "\x06\x0c\x60\x86\x48\x01\x86\xf9\x66\xad\xca\x7b\x01\x01" \
		   "\x31\x06\x06\x04\x55\x1d\x25\x00")

/* Bytes that say a length of n, in the shortest form as DER demands. */
static size_t length_size(size_t n)
{
	size_t size = 1;

	if (n < 0x80)
		return size;
	for (; n; n >>= 8)
		size++;
	return size;
}

/* All of an element whose content has n bytes. */
static size_t whole(size_t n)
{
	return 1 + length_size(n) + n;
}

static void put_start(struct buf *b, int tag, size_t n)
{
	size_t size = length_size(n);

	buf_putc(b, (char)tag);
	if (size > 1)
		buf_putc(b, (char)(0x80 | (size - 1)));
	while (size-- > 1)
		buf_putc(b, (char)(n >> 8 * (size - 1) & 0xff));
	if (n < 0x80)
		buf_putc(b, (char)n);
}

/* SafeBag { certBag, [0] { CertBag { x509, [0] { der } } }, { TRUSTED } } */
static void put_bag(struct buf *b, struct sv der)
{
	size_t value = whole(der.n);
	size_t certificate = X509.n + whole(value);
	size_t content = whole(certificate);

	put_start(b, TAG_SEQUENCE, CERT_BAG.n + whole(content) + TRUSTED.n);
	buf_put(b, CERT_BAG);
	put_start(b, TAG_EXPLICIT, content);
	put_start(b, TAG_SEQUENCE, certificate);
	buf_put(b, X509);
	put_start(b, TAG_EXPLICIT, value);
	put_start(b, TAG_OCTETS, der.n);
	buf_put(b, der);
	buf_put(b, TRUSTED);
}

/* One element and nothing behind it: what is cut off would make Java refuse
 * the whole store. */
static bool is_whole(struct sv der)
{
	size_t n = 0, size;

	if (der.n < 4 || (uint8_t)der.p[0] != TAG_SEQUENCE)
		return false;
	size = (uint8_t)der.p[1];
	if (size != 0x82)	/* no certificate is shorter, or longer */
		return false;
	n = (size_t)(uint8_t)der.p[2] << 8 | (uint8_t)der.p[3];
	return whole(n) == der.n;
}

bool pkcs12_put_pem(struct buf *bags, struct sv pem)
{
	auto_buf struct buf text = buf_new(BASE64_MAX);
	auto_buf struct buf der = buf_new(CERTIFICATE_MAX);
	bool within = false;

	while (pem.n) {
		struct sv line = sv_cut(&pem, '\n');

		if (sv_ends(line, SV("\r")))
			line.n--;
		if (sv_starts(line, SV("-----BEGIN "))) {
			within = sv_eq(line, SV("-----BEGIN CERTIFICATE-----"));
			buf_reset(&text);
			buf_reset(&der);
		} else if (!sv_starts(line, SV("-----END "))) {
			if (within)
				buf_put(&text, line);
		} else if (within) {
			within = false;
			if (buf_put_unbase64(&der, buf_sv(&text)) &&
			    !text.full && is_whole(buf_sv(&der)))
				put_bag(bags, buf_sv(&der));
		}
	}
	return !bags->full;
}

/*
 * PFX { 3, ContentInfo { data, [0] { octets {
 *	AuthenticatedSafe { ContentInfo { data, [0] { octets {
 *		SafeContents { bags } } } } } } } }
 */
void pkcs12_head(struct buf *head, size_t n)
{
	size_t contents = whole(n);
	size_t inner = DATA.n + whole(whole(contents));
	size_t safe = whole(inner);
	size_t octets = whole(safe);
	size_t outer = DATA.n + whole(whole(octets));

	put_start(head, TAG_SEQUENCE, VERSION.n + whole(outer));
	buf_put(head, VERSION);
	put_start(head, TAG_SEQUENCE, outer);
	buf_put(head, DATA);
	put_start(head, TAG_EXPLICIT, whole(octets));
	put_start(head, TAG_OCTETS, octets);
	put_start(head, TAG_SEQUENCE, safe);
	put_start(head, TAG_SEQUENCE, inner);
	buf_put(head, DATA);
	put_start(head, TAG_EXPLICIT, whole(contents));
	put_start(head, TAG_OCTETS, contents);
	put_start(head, TAG_SEQUENCE, n);
}
