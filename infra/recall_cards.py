"""Compute the directions of the recall cards: from messages that need no memory to those that do.

    python -m infra.recall_cards

The module of directions is written anew, for the models that ship with Nacre.
"""

from base64 import b64encode
from pathlib import Path
from textwrap import wrap

import numpy as np  # noqa: TID253  a program of its own, which no feature imports

from infra.cards import matrix, texts
from nacre.being.memory.search.recall_cards import THRESHOLDS
from nacre.ports.vectors.embedder import Embedder
from nacre.wiring.features.embeddings import builtin_embedder

MESSAGES = Path(__file__).with_name("recall_messages.tsv")
MODULE = Path(__file__).parents[1] / "shared/nacre/being/memory/search/recall_directions.py"
_LINE = 88  # of base 64, so that a line of the module has at most 100 characters

_HEAD = '''"""The directions of recall cards. `python -m infra.recall_cards` writes this file.

Each has the scale of its numbers, and the numbers as signed bytes in base 64.
"""

DIRECTIONS = {
'''


def main() -> None:
    """Write the module."""
    MODULE.write_text(module(), encoding="ascii")


def module() -> str:
    """Return the text of the module of directions."""
    found = {emb_id: builtin_embedder(emb_id) for emb_id in THRESHOLDS}
    return _HEAD + "".join(entry(embedder) for embedder in found.values() if embedder) + "}\n"


def entry(embedder: Embedder) -> str:
    """Return one entry of the module."""
    numbers = direction(embedder)
    scale = float(np.abs(numbers).max() / 127)
    packed = np.rint(numbers / scale).astype(np.int8)
    lines = wrap(b64encode(packed.tobytes()).decode(), _LINE)
    quoted = "\n".join(f'        "{line}"' for line in lines)
    return f'    "{embedder.emb_id}": (\n        {scale:.4e},\n{quoted},\n    ),\n'


def direction(embedder: Embedder) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """Return the mean vector of messages that need a memory, less the mean of those that do not."""
    needs = [*messages("needs"), *(asked for spoken in ("en", "ja") for _, asked in texts(spoken))]
    means = [
        matrix([embedder.query(text) for text in kind]).mean(axis=0)
        for kind in (needs, messages("none"))
    ]
    return np.asarray(means[0] - means[1], np.float32)


def messages(kind: str) -> list[str]:
    """Return the messages of one kind, in the order of the file."""
    rows = [line.split("\t") for line in MESSAGES.read_text(encoding="utf-8").splitlines()]
    return [row[2] for row in rows if row[0] == kind]


if __name__ == "__main__":
    main()
