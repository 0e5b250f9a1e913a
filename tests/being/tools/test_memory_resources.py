import asyncio
from typing import Any

import pytest

from nacre.core.errors import ToolError, UnknownResourceError
from nacre.protocol.context import Context
from tests.being.memory.minds import Minded


def read(mind: Minded, uri: str, context: Context | None = None) -> str:
    answer = asyncio.run(mind.server.read_resource(uri, context or mind.context(read_only=True)))
    [content] = answer["contents"]
    assert content["uri"] == uri
    return str(content["text"])


def test_the_blocks_of_the_context_are_resources(mind: Minded) -> None:
    mind.text("update_notes", notes=["buy milk"])

    assert [each["uri"] for each in mind.server.resources()] == [
        "nacre://context/system_prompt",
        "nacre://context/snapshot",
        "nacre://notes",
    ]
    assert read(mind, "nacre://context/system_prompt") == "You are Pearl."
    assert read(mind, "nacre://context/snapshot").startswith("## Notes\n- buy milk")


def test_notes_are_listed_and_each_has_an_address(mind: Minded) -> None:
    assert read(mind, "nacre://notes") == ""
    mind.text("update_notes", notes=["buy milk\nand bread"])

    listed = read(mind, "nacre://notes")
    address = listed.partition("<")[2].removesuffix(">")

    assert listed == f"- buy milk and bread <{address}>"
    assert read(mind, address) == "buy milk\nand bread"


@pytest.mark.parametrize("note", ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "..%2F..", "%F0%9F%90%B1"])
def test_a_note_that_is_not_there_is_an_unknown_resource(mind: Minded, note: str) -> None:
    with pytest.raises(UnknownResourceError):
        read(mind, f"nacre://notes/{note}")


def test_another_beings_notes_are_not_there(mind: Minded) -> None:
    mind.text("update_notes", notes=["buy milk"])
    [(key, _)] = mind.mind.context.notes(mind.being_id)
    other = mind.beings.create("Other", owner="me").being_id

    with pytest.raises(UnknownResourceError):
        read(mind, f"nacre://notes/{key}", mind.context(being_id=other))
    assert read(mind, "nacre://notes", mind.context(being_id=other)) == ""


def test_without_a_being_there_is_nothing_to_read(mind: Minded) -> None:
    with pytest.raises(ToolError, match="needs a Being"):
        read(mind, "nacre://notes", Context.detached())


def test_a_prompt_tells_how_to_use_the_memory(mind: Minded) -> None:
    [listed] = mind.server.prompts()
    answer: dict[str, Any] = asyncio.run(mind.server.get_prompt(str(listed["name"]), {}))

    [message] = answer["messages"]
    assert message["role"] == "user"
    for name in ("get_context", "recall", "update_notes", "update_memory", "search_memory"):
        assert f"`{name}`" in message["content"]["text"]
        assert mind.server.get_tool(name) is not None
