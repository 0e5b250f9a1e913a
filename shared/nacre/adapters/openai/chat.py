"""Conversations with tools, at an endpoint that speaks OpenAI's protocol."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple, cast

import openai

from nacre.adapters.httpx_options import httpx_options
from nacre.adapters.openai.chat_stream import StreamedAnswer
from nacre.adapters.openai.faults import (
    NEW_LIMIT,
    OLD_LIMIT,
    OPENAI,
    PassingError,
    RefusedVariantError,
    timed_out,
    too_long_answer,
    translated,
)
from nacre.adapters.openai.json_pieces import JsonPieces
from nacre.adapters.openai.model_spans import count_tokens, model_span
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import CHAT_RETRIES, MAX_CHAT_STREAM_BYTES
from nacre.http_client.outgoing import DIRECT, Outgoing
from nacre.ports.chat import ChatAnswer, tokens_of

# The header by which the SDK's `with_streaming_response` leaves an answer unread. That method keeps
# the whole body in memory, as text and as bytes, and attachments are large.
_STREAMED = {"X-Stainless-Raw-Response": "stream"}
_FIRST_PAUSE = 0.5  # seconds; a client is waiting


class _Variant(NamedTuple):
    """One variant of a request."""

    streams: bool
    includes_usage: bool  # whether the stream is to end with its token counts
    limit: str | None  # the name of the limit of the answer
    offers_tools: bool = True  # small local models refuse them


# A refused request is tried in the next variant. The first accepted variant is remembered.
_VARIANTS = (
    _Variant(True, True, OLD_LIMIT),
    _Variant(True, True, NEW_LIMIT),
    _Variant(True, False, OLD_LIMIT),
    _Variant(False, False, OLD_LIMIT),
    _Variant(False, False, NEW_LIMIT),
    _Variant(False, False, None),
    _Variant(True, True, OLD_LIMIT, offers_tools=False),
)
_VARIANTS_OF_OPENAI = (_VARIANTS[1], _VARIANTS[0], *_VARIANTS[2:])


class OpenAIChats:
    """Opens conversations, and remembers the accepted variant for each endpoint and model."""

    def __init__(self, outgoing: Outgoing = DIRECT) -> None:
        self._accepted_variants: dict[tuple[str, str], int] = {}
        self._outgoing = outgoing

    def open(self, name: str, *, key: str, base_url: str, **options: Any) -> "OpenAIChat":
        """Return a conversation with a model; it has its own connections, which end with it."""
        client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=base_url,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(**httpx_options(self._outgoing, base_url)),
        )
        return OpenAIChat(name, client, base_url, self._accepted_variants, **options)


class OpenAIChat:
    """A Chat over one endpoint with one key.

    A temporary failure is retried after a growing, random pause, or after the time that the
    endpoint asks for. Errors never contain the key, the messages or the endpoint's own words.
    """

    def __init__(
        self,
        name: str,
        client: openai.AsyncOpenAI,
        base_url: str,
        accepted_variants: dict[tuple[str, str], int],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        rng: Random | None = None,
    ) -> None:
        self.name = name
        self._client = client
        self._variants = _VARIANTS_OF_OPENAI if base_url.startswith(OPENAI) else _VARIANTS
        self._model_key = (base_url, name)
        self._accepted_variants = accepted_variants
        self._sleep = sleep
        self._monotonic = monotonic
        self._rng = rng or Random()  # noqa: S311  jitter for retries; not for secrets

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        *,
        may_call: bool,
        max_tokens: int,
        seconds: float,
    ) -> ChatAnswer:
        """Return the next answer; raises ModelError if there is no answer."""
        question = _Question(messages, tools, may_call, max_tokens, tokens_of(messages, tools))
        with model_span(self.name) as recorded:
            answer = await self._try_until(question, self._monotonic() + seconds)
            count_tokens(recorded, answer.input_tokens, answer.output_tokens)
            return answer

    async def _try_until(self, question: "_Question", deadline: float) -> ChatAnswer:
        pause, lost_tokens = _FIRST_PAUSE, 0
        for retries_left in reversed(range(CHAT_RETRIES + 1)):
            try:
                answer = await self._try_variants(question, deadline)
            except PassingError as error:
                # A provider charges for an answer that it had begun.
                lost_tokens += error.reported.input_tokens
                wait = pause * self._rng.uniform(0.5, 1.5) if error.wait is None else error.wait
                if not retries_left or self._monotonic() + wait >= deadline:
                    error.reported.input_tokens = lost_tokens
                    raise error.reported from None
            else:
                return replace(answer, input_tokens=answer.input_tokens + lost_tokens)
            await self._sleep(wait)
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _try_variants(self, question: "_Question", deadline: float) -> ChatAnswer:
        last = len(self._variants) - (1 if question.can_do_without_tools else 2)
        for place in range(min(last, self._accepted_variants.get(self._model_key, 0)), last + 1):
            try:
                answer = await self._try_variant(question, self._variants[place], deadline)
            except RefusedVariantError as error:
                if place == last:
                    # The variant was not the reason, so the best one is tried first again.
                    self._accepted_variants.pop(self._model_key, None)
                    raise error.reported from None
            else:
                self._accepted_variants[self._model_key] = place
                return answer
        raise AssertionError("the last variant returns or raises")

    async def _try_variant(
        self, question: "_Question", variant: _Variant, deadline: float
    ) -> ChatAnswer:
        seconds = deadline - self._monotonic()
        with translated(question.tokens):
            try:
                # The timeout of a request is for each read, so an endpoint that sends a byte now
                # and then would never exceed it.
                async with asyncio.timeout(max(0.001, seconds)):
                    return await self._request(question, variant, seconds)
            except TimeoutError:
                raise timed_out(question.tokens) from None

    async def _request(
        self, question: "_Question", variant: _Variant, seconds: float
    ) -> ChatAnswer:
        body = JsonPieces({"model": self.name, **question.body(variant)})
        raw = await self._client.post(
            "/chat/completions",
            content=body,
            cast_to=object,
            options={"headers": {**body.headers, **_STREAMED}, "timeout": max(0.001, seconds)},
        )
        response = cast("openai.AsyncAPIResponse[object]", raw)
        try:
            return await self._read_answer(response, question)
        finally:
            await response.close()

    async def _read_answer(
        self, response: "openai.AsyncAPIResponse[object]", question: "_Question"
    ) -> ChatAnswer:
        stream = StreamedAnswer(question.tokens)
        is_stream = "event-stream" in response.headers.get("content-type", "")
        size, body = 0, bytearray()
        async for chunk in response.iter_bytes():
            size += len(chunk)
            if size > MAX_CHAT_STREAM_BYTES:
                raise too_long_answer(MAX_CHAT_STREAM_BYTES, question.tokens, question.max_tokens)
            if is_stream:
                stream.feed(chunk)
            else:
                body += chunk
        if is_stream:
            stream.end()
        else:
            stream.read_body(bytes(body))
        return stream.answer()


class _Question(NamedTuple):
    """One question, in every variant that a request may have."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    may_call: bool
    max_tokens: int
    tokens: int  # an estimate

    @property
    def can_do_without_tools(self) -> bool:
        """True if tools are offered, and none has been called yet."""
        return bool(self.tools) and not any(message.get("tool_calls") for message in self.messages)

    def body(self, variant: _Variant) -> dict[str, Any]:
        body: dict[str, Any] = {"messages": list(self.messages)}
        if variant.limit:
            body[variant.limit] = self.max_tokens
        if variant.streams:
            body["stream"] = True
        if variant.includes_usage:
            body["stream_options"] = {"include_usage": True}
        if self.tools and variant.offers_tools:
            body["tools"] = list(self.tools)
            if not self.may_call:
                body["tool_choice"] = "none"
        return body
