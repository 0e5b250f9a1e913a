"""One policy, one verdict: at the MCP entry, in the evaluator, and in the guard."""

import json
from io import StringIO
from typing import Any

import pytest

from nacre.core.coroutines import step
from nacre.core.logs import Log
from nacre.faces.evaluator.evaluation import Evaluator
from nacre.faces.mcp_endpoint import Rules
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold
from nacre.firewall.entry.entry_judge import EntryJudge
from nacre.firewall.entry.guarded_surface import GuardedSurface
from nacre.firewall.entry.visible_lists import VisibleLists
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.stored_policy import PolicyInForce
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Surroundings
from nacre.protocol.caller import Caller, Peer
from nacre.protocol.context import Context, Silence
from nacre.protocol.dispatch.methods import Dispatcher
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.messages import Answer as Reply
from nacre.protocol.messages import Request
from nacre.protocol.strict_json import parse
from tests.firewall.guarding import FORM, MODERN, Person, Scene, encoded
from tests.protocol.surface import KEYS, NOW, Said, SmallServer
from tests.vectors.sets import SETS, policies, rows

ELICITS: dict[str, Any] = {"elicitation": {}}
OWN = """
[[rule]]
action = "deny"
tool = "rm"
[[rule]]
action = "allow"
tool = "list"
[[rule]]
action = "prompt"
tool = "write"
args.path = "/etc/**"
[[rule]]
action = "allow"
tool = "*"
args.path = "/home/ann/**"
[[rule]]
action = "allow"
resource = "file:///home/ann/**"
[[rule]]
action = "allow"
prompt = "review"
"""
OWN_CASES: list[tuple[str, dict[str, Any], str]] = [
    ("tools/call", {"name": "rm", "arguments": {"path": "/home/ann/a"}}, "deny"),
    ("tools/call", {"name": "write", "arguments": {"path": "/home/../etc/passwd"}}, "prompt"),
    ("tools/call", {"name": "write", "arguments": {"path": "/home/ann/a"}}, "allow"),
    ("tools/call", {"name": "read", "arguments": {"path": "/home/ann/%2e%2e/b"}}, "deny"),
    ("tools/call", {"name": "read", "arguments": {"path": ["/home/ann/a", 1.5]}}, "deny"),
    ("tools/call", {"name": "read"}, "deny"),
    ("tools/call", {"name": "list"}, "allow"),
    ("tools/call", {"name": "list", "arguments": None}, "allow"),
    ("tools/call", {"name": "list", "arguments": []}, "deny"),
    ("tools/call", {"name": "List"}, "deny"),
    ("resources/read", {"uri": "file:///home/ann/x"}, "allow"),
    ("resources/read", {"uri": "file:///home/bob/x"}, "deny"),
    ("prompts/get", {"name": "review"}, "allow"),
    ("prompts/get", {"name": "other"}, "deny"),
]
# `read` is allowed below /home/ann; /etc is asked about for `write` alone.
RELATIVE_CASES: list[tuple[tuple[str, ...], str, str]] = [
    ((), "a", "prompt"),
    ((), "../a", "prompt"),
    ((), "", "prompt"),
    (("/home/ann",), "a", "allow"),
    (("/home/ann",), "../a", "deny"),
    (("/home/ann", "/srv"), "a", "deny"),
    (("/home/ann", "/home/ann/b"), "c/../a", "allow"),
    (("/srv",), "a", "deny"),
]


def cases() -> list[tuple[Policy, str, Surroundings, dict[str, Any], list[str]]]:
    """Return policy, server, place, message and what may be expected of each case."""
    own_policy = load_policy(OWN, source="own")
    rules = [
        (own_policy, "fs", Surroundings(), {"method": method, "params": params}, [expected])
        for method, params, expected in OWN_CASES
    ]
    for bases, path, expected in RELATIVE_CASES:
        call = {"name": "read", "arguments": {"path": path}}
        where = Surroundings(home="/home/ann", bases=bases)
        rules.append(
            (own_policy, "fs", where, {"method": "tools/call", "params": call}, [expected])
        )
    for which in SETS:
        loaded = {name: load_policy(text, source=name) for name, text in policies(which).items()}
        for row in rows(which, "decision_cases"):
            where = Surroundings(home=row.get("env", {}).get("HOME"))
            rules.append(
                (loaded[row["policy"]], row["server"], where, row["message"], row["expected"])
            )
    return rules


def by_guard(policy: Policy, server: str, where: Surroundings, message: dict[str, Any]) -> str:
    scene = Scene(policy, server=server, where=where, approver=Person(FORM))
    scene.opened("2025-11-25", ELICITS)
    verdict = scene.guard.from_client(encoded({"jsonrpc": "2.0", "id": 9, **message}))
    match verdict:
        case Forward():
            return "allow"
        case Hold():
            return "prompt"
        case Answer() | Drop():
            return "deny"


class OneFor:
    """The policy of everybody."""

    def __init__(self, policy: Policy) -> None:
        self._force = PolicyInForce(policy, "global", 1)

    def of(self, being_id: str | None) -> PolicyInForce:
        del being_id
        return self._force


def by_evaluator(policy: Policy, server: str, where: Surroundings, message: dict[str, Any]) -> str:
    facts = {} if where.home is None else {"home": where.home}
    place = {"where": {**facts, "base": list(where.bases)}}
    evaluator = Evaluator(OneFor(policy), Log(stream=StringIO()))
    body = {"method": message["method"], "params": message.get("params", {}), "server": server}
    _, answer = evaluator.answer(encoded({**body, **place}), "b1", None)
    return str(json.loads(answer)["decision"])


class Anything(SmallServer):
    """A server that has every tool, resource and prompt."""

    def get_tool(self, name: str) -> Any:
        del name
        return Runs()

    async def read_resource(self, uri: str, context: Context) -> dict[str, Any]:
        del uri, context
        return {"contents": []}

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> dict[str, Any]:
        del name, arguments, context
        return {"messages": []}


class Runs:
    blocking = True
    read_only = True

    async def call(self, arguments: dict[str, Any], context: Context) -> Said:
        del arguments, context
        return Said("ran")


def by_entry(policy: Policy, server: str, where: Surroundings, message: dict[str, Any]) -> str:
    scene = Scene(policy, server=server, where=where, approver=Person(FORM))
    guarded = GuardedSurface(
        Anything(),
        lambda: EntryJudge(lambda _being: scene.judge, server=server),
        lambda: VisibleLists(lambda _being: scene.judge.policy(), server=server),
    )
    dispatcher = Dispatcher(guarded, rules=Rules(), states=RequestStates(lambda: KEYS, lambda: NOW))
    sent = parse(encoded(message))
    params = sent.get("params", {})
    if not isinstance(params, dict):
        return "deny"  # refused before anybody decides
    begun = dispatcher.begin(
        Request(1, sent["method"], params), Caller(MODERN, None, Peer(ELICITS))
    )
    reply = begun if isinstance(begun, Reply) else step(begun.run(Silence()))
    body = json.loads(reply.body)
    if "error" in body or body["result"].get("isError"):
        return "deny"
    return "prompt" if body["result"]["resultType"] == "input_required" else "allow"


PLACES = {"guard": by_guard, "evaluator": by_evaluator, "entry": by_entry}


@pytest.mark.parametrize("place", PLACES)
def test_every_place_of_enforcement_gives_the_same_verdict(place: str) -> None:
    decides = PLACES[place]
    differing = [
        (message, expected, verdict)
        for policy, server, where, message, expected in cases()
        if (verdict := decides(policy, server, where, message)) not in expected
    ]

    assert differing == []


def test_the_verdicts_are_the_same_one_by_one() -> None:
    for policy, server, where, message, _ in cases():
        verdicts = {decides(policy, server, where, message) for decides in PLACES.values()}
        assert len(verdicts) == 1, message
