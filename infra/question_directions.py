"""Compute the direction that all questions share, for the encoders that ship with Nacre.

    python -m infra.question_directions

The module of directions is written anew.
"""

from base64 import b64encode
from pathlib import Path
from textwrap import wrap

import numpy as np  # noqa: TID253  a program of its own, which no feature imports

from infra.cards import matrix
from infra.recall_cards import messages
from nacre.adapters.embeddings.builtin_models import BEST, ENCODER
from nacre.ports.vectors.embedder import Embedder
from nacre.wiring.features.embeddings import builtin_embedder

MODULE = Path(__file__).parents[1] / "shared/nacre/being/memory/search/question_directions.py"
_LINE = 88  # of base 64, so that a line of the module has at most 100 characters

_HEAD = '''"""The directions of questions. `python -m infra.question_directions` writes this file.

Each has its numbers as signed bytes in base 64.
"""

DIRECTIONS = {
'''


def main() -> None:
    """Write the module."""
    embedders = [builtin_embedder(kind.emb_id) for kind in (ENCODER, BEST)]
    entries = "".join(entry(embedder) for embedder in embedders if embedder is not None)
    MODULE.write_text(f"{_HEAD}{entries}}}\n", encoding="ascii")


def entry(embedder: Embedder) -> str:
    """Return one entry of the module of directions."""
    numbers = direction(embedder)
    packed = np.rint(127 * numbers / np.abs(numbers).max()).astype(np.int8)
    lines = wrap(b64encode(packed.tobytes()).decode(), _LINE)
    quoted = "\n".join(f'        "{line}"' for line in lines)
    return f'    "{embedder.emb_id}": (\n{quoted}\n    ),\n'


def direction(embedder: Embedder) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """Return the mean vector of questions about somebody's life, as texts."""
    questions = [text for text in messages("needs") if text.rstrip().endswith(("?", "\uff1f"))]
    mean = matrix(embedder.documents(questions)).mean(axis=0)
    return np.asarray(mean, np.float32)


if __name__ == "__main__":
    main()
