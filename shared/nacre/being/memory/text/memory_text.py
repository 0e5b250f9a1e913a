"""Memories as text: one line each, and the block that a recall returns."""

import re
from collections.abc import Sequence
from hashlib import sha256
from random import Random

from nacre.being.memory.model.types import SceneText
from nacre.being.memory.text.text_blocks import shortened
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import RECALL_BYTES

_OPEN, _CLOSE = "<memory-recall>", "</memory-recall>"
_DAYS_SHOWN = 4
_ACTORS_BYTES = 160  # of the 1200 that three memories have in a recall
# A memory that contains the closing tag must not end the block.
_FENCE = re.compile(r"<(?=\s*/?\s*memory-recall)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A memory in a recall with its source: `node ID` or `scene ID`.

    `similar` are memories close to it that say something else; they are listed next to it.
    """

    text: str
    source: str
    similar: tuple["Fragment", ...] = ()


def scene_line(scene: SceneText) -> str:
    """Return a scene or a node as one line: `[days] actors: action (setting) — feeling`."""
    return _line_of(scene, ", ".join(scene.when), ", ".join(scene.actors))


def shown_line(scene: SceneText) -> str:
    """Return the same line with many days as a span and many actors cut, so the action shows."""
    days = ", ".join(scene.when)
    if len(scene.when) > _DAYS_SHOWN:
        days = f"{min(scene.when)} to {max(scene.when)}, {len(scene.when)} days"
    return _line_of(scene, days, shortened(", ".join(scene.actors), _ACTORS_BYTES))


def _line_of(scene: SceneText, days: str, actors: str) -> str:
    days = f"[{days}] " if days else ""
    actors = f"{actors}: " if actors else ""
    setting = f" ({scene.setting})" if scene.setting else ""
    feeling = f" — {scene.feeling}" if scene.feeling else ""
    return one_line(f"{days}{actors}{scene.action}{setting}{feeling}")


def one_line(text: str) -> str:
    """Return the text in one line, with single spaces."""
    return " ".join(text.split())


def counted(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun: "1 scene", "2 scenes"."""
    return f"{count} {singular if count == 1 else plural or singular + 's'}"


def recall_block(fragments: Sequence[Fragment], message: str) -> str:
    """Return the block for a message, with its fragments in an order that the message decides.

    The same message and fragments give the same bytes; no fragments give no text.
    """
    if not fragments:
        return ""
    seed = int.from_bytes(sha256(message.encode(errors="replace")).digest())
    shuffled = Random(seed).sample(fragments, len(fragments))  # noqa: S311  no secret hangs on it
    every = [fragment for first in shuffled for fragment in (first, *first.similar)]
    frame = [_OPEN, *(_line("", fragment.source) for fragment in every), _CLOSE]
    texts = [_escaped(fragment.text) for fragment in every]
    shares = _shares(texts, RECALL_BYTES - _size(frame))
    lines = [
        _line(shortened(text, size), fragment.source)
        for fragment, text, size in zip(every, texts, shares, strict=True)
    ]
    return "\n".join([_OPEN, *lines, _CLOSE])


def _line(text: str, source: str) -> str:
    return f"- {text} [{source}]"


def _escaped(text: str) -> str:
    return _FENCE.sub("&lt;", text)


def _size(lines: Sequence[str]) -> int:
    return len("\n".join(lines).encode())


def _shares(texts: Sequence[str], room: int) -> list[int]:
    """Return how many bytes each text gets; long texts share the bytes that short ones leave."""
    sizes = [len(text.encode()) for text in texts]
    shares = [0] * len(texts)
    for number, place in enumerate(sorted(range(len(texts)), key=sizes.__getitem__)):
        shares[place] = min(sizes[place], room // (len(texts) - number))
        room -= shares[place]
    return shares
