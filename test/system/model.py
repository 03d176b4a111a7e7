# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the model behind an agent.

It speaks just enough of three APIs (messages, responses, generateContent) for
one task of three steps: read a file, write a file, run a shell command.  What
it asks for depends only on how many results it has got back, so that any agent
can be led through; which of the agent's tools serves a step, and how its
parameters are called, is taken from the tools that the request declares.

A key that is not KEY is answered with 401, as the real ones do.

    python3 model.py FOLDER WORK    serves until its input ends; prints its port
                                    (FOLDER/ca.pem signs, FOLDER/requests.json
                                    tells what came; WORK is the project)
"""
import json
import os
import re
import sys

from origin import Authority, Origin

KEY = "sk-REAL-0123456789abcdefghijklmnopqrstuvwxyz"
HOSTS = ("api.anthropic.com", "api.openai.com",
         "generativelanguage.googleapis.com")
SHELL = ("cat input.txt > shell.txt; env > environment.txt;"
         "cat /proc/[0-9]*/environ > environs.txt 2> /dev/null; true")
DONE = "The task is complete."
STEPS = [
    ("read", r"^(read|read_file|view)$", {"path": "input.txt"}),
    ("write", r"^(write|write_file|create)$",
     {"path": "output.txt", "content": "written by the agent\n"}),
    ("shell", r"^(bash|shell|shell_command|exec_command|local_shell|exec|"
     r"run_shell_command)$", {"command": SHELL}),
]
# For an agent that has no tool but a shell.
BY_SHELL = {"read": "cat input.txt",
            "write": "echo written by the agent > output.txt",
            "shell": SHELL}


def arguments(schema, values):
    """Values for what a tool's schema requires, matched by name."""
    found = {}
    required = schema.get("required") or []
    for name, about in (schema.get("properties") or {}).items():
        key = name.lower()
        if "path" in key or key == "file":
            value = values.get("path")
        elif key in ("content", "contents", "text"):
            value = values.get("content")
        elif key in ("command", "cmd"):
            value = values.get("command")
            if value and about.get("type") == "array":
                value = ["bash", "-c", value]
        else:
            value = None
        if value is None and name in required:
            value = {"string": "a step of the task", "boolean": False,
                     "number": 1, "integer": 1}.get(about.get("type"), [])
        if value is not None:
            found[name] = value
    return found


def choose(tools, done, folder):
    """(name, arguments) of the next call, or None: the end.

    `tools` is [(name, schema)]; `folder` makes the paths absolute."""
    if not tools or done >= len(STEPS):
        return None
    step, pattern, values = STEPS[done]
    values = {key: os.path.join(folder, value) if key == "path" else value
              for key, value in values.items()}
    for name, schema in tools:
        if re.match(pattern, name, re.I):
            return name, arguments(schema, values)
    for name, schema in tools:
        if re.match(STEPS[2][1], name, re.I):
            return name, arguments(schema, {"command": BY_SHELL[step]})
    return None


class Model(Origin):
    """The three APIs at one port."""

    def __init__(self, tls, folder, key=KEY, port=0):
        self.folder, self.key = folder, key
        super().__init__("model", tls, port=port)

    def _one(self, connection):
        request = connection.request(self)
        if request.path.endswith("/hello"):
            connection.answer(b'{"message":"hello"}', fields=[
                "Content-Type: application/json"])
        elif not self.authorized(request):
            connection.answer(b'{"error":{"type":"authentication_error",'
                              b'"message":"invalid x-api-key"}}', 401,
                              ["Content-Type: application/json"])
        elif request.method != "POST":
            connection.answer(b'{"error":{"message":"not found"}}', 404,
                              ["Content-Type: application/json"],
                              request.method == "HEAD")
        elif request.path == "/v1/messages":
            self._messages(connection, json.loads(request.body))
        elif request.path == "/v1/responses":
            self._responses(connection, json.loads(request.body))
        elif ":streamGenerateContent" in request.path:
            self._content(connection, json.loads(request.body), True)
        elif ":generateContent" in request.path:
            self._content(connection, json.loads(request.body), False)
        else:
            connection.answer(b"{}", fields=["Content-Type: application/json"])
        return True

    def authorized(self, request):
        return self.key in (request.get("x-api-key"),
                            request.get("x-goog-api-key"),
                            (request.get("authorization") or "")[7:])

    def _stream(self, connection, events, named=True):
        self._events(connection, [
            (f"event: {event['type']}\n" if named else "")
            + f"data: {json.dumps(event)}\n\n" for event in events], 0)

    def _messages(self, connection, body):
        tools = [(tool["name"], tool.get("input_schema") or {})
                 for tool in body.get("tools") or []]
        done = sum(part.get("type") == "tool_result"
                   for message in body["messages"]
                   if isinstance(message["content"], list)
                   for part in message["content"])
        call = choose(tools, done, self.folder)
        block, delta = {"type": "text", "text": ""}, {
            "type": "text_delta", "text": DONE}
        if call:
            block = {"type": "tool_use", "id": f"toolu_{done:04}",
                     "name": call[0], "input": {}}
            delta = {"type": "input_json_delta",
                     "partial_json": json.dumps(call[1])}
        usage = {"input_tokens": 10, "output_tokens": 10}
        whole = {"id": "msg_1", "type": "message", "role": "assistant",
                 "model": body["model"], "content": [], "usage": usage,
                 "stop_reason": None, "stop_sequence": None}
        stop = {"stop_reason": "tool_use" if call else "end_turn",
                "stop_sequence": None}
        if not body.get("stream"):
            whole.update(stop, content=[{"type": "text", "text": DONE}])
            connection.answer(json.dumps(whole).encode(), fields=[
                "Content-Type: application/json"])
            return
        self._stream(connection, [
            {"type": "message_start", "message": whole},
            {"type": "content_block_start", "index": 0,
             "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": stop, "usage": usage},
            {"type": "message_stop"}])

    def _responses(self, connection, body):
        declared = list(body.get("tools") or [])
        for item in body["input"]:
            declared += item.get("tools") or []
        tools, free = [], set()
        for tool in declared:
            declared += tool.get("tools") or []
            name = tool.get("name") or tool["type"]
            tools.append((name, tool.get("parameters") or {}))
            if tool["type"] == "custom":
                free.add(name)
        done = sum(item.get("type", "").endswith("call_output")
                   for item in body["input"])
        call = choose(tools, done, self.folder)
        item = {"type": "message", "role": "assistant", "id": f"msg_{done}",
                "status": "completed", "content": [
                    {"type": "output_text", "text": DONE, "annotations": []}]}
        if call and call[0] in free:
            # One tool that takes a program, which calls the others.
            command = BY_SHELL[STEPS[done][0]]
            item = {"type": "custom_tool_call", "id": f"ctc_{done}",
                    "call_id": f"call_{done}", "name": call[0],
                    "status": "completed",
                    "input": "const r = await tools.exec_command({cmd: "
                    f"{json.dumps(command)}}}); text(JSON.stringify(r));"}
        elif call:
            item = {"type": "function_call", "id": f"fc_{done}",
                    "call_id": f"call_{done}", "name": call[0],
                    "status": "completed", "arguments": json.dumps(call[1])}
        whole = {"id": f"resp_{done}", "object": "response", "output": [item],
                 "status": "completed", "model": body["model"],
                 "usage": {"input_tokens": 10, "output_tokens": 10,
                           "total_tokens": 20}}
        start = {**whole, "status": "in_progress", "output": []}
        events = [{"type": "response.created", "response": start},
                  {"type": "response.output_item.added", "output_index": 0,
                   "item": item},
                  {"type": "response.output_item.done", "output_index": 0,
                   "item": item},
                  {"type": "response.completed", "response": whole}]
        if not call:
            events.insert(2, {"type": "response.output_text.delta",
                              "item_id": item["id"], "output_index": 0,
                              "content_index": 0, "delta": DONE})
        self._stream(connection, events)

    def _content(self, connection, body, stream):
        tools = [(tool["name"], tool.get("parametersJsonSchema")
                  or tool.get("parameters") or {})
                 for group in body.get("tools") or []
                 for tool in group.get("functionDeclarations") or []]
        done = sum("functionResponse" in part
                   for content in body["contents"]
                   for part in content.get("parts") or [])
        call = choose(tools, done, self.folder)
        part = {"text": DONE}
        if call:
            part = {"functionCall": {"name": call[0], "args": call[1]}}
        elif "application/json" in json.dumps(
                body.get("generationConfig") or {}):
            # Which model suits?
            part = {"text": json.dumps({
                "complexity_reasoning": "x", "complexity_score": 1,
                "reasoning": "x", "model_choice": "flash"})}
        whole = {"candidates": [{
            "content": {"role": "model", "parts": [part]},
            "finishReason": "STOP", "index": 0}], "usageMetadata": {
                "promptTokenCount": 10, "candidatesTokenCount": 10,
                "totalTokenCount": 20}}
        if stream:
            self._stream(connection, [whole], named=False)
        else:
            connection.answer(json.dumps(whole).encode(), fields=[
                "Content-Type: application/json"])


def main():
    folder = os.path.abspath(sys.argv[1])
    work = os.path.abspath(sys.argv[2])
    authority = Authority(folder)
    model = Model(authority.leaf(*HOSTS), work)
    print(model.port, flush=True)
    sys.stdin.read()
    with open(os.path.join(folder, "requests.json"), "w") as out:
        json.dump([{"request": f"{r.method} {r.target}",
                    "fields": r.fields, "body": r.body.decode("latin-1")}
                   for r in model.requests], out, indent=1)


if __name__ == "__main__":
    main()
