# SPDX-License-Identifier: Apache-2.0
"""Programs of the shape of real agents, with the shipped profiles."""
import json
import os

import pytest

from origin import Origin

NODE = r"""
const key = process.env.ANTHROPIC_API_KEY;
(async () => {
	// What is refused gets its 403 at once, never a reset or a hang.
	const began = Date.now();
	const extra = await fetch("https://statsig.anthropic.com/v1/x",
		{ method: "POST", body: "telemetry" }).catch(e => ({ status: -1 }));
	console.log("telemetry", extra.status, Date.now() - began < 3000);
	const answer = await fetch(
		"https://api.anthropic.com/v1/messages?beta=true", {
		method: "POST",
		headers: { "x-api-key": key, "content-type": "application/json",
			"anthropic-version": "2023-06-01" },
		body: JSON.stringify({ model: "m", stream: true, messages: [] }) });
	console.log("status", answer.status,
		answer.headers.get("content-type"));
	let text = "";
	for await (const piece of answer.body)
		text += Buffer.from(piece).toString();
	console.log(text.includes("hello from the model") ? "streamed" : text);
	console.log("key", key.length > 10, key.includes("REAL"));
	require("fs").writeFileSync("written-by-the-agent", "x");
})();
"""


@pytest.fixture
def model(authority):
    server = Origin("model", authority.leaf("api.anthropic.com",
                                            "api.openai.com"))
    yield server
    server.close()


def test_an_agent_like_claude(stockade, authority, model):
    (stockade.cwd / "agent.js").write_text(NODE)
    policy = (f"roots {authority.pem}\n"
              f"reach api.anthropic.com via {model.via}\n")
    result = stockade.run("node", "agent.js", policy=policy,
                          flags=["--profile", "claude", "--write", "."],
                          env={"ANTHROPIC_API_KEY": "sk-ant-REAL"})
    assert "status 200 text/event-stream" in result.out, result
    assert "streamed" in result.out, result
    assert "telemetry 403 true" in result.out, result
    assert "key true false" in result.out
    assert model.targets == ["POST /v1/messages?beta=true"]
    assert model.requests[0].get("x-api-key") == "sk-ant-REAL"
    assert json.loads(model.requests[0].body)["stream"] is True
    assert (stockade.cwd / "written-by-the-agent").exists()


@pytest.mark.parametrize("profile,variable", [
    ("claude", "ANTHROPIC_API_KEY"), ("codex", "CODEX_API_KEY"),
    ("opencode", "ANTHROPIC_API_KEY"), ("gemini-cli", "GEMINI_API_KEY")])
def test_the_shipped_profiles_start(stockade, profile, variable):
    result = stockade.sh(
        f"echo ${{{variable}:-unset}}; touch ~/.probe && echo home;"
        "echo > /tmp/x && echo tmp", flags=["--profile", profile],
        env={variable: "a-real-key"})
    assert result.status == 0, result
    lines = result.out.split()
    assert lines[0] not in ("a-real-key", "unset"), result
    assert "tmp" in lines


def test_a_profile_can_be_read(stockade):
    result = stockade.call("policy", "--profile", "claude").ok()
    assert "api.anthropic.com" in result.out


def test_the_policy_folder_holds_them():
    from conftest import TREE
    names = set(os.listdir(os.path.join(TREE, "policies")))
    assert {"claude", "codex", "opencode", "gemini-cli"} <= {
        name.split(".")[0] for name in names}
