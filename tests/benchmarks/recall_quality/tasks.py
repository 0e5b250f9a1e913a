"""What Beings are told and asked, whichever data set it comes from."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Memory:
    """A text to remember, by the name that questions know it by.

    A name may begin with that of its session and a slash.
    """

    name: str
    action: str
    actors: tuple[str, ...]
    when: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the names of the memories that answer it."""

    text: str
    evidence: frozenset[str]
    category: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """What one Being is told and asked."""

    memories: Sequence[Memory]
    questions: Sequence[Question]


def session_of(name: str) -> str:
    """Return the session of a memory's name."""
    return name.partition("/")[0]
