"""A year with a Being: what lives, what dies, what comes back, and whether anything is missed.

    python -m tests.benchmarks.simulated_year [--locomo FILE] [--days N]

Every day eight scenes are noted, a few questions are asked, some things far more often than
others, and a patrol runs. A twin is told and asked the same and forgets nothing. In the end both
answer the questions whose evidence still lives. Scenes and questions are LoCoMo's; nothing of
them is kept.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean

from nacre.being.memory.model.types import Node
from tests.benchmarks.memory_load import mind
from tests.benchmarks.patrolled import Patrolled
from tests.benchmarks.recall_quality.datasets import LOCOMO, locomo
from tests.benchmarks.recall_quality.tasks import Memory, Question
from tests.benchmarks.table import show

DAYS = 365
SCENES_A_DAY = 8
QUESTIONS_A_DAY = 3
TOP = 10
_IMPORTANCES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.5, 0.7, 0.9)


@dataclass(frozen=True, slots=True)
class Told:
    """What there is to tell, in order, and what may be asked about it."""

    memories: Sequence[Memory]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Year:
    """What became of the memories, and how much of the evidence was found."""

    states: Mapping[str, int]
    revived: int
    survivors: int  # questions whose whole evidence lives
    found: float
    found_by_twin: float


def told(file: Path) -> Told:
    """Return the turns of all conversations, each name made unique, and their questions."""
    memories, questions = [], []
    for number, task in enumerate(locomo(file)):
        memories += [replace(each, name=f"{number} {each.name}") for each in task.memories]
        questions += [
            replace(each, evidence=frozenset(f"{number} {name}" for name in each.evidence))
            for each in task.questions
        ]
    return Told(memories, questions)


def days(memories: Sequence[Memory], count: int) -> Iterator[Sequence[Memory]]:
    """Give what is told on each day; conversations are spread over the year."""
    for day in range(count):
        first = day * SCENES_A_DAY
        yield memories[first : first + SCENES_A_DAY]


class Life:
    """A Being that is told and asked, by the names of what it was told."""

    def __init__(self, folder: Path, *, forgets: bool) -> None:
        self.being = Patrolled(folder)
        self._forgets = forgets
        self._scenes: dict[str, str] = {}  # by name
        self.revived = 0

    def tell(self, memories: Sequence[Memory], importances: Sequence[float]) -> None:
        """Note a day's scenes and let a patrol run."""
        noted = self.being.note(
            [
                {"action": each.action, "actors": [*each.actors], "importance": importance}
                for each, importance in zip(memories, importances, strict=True)
            ]
        )
        self._scenes |= {memory.name: noted[place] for place, memory in enumerate(memories)}
        self.revived += self.being.patrol().counts.get("revived", 0)
        if not self._forgets:
            self._keep_all(noted)

    def _keep_all(self, scenes: Sequence[str]) -> None:
        being_id, laptop = self.being.being_id, self.being.laptop
        noted = mind(laptop).memory.scenes.get_many(being_id, scenes)
        ids = {scene.node_id for scene in noted.values()}
        for node in mind(laptop).memory.nodes.get_many(being_id, ids).values():
            pinned = replace(node, pinned=True, version=node.version + 1)
            laptop.data.put(pinned.to_item(being_id))

    def ask(self, question: Question) -> set[str]:
        """Return the ids of the nodes that a question finds."""
        return set(self.being.found(question.text, TOP))

    def holders(self) -> dict[str, Node]:
        """Return the node that holds each thing told, by its name."""
        nodes = {node.node_id: node for node in self.being.nodes()}
        holder = {scene: node for node in nodes.values() for scene in node.evidence}
        found = {}
        for name, scene in self._scenes.items():
            node = holder[scene]
            while node.merged_into is not None:
                node = nodes[node.merged_into]
            found[name] = node
        return found


def live(story: Told, day_count: int, folder: Path) -> Year:
    """Live through the days, and ask in the end."""
    rng = Random(1)
    forgetful, twin = Life(folder / "one", forgets=True), Life(folder / "twin", forgets=False)
    open_questions = list(story.questions)
    rng.shuffle(open_questions)
    known: set[str] = set()
    askable: list[Question] = []
    for memories in days(story.memories, day_count):
        importances = [rng.choice(_IMPORTANCES) for _ in memories]
        known |= {memory.name for memory in memories}
        askable += [each for each in open_questions if each.evidence <= known]
        open_questions = [each for each in open_questions if not each.evidence <= known]
        # A few questions come again and again, most hardly ever.
        asked = [
            askable[min(int(rng.paretovariate(0.7)) - 1, len(askable) - 1)]
            for _ in range(QUESTIONS_A_DAY if askable else 0)
        ]
        for life in (forgetful, twin):
            for question in asked:
                life.ask(question)
            if memories:
                life.tell(memories, importances)
            life.being.calendar.next_day()
    year = _measured(forgetful, twin, askable)
    forgetful.being.close()
    twin.being.close()
    return year


def _measured(forgetful: Life, twin: Life, askable: Sequence[Question]) -> Year:
    holders, twins = forgetful.holders(), twin.holders()
    survivors = [
        question
        for question in askable
        if all(holders[each].is_living for each in question.evidence)
    ]

    def found(life: Life, holder: Mapping[str, Node]) -> float:
        shares = []
        for question in survivors:
            wanted = {holder[each].node_id for each in question.evidence}
            shares.append(len(wanted & life.ask(question)) / len(wanted))
        return fmean(shares)

    return Year(
        states=Counter(node.status for node in forgetful.being.nodes()),
        revived=forgetful.revived,
        survivors=len(survivors),
        found=found(forgetful, holders),
        found_by_twin=found(twin, twins),
    )


def report(year: Year, day_count: int) -> None:
    """Print what became of the memories."""
    show(
        f"{day_count} days, {SCENES_A_DAY} scenes a day: memories in the end",
        (*year.states, "came back"),
        [(*year.states.values(), year.revived)],
    )
    show(
        f"Evidence within the first {TOP} for the {year.survivors} questions it still lives for",
        ("forgetting", "never forgetting"),
        [(f"{year.found:.3f}", f"{year.found_by_twin:.3f}")],
    )


def main() -> None:
    """Live through as many days as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--locomo", type=Path, default=LOCOMO)
    parser.add_argument("--days", type=int, default=DAYS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report(live(told(given.locomo), given.days, Path(folder)), given.days)


if __name__ == "__main__":
    main()
