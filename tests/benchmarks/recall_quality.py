"""How often the evidence for a question is among the memories that are found.

    python -m tests.benchmarks.recall_quality [--locomo FILE] [--jsquad FILE] [EMBEDDINGS ...]

Every turn of a conversation is recorded by `update_notes`, every question asked by
`search_memory`: the tools as a client calls them, on the laptop's wiring, without a key.
EMBEDDINGS are values of NACRE_EMBEDDINGS. Files are LoCoMo's (locomo10.json and parts of it)
and JSQuAD's; nothing of them is kept.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from nacre.adapters.embeddings.builtin_models import BUILTIN
from nacre.protocol.context import Context
from nacre.protocol.principal import FULL, READ_ONLY, Principal
from nacre.wiring.compose import Home
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.benchmarks.table import show

DATA = Path(__file__).parents[3] / "shared" / "data"
LOCOMO, JSQUAD = DATA / "locomo_1-5.json", DATA / "jsquad_sample.json"
TOP = (1, 3, 5, 10, 30)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_ADVERSARIAL = 5  # questions without an answer, so without evidence


@dataclass(frozen=True, slots=True)
class Memory:
    """A text to remember, by the name that questions know it by."""

    name: str
    action: str
    actors: tuple[str, ...]
    when: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the names of the memories that answer it."""

    text: str
    evidence: frozenset[str]
    category: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """What one Being is told and asked."""

    memories: Sequence[Memory]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Quality:
    """The mean over all questions: evidence within the first k, and reciprocal rank."""

    questions: int
    recall: Mapping[int, float]
    mrr: float
    categories: Mapping[str, float] = field(default_factory=dict)  # within the first ten


def locomo(file: Path) -> Iterator[Task]:
    """Give the conversations of a LoCoMo file: a memory is a turn, a session is a day."""
    for sample in json.loads(file.read_text(encoding="utf-8")):
        memories = list(_turns(sample["conversation"]))
        names = {memory.name for memory in memories}
        questions = [
            Question(asked["question"], evidence, CATEGORIES[asked["category"]])
            for asked in sample["qa"]
            if asked["category"] != _ADVERSARIAL
            and (evidence := frozenset(_named(asked.get("evidence", ()))) & names)
        ]
        yield Task(memories, questions)


def _turns(conversation: Mapping[str, Any]) -> Iterator[Memory]:
    for number in range(1, len(conversation)):
        said_on = conversation.get(f"session_{number}_date_time", "").partition(" on ")[2]
        for turn in conversation.get(f"session_{number}", ()):
            day = datetime.strptime(said_on, "%d %B, %Y").date().isoformat()  # noqa: DTZ007
            picture = turn.get("blip_caption")
            shared = f" [shares {picture}]" if picture else ""
            yield Memory(
                turn["dia_id"],
                f"[{said_on}] {turn['speaker']}: {turn['text']}{shared}",
                (turn["speaker"],),
                (day,),
            )


def _named(evidence: Sequence[str]) -> Iterator[str]:
    for each in evidence:  # some name several turns in one text
        yield from re.findall(r"D\d+:\d+", each)


def jsquad(file: Path) -> Iterator[Task]:
    """Give the passages of a JSQuAD file as one Being's memories."""
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    passages = [passage for article in articles for passage in article["paragraphs"]]
    yield Task(
        [
            Memory(str(number), passage["context"].partition("[SEP]")[2], ("本",), ("2026-01-01",))
            for number, passage in enumerate(passages)
        ],
        [
            Question(asked["question"], frozenset({str(number)}))
            for number, passage in enumerate(passages)
            for asked in passage["qas"]
        ],
    )


def measure(tasks: Iterator[Task], embeddings: str) -> Quality:
    """Return how well one kind of search does."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_folder=folder, embeddings=embeddings)
        laptop = open_laptop(folder, settings)
        try:
            ranks = [
                (question, ranking)
                for number, task in enumerate(tasks)
                for question, ranking in asyncio.run(_told_and_asked(laptop, task, number))
            ]
        finally:
            laptop.close()
    return _quality(ranks)


async def _told_and_asked(
    laptop: Home, task: Task, number: int
) -> list[tuple[Question, list[str]]]:
    being_id = laptop.beings.create(f"Being {number}", owner="me").being_id
    writer = Context(principal=Principal("bench", being_id, FULL))
    reader = Context(principal=Principal("bench", being_id, READ_ONLY))
    server = laptop.application.surface
    note, search = server.get_tool("update_notes"), server.get_tool("search_memory")
    assert note is not None
    assert search is not None
    names: dict[str, str] = {}
    for memory in task.memories:
        scene = {"action": memory.action, "actors": [*memory.actors], "when": [*memory.when]}
        answer = (await note.call({"scenes": [scene]}, writer)).to_dict()
        [scene_id] = json.loads(answer["content"][0]["text"])["scene_ids"]
        names[scene_id] = memory.name
    rankings = []
    for question in task.questions:
        arguments = {"query": question.text, "limit": max(TOP)}
        found = (await search.call(arguments, reader)).to_dict()["_meta"]["nacre/search"]
        rankings.append((question, [names[memory["id"]] for memory in found["memories"]]))
    return rankings


def _quality(ranks: Sequence[tuple[Question, Sequence[str]]]) -> Quality:
    def recall(question: Question, ranking: Sequence[str], k: int) -> float:
        return len(question.evidence.intersection(ranking[:k])) / len(question.evidence)

    def reciprocal(question: Question, ranking: Sequence[str]) -> float:
        places = [place for place, name in enumerate(ranking, 1) if name in question.evidence]
        return 1 / places[0] if places else 0.0

    names = sorted({question.category for question, _ in ranks} - {""})
    return Quality(
        questions=len(ranks),
        recall={k: fmean(recall(*each, k) for each in ranks) for k in TOP},
        mrr=fmean(reciprocal(*each) for each in ranks),
        categories={
            name: fmean(recall(*each, 10) for each in ranks if each[0].category == name)
            for name in names
        },
    )


def report(title: str, measured: Mapping[str, Quality]) -> None:
    """Print what was measured as a table."""
    categories = list(next(iter(measured.values())).categories)
    header = ["search", *(f"R@{k}" for k in TOP), "MRR", *(f"{name} R@10" for name in categories)]
    rows = [
        [name, *(f"{each:.3f}" for each in _row(quality, categories))]
        for name, quality in measured.items()
    ]
    count = next(iter(measured.values())).questions
    show(f"{title}, {count} questions", header, rows)


def _row(quality: Quality, categories: Sequence[str]) -> list[float]:
    found = [quality.recall[k] for k in TOP]
    return [*found, quality.mrr, *(quality.categories[name] for name in categories)]


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--locomo", type=Path, default=LOCOMO if LOCOMO.exists() else None)
    parser.add_argument("--jsquad", type=Path, default=JSQUAD if JSQUAD.exists() else None)
    parser.add_argument("embeddings", nargs="*", metavar="EMBEDDINGS")
    given = parser.parse_args()
    if given.locomo is None and given.jsquad is None:
        sys.exit("give a file to measure with: --locomo FILE or --jsquad FILE")
    chosen = given.embeddings or ["none", *BUILTIN]
    if given.locomo is not None:
        report("LoCoMo", {name: measure(locomo(given.locomo), name) for name in chosen})
    if given.jsquad is not None:
        report("JSQuAD", {name: measure(jsquad(given.jsquad), name) for name in chosen})


if __name__ == "__main__":
    main()
