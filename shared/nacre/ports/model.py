"""A language model that answers one question with one JSON object."""

from collections.abc import Mapping
from typing import Any, Protocol

from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The reply of a model, and the tokens that it cost."""

    text: str
    input_tokens: int
    output_tokens: int


class Model(Protocol):
    """Answers a question; it may refuse, be slow, or return an unusable answer.

    The schema describes the expected answer. Many endpoints ignore it, so the caller checks the
    answer.
    """

    name: str

    def ask(
        self, *, system: str, user: str, schema: Mapping[str, Any], max_tokens: int
    ) -> ModelAnswer:
        """Return the answer; raise ModelError if there is none."""
        ...
