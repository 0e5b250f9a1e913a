"""One answer of many parts: nothing that was said is lost, and nothing is said twice."""

import re
from collections.abc import Sequence

NO_RESPONSE = "(No response)"
_WORDS = re.compile(r"[^\W_]+|.", re.DOTALL)
_BETWEEN = "\0"


def combined(parts: Sequence[str], final: str) -> str:
    """Return one text of what was said on the way and of what was said last.

    A final text that holds all earlier ones stands alone. Else parts that another one holds are
    left out, and the rest are joined by blank lines, in their order. Blanks make no difference.
    """
    said = [part.strip() for part in (*parts, final) if part.strip()]
    has_final = bool(final.strip())
    words = [_words(part) for part in said]
    kept: list[int] = []
    for place, part in enumerate(words):
        is_final = has_final and place == len(said) - 1
        others = [*words[place + 1 :], *(words[each] for each in kept)]
        if is_final or not any(part in other for other in others):
            kept.append(place)
    return "\n\n".join(said[place] for place in kept) or NO_RESPONSE


def holds(text: str, part: str) -> bool:
    """Whether a text says a part, in whole words: 15 does not say 5."""
    return _words(part) in _words(text)


def collapsed(text: str) -> str:
    """Return a text with every run of blanks as one."""
    return " ".join(text.split())


def _words(text: str) -> str:
    """Return the words and marks of a text, each with a sign before and behind it.

    So one search finds whole words only. To look at the letters around each place where a part
    is found would take hours in a long text that repeats itself, and other servers write them.
    """
    return _BETWEEN + _BETWEEN.join(_WORDS.findall(collapsed(text))) + _BETWEEN
