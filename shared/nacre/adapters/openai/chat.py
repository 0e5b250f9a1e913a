"""Conversations with tools, at an endpoint that speaks OpenAI's protocol."""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple, cast

import openai

from nacre.adapters.openai.chat_stream import Gathered
from nacre.adapters.openai.faults import (
    NEW_LIMIT,
    OLD_LIMIT,
    OPENAI,
    PassingError,
    RefusedFormError,
    timed_out,
    translated,
)
from nacre.adapters.openai.json_pieces import JsonPieces
from nacre.core.errors import ModelError
from nacre.core.limits import CHAT_RETRIES, MAX_CHAT_STREAM_BYTES
from nacre.ports.chat import ChatAnswer, tokens_of

# As the SDK's `with_streaming_response` asks for an answer that it does not read. That takes no
# body but one that is whole in memory, as text and as bytes, and attachments are large.
_STREAMED = {"X-Stainless-Raw-Response": "stream"}
_FIRST_PAUSE = 0.5  # seconds; somebody waits


class _Form(NamedTuple):
    """What a request may look like."""

    streams: bool
    counts: bool  # asks the stream to end with what it cost
    limit: str | None  # how it names the bound of the answer
    calls: bool = True  # offers tools, where there are some; small local models refuse them


# What is refused is tried in the next form. The first that is taken is kept.
_FORMS = (
    _Form(True, True, OLD_LIMIT),
    _Form(True, True, NEW_LIMIT),
    _Form(True, False, OLD_LIMIT),
    _Form(False, False, OLD_LIMIT),
    _Form(False, False, NEW_LIMIT),
    _Form(False, False, None),
    _Form(True, True, OLD_LIMIT, calls=False),
)
_FORMS_OF_OPENAI = (_FORMS[1], _FORMS[0], *_FORMS[2:])


class OpenAIChats:
    """Opens conversations; remembers for each endpoint and model what form it takes."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], int] = {}
        self._context: ssl.SSLContext | None = None

    def open(self, name: str, *, key: str, base_url: str, **options: Any) -> "OpenAIChat":
        """Return a conversation with a model; its lines are its own and end with it."""
        if self._context is None:
            self._context = ssl.create_default_context()  # costs more than all the rest
        client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=base_url,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(verify=self._context),
        )
        return OpenAIChat(name, client, base_url, self._taken, **options)


class OpenAIChat:
    """A Chat over one endpoint with one key.

    An attempt that failed in passing is repeated after a growing, uneven pause, or as long after
    as the endpoint asks. Whatever goes wrong, the key, what was said and the endpoint's own words
    stay out of the error.
    """

    def __init__(
        self,
        name: str,
        client: openai.AsyncOpenAI,
        base_url: str,
        taken: dict[tuple[str, str], int],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        rng: Random | None = None,
    ) -> None:
        self.name = name
        self._client = client
        self._forms = _FORMS_OF_OPENAI if base_url.startswith(OPENAI) else _FORMS
        self._place = (base_url, name)
        self._taken = taken
        self._sleep = sleep
        self._monotonic = monotonic
        self._rng = rng or Random()  # noqa: S311  spreads repeats; no secret hangs on it

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        *,
        may_call: bool,
        max_tokens: int,
        seconds: float,
    ) -> ChatAnswer:
        """Return the next answer; raise ModelError when there is none to be had."""
        asked = _Asked(messages, tools, may_call=may_call, max_tokens=max_tokens)
        until = self._monotonic() + seconds
        pause, lost = _FIRST_PAUSE, 0
        for left in reversed(range(CHAT_RETRIES + 1)):
            try:
                answer = await self._answered(asked, until)
            except PassingError as error:
                # A provider that had begun to answer sends a bill for it.
                lost += error.reported.input_tokens
                wait = pause * self._rng.uniform(0.5, 1.5) if error.wait is None else error.wait
                if not left or self._monotonic() + wait >= until:
                    error.reported.input_tokens = lost
                    raise error.reported from None
            else:
                return replace(answer, input_tokens=answer.input_tokens + lost)
            await self._sleep(wait)
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    async def close(self) -> None:
        """End what lines are open."""
        await self._client.close()

    async def _answered(self, asked: "_Asked", until: float) -> ChatAnswer:
        last = len(self._forms) - (1 if asked.can_do_without_tools else 2)
        for place in range(min(last, self._taken.get(self._place, 0)), last + 1):
            try:
                answer = await self._once(asked, self._forms[place], until)
            except RefusedFormError as error:
                if place == last:
                    # It was not the form, so the best one is tried first again.
                    self._taken.pop(self._place, None)
                    raise error.reported from None
            else:
                self._taken[self._place] = place
                return answer
        raise AssertionError("the last form returns or raises")

    async def _once(self, asked: "_Asked", form: _Form, until: float) -> ChatAnswer:
        left = until - self._monotonic()
        with translated(asked.tokens):
            try:
                # The timeout of the request is for each read: an endpoint that sends a byte now
                # and then would never meet it.
                async with asyncio.timeout(max(0.001, left)):
                    return await self._read(asked, form, left)
            except TimeoutError:
                raise timed_out(asked.tokens) from None

    async def _read(self, asked: "_Asked", form: _Form, left: float) -> ChatAnswer:
        body = JsonPieces({"model": self.name, **asked.body(form)})
        answered = await self._client.post(
            "/chat/completions",
            content=body,
            cast_to=object,
            options={"headers": {**body.headers, **_STREAMED}, "timeout": max(0.001, left)},
        )
        response = cast("openai.AsyncAPIResponse[object]", answered)
        try:
            return await self._gathered(response, asked)
        finally:
            await response.close()

    async def _gathered(
        self, response: "openai.AsyncAPIResponse[object]", asked: "_Asked"
    ) -> ChatAnswer:
        gathered = Gathered(asked.tokens)
        streams = "event-stream" in response.headers.get("content-type", "")
        size, whole = 0, bytearray()
        async for chunk in response.iter_bytes():
            size += len(chunk)
            if size > MAX_CHAT_STREAM_BYTES:
                raise ModelError(
                    "truncated",
                    f"it is longer than {MAX_CHAT_STREAM_BYTES} bytes",
                    input_tokens=asked.tokens,
                    output_tokens=asked.max_tokens,
                )
            if streams:
                gathered.feed(chunk)
            else:
                whole += chunk
        if streams:
            gathered.end()
        else:
            gathered.whole(bytes(whole))
        return gathered.answer()


class _Asked:
    """One question, in the forms in which it may be put."""

    def __init__(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        *,
        may_call: bool,
        max_tokens: int,
    ) -> None:
        self._messages = messages
        self._tools = tools
        self._may_call = may_call
        self.max_tokens = max_tokens
        self.tokens = tokens_of(messages, tools)

    @property
    def can_do_without_tools(self) -> bool:
        """Whether tools are offered, and none was called yet."""
        return bool(self._tools) and not any(each.get("tool_calls") for each in self._messages)

    def body(self, form: _Form) -> dict[str, Any]:
        body: dict[str, Any] = {"messages": list(self._messages)}
        if form.limit:
            body[form.limit] = self.max_tokens
        if form.streams:
            body["stream"] = True
        if form.counts:
            body["stream_options"] = {"include_usage": True}
        if self._tools and form.calls:
            body["tools"] = list(self._tools)
            if not self._may_call:
                body["tool_choice"] = "none"
        return body
