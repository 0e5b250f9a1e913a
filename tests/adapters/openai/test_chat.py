"""Conversations with tools, against a server on the loopback that speaks the protocol."""

import asyncio
import base64
import threading
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.adapters.openai.chat import OpenAIChats
from nacre.adapters.openai.chat_stream import StreamedAnswer
from nacre.adapters.openai.faults import PassingError
from nacre.core.errors import ModelError
from nacre.ports.chat import ChatAnswer, ToolRequest, tokens_of
from tests.scaffolding.laws import examples
from tests.scaffolding.model_server import (
    ModelServer,
    Question,
    Response,
    calling,
    delta,
    events,
    failing,
    hanging_up,
    model_server,
    refusing,
    saying,
    slow,
    stopped_at_length,
    streaming,
    tool_call,
)

USER = {"role": "user", "content": "hello"}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
CHATS = OpenAIChats()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


def ask(
    server: ModelServer,
    *messages: Mapping[str, Any],
    tools: bool = False,
    may_call: bool = True,
    seconds: float = 10.0,
    times: int = 1,
    pauses: list[float] | None = None,
    name: str = "some-model",
    url: str = "",
) -> ChatAnswer:
    async def sleep(pause: float) -> None:
        (pauses if pauses is not None else []).append(pause)

    async def main() -> ChatAnswer:
        chat = CHATS.open(
            name, key="sk-secret", base_url=url or server.url, sleep=sleep, rng=Random(1)
        )
        try:
            for _ in range(times):
                answer = await chat.complete(
                    messages or (USER,),
                    [TOOL] if tools else [],
                    may_call=may_call,
                    max_tokens=50,
                    seconds=seconds,
                )
            return answer
        finally:
            await chat.close()

    return asyncio.run(main())


@pytest.mark.parametrize("reply", [saying("Hi there."), streaming("Hi there.")])
def test_an_answer_is_the_same_streamed_or_whole(server: ModelServer, reply: Any) -> None:
    server.reply = reply

    assert ask(server) == ChatAnswer("Hi there.", input_tokens=100, output_tokens=20)
    body = server.questions[0].body
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert (body["max_tokens"], body["messages"]) == (50, [USER])
    assert server.questions[0].key == "Bearer sk-secret"
    assert "tools" not in body


CALLS = (tool_call("look", {"at": "sea"}), tool_call("hear", {"what": "wind"}, id="call_b"))


@pytest.mark.parametrize("reply", [calling(*CALLS, text="Wait."), streaming("Wait.", *CALLS)])
def test_calls_come_with_their_arguments(server: ModelServer, reply: Any) -> None:
    server.reply = reply

    answer = ask(server, tools=True)

    assert answer.text == "Wait."
    assert answer.requests == (
        ToolRequest("call_a", "look", '{"at": "sea"}'),
        ToolRequest("call_b", "hear", '{"what": "wind"}'),
    )
    assert server.questions[0].tools == ["look"]
    assert "tool_choice" not in server.questions[0].body


def test_in_the_last_round_no_tool_may_be_called(server: ModelServer) -> None:
    server.reply = saying("done")
    ask(server, tools=True, may_call=False)

    assert server.questions[0].body["tool_choice"] == "none"
    assert server.questions[0].tools == ["look"]  # history with calls needs their definitions


def test_calls_without_ids_or_with_one_id_for_all_are_told_apart(server: ModelServer) -> None:
    server.reply = calling(
        tool_call("look", id=""), tool_call("hear", id="same"), tool_call("feel", id="same")
    )
    at_once = ask(server, tools=True)
    # Without an index each call comes whole, in a chunk of its own.
    server.reply = events(
        delta(tool_calls=[{"id": "x", "function": {"name": "look", "arguments": "{}"}}]),
        delta(tool_calls=[{"id": "y", "function": {"name": "hear", "arguments": {"a": 1}}}]),
        delta("tool_calls"),
    )
    streamed = ask(server, tools=True)

    assert [request.name for request in at_once.requests] == ["look", "hear", "feel"]
    assert [request.arguments for request in at_once.requests] == ["{}"] * 3
    assert len({request.id for request in at_once.requests}) == 3
    assert [(request.id, request.name, request.arguments) for request in streamed.requests] == [
        ("x", "look", "{}"),
        ("y", "hear", '{"a": 1}'),
    ]


def test_reasoning_is_not_an_answer_and_a_refusal_is_one(server: ModelServer) -> None:
    server.reply = events(
        delta(reasoning_content="hm, hm"),
        delta(reasoning="well"),
        delta(content="Yes."),
        delta("stop"),
    )
    assert ask(server).text == "Yes."
    server.reply = refusing()
    assert ask(server).text == "I cannot help with that."


def test_text_in_parts_and_images_of_the_model_are_taken(server: ModelServer) -> None:
    url = "data:image/png;base64," + base64.b64encode(b"\x89PNG picture").decode()
    parts = [{"type": "text", "text": "A "}, {"type": "text", "text": "picture"}]
    image = {"type": "image_url", "image_url": {"url": url}}
    broken = {"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}
    for reply in (
        events(delta(content=parts, images=[image, broken]), delta("stop")),
        events(delta(content=[*parts, image, {"type": "image_url"}]), delta("stop")),
    ):
        server.reply = reply
        answer = ask(server)
        assert answer.text == "A picture"
        assert [(medium.mime_type, medium.data) for medium in answer.media] == [
            ("image/png", b"\x89PNG picture")
        ]


def test_an_answer_that_was_cut_says_so_and_one_of_a_filter_is_none(server: ModelServer) -> None:
    server.reply = stopped_at_length("a long story that goes on and on")
    assert ask(server).is_cut
    server.reply = saying("", finish="content_filter")
    with pytest.raises(ModelError, match="filter") as caught:
        ask(server)
    assert caught.value.kind == "refused"


@pytest.mark.parametrize(
    "reply",
    [
        events(b"<html>gateway</html>\n\n"),
        events(delta(content="He"), b"data: {broken\n\n"),
        events(delta(content="He"), [1, 2]),
        events({"choices": [7]}),
        events(delta(tool_calls=[3])),
        lambda _: Response(body=b"not json"),
        lambda _: Response(body=b"{}"),
        lambda _: Response(body=b'{"choices": []}'),
        lambda _: Response(body=b"[" * 5000),
    ],
)
def test_garbage_is_an_error_and_never_an_answer(server: ModelServer, reply: Any) -> None:
    server.reply = reply

    with pytest.raises(ModelError, match="was not understood") as caught:
        ask(server)
    assert caught.value.kind == "unavailable"
    assert caught.value.input_tokens > 0


def test_a_stream_that_ends_too_early_is_asked_for_again(server: ModelServer) -> None:
    pauses: list[float] = []
    server.script(events(delta(content="Hel"), done=False), hanging_up(), streaming("Hello."))

    assert ask(server, pauses=pauses).text == "Hello."
    assert len(pauses) == 2
    assert pauses[1] > pauses[0] * 0.6


def test_what_broke_off_is_paid_for_too(server: ModelServer) -> None:
    server.script(events(delta(content="Hel"), done=False), streaming("Hello."))
    estimate = ask(server).input_tokens
    server.reply = events(delta(content="Hel"), done=False)
    with pytest.raises(ModelError) as caught:
        ask(server)

    reported = estimate - 100  # what the second answer says that it took
    assert reported > 0
    assert caught.value.input_tokens == 3 * reported


def test_an_error_within_a_stream_is_told_without_its_words(server: ModelServer) -> None:
    server.reply = events({"error": {"message": "sk-secret said hello", "code": "boom"}})
    with pytest.raises(ModelError) as caught:
        ask(server)
    assert "sk-secret" not in str(caught.value)
    server.reply = events({"error": {"message": "context length exceeded", "code": 400}})
    with pytest.raises(ModelError) as caught:
        ask(server)
    assert caught.value.kind == "too_long"


@pytest.mark.parametrize(
    ("reply", "kind", "attempts"),
    [
        (failing(401), "rejected_key", 1),
        (failing(429), "rate_limited", 3),
        (failing(429, code="insufficient_quota"), "rate_limited", 1),
        (failing(500), "unavailable", 3),
        (failing(404), "unavailable", 1),
        (failing(400, code="context_length_exceeded"), "too_long", 1),
        (failing(413), "too_long", 1),
        (failing(400), "unavailable", 6),
    ],
)
def test_what_goes_wrong_has_a_kind_and_says_nothing_private(
    server: ModelServer, reply: Any, kind: str, attempts: int
) -> None:
    server.reply = reply

    with pytest.raises(ModelError) as caught:
        ask(server, name=f"model-{kind}-{attempts}")

    assert caught.value.kind == kind
    assert len(server.questions) == attempts
    assert "sk-secret" not in str(caught.value)
    assert "hello" not in str(caught.value)


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size",
        "input is too long for requested model",
    ],
)
def test_a_question_too_long_is_known_by_how_providers_say_it(
    server: ModelServer, words: str
) -> None:
    body = f'{{"error": {{"message": "{words}"}}}}'.encode()
    server.reply = lambda _: Response(400, body)

    with pytest.raises(ModelError) as caught:
        ask(server)
    assert caught.value.kind == "too_long"


def test_a_form_that_is_refused_is_not_tried_again(server: ModelServer) -> None:
    """An endpoint that knows neither streams nor the older name of the bound."""

    def picky(question: Question) -> Response:
        body = question.body
        if body.get("stream") or "max_tokens" in body:
            return failing(400)(question)
        return saying("ok")(question)

    server.reply = picky

    assert ask(server, times=2, name="picky").text == "ok"
    assert [
        (q.body.get("stream", False), "max_tokens" in q.body, "max_completion_tokens" in q.body)
        for q in server.questions
    ] == [
        (True, True, False),
        (True, False, True),
        (True, True, False),
        (False, True, False),
        (False, False, True),
        (False, False, True),
    ]
    assert "stream_options" not in server.questions[2].body


def test_a_model_that_takes_no_tools_answers_without_them(server: ModelServer) -> None:
    def small(question: Question) -> Response:
        return (failing(400) if "tools" in question.body else saying("ok"))(question)

    server.reply = small

    assert ask(server, tools=True, times=2, name="small").text == "ok"
    assert [bool(question.tools) for question in server.questions] == [True] * 6 + [False] * 2
    # In the middle of calls there is no way without them.
    call = {"role": "assistant", "content": None, "tool_calls": [tool_call("look")]}
    with pytest.raises(ModelError, match="refused the request"):
        ask(server, USER, call, tools=True, name="small-2")
    assert all(question.tools for question in server.questions[8:])


def test_it_waits_as_long_as_the_endpoint_asks_if_there_is_time(server: ModelServer) -> None:
    pauses: list[float] = []
    server.script(failing(429, retry_after="2"))
    server.reply = saying("ok")
    assert ask(server, pauses=pauses).text == "ok"
    assert pauses == [2.0]

    server.script(failing(429, retry_after="60"))
    with pytest.raises(ModelError, match="patience"):
        ask(server, seconds=1.0)


def test_an_answer_that_never_ends_is_given_up_in_time(server: ModelServer) -> None:
    server.reply = slow(threading.Event())

    with pytest.raises(ModelError) as caught:
        ask(server, seconds=0.3)

    assert caught.value.kind == "timeout"
    assert caught.value.input_tokens > 0


def test_nobody_there_is_told(server: ModelServer) -> None:
    with pytest.raises(ModelError, match="NACRE_LLM_BASE_URL") as caught:
        ask(server, url="http://127.0.0.1:9/v1")
    assert caught.value.kind == "unavailable"


def test_half_of_a_surrogate_pair_is_no_text(server: ModelServer) -> None:
    server.reply = events(delta(content="a\ud83d"), delta(content="\ude00b\ud83d"), delta("stop"))

    assert ask(server).text.encode()


def test_a_long_line_in_many_pieces_is_put_together_once() -> None:
    # A copy of all before for each piece would move 128 GB.
    stream, piece = StreamedAnswer(1), b"x" * 1024
    stream.feed(b'data: {"choices": [{"delta": {"content": "')
    for _ in range(16 * 1024):
        stream.feed(piece)
    stream.feed(b'"}}]}\n\nda')
    stream.feed(b"ta: [DONE]\n")
    stream.end()

    assert len(stream.answer().text) == 16 * 1024 * 1024


def test_an_image_counts_by_itself_and_not_by_its_bytes() -> None:
    image = {"type": "image_url", "image_url": {"url": "x" * 1_000_000}}
    content = [{"type": "text", "text": "abc"}, image]

    assert tokens_of([{"role": "user", "content": content}], []) < 5_000
    assert tokens_of([{"role": "user", "content": "x" * 3000}], []) == 1001


CHUNKS = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.sampled_from(
            [
                b"data: [DONE]\n\n",
                b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n',
                b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0}]}}]}\n\n',
                b'data: {"choices": null, "usage": 3}\n\n',
                b": keep\n\n",
                b"event: ping\n\n",
                b'data: {"choices": [{"finish_reason": "stop"}]}\n\n',
            ]
        ),
    ),
    max_size=12,
)


@settings(max_examples=examples(150), deadline=None)
@given(CHUNKS)
def test_whatever_is_streamed_gives_an_answer_or_a_model_error(chunks: list[bytes]) -> None:
    stream = StreamedAnswer(1)
    try:
        for chunk in chunks:
            stream.feed(chunk)
        stream.end()
        answer = stream.answer()
    except (ModelError, PassingError):
        return
    assert isinstance(answer.text, str)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.integers(1, 40))
def test_a_stream_cut_at_any_byte_says_the_same(text: str, size: int) -> None:
    body = streaming(text, tool_call("look", {"at": text}))(Question("", "", {"messages": []})).body
    stream = StreamedAnswer(1)
    for at in range(0, len(body), size):
        stream.feed(body[at : at + size])
    stream.end()

    answer = stream.answer()
    assert answer.text == text.encode(errors="replace").decode()
    assert len(answer.requests) == 1
