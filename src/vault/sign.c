/* SPDX-License-Identifier: Apache-2.0 */
/* What edge asks: certificates for its one key. */
#include "vault.h"

static int on_sign(struct vault *v, const struct msg_SIGN *sign, struct err *e)
{
	auto_buf struct buf der = buf_new(4096);
	struct msg answer = { .kind = MSG_CERTIFICATE };
	struct err refusal = { 0 };

	/* Empty says no; why is edge's mistake, not the agent's business. */
	if (authority_sign(v->authority, sign->name, &der, &refusal) < 0)
		buf_reset(&der);
	answer.CERTIFICATE = (struct msg_CERTIFICATE){
		.name = sign->name, .der = buf_sv(&der) };
	return vault_answer(v, &answer, e);
}

int vault_on_edge(struct channel *c, struct msg *m, struct err *e)
{
	struct vault *v = container_of(c, struct vault, edge);

	if (!v->authority)
		return err_kind(e, ERR_PROTO, "there is no CA in this run");
	if (m->kind == MSG_LEAF_KEY)
		return authority_set_key(v->authority, m->LEAF_KEY.spki, e);
	if (m->kind == MSG_SIGN)
		return on_sign(v, &m->SIGN, e);
	return err_kind(e, ERR_PROTO, "%s from edge", msg_name(m->kind));
}
