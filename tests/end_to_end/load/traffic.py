"""The traffic that load runs send and capacity is reckoned for: kinds of calls, and what they say.

Every text that is written carries a word of its own, under which it is looked for afterwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.being.patrol.test_model_by_header import sensible
from tests.scaffolding.model_server import (
    ModelServer,
    Question,
    Response,
    calling,
    saying,
    tool_call,
)

POLICY = "policy"
ORDER_TOOL = "order_being"
SESSION = "load"
KINDS: Mapping[str, int] = {
    "recall": 40,
    "search_memory": 20,
    "update_notes": 20,
    ORDER_TOOL: 5,
    POLICY: 15,
}
"""What is called, in hundredths of all calls."""

_WHO = ("Ann", "Bo", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ida", "Jon")
_DID = ("repaired", "sold", "painted", "found", "lent out", "photographed", "hid", "planted")
_WHAT = ("bicycle", "piano", "walnut tree", "ladder", "kayak", "sundial", "tent", "oven")
_WHERE = ("by the lake", "behind the school", "in the attic", "at the market", "on the ferry")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: a tool with its arguments, or a question to the policy endpoint."""

    kind: str
    arguments: dict[str, Any]
    writes: str = ""  # the word by which what it writes is found again


def sentence(rng: Random) -> str:
    """Return something that may have happened."""
    parts = (_WHO, _DID, ("the old",), _WHAT, _WHERE)
    return " ".join(rng.choice(part) for part in parts)


def mark(number: int) -> str:
    """Return a word that stands in one text alone."""
    return f"mark{number:07d}"


def scene(rng: Random, number: int) -> dict[str, Any]:
    """Return a scene as `update_notes` takes it."""
    day = f"2026-{rng.randint(1, 10):02d}-{rng.randint(1, 28):02d}"
    return {
        "action": f"{sentence(rng)}; it is known as {mark(number)}",
        "actors": [rng.choice(_WHO)],
        "when": [day],
        "themes": [rng.choice(_WHAT)],
    }


def call(kind: str, rng: Random, number: int) -> Call:
    """Return the next call of a kind; numbers are each used once."""
    match kind:
        case "recall":
            return Call(kind, {"user_message": f"What about {sentence(rng)}?"})
        case "search_memory":
            return Call(kind, {"query": f"{rng.choice(_WHAT)} {rng.choice(_WHERE)}"})
        case "update_notes":
            return Call(kind, {"scenes": [scene(rng, number)]}, writes=mark(number))
        case _ if kind == ORDER_TOOL:
            return Call(kind, {"message": f"Who {sentence(rng)}? ({mark(number)})"})
        case _:
            assert kind == POLICY, kind
            described = {"name": "filesystem_read", "arguments": {"path": f"/srv/{number}"}}
            return Call(kind, {"method": "tools/call", "params": described, "server": "files"})


def mixed(rng: Random, number: int) -> Call:
    """Return the next call of the mix."""
    [kind] = rng.choices(list(KINDS), weights=list(KINDS.values()))
    return call(kind, rng, number)


def thoughtful(question: Question) -> Response:
    """Answer as a model that looks something up for each order, and minds patrols too."""
    if not question.tools:
        return sensible(question)
    if question.body["messages"][-1]["role"] == "tool":
        return saying("That was Ann, as far as I remember.")(question)
    return calling(tool_call("search_memory", {"query": question.user[:80]}))(question)


def ready(model: ModelServer) -> ModelServer:
    """Let a model server answer all that this traffic makes a server ask."""
    model.reply = thoughtful
    return model
