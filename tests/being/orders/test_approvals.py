"""Calls within an order that need an approval while the order runs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from nacre.core.coroutines import step
from nacre.protocol.context import Context, Silence
from nacre.protocol.principal import FULL, Principal
from nacre.wiring.laptop import first_being, open_laptop
from nacre.wiring.settings import Secret, Settings
from tests.scaffolding.model_server import ModelServer, calling, saying, tool_call

RULES = (
    '[[rule]]\naction = "prompt"\ntool = "update_relation"\n\n'
    '[[rule]]\naction = "allow"\ntool = "**"\n'
)
YES = {"action": "accept", "content": {"decision": "allow once"}}
ANN = {"action": "upsert", "entity_name": "Ann", "relation_type": "friend", "content": "kind"}


class Person(Silence):
    """A person who approves, after a decision that a test may delay."""

    can_ask = True
    cancelled = False

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.answers = 0
        self.is_asked = threading.Event()
        self.has_decided = threading.Event()
        self.has_decided.set()

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.questions.append(str(params["message"]))
        self.is_asked.set()
        self.has_decided.wait(60)
        self.answers += 1
        return YES


Give = Callable[[Person], dict[str, Any]]


@pytest.fixture
def give(tmp_path: Path, model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Give]:
    """Return a function that gives an order, behind the rules, from a client with forms."""
    monkeypatch.setenv("HOME", str(tmp_path))
    rules = tmp_path / "policy.toml"
    rules.write_text(RULES)
    chosen = Settings(
        data_folder=str(tmp_path / "data"),
        embeddings="none",
        policy_file=str(rules),
        llm_base_url=model.url,
        llm_api_key=Secret("sk-test"),
    )
    with ExitStack() as opened:
        laptop = open_laptop(tmp_path / "data", chosen)
        opened.callback(laptop.close)
        being = first_being(laptop)
        assert being is not None
        principal = Principal("t", being.being_id, FULL)

        def give_order(person: Person) -> dict[str, Any]:
            tool = laptop.application.surface.get_tool("order_being")
            assert tool is not None
            context = Context(principal=principal, capabilities={"elicitation": {}}, channel=person)
            arguments = {"message": "Note it", "sessionKey": "s"}
            try:
                return dict(step(tool.call(arguments, context)).to_dict())
            except Exception as error:  # noqa: BLE001 - as the wire does
                return {"isError": True, "error": str(error)}

        yield give_order


def test_an_approval_is_for_one_call_and_not_for_its_repetition(
    give: Give, model: ModelServer
) -> None:
    model.script(
        calling(
            tool_call("update_relation", ANN, id="a"), tool_call("update_relation", ANN, id="b")
        ),
        calling(tool_call("update_relation", ANN, id="c")),
        saying("Noted."),
    )
    person = Person()

    assert give(person)["isError"] is False
    assert len(person.questions) == 3
    results = [
        message for message in model.questions[-1].body["messages"] if message["role"] == "tool"
    ]
    assert not any("Blocked" in result["content"] for result in results)


def test_an_order_that_is_given_up_while_somebody_is_asked_ends_at_once(
    give: Give, model: ModelServer
) -> None:
    model.script(calling(tool_call("update_relation", ANN)), saying("Back again."))
    person = Person()
    person.has_decided.clear()

    def hang_up() -> None:
        person.is_asked.wait(60)
        person.cancelled = True

    threading.Thread(target=hang_up, daemon=True).start()
    ended = give(person)
    answers = person.answers
    person.has_decided.set()

    assert "cancelled" in ended["error"]
    assert answers == 0  # the order has not waited for one
    assert len(model.questions) == 1
    assert give(Person())["isError"] is False  # the session is free
