"""The words of a language that tell a statement about oneself from other speech."""

import re

from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Speech:
    """The patterns of a language, each for the beginning of a clause unless said otherwise.

    `task` finds a message that gives a text to work on: whatever it says is not about its writer.
    """

    task: re.Pattern[str]  # anywhere in a message
    lead: re.Pattern[str]  # words before a statement that say nothing: "By the way,"
    when: re.Pattern[str]  # words of time before a statement, which belong to it
    question: re.Pattern[str]  # where a question or a request begins within a sentence
    statement: re.Pattern[str]
    request: re.Pattern[str]
    hedge: re.Pattern[str]  # anywhere in a clause


def pattern(text: str) -> re.Pattern[str]:
    """Return a pattern without regard to case; spaces and line ends in it are for reading."""
    return re.compile(text, re.IGNORECASE | re.VERBOSE)
