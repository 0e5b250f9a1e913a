"""The requests to a provider, and the reading of its answers."""

import json
import logging
import threading
import traceback
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from nacre.adapters.openai.model import OpenAIModel
from nacre.core.errors import ModelError
from nacre.core.limits import MAX_MODEL_ANSWER_BYTES, MODEL_RETRIES
from nacre.ports.model import ModelAnswer
from tests.scaffolding.model_server import (
    ModelServer,
    Question,
    Reply,
    Response,
    completion,
    failing,
    hanging_up,
    model_server,
    refusing,
    saying,
    slow,
    stopped_at_length,
)

KEY = "sk-very-secret-key"
WORDS = "private words"
SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


class Waits:
    """A clock that only sleeping moves, and what was slept."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def monotonic(self) -> float:
        return sum(self.slept)


def model(server: ModelServer, waits: Waits | None = None, **others: Any) -> OpenAIModel:
    waits = waits or Waits()
    others = {"sleep": waits.sleep, "monotonic": waits.monotonic, "rng": Random(1), **others}
    return OpenAIModel("some-model", key=KEY, base_url=server.url, **others)


def ask(model: OpenAIModel) -> ModelAnswer:
    return model.ask(system="be brief", user=WORDS, schema=SCHEMA, max_tokens=300)


def refused(model: OpenAIModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(model)
    return caught.value


def test_it_asks_with_model_key_schema_and_a_bound(server: ModelServer) -> None:
    server.script(saying({"a": 1}))

    assert ask(model(server)) == ModelAnswer('{"a": 1}', 100, 20)

    (question,) = server.questions
    assert (question.path, question.key) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert question.body == {
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": WORDS},
        ],
        "max_tokens": 300,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
        },
    }


def test_an_endpoint_that_takes_less_is_asked_for_less_and_remembered(server: ModelServer) -> None:
    def picky(question: Question) -> Response:
        if question.asks_format or "max_tokens" in question.body:
            return failing(400)(question)
        return saying("{}")(question)

    server.reply = picky
    asker = model(server)

    ask(asker)
    ask(asker)

    assert len(server.questions) == 5
    assert server.questions[-1].body.keys() == {"model", "messages", "max_completion_tokens"}
    assert server.questions[-1].body["max_completion_tokens"] == 300


def test_a_request_that_is_refused_in_every_form_fails(server: ModelServer) -> None:
    server.reply = failing(400)

    assert refused(model(server)).kind == "unavailable"
    assert len(server.questions) == 4


@pytest.mark.parametrize(
    ("reply", "kind", "requests"),
    [
        (failing(401), "rejected_key", 1),
        (failing(403), "rejected_key", 1),
        (failing(404), "unavailable", 1),
        (failing(402), "unavailable", 1),
        (failing(400, code="content_filter"), "refused", 1),
        (failing(400, code="context_length_exceeded"), "too_long", 1),
        (failing(429), "rate_limited", MODEL_RETRIES + 1),
        (failing(429, code="insufficient_quota"), "rate_limited", 1),
        (failing(500), "unavailable", MODEL_RETRIES + 1),
        (failing(503), "unavailable", MODEL_RETRIES + 1),
        (hanging_up(), "unavailable", MODEL_RETRIES + 1),
        (refusing(), "refused", 1),
        (saying("", finish="content_filter"), "refused", 1),
        (stopped_at_length({"text": "too long to be said"}), "truncated", 1),
        (lambda _: Response(body=b"<html>hello</html>"), "unavailable", 1),
        (lambda _: Response(body=b'{"choices": []}'), "unavailable", 1),
        (lambda _: Response(body=b"[" * 100_000), "unavailable", 1),
        (lambda _: Response(body=b'"text"'), "unavailable", 1),
    ],
)
def test_what_goes_wrong_has_a_kind_and_says_nothing_private(
    server: ModelServer, reply: Reply, kind: str, requests: int, caplog: pytest.LogCaptureFixture
) -> None:
    server.reply = reply
    asker = model(server)

    error = refused(asker)

    assert error.kind == kind
    assert len(server.questions) == requests
    output = "".join(traceback.format_exception(error)) + repr(asker) + repr(vars(asker))
    assert KEY not in output
    assert WORDS not in output
    assert not [record for record in caplog.records if record.levelno > logging.INFO]
    assert KEY not in caplog.text


def test_what_is_over_at_the_next_attempt_does_no_harm(server: ModelServer) -> None:
    server.script(failing(500), hanging_up(), saying("{}"))
    waits = Waits()

    assert ask(model(server, waits)).text == "{}"

    assert 0.5 <= waits.slept[0] <= 1.5
    assert 1 <= waits.slept[1] <= 3


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("0", 0.0), ("1.5", 1.5)])
def test_it_waits_as_long_as_the_provider_asks(
    server: ModelServer, header: str, seconds: float
) -> None:
    server.script(failing(429, retry_after=header), saying("{}"))
    waits = Waits()

    ask(model(server, waits))

    assert waits.slept == [seconds]


@pytest.mark.parametrize("header", ["120", "86400"])
def test_it_gives_up_at_once_where_the_wait_would_be_too_long(
    server: ModelServer, header: str
) -> None:
    server.script(failing(429, retry_after=header))
    waits = Waits()

    assert refused(model(server, waits)).kind == "rate_limited"
    assert waits.slept == []


@pytest.mark.parametrize("header", ["soon", "-1", "nan", "inf"])
def test_a_wait_that_is_none_is_not_waited(server: ModelServer, header: str) -> None:
    server.script(failing(429, retry_after=header), saying("{}"))
    waits = Waits()

    ask(model(server, waits))

    assert 0.5 <= waits.slept[0] <= 1.5


def test_an_answer_that_never_ends_is_given_up_and_its_question_counted(
    server: ModelServer,
) -> None:
    server.reply = slow(threading.Event())

    error = refused(model(server, seconds=1000, attempt_seconds=0.2))

    assert (error.kind, error.input_tokens) == ("timeout", 8)
    assert len(server.questions) == MODEL_RETRIES + 1


def test_an_answer_in_crumbs_is_given_up_by_its_whole_time(server: ModelServer) -> None:
    ticks = iter(range(1000))

    error = refused(model(server, seconds=3, monotonic=lambda: float(next(ticks))))

    assert error.kind == "timeout"


def test_an_answer_is_read_up_to_a_bound(server: ModelServer) -> None:
    server.reply = saying("x" * (MAX_MODEL_ANSWER_BYTES + 1))

    assert refused(model(server)).kind == "truncated"
    assert len(server.questions) == 1


def test_what_a_refusal_cost_is_known(server: ModelServer) -> None:
    server.reply = refusing()

    error = refused(model(server))

    assert (error.input_tokens, error.output_tokens) == (100, 20)


@pytest.mark.parametrize(
    "usage", [None, {}, "free", {"prompt_tokens": -1, "completion_tokens": True}]
)
def test_tokens_that_are_not_told_are_supposed(server: ModelServer, usage: Any) -> None:
    server.reply = saying("x" * 30, usage=usage)

    assert ask(model(server)) == ModelAnswer("x" * 30, 8, 11)


def test_an_absurd_bill_is_bounded(server: ModelServer) -> None:
    server.reply = saying("{}", usage={"prompt_tokens": 10**30, "completion_tokens": 1})

    assert ask(model(server)).input_tokens == 10_000_000


def test_an_answer_in_parts_is_one_text(server: ModelServer) -> None:
    answer = json.loads(completion("x"))
    parts = [{"type": "text", "text": '{"a"'}, {"type": "other"}, {"type": "text", "text": ": 1}"}]
    answer["choices"][0]["message"]["content"] = parts
    server.reply = lambda _: Response(body=json.dumps(answer).encode())

    assert ask(model(server)).text == '{"a": 1}'


@pytest.mark.parametrize("key", ["sk-\n", "sk-ключ"])
def test_a_key_that_no_header_holds_is_rejected(server: ModelServer, key: str) -> None:
    waits = Waits()
    asker = OpenAIModel("m", key=key, base_url=server.url, sleep=waits.sleep)

    error = refused(asker)

    assert error.kind in ("rejected_key", "unavailable")
    assert key not in "".join(traceback.format_exception(error))
    assert server.questions == []


def test_nobody_there_is_said(server: ModelServer) -> None:
    waits = Waits()
    asker = OpenAIModel("m", key=KEY, base_url="http://127.0.0.1:9/v1", sleep=waits.sleep)

    error = refused(asker)

    assert error.kind == "unavailable"
    assert "cannot be reached" in str(error)
    assert len(waits.slept) == MODEL_RETRIES
