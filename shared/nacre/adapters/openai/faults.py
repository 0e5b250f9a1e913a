"""What can go wrong at an endpoint of OpenAI's protocol, told without the endpoint's own words."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import openai

from nacre.core.errors import ModelError
from nacre.core.limits import MAX_TOKENS_TOLD

UNCLEAR = "its answer was not understood"
_LATE = "it did not answer in time"
_NO_QUOTA = "insufficient_quota"
# How endpoints say that a question is longer than the model holds; few have a code for it.
_TOO_LONG = re.compile(
    r"context.?(?:length|window|size)|maximum context|prompt is too long|too many (?:input )?tokens"
    r"|exceeds? .{0,40}(?:token|context)|input is too long|reduce the length",
    re.IGNORECASE,
)

OLD_LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"
"""How a request names the bound of its answer.

OpenAI's newer models refuse the old name; elsewhere the new one may be ignored, and then nothing
is bounded.
"""

OPENAI = "https://api.openai.com/"


class PassingError(Exception):
    """Something that may be over at the next attempt; `wait` is how long the endpoint asks for."""

    def __init__(self, reported: ModelError, wait: float | None = None) -> None:
        super().__init__()
        self.reported = reported
        self.wait = wait


class RefusedFormError(Exception):
    """The endpoint refused the form of the request, or perhaps what it says."""

    def __init__(self, reported: ModelError) -> None:
        super().__init__()
        self.reported = reported


@contextmanager
def translated(tokens: int) -> Iterator[None]:
    """Raise ModelError, PassingError or RefusedFormError for what the SDK and its transport raise.

    `tokens` is about what the question has: whoever answers too late sends a bill all the same.
    """
    try:
        yield
    except (ModelError, PassingError, RefusedFormError):
        raise
    except openai.APIStatusError as error:
        raise _status_error(error) from None
    except UnicodeError:  # a header is ASCII
        raise _rejected_key() from None
    except Exception as error:  # noqa: BLE001
        # While the answer is read, the errors are those of the SDK's HTTP library, and which
        # library that is depends on the SDK's version.
        if "Timeout" in type(error).__name__:
            raise timed_out(tokens) from None
        unreachable = "it cannot be reached, or hung up; see NACRE_LLM_BASE_URL"
        raise PassingError(ModelError("unavailable", unreachable)) from None


def timed_out(tokens: int) -> PassingError:
    """Return that an answer came too late."""
    return PassingError(ModelError("timeout", _LATE, input_tokens=tokens))


def tokens_told(told: Any, supposed: int) -> int:
    """Return how many tokens the endpoint counted, or what we suppose."""
    if isinstance(told, int) and not isinstance(told, bool) and told >= 0:
        return min(told, MAX_TOKENS_TOLD)
    return supposed


def text_of(content: Any) -> str:
    """Return the text of a message; some endpoints give it in parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def said_in_passing(code: str, message: str) -> ModelError:
    """Return what an error says that stands in an answer, where a status would stand."""
    if "context_length" in code or _TOO_LONG.search(message):
        return _too_long()
    return ModelError("unavailable", "the provider reported an error in its answer")


def _too_long() -> ModelError:
    return ModelError("too_long", "the question is too long for the model")


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
            return PassingError(limited, _retry_after(error.response.headers))
        case 400 | 422 if "content" in code and "filter" in code:
            return ModelError("refused", "the provider's filter stopped it")
        case 400 | 413 | 422 | 500 if "context_length" in code or _TOO_LONG.search(error.message):
            return _too_long()
        case 413:
            return ModelError("too_long", "the provider takes no request of this size")
        case 400 | 422:
            refused = f"the provider refused the request ({error.status_code}); see NACRE_LLM_MODEL"
            return RefusedFormError(ModelError("unavailable", refused))
        case 404:
            unknown = "the provider does not know the model or the path; see NACRE_LLM_MODEL"
            return ModelError("unavailable", unknown)
        case status if status >= 500 or status in (408, 409):
            failed = ModelError("unavailable", f"the provider answered {status}")
            return PassingError(failed, _retry_after(error.response.headers))
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
