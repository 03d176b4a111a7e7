/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <stdlib.h>

#include "box.h"
#include "tap.h"

static const struct sealed_cost cost = { .log_n = 10, .r = 1, .p = 1 };
static char key[SEALED_KEY], derived[SEALED_KEY], value[SECRET_VALUE_MAX];
static struct store store = { .key = key, .derived = derived, .value = value };
static struct err e;

/* A store with two entries; what it looks like as a file. */
static struct buf make(const char *passphrase)
{
	struct buf file = buf_new(SEALED_SIZE_MAX);

	e = (struct err){ 0 };
	CHECK_INT(store_make(&store, &cost, sv_str(passphrase), &e), 0);
	CHECK_INT(store_put(&store, SV("ONE"), SV("value-1"), &e), 0);
	CHECK_INT(store_put(&store, SV("TWO"), SV("value-2"), &e), 0);
	buf_put(&file, buf_sv(&store.text));
	return file;
}

static int load(const struct buf *file)
{
	e = (struct err){ 0 };
	return store_load(&store, buf_sv(file), &e);
}

static struct sv get(const char *name)
{
	struct sv v = { 0 };

	return store_get(&store, sv_str(name), &v, &e) > 0 ? v : SV("");
}

static void test_store_values_come_back(void)
{
	struct buf file = make("pass");

	CHECK_INT(load(&file), 0);
	CHECK_SV(get("ONE"), "");	/* not open yet */
	CHECK_INT(store_unlock(&store, SV("pass"), &e), 1);
	CHECK_SV(get("ONE"), "value-1");
	CHECK_SV(get("TWO"), "value-2");
	CHECK_SV(get("THREE"), "");
	CHECK_INT(store_put(&store, SV("ONE"), SV("other"), &e), 0);
	CHECK_SV(get("ONE"), "other");
	CHECK_INT(store_remove(&store, SV("ONE"), &e), 1);
	CHECK_INT(store_remove(&store, SV("ONE"), &e), 0);
	CHECK_SV(get("ONE"), "");
	CHECK_SV(get("TWO"), "value-2");
	buf_free(&file);
	store_wipe(&store);
}

static void test_store_wrong_passphrase_opens_nothing(void)
{
	struct buf file = make("pass");

	CHECK_INT(load(&file), 0);
	CHECK_INT(store_unlock(&store, SV("Pass"), &e), 0);
	CHECK_INT(store_unlock(&store, SV(""), &e), 0);
	CHECK_SV(get("ONE"), "");
	CHECK_INT(store_put(&store, SV("X"), SV("x"), &e), -1);
	CHECK_INT(store_unlock(&store, SV("pass"), &e), 1);
	CHECK_SV(get("ONE"), "value-1");
	buf_free(&file);
	store_wipe(&store);
}

static void test_store_key_of_another_opens_nothing(void)
{
	struct buf one = make("pass"), two = { 0 };
	char kept[SEALED_KEY];

	memcpy(kept, key, sizeof kept);
	two = make("pass");
	CHECK_INT(load(&two), 0);
	CHECK_INT(store_unlock_by_key(&store, sv_of(kept, sizeof kept), &e), 0);
	CHECK_SV(get("ONE"), "");
	CHECK_INT(load(&one), 0);
	CHECK_INT(store_unlock_by_key(&store, sv_of(kept, sizeof kept), &e), 1);
	CHECK_SV(get("ONE"), "value-1");
	buf_free(&one);
	buf_free(&two);
	store_wipe(&store);
}

static bool opens(const struct buf *file)
{
	return load(file) == 0 && store_unlock(&store, SV("pass"), &e) > 0;
}

static void test_store_any_byte_changed_opens_nothing(void)
{
	struct buf file = make("pass");

	CHECK(opens(&file));
	for (size_t i = 0; i < file.n; i++)
		for (int bit = 0; bit < 8; bit += 7) {
			/* A cost that is allowed would only take longer. */
			if (i == 8 || i == 9 || i == 10)
				continue;
			file.p[i] = (char)(file.p[i] ^ (1 << bit));
			CHECK(!opens(&file));
			file.p[i] = (char)(file.p[i] ^ (1 << bit));
		}
	file.p[10] = 2;		/* p: twice the work, another key */
	CHECK(!opens(&file));
	file.p[10] = 1;
	CHECK(opens(&file));
	buf_free(&file);
	store_wipe(&store);
}

static void test_store_truncated_opens_nothing(void)
{
	struct buf file = make("pass");

	while (file.n > 0) {
		file.n--;
		CHECK(!opens(&file));
	}
	buf_free(&file);
	store_wipe(&store);
}

/* The file with its entries in other places, as an editor of the file could put
 * them, and the close as it was. */
static void put_parts(struct buf *b, const struct sealed *s, struct sv first,
		      struct sv second, struct sv close)
{
	buf_put(b, s->head);
	sealed_put_count(b, 2);
	buf_put(b, first);
	buf_put(b, second);
	buf_put(b, close);
}

static void test_store_moved_and_renamed_entries_are_noticed(void)
{
	struct buf file = make("pass"), b = buf_new(4096);
	struct sealed s;
	struct sv close;
	char one[64];

	CHECK_INT(sealed_parse(buf_sv(&file), &s, &e), 0);
	close = sv_from(buf_sv(&file), s.body.n);
	put_parts(&b, &s, s.entries[0].bytes, s.entries[1].bytes, close);
	CHECK(opens(&b));
	/* The value of TWO as ONE's: same length, names as they were. */
	memcpy(one, s.entries[1].bytes.p, s.entries[1].bytes.n);
	memcpy(one + 1, "ONE", 3);
	buf_reset(&b);
	put_parts(&b, &s, sv_of(one, s.entries[1].bytes.n), s.entries[1].bytes,
		  close);
	CHECK_INT(load(&b), 0);
	CHECK(!opens(&b));
	buf_free(&b);
	buf_free(&file);
	store_wipe(&store);
}

static void test_store_old_entry_in_a_new_file_is_noticed(void)
{
	struct buf old = make("pass"), b = buf_new(4096), now = buf_new(4096);
	struct sealed was, is;

	CHECK_INT(store_put(&store, SV("ONE"), SV("value-9"), &e), 0);
	buf_put(&now, buf_sv(&store.text));
	CHECK_INT(sealed_parse(buf_sv(&old), &was, &e), 0);
	CHECK_INT(sealed_parse(buf_sv(&now), &is, &e), 0);
	put_parts(&b, &is, was.entries[0].bytes, is.entries[1].bytes,
		  sv_from(buf_sv(&now), is.body.n));
	CHECK(opens(&now));
	CHECK_SV(get("ONE"), "value-9");
	CHECK_INT(load(&b), 0);
	CHECK(!opens(&b));
	CHECK(strstr(e.msg, "changed") != NULL);
	buf_free(&old);
	buf_free(&now);
	buf_free(&b);
	store_wipe(&store);
}

/* Whoever has the key closes the file anew: still no entry goes under another
 * name. */
static void test_store_entry_belongs_to_its_name(void)
{
	struct buf file = make("pass"), b = buf_new(4096);
	struct box_with with = { 0 };
	struct sealed s;
	char one[64];

	CHECK_INT(sealed_parse(buf_sv(&file), &s, &e), 0);
	memcpy(one, s.entries[1].bytes.p, s.entries[1].bytes.n);
	memcpy(one + 1, "ONE", 3);
	CHECK(buf_reserve(&b, 4000) != NULL);
	put_parts(&b, &s, sv_of(one, s.entries[1].bytes.n), s.entries[1].bytes,
		  SV(""));
	with.parts[0] = buf_sv(&b);
	with.parts[1] = SV("\x02close");
	CHECK_INT(box_seal(key, &with, SV(""), &b, &e), 0);
	CHECK(opens(&b));
	CHECK_SV(get("TWO"), "value-2");
	e = (struct err){ 0 };
	CHECK_SV(get("ONE"), "");
	CHECK(strstr(e.msg, "changed") != NULL);
	buf_free(&b);
	buf_free(&file);
	store_wipe(&store);
}

static void test_store_bounds(void)
{
	struct buf file = make("pass");
	static char large[SECRET_VALUE_MAX + 1];
	char name[16];
	int rc = 0, n = 0;

	memset(large, 'v', sizeof large);
	CHECK_INT(store_put(&store, SV("L"), sv_of(large, sizeof large), &e), -1);
	CHECK_INT(store_put(&store, SV("L"), sv_of(large, sizeof large - 1), &e),
		  0);
	CHECK_INT(get("L").n, SECRET_VALUE_MAX);
	CHECK_INT(store_put(&store, SV("L"), SV("a b"), &e), -1);
	CHECK_INT(store_put(&store, SV("L"), SV(""), &e), -1);
	CHECK_INT(store_put(&store, SV("-L"), SV("a"), &e), -1);
	CHECK_INT(get("L").n, SECRET_VALUE_MAX);
	for (; rc == 0 && n < 300; n++) {
		(void)snprintf(name, sizeof name, "N%d", n);
		rc = store_put(&store, sv_str(name), SV("x"), &e);
	}
	CHECK_INT(n, SEALED_ENTRIES_MAX - 3 + 1);
	CHECK(strstr(e.msg, "full") != NULL);
	CHECK_SV(get("ONE"), "value-1");
	buf_free(&file);
	store_wipe(&store);
}

int main(void)
{
	CHECK_INT(box_start(&e), 0);
	RUN(test_store_values_come_back);
	RUN(test_store_wrong_passphrase_opens_nothing);
	RUN(test_store_key_of_another_opens_nothing);
	RUN(test_store_any_byte_changed_opens_nothing);
	RUN(test_store_truncated_opens_nothing);
	RUN(test_store_moved_and_renamed_entries_are_noticed);
	RUN(test_store_old_entry_in_a_new_file_is_noticed);
	RUN(test_store_entry_belongs_to_its_name);
	RUN(test_store_bounds);
	return tap_done();
}
