/* SPDX-License-Identifier: Apache-2.0 */
/* WebSockets: what heads say, and frames cut at every point. */
#include "websocket.h"

#include "buf.h"
#include "own.h"
#include "tap.h"

#define VERSION { SV("sec-websocket-version"), SV("13") }
#define KEY { SV("sec-websocket-key"), SV("dGhlIHNhbXBsZSBub25jZQ==") }

static void test_take_is_strict(void)
{
	struct http_field good[] = { { SV("a"), SV("b") }, KEY, VERSION };
	struct http_field no_key[] = { VERSION };
	struct http_field doubled[] = { KEY, KEY, VERSION };
	struct http_field short_key[] = {
		{ SV("sec-websocket-key"), SV("dGhlIHNhbXBsZSBub25j") },
		VERSION };
	struct http_field bits[] = {
		{ SV("sec-websocket-key"), SV("dGhlIHNhbXBsZSBub25jZR==") },
		VERSION };
	struct http_field other[] = {
		KEY, { SV("sec-websocket-version"), SV("8") } };
	struct {
		struct http_fields f;
		bool good, good_without_key;
	} cases[] = {
		{ { good, countof(good) }, true, true },
		{ { no_key, countof(no_key) }, false, true },
		{ { doubled, countof(doubled) }, false, true },
		{ { short_key, countof(short_key) }, false, true },
		{ { bits, countof(bits) }, false, true },
		{ { other, countof(other) }, false, false },
	};

	for (size_t i = 0; i < countof(cases); i++) {
		struct http_fields f = cases[i].f;
		struct sv key;

		CHECK_INT(websocket_take(&f, true, &key) == NULL,
			  cases[i].good);
		if (i == 0) {
			CHECK_INT(f.n, 1);
			CHECK_SV(key, "dGhlIHNhbXBsZSBub25jZQ==");
			continue;
		}
		CHECK_INT(websocket_take(&f, false, &key) == NULL,
			  cases[i].good_without_key);
	}
}

static void test_only_what_was_offered_is_chosen(void)
{
	struct http_field asked[] = {
		{ SV("sec-websocket-protocol"), SV("chat, v2") },
		{ SV("sec-websocket-protocol"), SV("v3") },
		{ SV("sec-websocket-extensions"), SV("x-a; p=1, x-b") },
	};
	const struct http_fields request = { asked, countof(asked) };
	static const struct {
		struct http_field field;
		bool good;
	} cases[] = {
		{ { SV("a"), SV("b") }, true },
		{ { SV("sec-websocket-protocol"), SV("v2") }, true },
		{ { SV("sec-websocket-protocol"), SV("v3") }, true },
		{ { SV("sec-websocket-protocol"), SV("V2") }, false },
		{ { SV("sec-websocket-protocol"), SV("v4") }, false },
		{ { SV("sec-websocket-protocol"), SV("chat, v2") }, false },
		{ { SV("sec-websocket-protocol"), SV("") }, false },
		{ { SV("sec-websocket-extensions"), SV("x-b; q") }, true },
		{ { SV("sec-websocket-extensions"), SV("x-a,x-b") }, true },
		{ { SV("sec-websocket-extensions"), SV("x-a,x-c") }, false },
	};
	struct http_field two[] = { cases[1].field, cases[1].field };

	for (size_t i = 0; i < countof(cases); i++) {
		struct http_field v = cases[i].field;

		CHECK_INT(websocket_is_offered(&request,
					       &(struct http_fields){ &v, 1 }),
			  cases[i].good);
	}
	CHECK(!websocket_is_offered(&request, &(struct http_fields){ two, 2 }));
}

/* Cut at `cut`: heads and payloads as they lie, "|" behind each frame. */
static bool read_frames(struct sv in, size_t cut, bool extended,
			struct buf *out)
{
	struct sv pieces[2] = { sv_head(in, cut), sv_from(in, cut) };
	struct websocket_frames f = { .extended = extended };

	for (size_t i = 0; i < 2; i++) {
		enum websocket_piece got;
		struct sv piece;

		while ((got = websocket_next(&f, &pieces[i], &piece)) >
		       WEBSOCKET_MORE) {
			buf_put(out, piece);
			if (f.left == 0)
				buf_putc(out, '|');
		}
		if (got == WEBSOCKET_BAD)
			return false;
	}
	return true;
}

static void test_frames_end_where_they_say(void)
{
	auto_buf struct buf in = buf_new(300000), want = buf_new(300000);
	static const struct sv heads[] = {
		SV("\x81\x03"), SV("\x82\x00"), SV("\x02\x7e\x01\x00"),
		SV("\x80\x7f\0\0\0\0\0\x01\0\x01"), SV("\x89\x02"),
		SV("\x88\x02"),
	};
	static const size_t sizes[] = { 3, 0, 256, 65537, 2, 2 };

	for (size_t i = 0; i < countof(heads); i++) {
		buf_put(&in, heads[i]);
		buf_put(&want, heads[i]);
		for (size_t k = 0; k < sizes[i]; k++) {
			buf_putc(&in, '\x88');
			buf_putc(&want, '\x88');
		}
		buf_putc(&want, '|');
	}
	for (size_t cut = 0; cut < in.n; cut += cut < 300 ? 1 : 977) {
		auto_buf struct buf out = buf_new(300000);

		CHECK(read_frames(buf_sv(&in), cut, false, &out));
		CHECK(sv_eq(buf_sv(&out), buf_sv(&want)));
	}
}

static void test_what_is_no_frame_of_a_server(void)
{
	static const struct {
		struct sv in;
		bool extended;	/* good with an extension */
	} bad[] = {
		{ SV("\x81\x81\0\0\0\0x"), false },	/* masked */
		{ SV("\xc1\x00"), true },		/* a reserved bit */
		{ SV("\x83\x00"), true }, { SV("\x8b\x00"), true },
		{ SV("\x09\x00"), false }, { SV("\x89\x7e\0\x7e"), false },
		{ SV("\x81\x7f\x80\0\0\0\0\0\0\0"), false },
		{ SV("\x88\x00x"), false },		/* behind the close */
	};

	for (size_t i = 0; i < countof(bad); i++) {
		auto_buf struct buf out = buf_new(100);

		CHECK(!read_frames(bad[i].in, 0, false, &out));
		CHECK_INT(read_frames(bad[i].in, 0, true, &out),
			  bad[i].extended);
	}
}

int main(void)
{
	RUN(test_take_is_strict);
	RUN(test_only_what_was_offered_is_chosen);
	RUN(test_frames_end_where_they_say);
	RUN(test_what_is_no_frame_of_a_server);
	return tap_done();
}
