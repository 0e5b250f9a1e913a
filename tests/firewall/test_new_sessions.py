"""A new session with a server: its lists are compared with the pins before its first call."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from nacre.firewall.enforce.verdicts import Forward
from nacre.firewall.proxy.stdio.relay import Relay
from tests.firewall.enforce.test_announced_lists import METHODS, READ, TURNED, WRITE, listed
from tests.firewall.guarding import Scene, encoded, is_dropped, passed, request, response, told

NOT_LISTED = "has not listed in this session"
CHANGED = "has changed since it was approved"


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Return a new session with a server whose tools are pinned."""
    scene = Scene(METHODS, pins=True)
    listed(scene, READ, WRITE)
    scene.guard = scene.new_guard()
    scene.opened("2025-11-25")
    yield scene
    scene.close()


def why_not(scene: Scene, tool: str = "read") -> str:
    return str(told(scene.up(scene.call(tool)))["result"]["content"][0]["text"])


def first(scene: Scene, message: Any) -> Any:
    raw = encoded(message)
    assert scene.guard.delays(raw)
    list_request = scene.guard.first(raw)
    return None if list_request is None else json.loads(list_request)


def test_the_first_call_waits_for_a_list_that_the_guard_asks_for_once(scene: Scene) -> None:
    call = scene.call("read")
    list_request = first(scene, call)

    assert list_request["method"] == "tools/list"
    assert first(scene, call) is None  # it is on its way
    assert NOT_LISTED in why_not(scene)
    assert is_dropped(scene.down(response(list_request["id"], {"tools": [TURNED, WRITE]})))
    assert not scene.guard.delays(encoded(call))
    assert CHANGED in why_not(scene)
    assert isinstance(scene.up(scene.call("write")), Forward)


def test_a_client_that_lists_itself_costs_its_server_no_second_list(scene: Scene) -> None:
    list_request = scene.request("tools/list")
    assert isinstance(scene.up(list_request), Forward)
    assert first(scene, scene.call("read")) is None
    passed(scene.down(response(list_request["id"], {"tools": [READ, WRITE]})))
    for _ in range(3):
        call = scene.call("read")
        assert not scene.guard.delays(encoded(call))
        assert isinstance(scene.up(call), Forward)


def test_the_first_page_of_a_list_is_not_the_whole(scene: Scene) -> None:
    listed(scene, WRITE, nextCursor="2")

    assert NOT_LISTED in why_not(scene)


def test_prompts_resources_and_their_templates_are_asked_for_as_well(scene: Scene) -> None:
    offers = {
        "prompts/list": ("prompts", {"name": "greet"}),
        "resources/list": ("resources", {"uri": "x://1", "name": "1"}),
        "resources/templates/list": ("resourceTemplates", {"uriTemplate": "x://{a}", "name": "a"}),
    }
    for method, (member, item) in offers.items():
        scene.answered(scene.request(method), {member: [item]})
    scene.guard = scene.new_guard()
    scene.opened("2025-11-25")
    uses = {"prompts/get": {"name": "greet"}, "resources/read": {"uri": "x://7"}}
    for method, params in uses.items():
        use = scene.request(method, params)
        list_request = first(scene, use)
        while True:
            member, item = offers.pop(list_request["method"])
            changed = {member: [{**item, "description": "Another one"}]}
            verdict = scene.down(response(list_request["id"], changed))
            if is_dropped(verdict):
                break
            list_request = told(verdict)
        assert CHANGED in told(scene.up(use))["error"]["message"]

    assert not offers


def test_a_server_that_does_not_list_is_not_called_and_is_asked_again(scene: Scene) -> None:
    list_request = first(scene, scene.call("read"))
    scene.down(
        {"jsonrpc": "2.0", "id": list_request["id"], "error": {"code": -32603, "message": "no"}}
    )
    call = scene.call("read")

    assert not scene.guard.delays(encoded(call))  # nothing comes
    assert NOT_LISTED in why_not(scene)
    assert first(scene, call)["method"] == "tools/list"


def test_a_client_that_opens_a_session_again_is_compared_again(scene: Scene) -> None:
    listed(scene, READ, WRITE)
    assert isinstance(scene.up(scene.call("read")), Forward)
    scene.opened("2025-11-25")

    assert NOT_LISTED in why_not(scene)


@pytest.mark.parametrize("settings", ['pins = "off"', 'mode = "monitor"'])
def test_a_policy_that_does_not_hold_changes_holds_no_call(settings: str) -> None:
    scene = Scene(f"{METHODS}[settings]\n{settings}\n", pins=True)
    listed(scene, READ)
    scene.guard = scene.new_guard()
    assert isinstance(scene.up(scene.call("read")), Forward)
    scene.close()


def test_a_server_that_was_never_listed_has_nothing_to_compare() -> None:
    scene = Scene(METHODS, pins=True)
    assert not scene.guard.delays(encoded(scene.call("read")))
    assert isinstance(scene.up(scene.call("read")), Forward)
    scene.close()


@pytest.mark.parametrize("tool", [READ, TURNED])
def test_the_relay_between_pipes_asks_and_brings_the_call_after_the_list(
    scene: Scene, tool: dict[str, Any]
) -> None:
    up: list[Any] = []
    down: list[Any] = []
    relay = Relay(
        scene.guard,
        to_client=lambda raw: down.append(json.loads(raw)),
        to_server=lambda raw: up.append(json.loads(raw)),
    )
    call = request(77, "tools/call", {"name": "read", "arguments": {}})
    relay.from_client(encoded(call) + b"\n")
    (list_request,) = up
    assert list_request["method"] == "tools/list"
    relay.from_server(encoded(response(list_request["id"], {"tools": [tool]})) + b"\n")

    if tool is READ:
        assert (up[1:], down) == ([call], [])
    else:
        assert up[1:] == []
        assert CHANGED in down[0]["result"]["content"][0]["text"]
