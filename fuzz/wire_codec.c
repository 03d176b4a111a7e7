/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: what decodes encodes to the very same bytes. */
#include "codec.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);
	enum role from = (enum role)(fuzz_byte(&in) % 6);
	enum role to = (enum role)(fuzz_byte(&in) % 6);
	enum phase phase = (enum phase)(1 + fuzz_byte(&in) % 2);
	struct msg m = { .n_fds = fuzz_byte(&in) % (WIRE_FDS_MAX + 1) };
	auto_buf struct buf b = buf_new(WIRE_SIZE_MAX + (1 << 20));
	struct err e;

	if (msg_decode(in, from, to, phase, &m, &e) < 0) {
		MUST(e.kind == ERR_PROTO && e.msg[0]);
		return 0;
	}
	msg_encode(&b, &m);
	MUST(!b.full && sv_eq(buf_sv(&b), in));
	return 0;
}
