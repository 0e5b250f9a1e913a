"""Measure what a model's cosines mean, on notes and questions of our own.

    python -m infra.cards [--language en|ja] [builtin | builtin-static | onnx:PATH | … ]

Printed are the mean and deviation of pairs of notes that have nothing to do with each
other, the floor from which a note counts as an answer, and how often that is right.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np  # noqa: TID253  a program of its own, which no feature imports

from nacre.adapters.embeddings.builtin_models import BUILTIN
from nacre.being.memory.search.questions import without_question
from nacre.ports.vectors.embedder import Cosines, Embedder
from nacre.wiring.features.embeddings import embedders
from nacre.wiring.settings import Settings

TEXTS = Path(__file__).with_name("card_texts.tsv")
FLOOR_Z = 2.5  # deviations above random pairs of question and note: about one in 160 passes
JOIN_Z = 2.75  # above random pairs of notes: notes that belong together

Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of one model for the notes and questions of one language."""

    emb_id: str
    cosines: Cosines
    answers_above: float  # of right answers, how many lie above the floor
    others_above: float  # of wrong ones


def main() -> None:
    """Measure the models that the command line names, the built-in ones without any."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(BUILTIN))
    parser.add_argument("--language", choices=["en", "ja"], action="append")
    arguments = parser.parse_args()
    for model in arguments.models:
        chosen = embedders(Settings.from_environment()._replace(embeddings=model)).primary
        assert chosen is not None, "a search by words has no cosines"
        for language in arguments.language or ["en", "ja"]:
            print(language, measure(chosen, language))


def measure(embedder: Embedder, language: str) -> Measured:
    """Return the figures of a model for one language."""
    pairs = texts(language)
    notes = matrix(embedder.documents([note for note, _ in pairs]))
    questions = matrix(
        [without_question(embedder.query(text), embedder.emb_id) for _, text in pairs]
    )
    apart = ~np.eye(len(pairs), dtype=bool)
    between_notes = (notes @ notes.T)[apart]
    products = questions @ notes.T
    mean, deviation = float(between_notes.mean()), float(between_notes.std())
    floor = float(products[apart].mean() + FLOOR_Z * products[apart].std())
    return Measured(
        emb_id=embedder.emb_id,
        cosines=Cosines(
            mean=round(mean, 3),
            deviation=round(deviation, 3),
            floor=round(floor, 2),
            join=round(mean + JOIN_Z * deviation, 2),
        ),
        answers_above=round(float((products.diagonal() >= floor).mean()), 2),
        others_above=round(float((products[apart] >= floor).mean()), 4),
    )


def texts(language: str) -> list[tuple[str, str]]:
    """Return the notes of one language, each with the question that it answers."""
    lines = TEXTS.read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    return [(note, question) for spoken, note, question in rows if spoken == language]


def matrix(vectors: Sequence[bytes]) -> Floats:
    """Return vectors as the rows of a matrix."""
    return np.stack([np.frombuffer(vector, "<f4") for vector in vectors])


if __name__ == "__main__":
    main()
