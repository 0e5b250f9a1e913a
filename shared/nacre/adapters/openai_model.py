"""A language model behind an endpoint that speaks OpenAI's protocol."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

import openai

from nacre.errors import ModelError, ModelFault
from nacre.limits import (
    MAX_MODEL_ANSWER_BYTES,
    MAX_TOKENS_TOLD,
    MODEL_ATTEMPT_SECONDS,
    MODEL_RETRIES,
    MODEL_SECONDS,
    TOKEN_BYTES,
)
from nacre.ports.model import ModelAnswer

_FIRST_PAUSE = 1.0  # seconds; each further one is twice as long
_UNCLEAR = "its answer was not understood"
_LATE = "it did not answer in time"
_NO_QUOTA = "insufficient_quota"

# What a request may look like, whether it asks for a format and how it names the bound. OpenAI's
# newer models refuse the old name; elsewhere the new one may be ignored, and then nothing is
# bounded. What is refused is tried in the next form, and the first that is taken is kept.
_OLD, _NEW = "max_tokens", "max_completion_tokens"
_FORMS = ((True, _OLD), (True, _NEW), (False, _OLD), (False, _NEW))
_FORMS_OF_OPENAI = ((True, _NEW), (True, _OLD), (False, _OLD), (False, _NEW))
_OPENAI = "https://api.openai.com/"


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
        self._forms = _FORMS_OF_OPENAI if base_url.startswith(_OPENAI) else _FORMS
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
            except _PassingError as error:
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
            except _RefusedFormError as error:
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
            _translated(asked),
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
            body = b""
            # The timeout above is for each read: an endpoint that sends a byte now and then
            # would never meet it.
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_MODEL_ANSWER_BYTES:
                    raise ModelError(
                        "truncated",
                        f"it is longer than {MAX_MODEL_ANSWER_BYTES} bytes",
                        input_tokens=asked.tokens,
                        output_tokens=asked.max_tokens,
                    )
                if self._monotonic() >= end:
                    raise _timed_out(asked)
            return body


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


class _PassingError(Exception):
    """Something that may be over at the next attempt; `wait` is how long the endpoint asks for."""

    def __init__(self, reported: ModelError, wait: float | None = None) -> None:
        super().__init__()
        self.reported = reported
        self.wait = wait


class _RefusedFormError(Exception):
    """The endpoint refused the form of the request, or perhaps what it says."""

    def __init__(self, reported: ModelError) -> None:
        super().__init__()
        self.reported = reported


@contextmanager
def _translated(asked: _Question) -> Iterator[None]:
    try:
        yield
    except (ModelError, _PassingError):
        raise
    except openai.APIStatusError as error:
        raise _status_error(error) from None
    except UnicodeError:  # a header is ASCII
        raise _rejected_key() from None
    except Exception as error:  # noqa: BLE001
        # While the answer is read, the errors are those of the SDK's HTTP library, and which
        # library that is depends on the SDK's version.
        if "Timeout" in type(error).__name__:
            raise _timed_out(asked) from None
        unreachable = "it cannot be reached, or hung up; see NACRE_LLM_BASE_URL"
        raise _PassingError(ModelError("unavailable", unreachable)) from None


def _timed_out(asked: _Question) -> _PassingError:
    # Whoever answers too late sends a bill for it all the same.
    return _PassingError(ModelError("timeout", _LATE, input_tokens=asked.tokens))


def _rejected_key() -> ModelError:
    return ModelError("rejected_key", "the provider refused the key")


def _status_error(error: openai.APIStatusError) -> Exception:
    """Return what went wrong, without the endpoint's own words: they may repeat the key."""
    code = error.code if isinstance(error.code, str) else ""
    match error.status_code:
        case 401 | 403:
            return _rejected_key()
        case 429 if code == _NO_QUOTA:
            return ModelError("rate_limited", "the provider's account has no quota left")
        case 429:
            limited = ModelError("rate_limited", "the provider asks for patience (429)")
            return _PassingError(limited, _retry_after(error.response.headers))
        case 400 | 422 if "content" in code and "filter" in code:
            return ModelError("refused", "the provider's filter stopped it")
        case 400 | 422 if "context_length" in code:
            return ModelError("refused", "the question is too long for the model")
        case 400 | 422:
            refused = f"the provider refused the request ({error.status_code}); see NACRE_LLM_MODEL"
            return _RefusedFormError(ModelError("unavailable", refused))
        case 404:
            unknown = "the provider does not know the model or the path; see NACRE_LLM_MODEL"
            return ModelError("unavailable", unknown)
        case status if status >= 500 or status in (408, 409):
            failed = ModelError("unavailable", f"the provider answered {status}")
            return _PassingError(failed, _retry_after(error.response.headers))
        case status:
            return ModelError("unavailable", f"the provider answered {status}")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds the endpoint asks for; None where it names none."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            asked = float(headers.get(name, ""))
        except ValueError:  # a date, or nothing
            continue
        if 0 <= asked < float("inf"):
            return asked * unit
    return None


def _answer_in(body: bytes, asked: _Question) -> ModelAnswer:
    try:
        found = json.loads(body)
        choice = found["choices"][0]
        message = choice["message"]
        text = _text_of(message.get("content"))
        refusal, ending = message.get("refusal"), choice.get("finish_reason")
        usage = found.get("usage")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise ModelError("unavailable", _UNCLEAR, input_tokens=asked.tokens) from None
    told = usage if isinstance(usage, dict) else {}
    spent_in = _tokens(told.get("prompt_tokens"), asked.tokens)
    spent_out = _tokens(
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


def _text_of(content: Any) -> str:
    if isinstance(content, list):  # some endpoints give parts
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _tokens(told: Any, supposed: int) -> int:
    if isinstance(told, int) and not isinstance(told, bool) and told >= 0:
        return min(told, MAX_TOKENS_TOLD)
    return supposed
