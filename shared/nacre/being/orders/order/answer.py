"""The answer of an order: texts and media collected on the way, and one text made of them."""

import re
from collections.abc import Iterable, Sequence

from nacre.being.memory.text.text_blocks import shortened
from nacre.being.orders.media.media_limits import bound, readable
from nacre.being.orders.media.outgoing import OutMedia
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import ORDER_HELD_BYTES, ORDER_TEXT_BYTES

NO_RESPONSE = "(No response)"
_WORDS = re.compile(r"[^\W_]+|.", re.DOTALL)
_BETWEEN = "\0"


@dataclass(slots=True)
class AnswerParts:
    """The texts and media that an order has collected for its answer.

    Other servers decide how much a call returns, and the model decides how many calls it makes.
    Whatever exceeds the limits is dropped at once, and a remark says so.
    """

    parts: list[str] = field(default_factory=list)  # from the model and its tools, on the way
    final: str = ""
    media: list[OutMedia] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    _text_bytes_left: int = field(default_factory=lambda: ORDER_TEXT_BYTES)
    _media_bytes_left: int = field(default_factory=lambda: ORDER_HELD_BYTES)

    def add_text(self, text: str, source: str) -> None:
        """Add a text of the model or of a tool."""
        size = len(text.encode())
        if size > self._text_bytes_left:
            self.remarks.append(
                f"(The text of {source}, {readable(size)}, was left out: the text of one answer"
                f" may have {bound(ORDER_TEXT_BYTES)}.)"
            )
            return
        self._text_bytes_left -= size
        self.parts.append(text)

    def add_media(self, media: Iterable[OutMedia], source: str) -> None:
        """Add media of the model or of a tool."""
        for item in media:
            if len(item.data) > self._media_bytes_left:
                self.remarks.append(
                    f"(One {item.mime_type[:60]} of {source} was left out: an order holds no more"
                    f" than {readable(ORDER_HELD_BYTES)}.)"
                )
                continue
            self._media_bytes_left -= len(item.data)
            self.media.append(item)

    def set_final(self, text: str) -> None:
        """Set the last text of the model."""
        self.final = shortened(text, ORDER_TEXT_BYTES)


def combined(parts: Sequence[str], final: str) -> str:
    """Return one text of the parts and the final text, in which nothing is missing or repeated.

    A final text that contains all parts is returned alone. Otherwise parts that are contained in
    another one are left out, and the others are joined by blank lines, in their order.
    Differences in white space do not count.
    """
    texts = [part.strip() for part in (*parts, final) if part.strip()]
    has_final = bool(final.strip())
    words = [_words(text) for text in texts]
    places: list[int] = []
    for place, part in enumerate(words):
        is_final = has_final and place == len(texts) - 1
        others = [*words[place + 1 :], *(words[earlier] for earlier in places)]
        if is_final or not any(part in text for text in others):
            places.append(place)
    return "\n\n".join(texts[place] for place in places) or NO_RESPONSE


def _words(text: str) -> str:
    """Return the words and marks of a text, each between two separators.

    A search in the result finds whole words only. Checking the letters around each hit instead
    would take hours for a long text that repeats itself, and other servers write these texts.
    """
    return _BETWEEN + _BETWEEN.join(_WORDS.findall(" ".join(text.split()))) + _BETWEEN
