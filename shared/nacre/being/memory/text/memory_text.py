"""Memories as text: one line each, and the block that a recall returns."""

import re
from collections.abc import Sequence
from hashlib import sha256
from random import Random

from nacre.being.memory.model.types import SceneText
from nacre.being.memory.text.text_blocks import shortened
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import RECALL_TOKENS

_OPEN, _CLOSE = "<memory-recall>", "</memory-recall>"
_BUDGET = 4 * RECALL_TOKENS  # RECALL_BYTES for text in Latin script, and fewer bytes for others
_DAYS_SHOWN = 4
_ACTORS_BYTES = 160  # of the 1200 that three memories have in a recall
# A memory that contains the closing tag must not end the block.
_FENCE = re.compile(r"<(?=\s*/?\s*memory-recall)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A memory in a recall with its source: `node ID` or `scene ID`.

    `match` says in two words how well it fits the message. `similar` are memories close to it that
    say something else; they are listed next to it.
    """

    text: str
    source: str
    match: str = ""
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

    The block has about RECALL_TOKENS tokens at most, and never more than RECALL_BYTES. The same
    message and fragments give the same bytes; no fragments give no text.
    """
    if not fragments:
        return ""
    seed = int.from_bytes(sha256(message.encode(errors="replace")).digest())
    shuffled = Random(seed).sample(fragments, len(fragments))  # noqa: S311  no secret hangs on it
    every = [fragment for first in shuffled for fragment in (first, *first.similar)]
    frame = [_OPEN, *(_line("", fragment) for fragment in every), _CLOSE]
    texts = [_escaped(fragment.text) for fragment in every]
    shares = _shares(texts, _BUDGET - _size("\n".join(frame)))
    lines = [
        _line(_cut(text, share), fragment)
        for fragment, text, share in zip(every, texts, shares, strict=True)
    ]
    return "\n".join([_OPEN, *lines, _CLOSE])


def _line(text: str, fragment: Fragment) -> str:
    match = f" ({fragment.match})" if fragment.match else ""
    return f"- {text}{match} [{fragment.source}]"


def _escaped(text: str) -> str:
    return _FENCE.sub("&lt;", text)


def _size(text: str) -> int:
    """Return the size of a text in quarters of a token, which is at least its size in bytes.

    Four letters of Latin script make about a token, and a Chinese or Japanese character is one.
    """
    return sum(4 if char >= "\u0800" else len(char.encode()) for char in text)


def _cut(text: str, room: int) -> str:
    """Return the text cut to this size, with an ellipsis where it was cut."""
    if _size(text) <= room:
        return text
    room -= _size("…")
    end = 0
    for char in text:
        room -= _size(char)
        if room < 0:
            break
        end += 1
    return text[:end].rstrip() + "…"


def _shares(texts: Sequence[str], room: int) -> list[int]:
    """Return the size that each text gets; long texts share the room that short ones leave."""
    sizes = [_size(text) for text in texts]
    shares = [0] * len(texts)
    for number, place in enumerate(sorted(range(len(texts)), key=sizes.__getitem__)):
        shares[place] = min(sizes[place], room // (len(texts) - number))
        room -= shares[place]
    return shares
