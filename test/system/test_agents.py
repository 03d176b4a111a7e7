# SPDX-License-Identifier: Apache-2.0
"""The shipped profiles of agents, with programs of the shape of real ones.

With STOCKADE_AGENTS=FOLDER the real ones are led through the same task: FOLDER
holds AGENT/node_modules/.bin/AGENT.  Nothing is fetched for that.
"""
import json
import os
import pathlib
import shutil

import pytest

from model import HOSTS, KEY, Model
from origin import Origin

# A whole agent, for any of the three APIs: it asks, does what it is told with
# the three tools, and tells.  Beside it lies a module of its package.
AGENT = r"""#!/usr/bin/env node
const fs = require("fs"), { execSync } = require("child_process");
const { tools } = require("sibling");
const kind = process.argv[2], key = process.env[process.argv[3]];
const run = (name, a) => name === "read" ? fs.readFileSync(a.path, "utf8")
	: name === "write" ? (fs.writeFileSync(a.path, a.content), "written")
	: execSync(a.command).toString();
const post = async (url, fields, body) => (await fetch(url, {
	method: "POST", body: JSON.stringify(body),
	headers: { "content-type": "application/json", ...fields } })).text();
const events = text => text.split("\n").filter(l => l.startsWith("data: "))
	.map(l => JSON.parse(l.slice(6)));
const schema = names => ({ type: "object", required: names, properties:
	Object.fromEntries(names.map(n => [n, { type: "string" }])) });
const apis = {
	async messages(log) {
		const seen = events(await post(
			"https://api.anthropic.com/v1/messages?beta=true",
			{ "x-api-key": key }, { model: "m", stream: true,
			messages: log, tools: tools.map(([name, names]) => ({ name,
				input_schema: schema(names) })) }));
		const block = seen[1].content_block, delta = seen[2].delta;
		if (block.type !== "tool_use")
			return console.log(delta.text);
		const content = run(block.name, JSON.parse(delta.partial_json));
		log.push({ role: "user", content: [{ type: "tool_result",
			tool_use_id: block.id, content }] });
		return true;
	},
	async responses(log) {
		const item = events(await post(
			"https://api.openai.com/v1/responses",
			{ authorization: "Bearer " + key }, { model: "m",
			stream: true, input: log, tools: tools.map(
				([name, names]) => ({ type: "function", name,
				parameters: schema(names) })) })).pop()
			.response.output[0];
		if (item.type !== "function_call")
			return console.log(item.content[0].text);
		log.push({ type: "function_call_output", call_id: item.call_id,
			output: run(item.name, JSON.parse(item.arguments)) });
		return true;
	},
	async content(log) {
		const part = events(await post(
			"https://generativelanguage.googleapis.com/v1beta/models/" +
			"m:streamGenerateContent?alt=sse",
			{ "x-goog-api-key": key }, { contents: log, tools: [{
			functionDeclarations: tools.map(([name, names]) => ({ name,
				parametersJsonSchema: schema(names) })) }] }))[0]
			.candidates[0].content.parts[0];
		if (!part.functionCall)
			return console.log(part.text);
		const { name, args } = part.functionCall;
		log.push({ role: "user", parts: [{ functionResponse: { name,
			response: { output: run(name, args) } } }] });
		return true;
	},
};
(async () => { const log = []; while (await apis[kind](log)); })();
"""
SIBLING = """exports.tools = [["read", ["path"]],
	["write", ["path", "content"]], ["bash", ["command"]]];
"""

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


@pytest.fixture
def api(stockade, authority):
    """The stand-in for the model, for a task in the working directory."""
    (stockade.cwd / "input.txt").write_text("the input\n")
    server = Model(authority.leaf(*HOSTS), str(stockade.cwd))
    yield server
    server.close()


def task(stockade, authority, api, profile, variable, command, **more):
    """Runs command; judges what the model saw and what is left in files."""
    hosts = {"claude": HOSTS[:1], "codex": HOSTS[1:2], "opencode": HOSTS,
             "gemini-cli": HOSTS[2:]}[profile]
    policy = f"roots {authority.pem}\n" + "".join(
        f"reach {host} via {api.via}\n" for host in hosts)
    result = stockade.run(*command, policy=policy, flags=[
        "--profile", profile, "--write", "."], env={
            variable: KEY, "PATH": f"{stockade.home}/.local/bin:"
            + stockade.env["PATH"]}, **more).ok()
    assert "The task is complete." in result.out, result
    assert len(api.requests) >= 4
    assert all(api.authorized(request) for request in api.requests)
    cwd = stockade.cwd
    assert (cwd / "output.txt").read_text() == "written by the agent\n"
    assert (cwd / "shell.txt").read_text() == "the input\n"
    variables = (cwd / "environment.txt").read_text().splitlines()
    assert [v for v in variables if v.startswith(f"{variable}=stockade_")]
    for path in stockade.home.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert KEY.encode() not in path.read_bytes(), path
    return result


@pytest.mark.parametrize("profile,variable,kind", [
    ("claude", "ANTHROPIC_API_KEY", "messages"),
    ("codex", "CODEX_API_KEY", "responses"),
    ("opencode", "ANTHROPIC_API_KEY", "messages"),
    ("opencode", "OPENAI_API_KEY", "responses"),
    ("gemini-cli", "GEMINI_API_KEY", "content")])
def test_a_task_of_three_tools(stockade, authority, api, profile, variable,
                               kind):
    # As npm installs below ~/.local: a link, a package, one that it needs.
    modules = stockade.home / ".local" / "lib" / "node_modules"
    (modules / "agent" / "bin").mkdir(parents=True)
    (modules / "sibling").mkdir()
    (modules / "sibling" / "index.js").write_text(SIBLING)
    program = modules / "agent" / "bin" / "agent.js"
    program.write_text(AGENT)
    program.chmod(0o755)
    (stockade.home / ".local" / "bin").mkdir()
    (stockade.home / ".local" / "bin" / "agent").symlink_to(
        "../lib/node_modules/agent/bin/agent.js")
    task(stockade, authority, api, profile, variable,
         ["agent", kind, variable])


def test_a_token_of_claude(stockade, authority, api):
    result = stockade.sh(
        "curl -sS -d '{\"model\": \"m\", \"messages\": []}' -H "
        "\"Authorization: Bearer $CLAUDE_CODE_OAUTH_TOKEN\" "
        "https://api.anthropic.com/v1/messages",
        policy=f"roots {authority.pem}\n"
               f"reach api.anthropic.com via {api.via}\n",
        flags=["--profile", "claude"], env={"CLAUDE_CODE_OAUTH_TOKEN": KEY})
    assert "The task is complete." in result.out, result


def test_a_first_start_of_claude_finds_a_network(stockade, authority, api):
    result = stockade.run(
        "curl", "-sS", "https://api.anthropic.com/api/hello",
        policy=f"roots {authority.pem}\n"
               f"reach api.anthropic.com via {api.via}\n",
        flags=["--profile", "claude"])
    assert "hello" in result.out, result
    stockade.call("check", "--profile", "claude",
                  "GET https://platform.claude.com/v1/oauth/hello").ok()


def test_codex_may_ask_for_a_websocket(stockade, authority, api):
    """The origin here has none, and says so with a credential that it knows."""
    result = stockade.sh(
        "curl -sS -o /dev/null -w '%{http_code}' --http1.1 "
        "-H 'Connection: Upgrade' -H 'Upgrade: websocket' "
        "-H 'Sec-WebSocket-Version: 13' "
        "-H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' "
        "-H \"Authorization: Bearer $CODEX_API_KEY\" "
        "https://api.openai.com/v1/responses",
        policy=f"roots {authority.pem}\nreach api.openai.com via {api.via}\n",
        flags=["--profile", "codex"], env={"CODEX_API_KEY": KEY})
    assert result.out == "404", result
    assert api.targets == ["GET /v1/responses"]
    assert api.requests[0].get("upgrade") == "websocket"


STATE = {
    "claude": ([".claude/projects/p/1.jsonl"],
               [".claude/CLAUDE.md", ".claude/skills/x"],
               [".claude.json", ".claude/settings.json",
                ".claude/.credentials.json", ".claude/plugins/x"]),
    "codex": ([".codex/sessions/2026/1.jsonl"],
              [".codex/AGENTS.md", ".codex/prompts/x"],
              [".codex/auth.json", ".codex/config.toml"]),
    "opencode": ([], [".config/opencode/AGENTS.md"],
                 [".local/share/opencode/auth.json",
                  ".config/opencode/opencode.json"]),
    "gemini-cli": ([".gemini/tmp/p/.project_root", ".gemini/tmp/p/chats/1"],
                   [".gemini/GEMINI.md", ".gemini/commands/x"],
                   [".gemini/oauth_creds.json", ".gemini/settings.json"]),
}


@pytest.mark.parametrize("profile", STATE)
def test_what_is_shown_of_the_state(stockade, profile):
    """Conversations are kept, texts are read; what starts programs later,
    outside, is the host's, and so are keys."""
    kept, shown, private = STATE[profile]
    for name in kept + shown + private:
        path = stockade.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("of the host\n")
    script = "cd; for f in {}; do test -e $f && echo $f; done; true"
    result = stockade.sh(script.format(" ".join(kept + shown + private)),
                         flags=["--profile", profile])
    assert result.out.split() == kept + shown, result
    stockade.sh("cd; for f in {}; do mkdir -p ${{f%/*}}; echo of the agent "
                "> $f; done 2> /dev/null; true".format(
                    " ".join(kept + shown + private)),
                flags=["--profile", profile]).ok()
    for name in kept:
        assert (stockade.home / name).read_text() == "of the agent\n", name
    for name in shown + private:
        assert (stockade.home / name).read_text() == "of the host\n", name


@pytest.mark.parametrize("profile", STATE)
def test_a_first_run_without_any_state(stockade, profile):
    """The program may make all its folders; they are gone afterwards."""
    folders = sorted({os.path.dirname(name) for part in STATE[profile]
                      for name in part if "/" in name})
    stockade.sh(f"cd && mkdir -p {' '.join(folders)} && "
                f"touch {folders[0]}/x && ln {folders[0]}/x y && mv y z",
                flags=["--profile", profile]).ok()
    assert sorted(os.listdir(stockade.home)) == [".local", "work"]


REAL = {
    "claude": ("claude", "ANTHROPIC_API_KEY", [
        "-p", "Do the task.", "--dangerously-skip-permissions"]),
    "codex": ("codex", "CODEX_API_KEY", [
        "exec", "--dangerously-bypass-approvals-and-sandbox",
        "--skip-git-repo-check", "Do the task."]),
    "opencode": ("opencode", "ANTHROPIC_API_KEY", [
        "run", "--auto", "-m", "anthropic/claude-sonnet-4-5",
        "Do the task."]),
    "gemini": ("gemini-cli", "GEMINI_API_KEY", [
        "-p", "Do the task.", "--yolo", "--skip-trust"]),
}
AGENTS = os.environ.get("STOCKADE_AGENTS")


@pytest.mark.skipif(not AGENTS, reason="needs STOCKADE_AGENTS, a folder with "
                    "the agents themselves")
@pytest.mark.parametrize("agent", REAL)
def test_the_real_agent(stockade, authority, api, agent):
    profile, variable, arguments = REAL[agent]
    modules = pathlib.Path(AGENTS) / agent / "node_modules"
    local = stockade.home / ".local"
    (local / "bin").mkdir(parents=True)
    shutil.copytree(modules, local / "lib" / "node_modules", symlinks=True)
    target = os.readlink(modules / ".bin" / agent)
    (local / "bin" / agent).symlink_to(
        os.path.join("../lib/node_modules/.bin", target))
    task(stockade, authority, api, profile, variable, [agent, *arguments],
         timeout=180)


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
