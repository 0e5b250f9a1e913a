"""The faults of an endpoint of OpenAI's protocol, without the endpoint's own words."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import openai

from nacre.core.errors import ModelError
from nacre.core.limits import MAX_TOKENS_TOLD

UNCLEAR = "its answer was not understood"
_LATE = "it did not answer in time"
_NO_QUOTA = "insufficient_quota"
# Texts by which endpoints report that a question is too long; few have a code for it.
_TOO_LONG = re.compile(
    r"context.?(?:length|window|size)|maximum context|prompt is too long|too many (?:input )?tokens"
    r"|exceeds? .{0,40}(?:token|context)|input is too long|reduce the length",
    re.IGNORECASE,
)

OLD_LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"
"""The names of the limit of an answer.

OpenAI's newer models refuse the old name. Other endpoints may ignore the new one, and then there is
no limit.
"""

OPENAI = "https://api.openai.com/"


class PassingError(Exception):
    """A temporary failure; `wait` is the pause that the endpoint asks for."""

    def __init__(self, reported: ModelError, wait: float | None = None) -> None:
        super().__init__()
        self.reported = reported
        self.wait = wait


class RefusedVariantError(Exception):
    """The endpoint refused the request, perhaps because of its form."""

    def __init__(self, reported: ModelError) -> None:
        super().__init__()
        self.reported = reported


@contextmanager
def translated(tokens: int) -> Iterator[None]:
    """Raise ModelError, PassingError or RefusedVariantError for an error of the SDK or transport.

    `tokens` is an estimate of the question's size: providers charge for answers that come too
    late.
    """
    try:
        yield
    except (ModelError, PassingError, RefusedVariantError):
        raise
    except openai.APIStatusError as error:
        raise _status_error(error) from None
    except UnicodeError:  # a header is ASCII
        raise _rejected_key() from None
    except Exception as error:  # noqa: BLE001
        # Errors while the answer is read come from the SDK's HTTP library, and which library that
        # is depends on the SDK's version.
        if "Timeout" in type(error).__name__:
            raise timed_out(tokens) from None
        unreachable = "it cannot be reached, or hung up; see NACRE_LLM_BASE_URL"
        raise PassingError(ModelError("unavailable", unreachable)) from None


def timed_out(tokens: int) -> PassingError:
    """Return the error for an answer that came too late."""
    return PassingError(ModelError("timeout", _LATE, input_tokens=tokens))


def too_long_answer(most: int, tokens: int, max_tokens: int) -> ModelError:
    """Return the error for an answer of more than `most` bytes."""
    return ModelError(
        "truncated",
        f"its answer is longer than {most} bytes",
        input_tokens=tokens,
        output_tokens=max_tokens,
    )


def token_count(reported: Any, estimate: int) -> int:
    """Return the number of tokens that the endpoint reported, or else the estimate."""
    if isinstance(reported, int) and not isinstance(reported, bool) and reported >= 0:
        return min(reported, MAX_TOKENS_TOLD)
    return estimate


def text_of(content: Any) -> str:
    """Return the text of a message, which some endpoints split into parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def error_in_answer(code: str, message: str) -> ModelError:
    """Return the error for an answer that contains an error instead of a choice."""
    if "context_length" in code or _TOO_LONG.search(message):
        return _too_long()
    return ModelError("unavailable", "the provider reported an error in its answer")


def _too_long() -> ModelError:
    return ModelError("too_long", "the question is too long for the model")


def _rejected_key() -> ModelError:
    return ModelError("rejected_key", "the provider refused the key")


def _status_error(error: openai.APIStatusError) -> Exception:
    """Return the error for a status, without the endpoint's own words: they may repeat the key."""
    code = error.code if isinstance(error.code, str) else ""
    match error.status_code:
        case 401 | 403:
            return _rejected_key()
        case 429 if code == _NO_QUOTA:
            return ModelError("rate_limited", "the provider's account has no quota left")
        case 429:
            limited = ModelError("rate_limited", "the provider asks for patience (429)")
            return PassingError(limited, _retry_after(error.response.headers))
        case 400 | 422 if "content" in code and "filter" in code:
            return ModelError("refused", "the provider's filter stopped it")
        case 400 | 413 | 422 | 500 if "context_length" in code or _TOO_LONG.search(error.message):
            return _too_long()
        case 413:
            return ModelError("too_long", "the provider takes no request of this size")
        case 400 | 422:
            refused = f"the provider refused the request ({error.status_code}); see NACRE_LLM_MODEL"
            return RefusedVariantError(ModelError("unavailable", refused))
        case 404:
            unknown = "the provider does not know the model or the path; see NACRE_LLM_MODEL"
            return ModelError("unavailable", unknown)
        case status if status >= 500 or status in (408, 409):
            failed = ModelError("unavailable", f"the provider answered {status}")
            return PassingError(failed, _retry_after(error.response.headers))
        case status:
            return ModelError("unavailable", f"the provider answered {status}")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the pause in seconds that the endpoint asks for, or None."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, ""))
        except ValueError:  # a date, or nothing
            continue
        if 0 <= seconds < float("inf"):
            return seconds * unit
    return None


def whole_body(
    pieces: Iterable[bytes],
    *,
    most: int,
    too_long: Exception,
    end: float,
    too_late: Exception,
    monotonic: Callable[[], float],
) -> bytes:
    """Return the body of an answer; raise the given errors beyond a limit of bytes or of time.

    The timeout of an HTTP library is for each read, so an endpoint that sends a byte now and then
    would never exceed it.
    """
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > most:
            raise too_long
        if monotonic() >= end:
            raise too_late
    return bytes(body)
