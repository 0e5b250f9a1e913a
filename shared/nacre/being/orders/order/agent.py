"""The conversation of an order with a model, which may call tools before it answers."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from nacre.being.language_model.daily_budget import Spending
from nacre.being.memory.text.text_blocks import shortened
from nacre.being.orders.media.outgoing import OutMedia
from nacre.being.orders.order.answer import AnswerParts
from nacre.being.orders.order.deadline import OrderDeadline
from nacre.being.orders.order.toolbox import Toolbox
from nacre.being.orders.sessions.session import newer_half
from nacre.core.errors import ModelError, ToolError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import (
    CHAT_SECONDS,
    ORDER_ANSWER_TOKENS,
    ORDER_CALLS_AT_ONCE,
    ORDER_ROUNDS,
    ORDER_SHORT_RESULT_BYTES,
)
from nacre.ports.chat import Chat, ChatAnswer, ToolRequest, tokens_of

# Local models write their reasoning before the answer, inside a tag.
_REASONING = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
# A chat template may have written the opening tag already, at the end of the prompt.
_WITHOUT_START = re.compile(r"\A(?:(?!<think).)*?</think>[ \t]*\n\s*", re.DOTALL | re.IGNORECASE)
_WITHOUT_END = re.compile(r"\A\s*<(think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """Return a text without the reasoning before the answer; the answer itself is not changed."""
    while (match := _REASONING.match(text)) is not None:
        text = text[match.end() :]
    text = _WITHOUT_START.sub("", text, count=1)
    return "" if _WITHOUT_END.match(text) else text


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
    deadline: OrderDeadline
    system: str
    earlier: list[dict[str, str]]  # the turns of the session, as messages
    message: Any  # with its attachments
    _later: list[dict[str, Any]] = field(default_factory=list)
    _is_shortened: bool = False

    async def run(self) -> AnswerParts:
        """Return the parts of the order's answer; raises ModelError, ToolError."""
        parts = AnswerParts()
        for number in range(1, ORDER_ROUNDS + 1):
            is_last = number == ORDER_ROUNDS
            self.deadline.report("thinking")
            answer = await self._answer(may_call=not is_last)
            text = without_reasoning(answer.text)
            media = [OutMedia(medium.mime_type, medium.data) for medium in answer.media]
            parts.add_media(media, _MODEL)
            if not answer.requests or is_last:
                parts.set_final(text)
                if answer.requests:
                    parts.remarks.append(_STOPPED)
                elif answer.is_cut:
                    parts.remarks.append(_CUT)
                return parts
            parts.add_text(text, _MODEL)
            await self._call_tools(parts, answer)
        raise AssertionError("the last round returns")

    async def _answer(self, *, may_call: bool) -> ChatAnswer:
        try:
            return await self._ask(may_call=may_call)
        except ModelError as error:
            if error.kind != "too_long" or self._is_shortened:
                raise
        self._shorten()
        return await self._ask(may_call=may_call)

    async def _ask(self, *, may_call: bool) -> ChatAnswer:
        """Ask within the day's budget; a question that is cancelled costs as much as estimated."""
        messages, tools = self._messages(), self.toolbox.definitions
        estimate = tokens_of(messages, tools)
        reservation = self.spending.reserve(
            self.being_id, input_tokens=estimate, output_tokens=ORDER_ANSWER_TOKENS
        )
        if isinstance(reservation, str):
            raise ToolError(reservation)
        input_tokens, output_tokens = estimate, 0
        try:
            seconds = min(self.deadline.seconds_left(), CHAT_SECONDS)
            question = self.chat.complete(
                messages,
                tools,
                may_call=may_call,
                max_tokens=ORDER_ANSWER_TOKENS,
                seconds=seconds,
            )
            answer = await self.deadline.wait(question)
            input_tokens, output_tokens = answer.input_tokens, answer.output_tokens
        except ModelError as error:
            input_tokens, output_tokens = error.input_tokens, error.output_tokens
            raise
        finally:
            # If this fails, the reservation stays, and the answer is still good.
            with suppress(UnavailableError):
                self.spending.settle(
                    reservation, input_tokens=input_tokens, output_tokens=output_tokens
                )
        return answer

    def _messages(self) -> list[dict[str, Any]]:
        return [
            {"role": "system", "content": self.system},
            *self.earlier,
            {"role": "user", "content": self.message},
            *self._later,
        ]

    async def _call_tools(self, parts: AnswerParts, answer: ChatAnswer) -> None:
        self._later.append(_tool_calls(answer.text, answer.requests))
        for place, request in enumerate(answer.requests):
            if place >= ORDER_CALLS_AT_ONCE:
                self._later.append(_tool_result(request, _TOO_MANY))
                continue
            self.deadline.seconds_left()
            self.deadline.report(f"calling {request.name[:64]}")
            outcome = await self.toolbox.call(request)
            if outcome.text:
                parts.add_text(outcome.text, request.name[:64])
            parts.add_media(outcome.media, request.name[:64])
            self._later.append(_tool_result(request, outcome.for_model))

    def _shorten(self) -> None:
        """Leave out the older half of the session, and most of the tools' results."""
        self._is_shortened = True
        self.earlier = newer_half(self.earlier)
        for message in self._later:
            if message["role"] == "tool":
                message["content"] = shortened(message["content"], ORDER_SHORT_RESULT_BYTES)


def _tool_calls(text: str, requests: Sequence[ToolRequest]) -> dict[str, Any]:
    calls = [
        {
            "id": request.id,
            "type": "function",
            "function": {"name": request.name, "arguments": _json_object(request.arguments)},
        }
        for request in requests
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def _json_object(arguments: str) -> str:
    """Return the arguments as JSON; some providers reject what their own model wrote."""
    try:
        return arguments if isinstance(json.loads(arguments or "{}"), dict) and arguments else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _tool_result(request: ToolRequest, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": request.id, "content": text}
