"""The short list: find, describe and call tools that are not in it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.policy import names_tool
from nacre.firewall.rules.rule import Subject
from nacre.protocol.principal import READ_ONLY
from nacre.protocol.versions import TASKS
from nacre.protocol.views import VIEW_TYPE, VIEWS
from tests.gateway.test_served import ASKABLE, Live, definition, list_tools, odd, said
from tests.scaffolding.gateway_world import MODERN, World, world
from tests.scaffolding.waiting import until

ON_DEMAND = ["find_tools", "describe_tools", "call_reading_tool", "call_tool"]
NAMED = """
[[rule]]
action = "allow"
tool = "echo"
server = "odd"
[[rule]]
action = "allow"
tool = "**"
"""


@contextmanager
def short(
    folder: Path,
    *names: str,
    policy: str = NAMED,
    read: tuple[str, ...] = (),
    tools: str = "search",
    **settings: Any,
) -> Iterator[World]:
    """Open a laptop behind whose short list the odd server's tools are."""
    if names:
        list_tools(folder, *names)
    server = odd(folder, read_tools=list(read))
    chosen = {"embeddings": "none", "tools": tools, **settings}
    with world(folder / "w", {"odd": server}, policy=policy, **chosen) as gateway:
        gateway.ask("tools/list")
        yield gateway


def listed(gateway: World) -> list[str]:
    return [tool["name"] for tool in gateway.ask("tools/list")["result"]["tools"]]


def text_of(result: Mapping[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


def call(gateway: World, tool: str, through: str = "call_tool", **arguments: Any) -> dict[str, Any]:
    return gateway.call(through, name=f"mcp__odd__{tool}", arguments=arguments)


# The list.


def test_a_long_list_becomes_short_by_itself_and_a_short_one_stays(tmp_path: Path) -> None:
    names = [f"tool_{number}" for number in range(41)]
    with short(tmp_path, *names, tools="auto") as gateway:
        long = listed(gateway)
    (tmp_path / "less").mkdir()
    with short(tmp_path / "less", *names[:40], tools="auto") as gateway:
        few = listed(gateway)

    assert long[-4:] == ON_DEMAND
    assert not any(name.startswith("mcp__") for name in long)
    assert few[-40:] == [f"mcp__odd__{name}" for name in names[:40]]


def test_all_tools_are_listed_where_the_settings_want_that(tmp_path: Path) -> None:
    names = [f"tool_{number}" for number in range(41)]
    with short(tmp_path, *names, tools="all") as gateway:
        assert listed(gateway)[-1] == "mcp__odd__tool_40"
        assert "error" in gateway.ask("tools/call", {"name": "find_tools", "arguments": {}})


def test_visible_tools_stay_in_the_list(tmp_path: Path) -> None:
    visible = ("mcp__odd__e*", "recall")
    with short(tmp_path, "echo", "ask", visible_tools=visible) as gateway:
        assert listed(gateway) == ["recall", "mcp__odd__echo", *ON_DEMAND]
    with short(tmp_path, "echo", "ask", visible_tools=()) as gateway:
        assert listed(gateway) == ON_DEMAND


@pytest.mark.parametrize("count", [1, 50, 1000])
def test_the_tools_of_the_short_list_stay_below_a_thousand_tokens(
    tmp_path: Path, count: int
) -> None:
    names = [f"tool_with_a_rather_long_name_{number}" for number in range(count)]
    with short(tmp_path, *names, visible_tools=()) as gateway:
        tools = gateway.ask("tools/list")["result"]["tools"]

    # A token has about four characters; of JSON with short words it may have three.
    assert len(json.dumps(tools, separators=(",", ":"))) / 3 <= 1000


@pytest.mark.slow
def test_many_servers_are_named_as_far_as_there_is_room(tmp_path: Path) -> None:
    list_tools(tmp_path, "echo")
    servers = {f"a_server_with_a_long_name_{number:02}": odd(tmp_path) for number in range(40)}
    with world(tmp_path / "w", servers, tools="search", visible_tools=()) as gateway:

        def listed() -> list[dict[str, Any]]:
            tools: list[dict[str, Any]] = gateway.ask("tools/list")["result"]["tools"]
            is_first = "a_server_with_a_long_name_00 (1), a_server" in tools[0]["description"]
            return tools if is_first and " more." in tools[0]["description"] else []

        tools = until(listed)  # forty programs take long to start on a busy machine

    assert "a_server_with_a_long_name_00 (1), a_server" in tools[0]["description"]
    assert " more." in tools[0]["description"]
    assert len(json.dumps(tools, separators=(",", ":"))) / 3 <= 1000


def test_denied_tools_are_neither_found_nor_described(tmp_path: Path) -> None:
    denied = '[[rule]]\naction = "deny"\ntool = "secret"\n' + NAMED
    with short(tmp_path, "echo", "secret", policy=denied) as gateway:
        assert "mcp__odd__secret" not in text_of(gateway.call("find_tools", server="odd"))
        described = gateway.call("describe_tools", names=["mcp__odd__secret"])
        blocked = call(gateway, "secret")

    assert described["isError"]
    assert blocked["isError"]
    assert text_of(blocked).startswith("Blocked by policy")


# Finding and describing.


def test_a_found_tool_plain_its_arguments_and_how_to_call_it(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(
        json.dumps(
            [
                {
                    "name": "createIssue",
                    "description": "Opens a\n new issue.",
                    "inputSchema": {
                        "type": "object",
                        "properties": {
                            "labels": {"type": "array", "items": {"type": "string"}},
                            "state": {"enum": ["open", "closed"]},
                            "title": {"type": "string"},
                        },
                        "required": ["title"],
                    },
                },
                definition("listIssues", "Lists issues"),
            ]
        )
    )
    with short(tmp_path, read=("list*",)) as gateway:
        found = text_of(gateway.call("find_tools", query="file a new issue"))

    assert found == (
        "mcp__odd__createIssue (call_tool): Opens a new issue.\n"
        '  title: string, labels?: string[], state?: "open"|"closed"\n'
        "mcp__odd__listIssues (call_reading_tool): Lists issues\n"
        "  no arguments"
    )


def test_the_tools_of_a_server_are_listed_without_a_query(tmp_path: Path) -> None:
    with short(tmp_path, "b", "a", "c") as gateway:
        found = text_of(gateway.call("find_tools", server="odd", limit=2))
        unknown = gateway.call("find_tools", query="x", server="even")

    assert [line.split(" ")[0] for line in found.splitlines()[::2]] == [
        "mcp__odd__b",
        "mcp__odd__a",
    ]
    assert text_of(unknown) == "There is no server 'even'. Servers: odd"


def test_a_description_is_the_definition_that_a_full_list_has(tmp_path: Path) -> None:
    with short(tmp_path, "echo", tools="all") as gateway:
        whole = gateway.ask("tools/list")["result"]["tools"][-1]
    with short(tmp_path, "echo") as gateway:
        described = json.loads(text_of(gateway.call("describe_tools", names=["mcp__odd__echo"])))

    assert described == {**whole, "call_with": "call_tool"}


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("find_tools", {}, "'query' is missing"),
    ("find_tools", {"query": 5}, "'query' must be a text"),
    ("find_tools", {"query": "x", "limit": 0}, "'limit' must be a whole number"),
    ("find_tools", {"query": "x", "limit": True}, "'limit' must be a whole number"),
    ("describe_tools", {}, "'names' must be a list"),
    ("describe_tools", {"names": []}, "give 1 to 10 'names'"),
    ("describe_tools", {"names": ["mcp__odd__ecko"]}, "Did you mean mcp__odd__echo?"),
    ("call_tool", {}, "'name' must be the name of a tool"),
    ("call_tool", {"name": "mcp__odd__ecko"}, "Did you mean mcp__odd__echo?"),
    ("call_tool", {"name": "zzz"}, "Search with find_tools"),
    ("call_tool", {"name": "call_tool"}, "There is no tool 'call_tool'"),
    (
        "call_tool",
        {"name": "mcp__odd__echo", "arguments": "x"},
        "'arguments' must be an object",
    ),
    ("call_reading_tool", {"name": "mcp__odd__echo"}, "is not marked as reading"),
]


def test_mistakes_are_explained_to_the_model(tmp_path: Path) -> None:
    with short(tmp_path, "echo") as gateway:
        results = [gateway.call(tool, **arguments) for tool, arguments, _ in MISTAKES]

    for result, (_, _, message) in zip(results, MISTAKES, strict=True):
        assert result["isError"]
        assert message in text_of(result)


# Calls.


def test_a_call_is_recorded_and_answered_as_that_of_the_tool_itself(tmp_path: Path) -> None:
    with short(tmp_path, "echo") as gateway:
        indirect = call(gateway, "echo", text="hi")
        direct = gateway.call("mcp__odd__echo", text="hi")
        records = gateway.records()

    same = ("outcome", "server", "method", "tool", "rule", "arguments_sha256", "principal")
    facts = [{key: record.get(key) for key in same} for record in records]
    assert indirect == direct
    assert facts[-1] == facts[-2]
    assert facts[-1]["tool"] == "echo"


def test_a_token_that_only_reads_finds_and_calls_reading_tools_only(tmp_path: Path) -> None:
    with short(tmp_path, "echo", "plain", read=("plain",)) as gateway:
        found = gateway.ask(
            "tools/call",
            {"name": "find_tools", "arguments": {"server": "odd"}},
            scopes=READ_ONLY,
        )
        answers = [
            gateway.ask(
                "tools/call",
                {"name": through, "arguments": {"name": f"mcp__odd__{tool}", "arguments": {}}},
                scopes=READ_ONLY,
            )
            for through, tool in (
                ("call_reading_tool", "plain"),
                ("call_tool", "plain"),
                ("call_tool", "echo"),
            )
        ]

    assert "mcp__odd__plain" in said(found)
    assert "mcp__odd__echo" not in said(found)
    assert ["error" in answer for answer in answers] == [False, False, True]
    assert "mcp__odd__echo" in answers[2]["error"]["message"]


def test_a_server_that_claims_to_read_is_not_believed(tmp_path: Path) -> None:
    claim = {**definition("echo"), "annotations": {"readOnlyHint": True}}
    (tmp_path / "tools.json").write_text(json.dumps([claim]))
    with short(tmp_path) as gateway:
        result = call(gateway, "echo", through="call_reading_tool")

    assert "is not marked as reading" in text_of(result)


# Approvals: "always allow" of a client must not open every tool.


def test_a_write_that_no_rule_names_is_asked_about(tmp_path: Path) -> None:
    params = {"name": "call_tool", "arguments": {"name": "mcp__odd__plain", "arguments": {}}}
    live = Live()
    with short(tmp_path, "echo", "plain") as gateway:
        gateway.ask("tools/call", params, capabilities=ASKABLE, channel=live)
        modern = gateway.ask("tools/call", params, version=MODERN, capabilities=ASKABLE)
        named = call(gateway, "echo")
        direct = gateway.call("mcp__odd__plain")

    questions = modern["result"]["inputRequests"].values()
    assert live.asked == ["elicitation/create"]
    assert [question["method"] for question in questions] == ["elicitation/create"]
    assert not named.get("isError")
    assert not direct.get("isError")


def test_a_call_is_made_once_its_question_is_answered(tmp_path: Path) -> None:
    with short(tmp_path, "echo", "plain") as gateway:
        params: dict[str, Any] = {
            "name": "call_tool",
            "arguments": {"name": "mcp__odd__plain", "arguments": {}},
        }
        given: dict[str, Any] = {"version": MODERN, "capabilities": ASKABLE}
        first = gateway.ask("tools/call", params, **given)["result"]
        answers = {
            key: {"action": "accept", "content": {"decision": "allow once"}}
            for key in first["inputRequests"]
        }
        again = {**params, "requestState": first["requestState"], "inputResponses": answers}
        last = gateway.ask("tools/call", again, **given)
        outcomes = [record["outcome"] for record in gateway.records()]

    assert last["result"].get("resultType") == "complete", last
    assert outcomes[-1] == "allow"


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ('tool = "*"', False),
        ('tool = "**"', False),
        ('tool = "*"\nserver = "odd"', False),
        ('tool = "mcp__odd__*"', False),
        ('tool = "mcp__**"', False),
        ('tool = "plain"', True),
        ('tool = "pl*"', True),
        ('tool = "mcp__odd__plain"', True),
        ('tool = "mcp__*__pl*"', True),
    ],
)
def test_a_rule_names_a_tool_by_more_than_wildcards(rule: str, names: bool) -> None:
    policy = load_policy(f'[[rule]]\naction = "allow"\n{rule}\n', source="policy.toml")
    decision = policy.decide(Subject("tool", "plain", "odd", {}))

    assert decision.action == "allow"
    assert names_tool(policy, decision) is names


def test_a_client_that_cannot_be_asked_is_denied_a_write_that_no_rule_names(tmp_path: Path) -> None:
    with short(tmp_path, "plain", policy=f"{NAMED}[settings]\nwait_seconds = 0\n") as gateway:
        result = call(gateway, "plain")
        noted = gateway.records()[-1]

    assert result["isError"]
    assert "no rule names this tool" in text_of(result)
    assert noted["outcome"] == "deny"


def test_reading_tools_and_own_tools_are_not_asked_about(tmp_path: Path) -> None:
    policy = '[[rule]]\naction = "allow"\ntool = "*"\n'
    hidden: dict[str, Any] = {"visible_tools": ()}
    with short(tmp_path, "plain", policy=policy, read=("plain",), **hidden) as gateway:
        reading = call(gateway, "plain", through="call_reading_tool")
        own = gateway.call(
            "call_tool", name="update_relation", arguments={"action": "list", "entity": "Ann"}
        )
        time = gateway.call("call_reading_tool", name="get_current_time")

    assert not reading.get("isError")
    assert "no rule names" not in text_of(own)
    assert not time.get("isError")


def test_progress_and_questions_of_the_tool_reach_the_client(tmp_path: Path) -> None:
    with short(
        tmp_path, "ask", policy='[[rule]]\naction = "allow"\ntool = "a*"\n' + NAMED
    ) as gateway:
        live = Live()
        gateway.ask(
            "tools/call",
            {"name": "call_tool", "arguments": {"name": "mcp__odd__ask", "arguments": {}}},
            capabilities=ASKABLE,
            channel=live,
        )

    assert "elicitation/create" in live.asked


def test_a_call_becomes_a_task_of_the_tool_itself(tmp_path: Path) -> None:
    own_server = tmp_path / "mine.py"
    own_server.write_text(
        "from nacre import ToolServer, tool\n"
        "server = ToolServer('mine', '1')\n"
        "@server.register_tool\n"
        "@tool(task='optional')\n"
        "async def build(target: str) -> str:\n"
        "    'Builds a target.'\n"
        "    return target\n"
    )
    params = {"name": "mcp__mine__build", "arguments": {"target": "all"}}
    capabilities: dict[str, Any] = {"extensions": {TASKS: {}}}
    named = '[[rule]]\naction = "allow"\ntool = "build"\n'
    servers = (f"{own_server}:server",)
    with short(tmp_path, "echo", policy=named, tool_servers=servers) as gateway:
        results = [
            gateway.ask("tools/call", asked, version=MODERN, capabilities=capabilities)["result"]
            for asked in (params, {"name": "call_tool", "arguments": params})
        ]

    assert [result["resultType"] for result in results] == ["task", "task"]


def test_a_held_tool_is_not_found_and_its_call_is_denied(tmp_path: Path) -> None:
    with short(tmp_path, "echo"):
        pass
    with short(tmp_path, "echo", "plain") as gateway:
        call(gateway, "echo")  # a new session, in which the offer is compared
        found = text_of(gateway.call("find_tools", server="odd"))
        held = call(gateway, "plain")

    assert "mcp__odd__plain" not in found
    assert held["isError"]
    assert "approve" in text_of(held)


def test_tools_for_views_are_not_called_through_another_tool(tmp_path: Path) -> None:
    capabilities: dict[str, Any] = {"extensions": {VIEWS: {"mimeTypes": [VIEW_TYPE]}}}
    with short(tmp_path, "echo", visible_tools=()) as gateway:
        names = sorted(gateway.laptop.application.surface.view_names())  # type: ignore[attr-defined]
        answers = [
            gateway.ask(
                "tools/call",
                {"name": through, "arguments": {"name": name}},
                capabilities=capabilities,
            )
            for name in names
            for through in ("call_tool", "call_reading_tool")
        ]

    assert names
    assert all(said(answer).startswith("There is no tool") for answer in answers)
