"""The spans of questions to a language model: what they say, and what they keep to themselves."""

import asyncio
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from nacre.adapters.openai.chat import OpenAIChats
from nacre.adapters.openai.model import OpenAIModel
from nacre.adapters.otel.tracer import OtelTracer
from nacre.core import traces
from nacre.core.errors import ModelError
from nacre.core.limits import CHAT_RETRIES, MODEL_RETRIES
from tests.scaffolding.model_server import ModelServer, failing, model_server, saying
from tests.scaffolding.otlp_receiver import OtlpReceiver, otlp_receiver, recorded_traces

KEY, WORDS = "sk-very-secret-key", "private words"
Ask = Callable[[ModelServer], None]


def in_an_order(server: ModelServer) -> None:
    async def no_pause(_: float) -> None:
        pass

    async def main() -> None:
        chat = OpenAIChats().open(
            "some-model", key=KEY, base_url=server.url, sleep=no_pause, rng=Random(1)
        )
        message = {"role": "user", "content": WORDS}
        try:
            await chat.complete([message], [], may_call=False, max_tokens=50, seconds=10)
        finally:
            await chat.close()

    asyncio.run(main())


def in_a_patrol(server: ModelServer) -> None:
    model = OpenAIModel(
        "some-model", key=KEY, base_url=server.url, sleep=lambda _: None, rng=Random(1)
    )
    schema: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    model.ask(system="be brief", user=WORDS, schema=schema, max_tokens=300)


both = pytest.mark.parametrize("ask", [in_an_order, in_a_patrol])


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with otlp_receiver() as receiver:
        yield receiver


@pytest.fixture
def tracer(receiver: OtlpReceiver) -> Iterator[OtelTracer]:
    with recorded_traces() as tracer:
        yield tracer


@both
def test_a_question_and_its_retry_are_one_span_with_the_model_and_the_tokens(
    ask: Ask, server: ModelServer, receiver: OtlpReceiver, tracer: OtelTracer
) -> None:
    server.script(failing(503), saying({"answer": WORDS}))
    with traces.span("outer", {}):
        ask(server)
    tracer.flush()

    span = receiver.named("chat some-model")
    assert span.parent_id == receiver.named("outer").span_id
    assert (span.kind, span.is_error) == (3, False)
    assert span.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "some-model",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
    }
    assert len(server.questions) == 2
    for text in (KEY, WORDS):
        assert text.encode() not in receiver.raw


@both
def test_a_question_without_an_answer_is_a_failed_span(
    ask: Ask, server: ModelServer, receiver: OtlpReceiver, tracer: OtelTracer
) -> None:
    server.script(*[failing(503)] * (1 + max(CHAT_RETRIES, MODEL_RETRIES)))
    with pytest.raises(ModelError):
        ask(server)
    tracer.flush()

    span = receiver.named("chat some-model")
    assert span.is_error
    assert span.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "some-model",
        "error.type": "ModelError",
    }
    for text in (KEY, WORDS):
        assert text.encode() not in receiver.raw
