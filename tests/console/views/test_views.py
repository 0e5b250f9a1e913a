"""Interactive views: who is offered them, what they show, and what they cannot do."""

import asyncio
import base64
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

import nacre
from nacre.being.memory.model.types import Node
from nacre.console.views.view_document import view_document
from nacre.console.views.view_surface import VIEW_TOOLS, ViewSurface
from nacre.console.views.view_tools import HTML
from nacre.faces.mcp_endpoint import dispatcher
from nacre.firewall.approvals.approver import ApprovalRequest
from nacre.firewall.approvals.service import Approvals, Desk
from nacre.firewall.content.digests import arguments_sha256
from nacre.firewall.policies.packs import text_of
from nacre.firewall.rules.rule import Decision, Subject
from nacre.firewall.rules.sections import Settings as Sections
from nacre.protocol.caller import Caller, Peer
from nacre.protocol.context import Silence
from nacre.protocol.messages import Answer, parse_message
from nacre.protocol.principal import FULL, READ_ONLY, Principal
from nacre.protocol.views import VIEW_TYPE, VIEWS, shows_views
from nacre.wiring.compose import Home
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.being.memory.keeping import a_node
from tests.console.filled import HOSTILE

APPS = {"extensions": {VIEWS: {"mimeTypes": [VIEW_TYPE]}}}
PLAIN: dict[str, Any] = {"elicitation": {}}


@dataclass
class World:
    home: Home
    being: str

    def send(
        self,
        method: str,
        capabilities: dict[str, Any],
        scopes: frozenset[str] = FULL,
        version: str = "2025-11-25",
        **params: Any,
    ) -> dict[str, Any]:
        """Send a request of a client with these capabilities, and return the whole answer."""
        caller = Caller(
            version, Principal("tok_1", self.being, scopes), Peer(capabilities=capabilities)
        )
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = parse_message(json.dumps(message).encode())
        begun = dispatcher(self.home.application).begin(request, caller)  # type: ignore[arg-type]
        answer = begun if isinstance(begun, Answer) else asyncio.run(begun.run(Silence()))
        return json.loads(answer.body)  # type: ignore[no-any-return]

    def view(self, name: str, scopes: frozenset[str] = FULL, **arguments: Any) -> dict[str, Any]:
        return self.send("tools/call", APPS, scopes, name=name, arguments=arguments)["result"]  # type: ignore[no-any-return]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    policy = tmp_path / "policy.toml"
    policy.write_text(text_of("default"))
    settings = Settings(data_folder=str(tmp_path), policy_file=str(policy))
    with closing(open_laptop(tmp_path / "data", settings)) as home:
        yield World(home, home.beings.create("Ann", owner="me").being_id)


def fill(world: World, *texts: str) -> list[Node]:
    nodes = [a_node(number, action=text) for number, text in enumerate(texts, start=1)]
    world.home.memory_services.memory.nodes.add(world.being, nodes)
    return nodes


def test_only_a_client_that_names_the_type_of_views_shows_them() -> None:
    assert shows_views(APPS)
    others: tuple[dict[str, Any], ...] = (
        {}, {"extensions": None}, {"extensions": {VIEWS: {}}}, {"extensions": {VIEWS: None}},
        {"extensions": {VIEWS: {"mimeTypes": ["text/html"]}}},
        {"extensions": {VIEWS: {"mimeTypes": VIEW_TYPE}}}, {VIEWS: {"mimeTypes": [VIEW_TYPE]}},
    )  # fmt: skip

    assert [other for other in others if shows_views(other)] == []


def requests() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "tools/list", {}
    yield "resources/list", {}
    yield "resources/templates/list", {}
    for name in ("map", "memory", "approvals"):
        yield "resources/read", {"uri": f"ui://nacre/{name}"}
        yield "tools/call", {"name": f"show_{name}", "arguments": {}}


@pytest.mark.parametrize("scopes", [FULL, READ_ONLY])
def test_other_clients_meet_the_server_as_it_is_without_views(
    world: World, scopes: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [world.send(method, PLAIN, scopes, **params) for method, params in requests()]
    for name in ("view_names", "views_for", "get_tool", "read_resource"):
        monkeypatch.delattr(ViewSurface, name)

    without = [world.send(method, PLAIN, scopes, **params) for method, params in requests()]

    assert before == without
    assert "show_map" not in json.dumps(before[0])


def test_a_client_that_shows_views_has_the_same_tools_and_three_more(world: World) -> None:
    plain = world.send("tools/list", PLAIN)["result"]["tools"]
    more = world.send("tools/list", APPS)["result"]["tools"]

    assert more == [*plain, *VIEW_TOOLS]
    loaded = world.home.surface.get_tool("show_map")
    assert loaded is not None
    for tool in VIEW_TOOLS:
        guarded = world.home.surface.get_tool(str(tool["name"]))
        assert guarded is not None
        definition = dict(guarded.tool.definition)  # type: ignore[attr-defined]  # of the SDK
        assert {**definition, "_meta": tool["_meta"]} == tool


def test_a_rule_that_denies_a_view_takes_it_from_the_list(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[[rule]]\naction = "deny"\ntool = "show_*"\n[[rule]]\naction = "allow"\ntool = "*"\n'
    )
    settings = Settings(data_folder=str(tmp_path), policy_file=str(policy))
    with closing(open_laptop(tmp_path / "data", settings)) as home:
        world = World(home, home.beings.create("Ann", owner="me").being_id)

        assert "show_map" not in json.dumps(world.send("tools/list", APPS))
        assert world.view("show_map")["isError"] is True


@pytest.mark.parametrize("name", ["map", "memory", "approvals"])
def test_a_view_runs_its_own_script_and_nothing_else(world: World, name: str) -> None:
    uri = f"ui://nacre/{name}"
    [content] = world.send("resources/read", APPS, uri=uri)["result"]["contents"]

    assert (content["uri"], content["mimeType"]) == (uri, VIEW_TYPE)
    assert content["_meta"]["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}
    html = content["text"]
    assert html == view_document()
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    directives = dict(
        part.strip().partition(" ")[::2] for part in policy.replace("&#39;", "'").split(";")
    )
    assert (
        directives["default-src"] == directives["base-uri"] == directives["form-action"] == "'none'"
    )
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        [text] = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert directives[directive] == f"'sha256-{digest}'"
    assert not re.search(r'(?:src|href)="', html)


def test_the_map_and_the_card_show_what_the_console_shows(world: World) -> None:
    first, second = fill(world, "Ann mag Tomaten", "アンは庭が好き")

    drawn = world.view("show_map")
    card = world.view("show_memory", node_id=second.node_id)

    assert f'href="#memories/{first.node_id}"' in drawn["_meta"][HTML]
    assert 'href="#map?group=none"' in drawn["_meta"][HTML]
    assert "アンは庭が好き" in card["_meta"][HTML]
    assert "アンは庭が好き" in card["content"][0]["text"]
    one = world.view("show_map", cluster_id="none")
    assert "Ann mag Tomaten" in one["content"][0]["text"]
    counted = world.home.memory_services.memory.nodes.get(world.being, first.node_id)
    assert counted is not None
    assert counted.reactivation_count == 0


def test_an_unknown_memory_or_cluster_is_said(world: World) -> None:
    for name, arguments in (
        ("show_memory", {"node_id": "nobody"}), ("show_map", {"cluster_id": "nowhere"}),
        ("show_map", {"cluster_id": "x" * 4000}), ("show_memory", {"node_id": ""}),
        ("show_memory", {}), ("show_approvals", {"more": 1}),
    ):  # fmt: skip
        result = world.view(name, **arguments)
        assert result["isError"] is True, (name, arguments)
        assert HTML not in result.get("_meta", {})


def test_a_token_that_only_reads_sees_cards_without_forms(world: World) -> None:
    [node] = fill(world, "Ann likes tea")

    full = world.view("show_memory", node_id=node.node_id)["_meta"][HTML]
    reading = world.view("show_memory", READ_ONLY, node_id=node.node_id)["_meta"][HTML]

    assert 'data-tool="update_memory"' in full
    assert "data-tool" not in reading
    assert "<textarea" not in reading


def test_another_beings_memory_is_not_shown(world: World) -> None:
    [node] = fill(world, "Ann likes tea")
    stranger = World(world.home, world.home.beings.create("Bo", owner="bo").being_id)

    assert stranger.view("show_memory", node_id=node.node_id)["isError"] is True
    assert node.node_id not in stranger.view("show_map")["_meta"][HTML]


def test_hostile_memories_are_text_in_a_view(world: World) -> None:
    nodes = fill(world, *HOSTILE)
    pages = [world.view("show_map")["_meta"][HTML]]
    pages += [world.view("show_memory", node_id=node.node_id)["_meta"][HTML] for node in nodes]

    for page in pages:
        assert not re.search(
            r"<(?:script|iframe|img|object|embed|meta|link|base|style|form)\b", page
        )
        assert not re.search(
            r"<[^>]*\s(?:on\w+|style|srcdoc)\s*=", re.sub(r'"[^"]*"|\'[^\']*\'', "", page)
        )
        assert all(each.startswith("#") for each in re.findall(r'href="([^"]*)"', page))


def ask(world: World, principal: str, tool: str) -> str:
    arguments = {"path": "<img src=x onerror=alert(1)>"}
    request = ApprovalRequest(
        principal=principal,
        subject=Subject("tool", tool, "files", arguments),
        decision=Decision("prompt", 1, "Ask first", "Ask first"),
        policy="digest",
        arguments_sha256=arguments_sha256(arguments),
    )
    clock = world.home.ports.clock
    Approvals(world.home.data, Sections, clock=clock, rng=Random(1)).ask(request, can_elicit=False)
    return next(
        ticket.ticket for ticket in Desk(world.home.data, clock=clock).all() if ticket.name == tool
    )


def test_a_view_shows_the_calls_that_wait_and_decides_none(world: World) -> None:
    own, other = ask(world, "tok_1", "delete_file"), ask(world, "tok_2", "send_mail")

    shown = world.view("show_approvals")

    assert "delete_file" in shown["_meta"][HTML]
    assert "delete_file of files waits for its owner" in shown["content"][0]["text"]
    for text in (json.dumps(shown),):
        assert "send_mail" not in text
        assert own not in text, "a ticket"
        assert other not in text
        assert "<img" not in text
    tools = re.findall(r'data-tool="(\w+)"', shown["_meta"][HTML])
    assert tools == ["show_approvals"]
    states = {ticket.state for ticket in Desk(world.home.data, clock=world.home.ports.clock).all()}
    assert states == {"open"}


def test_views_need_no_web_framework_which_the_function_that_shows_them_lacks() -> None:
    program = (
        "import sys; from nacre.console.views import view_tools, view_document; "
        "view_document.view_document(); "
        "print({'fastapi', 'starlette', 'mangum'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(Path(nacre.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "set()"
