"""The loop of an order: the model is asked, and the tools it wants are called, until it answers."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nacre.being.language_model.spending import Spending
from nacre.being.memory.text.text_blocks import shortened
from nacre.being.orders.media.outgoing import OutMedia
from nacre.being.orders.order.partial_answer import Work
from nacre.being.orders.order.toolbox import Toolbox
from nacre.being.orders.order.waiting import Patience
from nacre.being.orders.sessions.session import halved
from nacre.core.errors import ModelError, ToolError, UnavailableError
from nacre.core.limits import (
    CHAT_SECONDS,
    ORDER_ANSWER_TOKENS,
    ORDER_CALLS_AT_ONCE,
    ORDER_ROUNDS,
    ORDER_SHORT_RESULT_BYTES,
)
from nacre.ports.chat import Chat, ChatAnswer, ToolRequest, tokens_of

# Local models put their thoughts in front of the answer, in a tag of their own.
_THOUGHT = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
# A template may have opened the tag already, in what the model was given.
_UNOPENED = re.compile(r"\A(?:(?!<think).)*?</think>[ \t]*\n\s*", re.DOTALL | re.IGNORECASE)
_UNENDED = re.compile(r"\A\s*<(think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """Return a text without the thoughts in front of it; the answer itself stays as it is."""
    while (match := _THOUGHT.match(text)) is not None:
        text = text[match.end() :]
    text = _UNOPENED.sub("", text, count=1)
    return "" if _UNENDED.match(text) else text


_STOPPED = f"(Stopped after {ORDER_ROUNDS} rounds of tool calls.)"
_CUT = "(Cut: the model's answer reached its limit.)"
_MODEL = "the model"
_TOO_MANY = f"Error: at most {ORDER_CALLS_AT_ONCE} calls at once; this one was not made"


@dataclass(slots=True)
class Agent:
    """One order's conversation with a model."""

    chat: Chat
    spending: Spending
    being_id: str
    toolbox: Toolbox
    patience: Patience
    system: str
    before: list[dict[str, str]]  # the session, as messages
    asked: Any  # the message, with what came along
    _since: list[dict[str, Any]] = field(default_factory=list)
    _is_shortened: bool = False

    async def run(self) -> Work:
        """Return what the order brought about; raises ModelError, ToolError."""
        work = Work()
        for number in range(1, ORDER_ROUNDS + 1):
            is_last = number == ORDER_ROUNDS
            self.patience.tell("thinking")
            answer = await self._answer(may_call=not is_last)
            said = without_reasoning(answer.text)
            made = [OutMedia(each.mime_type, each.data) for each in answer.media]
            work.bring(made, _MODEL)
            if not answer.requests or is_last:
                return _ended(work, answer, said)
            work.say(said, _MODEL)
            await self._call(work, answer)
        raise AssertionError("the last round returns")

    async def _answer(self, *, may_call: bool) -> ChatAnswer:
        try:
            return await self._paid(may_call=may_call)
        except ModelError as error:
            if error.kind != "too_long" or self._is_shortened:
                raise
        self._shorten()
        return await self._paid(may_call=may_call)

    async def _paid(self, *, may_call: bool) -> ChatAnswer:
        """Ask within the day's budget; what was asked and given up is paid for as supposed."""
        messages, tools = self._messages(), self.toolbox.definitions
        supposed = tokens_of(messages, tools)
        held = self.spending.reserve(
            self.being_id, input_tokens=supposed, output_tokens=ORDER_ANSWER_TOKENS
        )
        if isinstance(held, str):
            raise ToolError(held)
        input_tokens, output_tokens = supposed, 0
        try:
            seconds = min(self.patience.left(), CHAT_SECONDS)
            asked = self.chat.complete(
                messages,
                tools,
                may_call=may_call,
                max_tokens=ORDER_ANSWER_TOKENS,
                seconds=seconds,
            )
            answer = await self.patience.wait(asked)
            input_tokens, output_tokens = answer.input_tokens, answer.output_tokens
        except ModelError as error:
            input_tokens, output_tokens = error.input_tokens, error.output_tokens
            raise
        finally:
            # What cannot be settled stays set aside, and what was said counts all the same.
            with suppress(UnavailableError):
                self.spending.settle(held, input_tokens=input_tokens, output_tokens=output_tokens)
        return answer

    def _messages(self) -> list[dict[str, Any]]:
        return [
            {"role": "system", "content": self.system},
            *self.before,
            {"role": "user", "content": self.asked},
            *self._since,
        ]

    async def _call(self, work: Work, answer: ChatAnswer) -> None:
        self._since.append(_asking(answer.text, answer.requests))
        for place, request in enumerate(answer.requests):
            if place >= ORDER_CALLS_AT_ONCE:
                self._since.append(_result(request, _TOO_MANY))
                continue
            self.patience.left()
            self.patience.tell(f"calling {request.name[:64]}")
            outcome = await self.toolbox.call(request)
            if outcome.text:
                work.say(outcome.text, request.name[:64])
            work.bring(outcome.media, request.name[:64])
            self._since.append(_result(request, outcome.shown))

    def _shorten(self) -> None:
        """Leave out the older half of the session, and most of what tools gave."""
        self._is_shortened = True
        self.before = halved(self.before)
        for message in self._since:
            if message["role"] == "tool":
                message["content"] = shortened(message["content"], ORDER_SHORT_RESULT_BYTES)


def _ended(work: Work, answer: ChatAnswer, said: str) -> Work:
    work.end(said)
    if answer.requests:
        work.remarks.append(_STOPPED)
    elif answer.is_cut:
        work.remarks.append(_CUT)
    return work


def _asking(text: str, requests: Sequence[ToolRequest]) -> dict[str, Any]:
    calls = [
        {
            "id": each.id,
            "type": "function",
            "function": {"name": each.name, "arguments": _well_formed(each.arguments)},
        }
        for each in requests
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def _well_formed(arguments: str) -> str:
    """Return arguments as JSON: some providers refuse to read again what their model wrote."""
    try:
        return arguments if isinstance(json.loads(arguments or "{}"), dict) and arguments else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _result(request: ToolRequest, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": request.id, "content": text}
