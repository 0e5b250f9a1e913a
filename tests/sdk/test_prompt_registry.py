"""Prompts and completion: registered, listed, filled in."""

import asyncio
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

import pytest

from nacre import (
    Completion,
    Context,
    EmbeddedResource,
    Field,
    ImageContent,
    PromptMessage,
    ResourceContents,
    ToolServer,
)
from nacre.core.errors import InvalidInputError, InvalidParamsError, NotFoundError


def get(server: ToolServer, name: str, **arguments: str) -> dict[str, Any]:
    return asyncio.run(server.get_prompt(name, arguments))


def complete(server: ToolServer, ref: dict[str, Any], name: str, typed: str, **known: str) -> Any:
    argument = {"name": name, "value": typed}
    return asyncio.run(server.complete(ref, argument, known))


def reviewing() -> ToolServer:
    server = ToolServer("s", "1")

    @server.prompt("code_review", title="Review")
    async def review(
        code: Annotated[str, Field("The code to review")],
        tone: Literal["kind", "strict"] = "kind",
        since: date | None = None,
    ) -> str:
        """Ask for a review."""
        return f"{tone} {since!r}: {code}"

    return server


def test_prompts_are_listed_with_what_the_user_fills_in() -> None:
    server = reviewing()

    assert list(server.prompts()) == [
        {
            "name": "code_review",
            "title": "Review",
            "description": "Ask for a review.",
            "arguments": [
                {"name": "code", "description": "The code to review", "required": True},
                {"name": "tone", "required": False},
                {"name": "since", "required": False},
            ],
        }
    ]
    assert server.prompts() is server.prompts()


def test_text_becomes_one_message_of_the_user() -> None:
    assert get(reviewing(), "code_review", code="x = 1", since="2026-07-28") == {
        "description": "Ask for a review.",
        "messages": [
            {
                "role": "user",
                "content": {"type": "text", "text": "kind datetime.date(2026, 7, 28): x = 1"},
            }
        ],
    }


def test_messages_and_content_keep_their_order() -> None:
    server = ToolServer("s", "1")

    @server.prompt()
    async def show_things(context: Context) -> list[Any]:
        return [
            PromptMessage("assistant", "Look"),
            ImageContent("x", "image/png"),
            EmbeddedResource(ResourceContents("test://a", "A")),
            "And?",
        ]

    assert get(server, "show-things") == {
        "messages": [
            {"role": "assistant", "content": {"type": "text", "text": "Look"}},
            {"role": "user", "content": {"type": "image", "data": "x", "mimeType": "image/png"}},
            {
                "role": "user",
                "content": {"type": "resource", "resource": {"uri": "test://a", "text": "A"}},
            },
            {"role": "user", "content": {"type": "text", "text": "And?"}},
        ]
    }


def test_an_unknown_prompt_and_wrong_arguments_are_refused() -> None:
    server = reviewing()

    with pytest.raises(NotFoundError, match="Prompt not found: nope"):
        get(server, "nope")
    with pytest.raises(InvalidParamsError, match="prompt 'code_review': argument 'code' is miss"):
        get(server, "code_review")
    with pytest.raises(InvalidParamsError, match="argument 'tone': expected one of 'kind', 's"):
        get(server, "code_review", code="x", tone="secret")
    with pytest.raises(InvalidParamsError, match="argument 'since': expected date"):
        get(server, "code_review", code="x", since="secret")


def test_a_prompt_that_returns_something_else_is_an_error_of_its_author() -> None:
    server = ToolServer("s", "1")

    @server.prompt()
    async def odd() -> int:
        return 5

    with pytest.raises(TypeError, match="a prompt returns messages, content or text, not int"):
        get(server, "odd")


def test_a_prompt_s_arguments_are_text() -> None:
    async def count(n: int) -> str:
        return str(n)

    with pytest.raises(TypeError, match="parameter 'n' must be str, a date, or a choice"):
        ToolServer("s", "1").prompt()(count)


PROMPT = {"type": "ref/prompt", "name": "code_review"}
TEMPLATE = {"type": "ref/resource", "uri": "test://{id}"}


def test_suggestions_come_from_the_argument_s_provider() -> None:
    server = reviewing()

    @server.resource_template("test://{id}")
    async def by_id(id: str) -> str:
        return id

    @server.completion("tone", prompt="code_review")
    async def tones(typed: str, known: Mapping[str, str]) -> list[str]:
        return [f"{typed}{known.get('code', '')}"]

    @server.completion("id", template="test://{id}")
    async def ids(typed: str, known: Mapping[str, str]) -> Completion:
        return Completion(["1", "2"], total=10, has_more=True)

    assert complete(server, PROMPT, "tone", "ki", code="x") == {"values": ["kix"]}
    assert complete(server, PROMPT, "code", "") == {"values": []}
    assert complete(server, TEMPLATE, "id", "") == {
        "values": ["1", "2"],
        "total": 10,
        "hasMore": True,
    }


def test_more_suggestions_than_one_answer_carries_are_cut() -> None:
    server = reviewing()

    @server.completion("code", prompt="code_review")
    async def codes(typed: str, known: Mapping[str, str]) -> list[str]:
        return [str(n) for n in range(150)]

    assert complete(server, PROMPT, "code", "") == {
        "values": [str(n) for n in range(100)],
        "total": 150,
        "hasMore": True,
    }


def test_completion_of_something_unknown_is_refused() -> None:
    server = reviewing()

    with pytest.raises(NotFoundError, match="Prompt not found: x"):
        complete(server, {"type": "ref/prompt", "name": "x"}, "a", "")
    with pytest.raises(NotFoundError, match=r"not found: test://\{id\}"):
        complete(server, TEMPLATE, "a", "")
    with pytest.raises(InvalidInputError, match="'ref' must be"):
        complete(server, {"type": "ref/tool", "name": "x"}, "a", "")
    with pytest.raises(TypeError, match="name either the prompt or the template"):
        server.completion("a")
