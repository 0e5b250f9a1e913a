"""A JSON body in pieces says what the whole would."""

import asyncio
import json
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion

from nacre.adapters.openai import json_pieces
from nacre.adapters.openai.json_pieces import JsonPieces
from tests.scaffolding.model_server import ModelServer, model_server, saying

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


async def joined(body: JsonPieces) -> bytes:
    return b"".join([piece async for piece in body])


@given(values)
def test_pieces_say_what_the_whole_says(value: Any) -> None:
    short = json_pieces._PIECE
    json_pieces._PIECE = 3  # so that small texts have pieces
    try:
        body = JsonPieces(value)
        raw = asyncio.run(joined(body))
    finally:
        json_pieces._PIECE = short

    assert json.loads(raw) == value
    assert (short, asyncio.run(joined(body))) == (
        json_pieces._PIECE,
        json.dumps(value, separators=(",", ":")).encode(),
    )


def test_the_length_is_told_and_a_body_can_be_sent_again() -> None:
    body = JsonPieces({"a": ["x" * 200_000, 'é🐚\n"'], "b": (1, None)})

    first, second = asyncio.run(joined(body)), asyncio.run(joined(body))

    assert first == second
    assert body.headers["Content-Length"] == str(len(first))
    assert json.loads(first) == {"a": ["x" * 200_000, 'é🐚\n"'], "b": [1, None]}


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        asyncio.run(joined(JsonPieces([float("nan")])))


@pytest.fixture
def server() -> Any:
    with model_server() as served:
        served.reply = saying("yes")
        yield served


def test_the_openai_package_sends_it(server: ModelServer) -> None:
    value = {"model": "m", "messages": [{"role": "user", "content": "A" * 200_000}]}

    async def ask() -> str | None:
        async with openai.AsyncOpenAI(api_key="k", base_url=server.url, max_retries=0) as client:
            body = JsonPieces(value)
            answer = await client.post(
                "/chat/completions",
                content=body,
                options={"headers": body.headers},
                cast_to=ChatCompletion,
            )
            return answer.choices[0].message.content

    assert asyncio.run(ask()) == "yes"
    assert server.questions[0].body == value
