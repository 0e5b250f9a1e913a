"""A server over stdio that does odd things, in either generation; only the standard library.

Run as `odd_upstream.py ERA TOOLS`: ERA is `oldest`, `legacy` or `modern`, TOOLS a file with the
definitions that it lists, read each time.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

Message = dict[str, Any]
ERA, TOOLS = sys.argv[1], Path(sys.argv[2])
FORM = {
    "message": "Your name?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
PROMPT = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "2+2"}}],
    "maxTokens": 5,
}
WAITING: list[Message] = []
QUESTIONS: dict[str, tuple[str, Message]] = {
    "ask": ("elicitation/create", FORM),
    "sample": ("sampling/createMessage", PROMPT),
    "roots": ("roots/list", {}),
    "visit": (
        "elicitation/create",
        {"mode": "url", "message": "?", "url": "https://a.example", "elicitationId": "e1"},
    ),
    "secret": (
        "elicitation/create",
        {"message": "?", "requestedSchema": {"type": "object", "properties": {
            "password": {"type": "string"}}}},
    ),
}  # fmt: skip


def send(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> Message:
    line = sys.stdin.readline()
    if not line:
        raise SystemExit
    received: Message = json.loads(line)
    return received


def text(said: object) -> Message:
    return {"content": [{"type": "text", "text": str(said)}]}


def answer(request: Message, result: Message) -> None:
    if ERA == "modern":
        result = {"resultType": "complete", **result}
    send({"id": request["id"], "result": result})


def opened(request: Message) -> None:
    capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
    if ERA == "modern":
        answer(request, {
            "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
            "ttlMs": 0, "cacheScope": "private",
        })  # fmt: skip
    else:
        answer(request, {
            "protocolVersion": "2024-11-05" if ERA == "oldest" else "2025-11-25",
            "capabilities": capabilities,
            "serverInfo": {"name": "odd", "version": "1"},
        })  # fmt: skip


def offered(key: str, otherwise: list[Message]) -> list[Message] | None:
    file = TOOLS.with_name("offers.json")
    found: list[Message] | None = (
        json.loads(file.read_text()).get(key, otherwise) if file.exists() else otherwise
    )
    return found


def listed(request: Message, key: str, found: list[Message]) -> None:
    offers = offered(key, found)
    if offers is None:  # it has no such list, whatever it announced
        send({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
        return
    more = {"ttlMs": 0, "cacheScope": "private"} if ERA == "modern" else {}
    answer(request, {key: offers, **more})


def called(request: Message) -> None:  # noqa: C901 - one branch for each oddity
    params = request["params"]
    name, arguments = params["name"], params.get("arguments") or {}
    if name in QUESTIONS:
        (asked_by_result if ERA == "modern" else asked_meanwhile)(request, name)
    elif name == "twins":
        (asked_twice_by_result if ERA == "modern" else asked_twice_meanwhile)(request)
    elif name == "huge":
        answer(request, text("x" * 50_000_000))
    elif name == "silent":
        pass
    elif name == "slow":
        TOOLS.with_name("slow").touch()  # and says nothing until the next call has its answer
        WAITING.append(request)
    elif name == "held":
        TOOLS.with_name("held").touch()
        while not TOOLS.with_name("released").exists():
            time.sleep(0.005)
        answer(request, text("held"))
    elif name == "twice":
        answer(request, text("first"))
        answer(request, text("second"))
    elif name == "turns":  # its other tools become others, and it says so at once
        TOOLS.write_text(json.dumps(arguments["tools"]))
        send({"method": "notifications/tools/list_changed"})
        answer(request, text("turned"))
    elif name == "stalls":  # it says that its tools changed, and lists them no more
        TOOLS.with_name("stalled").touch()
        send({"method": "notifications/tools/list_changed"})
        answer(request, text("stalled"))
    elif name == "grows":
        send({"method": "notifications/tools/list_changed"})
        answer(request, text("grown"))
    elif name == "dies":
        raise SystemExit
    elif name == "fails":
        send({"id": request["id"], "error": {"code": -32099, "message": "no", "data": {"a": 1}}})
    elif name == "refuses":
        send({"id": request["id"], "error": {"code": -32000, "message": "Server error"}})
    elif name == "betrays":
        data = {"hint": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"}
        send({"id": request["id"], "error": {"code": -32099, "message": "no", "data": data}})
    elif name == "insists":
        for number in range(30):
            send({"id": f"q{number}", "method": "elicitation/create", "params": FORM})
        given = [receive()["result"]["action"] for _ in range(30)]
        answer(request, text(f"{given.count('accept')} of {len(given)}"))
    elif name == "chatters":
        token = params["_meta"]["progressToken"]
        for number in range(20_000):
            said = {"progressToken": token, "progress": number}
            send({"method": "notifications/progress", "params": said})
        answer(request, text("done"))
    elif name == "tells":
        token = params["_meta"]["progressToken"]
        for number, said in enumerate(arguments["said"]):
            way = {"progressToken": token, "progress": number, "message": said}
            send({"method": "notifications/progress", "params": way})
            log = {"level": "info", "logger": "odd", "data": said}
            send({"method": "notifications/message", "params": log})
        answer(request, text("told"))
    elif name == "garbage":
        print("not JSON at all", flush=True)
        answer(request, text("after garbage"))
    elif name == "links":
        link = {"type": "resource_link", "uri": "odd://hidden", "name": "hidden"}
        answer(request, {"content": [link]})
    elif name == "large":
        answer(request, text("words " * 200_000 + "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"))
    elif name == "leaks":
        answer(request, text("the key is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"))
    else:
        answer(request, text(json.dumps({"name": name, "arguments": arguments})))


def asked_meanwhile(request: Message, name: str) -> None:
    method, params = QUESTIONS[name]
    send({"id": "q1", "method": method, "params": params})
    while True:
        message = receive()
        if message.get("id") == "q1":
            said = message.get("result", {"error": message.get("error")})
            answer(request, text(json.dumps(said, sort_keys=True)))
            while WAITING:
                answer(WAITING.pop(), text("at last"))
            return


def asked_by_result(request: Message, name: str) -> None:
    method, params = QUESTIONS[name]
    given = request["params"].get("inputResponses")
    if given is None:
        send({"id": request["id"], "result": {
            "resultType": "input_required", "requestState": "state-1",
            "inputRequests": {"q1": {"method": method, "params": params}},
        }})  # fmt: skip
    else:
        assert request["params"]["requestState"] == "state-1"
        answer(request, text(json.dumps(given["q1"], sort_keys=True)))


def asked_twice_meanwhile(request: Message) -> None:
    method, params = QUESTIONS["sample"]
    given = []
    for number in (1, 2):
        send({"id": f"q{number}", "method": method, "params": params})
        given.append("result" in receive())
    answer(request, text(given))


def asked_twice_by_result(request: Message) -> None:
    method, params = QUESTIONS["sample"]
    given = request["params"].get("inputResponses")
    if given is None:
        question = {"method": method, "params": params}
        send({"id": request["id"], "result": {
            "resultType": "input_required", "inputRequests": {"q1": question, "q2": question},
        }})  # fmt: skip
    else:
        answer(request, text(["content" in given[key] for key in ("q1", "q2")]))


def read(request: Message) -> None:
    uri = request["params"]["uri"]
    if uri.startswith("odd://"):
        # What it says of its contents follows the last slash, as JSON.
        stated = uri.rpartition("/ttl=")[2] if "/ttl=" in uri else "0"
        more = {"ttlMs": json.loads(stated), "cacheScope": "private"} if ERA == "modern" else {}
        answer(request, {"contents": [{"uri": uri, "text": f"odd {uri}"}], **more})
    else:
        send({"id": request["id"], "error": {"code": -32002, "message": "Resource not found"}})


TOOLS.with_name("pid").write_text(str(os.getpid()))
while True:
    message = receive()
    while TOOLS.with_name("mute").exists():
        time.sleep(0.005)
    method = message.get("method")
    if "id" not in message or method is None:
        continue
    if method == ("server/discover" if ERA == "modern" else "initialize"):
        opened(message)
    elif method == "tools/list" and TOOLS.with_name("stalled").exists():
        pass
    elif method == "tools/list" and not TOOLS.exists():
        send({"id": message["id"], "error": {"code": -32603, "message": "No list"}})
    elif method == "tools/list":
        listed(message, "tools", json.loads(TOOLS.read_text()))
    elif method == "resources/list":
        listed(message, "resources", [{"uri": "odd://one", "name": "one"}])
    elif method == "resources/templates/list":
        listed(message, "resourceTemplates", [{"uriTemplate": "odd://t/{id}", "name": "t"}])
    elif method == "prompts/list":
        listed(message, "prompts", [{"name": "hello there"}])
    elif method == "prompts/get":
        said = {"role": "user", "content": {"type": "text", "text": message["params"]["name"]}}
        answer(message, {"messages": [said]})
    elif method == "resources/read":
        read(message)
    elif method == "completion/complete":
        values = ["plain", "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"]
        answer(message, {"completion": {"values": values}})
    elif method == "tools/call":
        called(message)
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
