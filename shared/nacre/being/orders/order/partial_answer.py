"""What an order has brought about so far, as much of it as an answer can hold."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from nacre.being.memory.text.text_blocks import shortened
from nacre.being.orders.media.media_limits import bound, readable
from nacre.being.orders.media.outgoing import OutMedia
from nacre.core.limits import ORDER_HELD_BYTES, ORDER_TEXT_BYTES


@dataclass(slots=True)
class Work:
    """The texts and media of one order on the way to its answer.

    Other servers say how much comes back, in as many calls as the model makes; what is beyond the
    room for it is left out with a line that says so, and is not kept in memory until then.
    """

    parts: list[str] = field(default_factory=list)  # what was said and brought on the way
    final: str = ""
    media: list[OutMedia] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    _text_room: int = field(default_factory=lambda: ORDER_TEXT_BYTES)
    _media_room: int = field(default_factory=lambda: ORDER_HELD_BYTES)

    def say(self, text: str, source: str) -> None:
        """Add what the model said on the way, or what a tool brought."""
        size = len(text.encode())
        if size > self._text_room:
            self.remarks.append(
                f"(What {source} brought, {readable(size)}, was left out: the text of one answer"
                f" may have {bound(ORDER_TEXT_BYTES)}.)"
            )
            return
        self._text_room -= size
        self.parts.append(text)

    def bring(self, media: Iterable[OutMedia], source: str) -> None:
        """Add what goes along with the answer."""
        for each in media:
            if len(each.data) > self._media_room:
                self.remarks.append(
                    f"(One {each.mime_type[:60]} of {source} was left out: an order holds no more"
                    f" than {readable(ORDER_HELD_BYTES)}.)"
                )
                continue
            self._media_room -= len(each.data)
            self.media.append(each)

    def end(self, final: str) -> None:
        """Add what the model said at last."""
        self.final = shortened(final, ORDER_TEXT_BYTES)
