"""A language model that answers one question with one JSON object."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model said, and what it cost."""

    text: str
    input_tokens: int
    output_tokens: int


class Model(Protocol):
    """Answers a question; it may refuse, be slow, or say what nobody can use.

    The schema says what the answer should be; many endpoints ignore it, so whoever asks
    checks the answer.
    """

    name: str

    def ask(
        self, *, system: str, user: str, schema: Mapping[str, Any], max_tokens: int
    ) -> ModelAnswer:
        """Return the answer; raise ModelError when there is none to be had."""
        ...
