"""What a model thinks aloud, which is not what it says."""

import re

# Local models put their thoughts in front of the answer, in a tag of their own.
_THOUGHT = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
# A template may have opened the tag already, in what the model was given.
_UNOPENED = re.compile(r"\A(?:(?!<think).)*?</think>[ \t]*\n\s*", re.DOTALL | re.IGNORECASE)
_UNENDED = re.compile(r"\A\s*<(think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """Return a text without the thoughts in front of it; the answer itself stays as it is."""
    while (match := _THOUGHT.match(text)) is not None:
        text = text[match.end() :]
    text = _UNOPENED.sub("", text, count=1)
    return "" if _UNENDED.match(text) else text
