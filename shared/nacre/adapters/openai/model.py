"""A language model behind an endpoint that speaks OpenAI's protocol."""

import json
import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import openai

from nacre.adapters.openai.faults import (
    NEW_LIMIT,
    OLD_LIMIT,
    OPENAI,
    UNCLEAR,
    PassingError,
    RefusedFormError,
    text_of,
    timed_out,
    tokens_told,
    translated,
)
from nacre.adapters.openai.whole_body import BodyTooLateError, BodyTooLongError, whole_body
from nacre.core.errors import ModelError, ModelFault
from nacre.core.limits import (
    MAX_MODEL_ANSWER_BYTES,
    MODEL_ATTEMPT_SECONDS,
    MODEL_RETRIES,
    MODEL_SECONDS,
    TOKEN_BYTES,
)
from nacre.ports.model import ModelAnswer

_FIRST_PAUSE = 1.0  # seconds; each further one is twice as long

# What a request may look like, whether it asks for a format and how it names the bound. What is
# refused is tried in the next form, and the first that is taken is kept.
_FORMS = ((True, OLD_LIMIT), (True, NEW_LIMIT), (False, OLD_LIMIT), (False, NEW_LIMIT))
_FORMS_OF_OPENAI = ((True, NEW_LIMIT), (True, OLD_LIMIT), (False, OLD_LIMIT), (False, NEW_LIMIT))


class OpenAIModel:
    """A Model over one endpoint with one key.

    An attempt that failed in passing is repeated with growing, uneven pauses, or as long after
    as the endpoint asks, and all of it ends within a bounded time. Whatever goes wrong, the key,
    the question and the endpoint's own words stay out of the error.
    """

    def __init__(
        self,
        name: str,
        *,
        key: str,
        base_url: str,
        seconds: float = MODEL_SECONDS,
        attempt_seconds: float = MODEL_ATTEMPT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        rng: Random | None = None,
    ) -> None:
        self.name = name
        self._seconds = seconds
        self._attempt_seconds = attempt_seconds
        self._sleep = sleep
        self._monotonic = monotonic
        self._rng = rng or Random()  # noqa: S311  spreads repeats; no secret hangs on it
        self._forms = _FORMS_OF_OPENAI if base_url.startswith(OPENAI) else _FORMS
        self._form = 0
        self._client = openai.OpenAI(
            api_key=key or "none",
            base_url=base_url,
            max_retries=0,
            # A model is made for a run and nobody ends it: no line is left open for later.
            default_headers={"Connection": "close"},
        )

    def ask(
        self, *, system: str, user: str, schema: Mapping[str, Any], max_tokens: int
    ) -> ModelAnswer:
        """Return the answer; raise ModelError when there is none to be had."""
        asked = _Question(system, user, schema, max_tokens)
        until = self._monotonic() + self._seconds
        pause = _FIRST_PAUSE
        for left in reversed(range(MODEL_RETRIES + 1)):
            try:
                return self._answered(asked, until)
            except PassingError as error:
                wait = pause * self._rng.uniform(0.5, 1.5) if error.wait is None else error.wait
                if not left or self._monotonic() + wait >= until:
                    raise error.reported from None
            self._sleep(wait)
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _answered(self, asked: "_Question", until: float) -> ModelAnswer:
        for form in range(self._form, len(self._forms)):
            try:
                answer = _answer_in(self._body(asked, form, until), asked)
            except RefusedFormError as error:
                if form == len(self._forms) - 1:
                    self._form = 0
                    raise error.reported from None
            else:
                self._form = form
                return answer
        raise AssertionError("the last form returns or raises")

    def _body(self, asked: "_Question", form: int, until: float) -> bytes:
        end = min(until, self._monotonic() + self._attempt_seconds)
        ask = self._client.chat.completions.with_streaming_response.create
        with (
            translated(asked.tokens),
            ask(
                model=self.name,
                messages=[
                    {"role": "system", "content": asked.system},
                    {"role": "user", "content": asked.user},
                ],
                timeout=max(0.001, end - self._monotonic()),
                extra_body=asked.details(*self._forms[form]),
            ) as response,
        ):
            try:
                return whole_body(
                    response.iter_bytes(),
                    most=MAX_MODEL_ANSWER_BYTES,
                    end=end,
                    monotonic=self._monotonic,
                )
            except BodyTooLongError:
                raise ModelError(
                    "truncated",
                    f"it is longer than {MAX_MODEL_ANSWER_BYTES} bytes",
                    input_tokens=asked.tokens,
                    output_tokens=asked.max_tokens,
                ) from None
            except BodyTooLateError:
                raise timed_out(asked.tokens) from None


class _Question:
    """One question, in the forms in which it may be put."""

    def __init__(self, system: str, user: str, schema: Mapping[str, Any], max_tokens: int) -> None:
        self.system = system
        self.user = user
        self.schema = schema
        self.max_tokens = max_tokens

    @property
    def tokens(self) -> int:
        """About how many tokens it has, where the endpoint does not say."""
        return (len(self.system.encode()) + len(self.user.encode())) // TOKEN_BYTES + 1

    def details(self, asks_format: bool, limit: str) -> dict[str, Any]:
        details: dict[str, Any] = {limit: self.max_tokens}
        if asks_format:
            schema = {"name": "answer", "strict": True, "schema": dict(self.schema)}
            details["response_format"] = {"type": "json_schema", "json_schema": schema}
        return details


def _answer_in(body: bytes, asked: _Question) -> ModelAnswer:
    try:
        found = json.loads(body)
        choice = found["choices"][0]
        message = choice["message"]
        text = text_of(message.get("content"))
        refusal, ending = message.get("refusal"), choice.get("finish_reason")
        usage = found.get("usage")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise ModelError("unavailable", UNCLEAR, input_tokens=asked.tokens) from None
    told = usage if isinstance(usage, dict) else {}
    spent_in = tokens_told(told.get("prompt_tokens"), asked.tokens)
    spent_out = tokens_told(
        told.get("completion_tokens"), len(text.encode(errors="replace")) // TOKEN_BYTES + 1
    )
    fault: tuple[ModelFault, str] | None = None
    if refusal or ending == "content_filter":
        fault = ("refused", "it refused")
    elif ending == "length":
        fault = ("truncated", "it did not come to an end within the tokens it had")
    if fault is not None:
        raise ModelError(*fault, input_tokens=spent_in, output_tokens=spent_out)
    return ModelAnswer(text, spent_in, spent_out)
