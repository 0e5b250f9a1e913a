"""A language model behind an endpoint that speaks OpenAI's protocol."""

import json
import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

import openai

from nacre.adapters.openai.endpoint_client import endpoint_client
from nacre.adapters.openai.faults import (
    NEW_LIMIT,
    OLD_LIMIT,
    OPENAI,
    UNCLEAR,
    PassingError,
    RefusedVariantError,
    text_of,
    timed_out,
    token_count,
    too_long_answer,
    translated,
    whole_body,
)
from nacre.adapters.openai.model_spans import count_tokens, model_span
from nacre.core.errors import ModelError, ModelFault
from nacre.core.limits import (
    MAX_MODEL_ANSWER_BYTES,
    MODEL_ATTEMPT_SECONDS,
    MODEL_RETRIES,
    MODEL_SECONDS,
    TOKEN_BYTES,
)
from nacre.http_client.outgoing import DIRECT, Outgoing
from nacre.ports.model import ModelAnswer

_FIRST_PAUSE = 1.0  # seconds; each further one is twice as long

# The variants of a request: whether it asks for a format, and the name of its limit. A refused
# request is tried in the next variant, and the first accepted variant is remembered.
_VARIANTS = ((True, OLD_LIMIT), (True, NEW_LIMIT), (False, OLD_LIMIT), (False, NEW_LIMIT))
_VARIANTS_OF_OPENAI = ((True, NEW_LIMIT), (True, OLD_LIMIT), (False, OLD_LIMIT), (False, NEW_LIMIT))


class OpenAIModel:
    """A Model over one endpoint with one key.

    A temporary failure is retried with growing, random pauses, or after the time that the endpoint
    asks for, within an overall time limit. Errors never contain the key, the question or the
    endpoint's own words.
    """

    def __init__(
        self,
        name: str,
        *,
        key: str,
        base_url: str,
        outgoing: Outgoing = DIRECT,
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
        self._rng = rng or Random()  # noqa: S311  jitter for retries; not for secrets
        self._variants = _VARIANTS_OF_OPENAI if base_url.startswith(OPENAI) else _VARIANTS
        self._variant = 0
        self._client = openai.OpenAI(
            api_key=key or "none",
            base_url=base_url,
            max_retries=0,
            # A model is made for one run and never closed, so no connection may stay open.
            default_headers={"Connection": "close"},
            http_client=endpoint_client(outgoing, base_url),
        )

    def ask(
        self, *, system: str, user: str, schema: Mapping[str, Any], max_tokens: int
    ) -> ModelAnswer:
        """Return the answer; raises ModelError if there is no answer."""
        with model_span(self.name) as recorded:
            answer = self._ask(_Question(system, user, schema, max_tokens))
            count_tokens(recorded, answer.input_tokens, answer.output_tokens)
            return answer

    def _ask(self, question: "_Question") -> ModelAnswer:
        deadline = self._monotonic() + self._seconds
        pause = _FIRST_PAUSE
        for retries_left in reversed(range(MODEL_RETRIES + 1)):
            try:
                return self._try_variants(question, deadline)
            except PassingError as error:
                wait = pause * self._rng.uniform(0.5, 1.5) if error.wait is None else error.wait
                if not retries_left or self._monotonic() + wait >= deadline:
                    raise error.reported from None
            self._sleep(wait)
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _try_variants(self, question: "_Question", deadline: float) -> ModelAnswer:
        for variant in range(self._variant, len(self._variants)):
            try:
                answer = _answer_in(self._body(question, variant, deadline), question)
            except RefusedVariantError as error:
                if variant == len(self._variants) - 1:
                    self._variant = 0
                    raise error.reported from None
            else:
                self._variant = variant
                return answer
        raise AssertionError("the last variant returns or raises")

    def _body(self, question: "_Question", variant: int, deadline: float) -> bytes:
        end = min(deadline, self._monotonic() + self._attempt_seconds)
        ask = self._client.chat.completions.with_streaming_response.create
        with (
            translated(question.tokens),
            ask(
                model=self.name,
                messages=[
                    {"role": "system", "content": question.system},
                    {"role": "user", "content": question.user},
                ],
                timeout=max(0.001, end - self._monotonic()),
                extra_body=question.details(*self._variants[variant]),
            ) as response,
        ):
            return whole_body(
                response.iter_bytes(),
                most=MAX_MODEL_ANSWER_BYTES,
                too_long=too_long_answer(
                    MAX_MODEL_ANSWER_BYTES, question.tokens, question.max_tokens
                ),
                end=end,
                too_late=timed_out(question.tokens),
                monotonic=self._monotonic,
            )


class _Question(NamedTuple):
    """One question, in every variant of a request."""

    system: str
    user: str
    schema: Mapping[str, Any]
    max_tokens: int

    @property
    def tokens(self) -> int:
        """An estimate of the number of tokens, for endpoints that do not report it."""
        return (len(self.system.encode()) + len(self.user.encode())) // TOKEN_BYTES + 1

    def details(self, asks_format: bool, limit: str) -> dict[str, Any]:
        details: dict[str, Any] = {limit: self.max_tokens}
        if asks_format:
            schema = {"name": "answer", "strict": True, "schema": dict(self.schema)}
            details["response_format"] = {"type": "json_schema", "json_schema": schema}
        return details


def _answer_in(body: bytes, question: _Question) -> ModelAnswer:
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        message = choice["message"]
        text = text_of(message.get("content"))
        refusal, ending = message.get("refusal"), choice.get("finish_reason")
        usage = answer.get("usage")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise ModelError("unavailable", UNCLEAR, input_tokens=question.tokens) from None
    counts = usage if isinstance(usage, dict) else {}
    input_tokens = token_count(counts.get("prompt_tokens"), question.tokens)
    output_tokens = token_count(
        counts.get("completion_tokens"), len(text.encode(errors="replace")) // TOKEN_BYTES + 1
    )
    fault: tuple[ModelFault, str] | None = None
    if refusal or ending == "content_filter":
        fault = ("refused", "it refused")
    elif ending == "length":
        fault = ("truncated", "its answer was cut off at the token limit")
    if fault is not None:
        raise ModelError(*fault, input_tokens=input_tokens, output_tokens=output_tokens)
    return ModelAnswer(text, input_tokens, output_tokens)
