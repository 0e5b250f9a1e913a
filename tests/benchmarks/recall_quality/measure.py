"""Telling and asking Beings through their tools, and how good the answers are."""

import asyncio
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from nacre.core.limits import MAX_SCENES_IN_CALL, MAX_SEARCH_MEMORIES
from nacre.protocol.context import Context
from nacre.protocol.principal import FULL, READ_ONLY, Principal
from nacre.wiring.compose import Home
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.benchmarks.recall_quality.tasks import Memory, Question, Task, session_of
from tests.benchmarks.table import show

TOP = (1, 3, 5, 10, 30)
SESSIONS = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and the names of the memories that were found, best first."""

    question: Question
    ranking: Sequence[str]
    texts: Mapping[str, str]  # of the evidence and the first ten

    def recall(self, k: int) -> float:
        """Return the share of the evidence within the first k."""
        evidence = self.question.evidence
        return len(evidence.intersection(self.ranking[:k])) / len(evidence)

    @property
    def reciprocal(self) -> float:
        """Return one divided by the place of the first evidence."""
        places = (at for at, name in enumerate(self.ranking, 1) if name in self.question.evidence)
        return 1 / next(places, float("inf"))

    @property
    def has_session(self) -> bool:
        """Return whether any session of the evidence is among the first five sessions."""
        sessions = list(dict.fromkeys(map(session_of, self.ranking)))[:SESSIONS]
        return not set(sessions).isdisjoint(map(session_of, self.question.evidence))


@dataclass(frozen=True, slots=True)
class Quality:
    """The mean over all questions."""

    questions: int
    recall: Mapping[int, float]
    mrr: float
    sessions: float  # questions with a session of their evidence among the first five
    nothing: float  # questions that were answered with nothing
    categories: Mapping[str, float] = field(default_factory=dict)  # within the first ten

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> "Quality":
        """Return the quality of these answers."""
        names = sorted({answer.question.category for answer in answers} - {""})
        return cls(
            questions=len(answers),
            recall={k: fmean(answer.recall(k) for answer in answers) for k in TOP},
            mrr=fmean(answer.reciprocal for answer in answers),
            sessions=fmean(answer.has_session for answer in answers),
            nothing=fmean(not answer.ranking for answer in answers),
            categories={
                name: fmean(
                    answer.recall(10) for answer in answers if answer.question.category == name
                )
                for name in names
            },
        )


def measure(tasks: Iterable[Task], embeddings: str) -> Quality:
    """Return how good one kind of search is."""
    return Quality.of(answers(tasks, embeddings))


def answers(tasks: Iterable[Task], embeddings: str) -> list[Answer]:
    """Return what one kind of search answers."""
    with tempfile.TemporaryDirectory() as folder:
        laptop = open_laptop(folder, Settings(data_folder=folder, embeddings=embeddings))
        try:
            return [
                answer
                for number, task in enumerate(tasks)
                for answer in asyncio.run(_told_and_asked(laptop, task, number))
            ]
        finally:
            laptop.close()


async def _told_and_asked(laptop: Home, task: Task, number: int) -> list[Answer]:
    being_id = laptop.beings.create(f"Being {number}", owner="me").being_id
    writer = Context(principal=Principal("bench", being_id, FULL))
    reader = Context(principal=Principal("bench", being_id, READ_ONLY))
    server = laptop.application.surface
    note, search = server.get_tool("update_notes"), server.get_tool("search_memory")
    assert note is not None
    assert search is not None
    names: dict[str, str] = {}
    for start in range(0, len(task.memories), MAX_SCENES_IN_CALL):
        some = task.memories[start : start + MAX_SCENES_IN_CALL]
        reply = (await note.call({"scenes": [_scene(memory) for memory in some]}, writer)).to_dict()
        scene_ids = json.loads(reply["content"][0]["text"])["scene_ids"]
        names.update(zip(scene_ids, (memory.name for memory in some), strict=True))
    texts = {memory.name: memory.action for memory in task.memories}
    result = []
    for question in task.questions:
        arguments = {"query": question.text, "limit": MAX_SEARCH_MEMORIES}
        hits = (await search.call(arguments, reader)).to_dict()["_meta"]["nacre/search"]
        ranking = [names[hit["id"]] for hit in hits["memories"]]
        shown = {name: texts[name] for name in (*question.evidence, *ranking[:10])}
        result.append(Answer(question, ranking, shown))
    return result


def _scene(memory: Memory) -> dict[str, object]:
    return {"action": memory.action, "actors": [*memory.actors], "when": [*memory.when]}


def report(title: str, measured: Mapping[str, Quality]) -> None:
    """Print the quality of each kind of search as a table."""
    first = next(iter(measured.values()))
    header = ["search", *(f"R@{k}" for k in TOP), "MRR", f"session@{SESSIONS}", "nothing"]
    header += [f"{name} R@10" for name in first.categories]
    rows = [
        [name, *(f"{value:.3f}" for value in _row(quality, list(first.categories)))]
        for name, quality in measured.items()
    ]
    show(f"{title}, {first.questions} questions", header, rows)


def _row(quality: Quality, categories: Sequence[str]) -> list[float]:
    means = [quality.recall[k] for k in TOP]
    means += [quality.mrr, quality.sessions, quality.nothing]
    return [*means, *(quality.categories[name] for name in categories)]
