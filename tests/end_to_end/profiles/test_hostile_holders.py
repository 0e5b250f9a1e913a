"""The holder of a token for one profile looks for what another profile has."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre.core.coroutines import Looper
from nacre.core.errors import InvalidParamsError, NotFoundError, UnknownResourceError
from nacre.protocol.changes import Changes, Wanted
from nacre.protocol.context import Context
from nacre.protocol.surface import part_of
from tests.end_to_end.profiles.neighbours import BOTH, SERVER, WORK, answers, inside, neighbours
from tests.scaffolding.gateway_world import EVERYTHING_GOES, LEGACY, MODERN, World, world

pytestmark = pytest.mark.security

FOREIGN, INVENTED = "office", "nobody"


@pytest.fixture(params=["auto", "search"])
def holder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A caller in the profile `home`, beside a server that is not in it."""
    with neighbours(
        tmp_path / "n",
        "garden",
        "office",
        policy=BOTH + WORK + EVERYTHING_GOES,
        tools=request.param,
    ) as gateway:
        gateway.ask("tools/list")
        yield gateway


@pytest.mark.requirement("002.external.profiles")
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_another_profiles_server_and_an_invented_one_get_the_same_answers(
    holder: World, version: str
) -> None:
    assert answers(holder, FOREIGN, version) == answers(holder, INVENTED, version)


@pytest.mark.parametrize("tools", ["auto", "search"])
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_nothing_changes_when_another_profile_comes_or_goes(
    tmp_path: Path, version: str, tools: Any
) -> None:
    with neighbours(tmp_path / "a", "garden", policy=BOTH, tools=tools) as gateway:
        alone = answers(gateway, FOREIGN, version) + answers(gateway, "garden", version)
    with neighbours(tmp_path / "b", "garden", "office", "zoo", tools=tools) as gateway:
        beside = answers(gateway, FOREIGN, version) + answers(gateway, "garden", version)

    assert beside == alone


def test_what_is_in_the_profile_works(holder: World) -> None:
    listed = holder.ask("tools/list")["result"]["tools"]
    found = holder.call("mcp__garden__find", word="pearl")
    through = holder.call("call_tool", name="mcp__garden__find", arguments={"word": "tea"})
    read = holder.ask("resources/read", {"uri": "garden://all"}, version=MODERN)
    one = holder.ask("resources/read", {"uri": "garden://entries/rose"}, version=MODERN)
    prompt = {"name": "mcp__garden__ask", "arguments": {"topic": "tea"}}
    names = {each["name"] for each in listed}

    assert names in (
        {"mcp__garden__find", "mcp__garden__change"},
        {"find_tools", "describe_tools", "call_tool", "call_reading_tool"},
    )
    assert found["content"][0]["text"] == "garden has pearl"
    assert through["content"][0]["text"] == "garden has tea"
    assert read["result"]["contents"][0]["text"] == "all that garden has"
    assert one["result"]["contents"][0]["text"] == "the rose that garden has"
    assert "garden of tea" in json.dumps(holder.ask("prompts/get", prompt))


def test_a_profile_shows_the_named_tools_of_its_servers_only(holder: World) -> None:
    work = inside(holder, "work")
    every = part_of(holder.laptop.surface, work.principal).tools()
    change = work.ask("tools/call", {"name": "mcp__office__change", "arguments": {"word": "x"}})
    notes = work.ask("tools/call", {"name": "update_notes", "arguments": {}})

    assert [each["name"] for each in every] == ["recall", "mcp__office__find"]
    assert change["error"]["message"] == "Unknown tool: mcp__office__change"
    assert notes["error"]["message"] == "Unknown tool: update_notes"


def test_a_call_is_checked_again_wherever_it_comes_from(holder: World) -> None:
    """A task or an order reaches tools without the lists and names of a face."""
    surface, context = holder.laptop.surface, Context(principal=holder.principal)
    tool = surface.get_tool("mcp__office__find")
    assert tool is not None
    looper = Looper()

    with pytest.raises(InvalidParamsError, match="Unknown tool: mcp__office__find"):
        looper.run(tool.call({"word": "pearl"}, context))
    with pytest.raises(UnknownResourceError, match="Resource not found: office://all"):
        looper.run(surface.read_resource("office://all", context))
    with pytest.raises(NotFoundError, match="Prompt not found: mcp__office__ask"):
        looper.run(surface.get_prompt("mcp__office__ask", {"topic": "tea"}, context))
    assert surface.resource_version("office://all", holder.principal) is None
    assert surface.resource_version("garden://all", holder.principal) is not None


def test_nobody_is_told_of_changes_in_another_profile(
    holder: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.firewall.policies.live_policy.POLICY_CHECK_SECONDS", 0)
    looks = Changes(holder.laptop.application.surface)
    wanted = Wanted(
        ("tools", "prompts", "resources", "resourceTemplates"), ("office://all", "garden://all")
    )
    seen = looks.baseline(holder.principal, wanted)
    other = inside(holder, "").principal
    others = looks.baseline(other, wanted)
    policy = tmp_path / "n" / "w" / "policy.toml"
    # Whoever sees the Being's own tools loses one of them.
    deny = '[[rule]]\naction = "deny"\ntool = "recall_memory"\nserver = "nacre"\n'
    policy.write_text(BOTH + WORK + deny + EVERYTHING_GOES)
    os.utime(policy, (1, 1))  # written long ago, so that it is read at once

    assert list(seen.versions) == ["garden://all"]
    assert set(others.versions) == {"office://all", "garden://all"}
    assert list(looks._news(holder.principal, seen)) == []
    assert ("notifications/tools/list_changed", {}) in list(looks._news(other, others))
    looks.close()


def test_the_audit_names_the_profile(holder: World) -> None:
    holder.call("mcp__garden__find", word="pearl")

    record = holder.records()[-1]
    assert (record["profile"], record["tool"], record["outcome"]) == ("home", "find", "allow")


def test_monitoring_enforces_no_rule_but_opens_no_profile(tmp_path: Path) -> None:
    monitor = BOTH + WORK + '[settings]\nmode = "monitor"\n'
    with neighbours(tmp_path / "n", "garden", "office", policy=monitor) as gateway:
        names = gateway.tools()
        foreign, invented = answers(gateway, FOREIGN), answers(gateway, INVENTED)

    assert names == ["mcp__garden__find", "mcp__garden__change"]
    assert foreign == invented


def test_a_profile_that_is_gone_opens_nothing(tmp_path: Path) -> None:
    with neighbours(tmp_path / "n", "garden", "office", policy=WORK + EVERYTHING_GOES) as gateway:
        said = [json.loads(each) for each in answers(gateway, "garden")]

    assert {each["error"]["message"] for each in said} == {
        "there is no such profile; the owner's policy defines them as [profile.NAME]"
    }


def test_rules_of_a_profile_come_first_and_disallowed_tools_before_all(tmp_path: Path) -> None:
    policy = (
        'disallowed_tools = ["mcp__garden__change"]\n'
        + BOTH
        + '[[rule]]\naction = "deny"\ntool = "**"\n'
    )
    with neighbours(tmp_path / "n", "garden", policy=policy) as gateway:
        names = gateway.tools()
        found = gateway.call("mcp__garden__find", word="pearl")
        outside = inside(gateway, "", "tok_all").call("mcp__garden__find", word="pearl")

    assert names == ["mcp__garden__find"]
    assert found["content"][0]["text"] == "garden has pearl"
    assert outside["isError"]


def test_a_server_that_is_missing_is_named_in_its_profiles_only(tmp_path: Path) -> None:
    (tmp_path / "garden.py").write_text(SERVER.replace("NAME", "garden"))
    gone = {"office": {"command": str(tmp_path / "no-such-program")}}
    files = (f"{tmp_path}/garden.py:server",)
    with world(tmp_path / "w", gone, policy=BOTH + WORK, tool_servers=files) as gateway:
        missing = {name: inside(gateway, name).missing() for name in ("home", "work", "")}

    assert missing["home"] == {}
    assert list(missing["work"]) == list(missing[""]) == ["office"]


def test_a_template_whose_server_is_not_known_belongs_to_no_profile(tmp_path: Path) -> None:
    """A template without a scheme fits the URIs of every server, so it names none."""
    own = '[profile.family]\nservers = ["nacre", "garden"]\n' + BOTH + WORK
    with neighbours(tmp_path / "n", "garden", "office", policy=own + EVERYTHING_GOES) as gateway:
        gateway.ask("tools/list")
        lists, family = gateway.laptop.visible_lists, inside(gateway, "family").principal
        templates = [
            *("nacre://notes/{id}", "garden://entries/{word}"),
            *("office://entries/{word}", "{path}", "other://{path}"),
        ]
        resources = ["nacre://notes", "office://never/listed", "other://never/listed"]
        belonging = [
            *(name for name in templates if lists.has("template", name, family)),
            *(name for name in resources if lists.has("resource", name, family)),
        ]

    assert belonging == ["nacre://notes/{id}", "garden://entries/{word}", "nacre://notes"]


def test_of_two_servers_with_one_uri_a_profile_reads_its_own(tmp_path: Path) -> None:
    shared = SERVER.replace("NAME://all", "shared://all")
    for name in ("alley", "garden"):
        (tmp_path / f"{name}.py").write_text(shared.replace("NAME", name))
    files = tuple(f"{tmp_path}/{name}.py:server" for name in ("alley", "garden"))
    with world(tmp_path / "w", policy=BOTH + WORK, tool_servers=files) as gateway:
        holder = inside(gateway, "home")
        [listed] = holder.ask("resources/list")["result"]["resources"]
        mine = holder.ask("resources/read", {"uri": listed["uri"]})
        foreign = holder.ask("resources/read", {"uri": "shared://all"})
        named = holder.ask("resources/read", {"uri": "mcp://alley/shared%3A%2F%2Fall"})

    assert listed["uri"] == "mcp://garden/shared%3A%2F%2Fall"
    assert mine["result"]["contents"][0]["text"] == "all that garden has"
    assert foreign["error"]["message"] == "Resource not found: shared://all"
    assert "Resource not found" in named["error"]["message"]
