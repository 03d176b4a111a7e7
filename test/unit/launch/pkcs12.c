/* SPDX-License-Identifier: Apache-2.0 */
/* The store that Java reads: lengths that fit, and what is left out of it. */
#include "tap.h"

#include "base64.h"
#include "pkcs12.h"

enum { LINE = 64 };

/* Something of n bytes with the outside of a certificate, said to have `said`
 * bytes behind its head, in lines. */
static void put_pem(struct buf *pem, size_t n, size_t said, const char *end)
{
	auto_buf struct buf der = buf_new(1 << 20), text = buf_new(1 << 20);

	buf_puts(&der, "\x30\x82");
	buf_putc(&der, (char)(said >> 8 & 0xff));
	buf_putc(&der, (char)(said & 0xff));
	while (der.n < n)
		buf_putc(&der, 'x');
	buf_put_base64(&text, buf_sv(&der));
	buf_printf(pem, "# a name\n-----BEGIN CERTIFICATE-----%s", end);
	for (struct sv rest = buf_sv(&text); rest.n; rest = sv_from(rest, LINE))
		buf_printf(pem, "%.*s%s", SV_FMT(sv_head(rest, LINE)), end);
	buf_printf(pem, "-----END CERTIFICATE-----%s", end);
}

/* Cuts an element with this tag off *rest; its content. */
static struct sv take(struct sv *rest, int tag)
{
	size_t at = 2, n = rest->n > 1 ? (uint8_t)rest->p[1] : 0;

	CHECK(rest->n >= 2 && (uint8_t)rest->p[0] == tag);
	if (rest->n < 2)
		return SV("");
	if (n & 0x80) {
		size_t size = n & 0x7f;

		CHECK(size >= 1 && size <= 3 && rest->p[2]);
		for (n = 0; size-- && at < rest->n; at++)
			n = n << 8 | (uint8_t)rest->p[at];
		CHECK(n >= 0x80);
	}
	CHECK(at + n <= rest->n);
	struct sv content = sv_head(sv_from(*rest, at), n);
	*rest = sv_from(*rest, at + n);
	return content;
}

/* ContentInfo { data, [0] { octets } } */
static struct sv data_of(struct sv info)
{
	struct sv inside, content;

	(void)take(&info, 0x06);
	inside = take(&info, 0xa0);
	content = take(&inside, 0x04);
	CHECK(info.n == 0 && inside.n == 0);
	return content;
}

static struct sv certificate_of(struct sv bag)
{
	struct sv value, cert, inside;

	(void)take(&bag, 0x06);
	value = take(&bag, 0xa0);
	(void)take(&bag, 0x31);
	cert = take(&value, 0x30);
	(void)take(&cert, 0x06);
	inside = take(&cert, 0xa0);
	CHECK(bag.n == 0 && value.n == 0 && cert.n == 0);
	return take(&inside, 0x04);
}

/* Two certificates of these sizes come out of a store as they went in. */
static void check_store(size_t a, size_t b)
{
	auto_buf struct buf pem = buf_new(1 << 20), bags = buf_new(1 << 20);
	auto_buf struct buf store = buf_new(1 << 20);
	struct sv rest, pfx, safe, contents;

	put_pem(&pem, a, a - 4, "\n");
	put_pem(&pem, b, b - 4, "\r\n");
	CHECK(pkcs12_put_pem(&bags, buf_sv(&pem)));
	pkcs12_head(&store, bags.n);
	CHECK(store.n <= PKCS12_HEAD_MAX);
	buf_put(&store, buf_sv(&bags));
	rest = buf_sv(&store);
	pfx = take(&rest, 0x30);
	CHECK(rest.n == 0);
	CHECK(sv_eq(take(&pfx, 0x02), SV("\x03")));
	safe = data_of(take(&pfx, 0x30));
	rest = take(&safe, 0x30);
	contents = data_of(take(&rest, 0x30));
	rest = take(&contents, 0x30);
	CHECK(certificate_of(take(&rest, 0x30)).n == a);
	CHECK(certificate_of(take(&rest, 0x30)).n == b);
	CHECK(rest.n == 0 && pfx.n == 0);
}

static void test_pkcs12_has_every_length_in_its_shortest_form(void)
{
	check_store(260, 300);
	check_store(1000, 20000);
	check_store(65000, 49000);
	for (size_t n = 65200; n < 65420; n++)	/* all lengths pass 65535 */
		check_store(300, n - 300);
}

static void test_pkcs12_leaves_out_what_is_no_certificate(void)
{
	auto_buf struct buf pem = buf_new(1 << 20), bags = buf_new(1 << 20);

	put_pem(&pem, 300, 295, "\n");
	put_pem(&pem, 300, 297, "\n");
	put_pem(&pem, 2, 0, "\n");
	buf_puts(&pem, "-----BEGIN CERTIFICATE-----\nMIIB!\n"
		       "-----END CERTIFICATE-----\n"
		       "-----BEGIN PRIVATE KEY-----\nMIIB\n"
		       "-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\n"
		       "MIIB");
	CHECK(pkcs12_put_pem(&bags, buf_sv(&pem)));
	CHECK(bags.n == 0);
	CHECK(pkcs12_put_pem(&bags, SV("")));
	put_pem(&pem, 300, 296, "\n");
	CHECK(pkcs12_put_pem(&bags, buf_sv(&pem)));
	CHECK(bags.n > 300 && bags.n < 400);
}

static void test_pkcs12_says_when_there_is_no_room(void)
{
	auto_buf struct buf pem = buf_new(1 << 20), bags = buf_new(1000);

	for (int i = 0; i < 4; i++)
		put_pem(&pem, 300, 296, "\n");
	CHECK(!pkcs12_put_pem(&bags, buf_sv(&pem)));
}

int main(void)
{
	RUN(test_pkcs12_has_every_length_in_its_shortest_form);
	RUN(test_pkcs12_leaves_out_what_is_no_certificate);
	RUN(test_pkcs12_says_when_there_is_no_room);
	return tap_done();
}
