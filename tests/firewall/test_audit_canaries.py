"""A secret in any field of any message, from either side: none is left in the audit or the log."""

import json
from typing import Any

import pytest
from mcp_types import methods

from nacre.protocol.versions import SUPPORTED_VERSIONS
from tests.firewall.content.test_message_texts import (
    EVERYTHING,
    NEEDED,
    PARAMS,
    SECRET,
    merged,
    planted,
    text_fields,
)
from tests.firewall.guarding import Scene, modern, notification, request, response

# What a request needs, so that it is not refused for another reason.
ASKED: dict[str, Any] = {
    **PARAMS,
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    },
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "a", "value": "b"},
    },
}
OPENED = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x"}}
BEGINNING = SECRET[:10]  # a secret that is cut is still the beginning of one
TEXTS = [SECRET, *(f"{'x/' * (length // 2 - 10)}{SECRET}" for length in (40, 64, 80, 200, 500))]


def official(kind: str) -> set[tuple[str, str, str]]:
    """Return method, version and path of each text field of the official messages of a kind."""
    return {
        (method, version, path)
        for (method, version), model in getattr(methods, kind).items()
        for path in text_fields(model)
    }


def paths(fields: set[tuple[str, str, str]]) -> list[tuple[str, bool, str]]:
    """Return the fields once for each generation, which reads them differently."""
    return sorted(
        {(method, version == SUPPORTED_VERSIONS[0], path) for method, version, path in fields}
    )


def left(scene: Scene) -> bool:
    """Tell whether the beginning of a secret stands in a record or in what the owner was told."""
    records = [*scene.told, *(entry.spelled() for entry in scene.audit.entries)]
    records += [json.dumps(entry.facts()) for entry in scene.audit.entries]
    return BEGINNING in "".join(records)


def params_of(path: str, method: str, value: Any, *, is_modern: bool) -> Any:
    if path.partition(".")[0] != "params":
        value = {"params": value}  # a field of the message itself is tried within them too
    params = merged(ASKED.get(method, {}), value["params"])
    return modern({**params}) if is_modern and isinstance(params, dict) else params


def asked_by_the_client(method: str, path: str, text: Any, *, is_modern: bool) -> Scene:
    scene = Scene(EVERYTHING, pins=True)
    params = params_of(path, method, planted(path, text), is_modern=is_modern)
    scene.up(scene.request(method, params))
    scene.up(notification(method, params))
    return scene


def answered_by_the_server(method: str, path: str, text: Any, *, is_modern: bool) -> Scene:
    scene = Scene(EVERYTHING, pins=True)
    params = ASKED.get(method, {})
    open_request = scene.request(method, modern(params) if is_modern else params)
    scene.up(open_request)
    needed = OPENED if method == "initialize" else NEEDED.get(method, {})
    scene.down(response(open_request["id"], merged(needed, planted(path, text))))
    return scene


def asked_by_the_server(method: str, path: str, text: Any, *, is_modern: bool) -> Scene:
    del is_modern
    scene = Scene(EVERYTHING).opened("2025-11-25", {"elicitation": {}, "sampling": {}, "roots": {}})
    params = params_of(path, method, planted(path, text), is_modern=False)
    scene.down(request("q", method, params))
    scene.down(notification(method, params))
    return scene


def answered_by_the_client(method: str, path: str, text: Any, *, is_modern: bool) -> Scene:
    del is_modern
    scene = Scene(EVERYTHING).opened("2025-11-25", {"elicitation": {}, "sampling": {}, "roots": {}})
    scene.down(request("q", method, {"message": "m", "requestedSchema": {"type": "object"}}))
    scene.up(response("q", planted(path, text)))
    return scene


SENT = {
    "CLIENT_REQUESTS": asked_by_the_client,
    "CLIENT_NOTIFICATIONS": asked_by_the_client,
    "SERVER_RESULTS": answered_by_the_server,
    "SERVER_REQUESTS": asked_by_the_server,
    "SERVER_NOTIFICATIONS": asked_by_the_server,
    "CLIENT_RESULTS": answered_by_the_client,
}


@pytest.mark.security
@pytest.mark.parametrize("kind", SENT)
def test_a_secret_in_any_field_is_not_kept(kind: str) -> None:
    fields = paths(official(kind))
    leaks = []
    for method, is_modern, path in fields:
        for text in (SECRET, {SECRET: SECRET}):
            scene = SENT[kind](method, path, text, is_modern=is_modern)
            assert scene.audit.entries
            leaks += [(method, is_modern, path)] if left(scene) else []
            scene.close()

    assert len(fields) > 5
    assert leaks == []


@pytest.mark.security
@pytest.mark.parametrize("text", TEXTS, ids=[str(len(text)) for text in TEXTS])
def test_no_part_of_a_secret_is_kept_where_a_long_text_is_cut(text: str) -> None:
    leaks: list[Any] = []
    messages: list[Any] = [
        *({"jsonrpc": "2.0", "id": text, "method": text, "params": {text: text}},),
        *({"jsonrpc": text, "id": 1, "method": "ping"}, {"jsonrpc": "2.0", text: text}),
        *(request(1, f"tools/{text}", {}), request(text, "ping"), notification(text, {})),
        request(1, "tools/call", {"name": text, "arguments": {text: {text: text}}}),
        request(1, "tools/call", {"name": text, "arguments": text}),
        request(1, "tools/call", {"name": "echo", "arguments": {}, text: text}),
        request(1, "resources/read", {"uri": f"x://{text}"}),
        request(1, "initialize", {"protocolVersion": text, "capabilities": {text: {}}}),
        *(response(text, {text: text}), {"jsonrpc": "2.0", "id": text, "error": text}),
        {"jsonrpc": "2.0", "id": text, "error": {"code": text, "message": text, "data": text}},
        f'{{"jsonrpc":"2.0","id":"{text}","id":"{text}","{text}":1,"{text}":2}}'.encode(),
        f'{{"jsonrpc":"2.0","id":{text}}}'.encode(),
        text.encode(),
    ]
    for message in messages:
        for send in (Scene.up, Scene.down):
            scene = Scene(EVERYTHING, pins=True)
            send(scene, message)
            leaks += [(send, message)] if left(scene) else []
            scene.close()
    for answer in (
        {"protocolVersion": text, "capabilities": {text: {text: text}}, "serverInfo": {}},
        {"protocolVersion": {text: text}, "capabilities": [text]},
    ):
        scene = Scene(EVERYTHING)
        scene.up(scene.request("initialize", ASKED["initialize"]))
        scene.down(response(1, answer))
        leaks += [answer] if left(scene) else []

    assert leaks == []


@pytest.mark.security
def test_the_name_of_a_tool_that_waits_for_its_owner_is_kept_without_a_secret() -> None:
    scene = Scene(EVERYTHING.replace('pins = "off"', ""), pins=True)
    for names in (["t"], ["t", f"t_{SECRET}", f"{'t' * 60}_{SECRET}"]):
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
        scene.answered(scene.request("tools/list"), {"tools": tools})

    assert len(scene.audit.entries[-1].fields["waiting"]) == 2
    assert not left(scene)
    scene.close()
