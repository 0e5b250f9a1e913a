"""One answer of many parts: nothing that was said is lost, and nothing is said twice."""

from collections.abc import Sequence

NO_RESPONSE = "(No response)"


def combined(parts: Sequence[str], final: str) -> str:
    """Return one text of what was said on the way and of what was said last.

    A final text that holds all earlier ones stands alone. Else parts that another one holds are
    left out, and the rest are joined by blank lines, in their order. Blanks make no difference.
    """
    said = [part.strip() for part in (*parts, final) if part.strip()]
    has_final = bool(final.strip())
    plain = [collapsed(part) for part in said]
    kept: list[int] = []
    for place, part in enumerate(plain):
        is_final = has_final and place == len(said) - 1
        others = [*plain[place + 1 :], *(plain[each] for each in kept)]
        if is_final or not any(_holds(other, part) for other in others):
            kept.append(place)
    return "\n\n".join(said[place] for place in kept) or NO_RESPONSE


def holds(text: str, part: str) -> bool:
    """Whether a text says a part, in whole words: 15 does not say 5."""
    return _holds(collapsed(text), collapsed(part))


def collapsed(text: str) -> str:
    """Return a text with every run of blanks as one."""
    return " ".join(text.split())


def _holds(text: str, part: str) -> bool:
    place = text.find(part)
    while place >= 0:
        end = place + len(part)
        if not (_joined(text, place) or _joined(text, end)):
            return True
        place = text.find(part, place + 1)
    return False


def _joined(text: str, place: int) -> bool:
    """Whether the characters on both sides of a place belong to one word."""
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()
