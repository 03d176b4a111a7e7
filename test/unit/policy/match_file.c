/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions on paths: each denial beside an allowance. */
#include "tap.h"

#include "match_file.h"
#include "own.h"
#include "policy_text.h"

static const struct {
	const char *policy, *question;
	bool allowed;
	const char *allow_with;
} cases[] = {
	{ "", "read /proj/a", true, "" },
	{ "", "write /proj/a", false, "write /proj/a" },
	{ "", "read /workshop", false, "read /workshop" },
	{ "write .", "write /proj/a/b", true, "" },
	{ "read /x", "read /x/y", true, "" },
	{ "read /x", "write /x/y", false, "write /x/y" },
	{ "read /x", "read /xy", false, "read /xy" },
	/* the longer path wins, between equals write */
	{ "write /x\nread /x/y", "write /x/y/z", false, "write /x/y/z" },
	{ "write /x\nread /x/y", "write /x/z", true, "" },
	{ "read /x\nwrite /x/y", "write /x/y/z", true, "" },
	{ "read /x\nwrite /x", "write /x/z", true, "" },
	{ "read /x/*", "read /x/a/b", true, "" },
	{ "read /x/*", "read /x/.a", false, "read /x/.a" },
	{ "read /x/.*", "read /x/.a", true, "" },
	{ "read /x/**/y", "read /x/a/b/y/z", true, "" },
	{ "read /x/**/y", "read /x/a/.b/y", false, "read /x/a/.b/y" },
	{ "read /x/**/.b/y", "read /x/a/.b/y", true, "" },
	{ "read /x/[.]a", "read /x/.a", false, "read /x/.a" },
	{ "write ./*", "write /proj/.vscode/x", false,
	  "write /proj/.vscode/x" },
	{ "read /x/*.d", "read /x/a", false, "read /x/a" },
	/* hide beats all, guard beats write */
	{ "write .\nhide secrets", "read /proj/secrets/a", false, "" },
	{ "write .\nhide secrets\nread secrets/a", "read /proj/secrets/a",
	  false, "" },
	{ "write .\nhide secrets", "read /proj/secrets.txt", true, "" },
	{ "write .\nhide **/*.pem", "read /proj/a/b.pem", false, "" },
	{ "write .\nguard a", "write /proj/a/b", false, "" },
	{ "write .\nguard a", "read /proj/a/b", true, "" },
	/* the dot mask */
	{ "write .", "read /proj/.env", false, "show /proj/.env" },
	{ "write .\nshow .env", "read /proj/.env", true, "" },
	{ "write .\nshow .env\nhide .env", "read /proj/.env", false, "" },
	{ "write .", "read /proj/.a/b/c", false, "show /proj/.a" },
	{ "write .", "read /proj/.gitignore", true, "" },
	{ "write .", "read /proj/.github/x", true, "" },
	{ "write .", "read /proj/.git/config", true, "" },
	{ "write .", "read /proj/node_modules/x/.env", true, "" },
	{ "write .", "read /proj/x/.env", false, "show /proj/x/.env" },
	{ "write ~/.claude", "write /home/u/.claude/x", true, "" },
	{ "write ~/.claude", "read /home/u/.claude/.credentials.json", false,
	  "show /home/u/.claude/.credentials.json" },
	/* nothing of the host's is in a cache, and nothing there is masked */
	{ "cache ~/.npm\nhide **/*.pem", "write /home/u/.npm/.a/b.pem", true,
	  "" },
	{ "cache ~/.npm\nhide **/*.pem", "read /proj/b.pem", false, "" },
	{ "cache ~/.npm", "read /home/u/.npmrc", false,
	  "read /home/u/.npmrc" },
	{ "write .\ncache c", "write /proj/c/.git/hooks/x", true, "" },
	{ "write .\ncache c", "write /proj/.git/hooks/x", false,
	  "write /proj/.git/hooks" },
	/* guarded by default */
	{ "write .", "write /proj/.git/hooks/pre-commit", false,
	  "write /proj/.git/hooks" },
	{ "write .\nwrite .git/hooks", "write /proj/.git/hooks/pre-commit",
	  true, "" },
	{ "write .\nwrite .git/hooks\nguard .git/hooks",
	  "write /proj/.git/hooks/pre-commit", false, "" },
	{ "write .", "write /proj/.git/index", true, "" },
	{ "write .", "write /proj/sub/.vscode/tasks.json", false,
	  "write /proj/sub/.vscode" },
};

static void test_match_file_table(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		auto_policy struct policy p;
		struct err e = { 0 };
		struct sv question = sv_str(cases[i].question);
		struct file_question q = {
			.cwd = SV("/proj"),
			.write = question.p[0] == 'w',
			.path = sv_from(question, sv_find(question, ' ') + 1),
		};
		struct file_answer answer = { 0 };

		CHECK_INT(policy_of(cases[i].policy, &p, &e), 0);
		CHECK_INT(match_file(&p, &q, &p.arena, &answer, &e), 0);
		if (answer.allowed != cases[i].allowed)
			printf("# %s\n# %s\n", cases[i].policy,
			       cases[i].question);
		CHECK_INT(answer.allowed, cases[i].allowed);
		CHECK_SV(answer.allow_with, cases[i].allow_with);
		CHECK(answer.reason.n > 0);
	}
}

int main(void)
{
	RUN(test_match_file_table);
	return tap_done();
}
