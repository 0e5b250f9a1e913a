"""What callers in two profiles share: orders, sessions, cut results, limits, context."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from nacre.being.orders.order.deadline import OrderDeadline
from nacre.being.orders.order.toolbox import Toolbox
from nacre.being.orders.sessions.session import session_key_for
from nacre.core.errors import ForbiddenError
from nacre.core.origins import external
from nacre.firewall.enforce.large_calls import Deciding, read_call
from nacre.firewall.entry.noted_results import NotedResults
from nacre.firewall.rules.rule import NOWHERE
from nacre.ports.untrusted_results import Holder
from nacre.protocol.context import Context
from nacre.protocol.principal import FULL, Principal
from nacre.protocol.surface import part_of
from nacre.sdk.tool_server import ToolServer
from tests.end_to_end.profiles.neighbours import BOTH, WORK, inside, neighbours
from tests.firewall.deciding import policy as policy_of_text
from tests.scaffolding.gateway_world import EVERYTHING_GOES, MODERN, World

pytestmark = pytest.mark.security

ALL = BOTH + WORK + EVERYTHING_GOES


def tools_of_an_order(gateway: World) -> list[str]:
    """Return the tools that the model of an order may call."""
    context = Context(principal=gateway.principal)
    deadline = OrderDeadline(context, 60, renew=lambda: None)
    toolbox = Toolbox(gateway.laptop.surface, context, deadline)
    return [each["function"]["name"] for each in toolbox.definitions]


def test_the_model_of_an_order_has_the_tools_of_its_callers_profile(tmp_path: Path) -> None:
    with neighbours(tmp_path / "n", "garden", "office", policy=ALL) as gateway:
        home = tools_of_an_order(gateway)
        work = tools_of_an_order(inside(gateway, "work"))

    assert home == ["mcp__garden__find", "mcp__garden__change"]
    assert work == ["mcp__office__find"]


def test_a_client_in_two_profiles_has_two_sessions_of_one_key() -> None:
    def session(profile: str) -> str:
        principal = Principal("tok_1", "b", FULL, client="editor", profile=profile)
        now = datetime(2026, 11, 20, tzinfo=UTC)
        return session_key_for(principal, "main", now=now, rng=Random(1)).session_id

    assert len({session(""), session("home"), session("work")}) == 3


def test_the_whole_of_a_cut_result_is_read_in_its_profile_only(tmp_path: Path) -> None:
    limit = '[[limit]]\ntool = "find"\nresult_bytes = 1000\n'
    with neighbours(tmp_path / "n", "garden", "office", policy=ALL + limit) as gateway:
        gateway.ask("tools/list")
        cut = gateway.call("mcp__garden__find", word="pearl " * 1000)
        [link] = [block for block in cut["content"] if block["type"] == "resource_link"]
        mine = gateway.ask("resources/read", {"uri": link["uri"]})
        others = [
            inside(gateway, profile).ask("resources/read", {"uri": link["uri"]})
            for profile in ("work", "")
        ]

    assert "pearl pearl" in json.dumps(mine)
    assert [other["error"]["message"] for other in others] == [
        f"Resource not found: {link['uri']}"
    ] * 2


def test_the_audit_names_the_profile_beside_what_happened_to_a_result(tmp_path: Path) -> None:
    limit = '[[limit]]\ntool = "find"\nresult_bytes = 1000\n'

    with neighbours(tmp_path / "n", "garden", policy=BOTH + limit) as gateway:
        gateway.ask("tools/list")
        gateway.call("mcp__garden__find", word="pearl " * 1000)
        mine = [each for each in gateway.records() if each.get("principal") == "tok_home"]

    assert len(mine) >= 2  # the call, and that its result was cut
    assert [each.get("profile") for each in mine] == ["home"] * len(mine)


@pytest.mark.parametrize("action", ["deny", "prompt"])
def test_a_reason_names_no_server_of_another_profile(tmp_path: Path, action: str) -> None:
    """A token receives results of another server by a shared memory, or in two profiles."""
    tainted = f"""
[[profile.home.rule]]
action = "{action}"
tool = "change"
origin = "external:office"
"""
    home = '[profile.home]\nservers = ["garden"]\n'
    policy = BOTH.replace(home, home + tainted) + WORK
    with neighbours(tmp_path / "n", "garden", "office", policy=policy) as gateway:
        gateway.ask("tools/list")
        ledger = NotedResults(gateway.laptop.ports.data)
        holder = Holder(gateway.principal.being_id, gateway.principal.subject)
        for server in ("office", "zoo", "garden"):
            ledger.note(holder, external(server), gateway.laptop.ports.clock())
        params = {"name": "mcp__garden__change", "arguments": {"word": "pearl"}}
        asked: dict[str, object] = {"elicitation": {"form": {}}}
        said = gateway.answer("tools/call", params, version=MODERN, capabilities=asked).decode()
        record = gateway.records()[-1]

    assert "received before: external, external:garden)" in said
    assert "office" not in said
    assert "zoo" not in said
    assert record["received"] == ["external:garden", "external:office", "external:zoo"]


def test_another_process_that_decides_names_no_server_of_another_profile() -> None:
    """A large call is decided where its arguments are read."""
    home = '[profile.home]\nservers = ["garden"]\n'
    rule = '[[rule]]\naction = "deny"\ntool = "change"\ntainted = true\n'
    inside_home = policy_of_text(home + rule).profile("home").policy
    origins = frozenset({"external:office", "external:garden"})
    deciding = Deciding(inside_home, NOWHERE, "garden", {}, "change", origins)
    raw = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "change", "arguments": {"word": "pearl"}},
        }
    )
    deciding_head = json.loads(json.dumps(deciding.encoded()))
    head = {"lines": None, "encodes": False, "values": False, "deciding": deciding_head}
    reply = read_call(raw.encode(), head, lambda _: (b"", b""))
    assert reply is not None

    text = reply[0]["summary"]["decision"]["text"]
    assert text == "Blocked by policy (rule 1) (received before: external, external:garden)"


def test_get_context_names_the_tools_of_the_profile(tmp_path: Path) -> None:
    own = '[profile.family]\nservers = ["nacre", "garden"]\n'
    with neighbours(tmp_path / "n", "garden", "office", policy=own + ALL) as gateway:
        said = inside(gateway, "family").call("get_context")
        everything = inside(gateway, "").call("get_context")

    assert "mcp__garden__find" in json.dumps(said)
    assert "office" not in json.dumps(said)
    assert "mcp__office__find" in json.dumps(everything)


def test_a_limit_counts_the_calls_of_all_profiles_together(tmp_path: Path) -> None:
    limit = '[[limit]]\ntool = "find"\ncalls = 2\nper = "day"\n'
    family = BOTH.replace("profile.home", "profile.family")
    with neighbours(tmp_path / "n", "garden", policy=BOTH + family + limit) as gateway:
        gateway.ask("tools/list")
        calls = [
            inside(gateway, profile).call("mcp__garden__find", word="pearl")
            for profile in ("home", "family", "home", "family")
        ]

    assert [call.get("isError", False) for call in calls] == [False, False, True, True]


def test_a_server_without_profiles_lets_nobody_in_who_has_one() -> None:
    server = ToolServer("small", "1")
    bound = Principal("tok_1", "b", FULL, profile="home")

    with pytest.raises(ForbiddenError, match="this server has no profiles"):
        part_of(server, bound)
    assert part_of(server, replace(bound, profile="")) is server
