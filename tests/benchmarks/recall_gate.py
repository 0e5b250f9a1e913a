"""How often `recall` speaks: to messages that a memory answers, and to messages that need none.

    python -m tests.benchmarks.recall_gate [EMBEDDINGS ...]

Memories are noted and messages recalled through the tools, on the laptop's wiring. Besides the
messages in recall_messages.tsv, of which the `later` ones are unseen, the command uses LoCoMo,
CLINC and the sets without shared words if their files are there; nothing of them is kept.
"""

import argparse
import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from nacre.core.limits import RECALL_MEMORIES
from nacre.protocol.context import Context
from nacre.protocol.principal import FULL, READ_ONLY, Principal
from nacre.wiring.compose import Home
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.benchmarks.recall_quality.datasets import DATA, LOCOMO, ZERO_OVERLAP, locomo
from tests.benchmarks.recall_quality.tasks import Memory
from tests.benchmarks.table import show

MESSAGES = Path(__file__).with_name("recall_messages.tsv")
CLINC = DATA / "clinc_sample.json"
COMMANDS_OF_INTENT = 10  # of CLINC's fifty, and none of those that thresholds were chosen with
DISTRACTORS = 500  # turns of LoCoMo beside the notes that share no word with their questions
NOTED_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """A message to a Being, and the names of the memories that it should recall, if any."""

    group: str
    language: str
    text: str
    evidence: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Being:
    """The memories of one Being, and the messages to it."""

    memories: Sequence[Memory]
    messages: Sequence[Asked]


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a message recalled anything, its evidence, and whether a search finds it."""

    asked: Asked
    spoke: bool
    right: bool
    found: bool


@dataclass(slots=True)
class Rates:
    """The answers of one kind of embedding."""

    answers: list[Answer] = field(default_factory=list)

    def spoke(self, *groups: str, language: str | None = None) -> float:
        """Return the share of messages of these groups that recalled something."""
        return fmean(answer.spoke for answer in self._of(groups, language))

    def right(self, *groups: str, language: str | None = None) -> float:
        """Return the share of messages that recalled their evidence."""
        return fmean(answer.right for answer in self._of(groups, language))

    def found(self, *groups: str) -> float:
        """Return the share of messages whose evidence is among a search's first three."""
        return fmean(answer.found for answer in self._of(groups, None))

    def count(self, *groups: str, language: str | None = None) -> int:
        """Return how many messages these are."""
        return sum(1 for _ in self._of(groups, language))

    def languages(self, *groups: str) -> list[str]:
        """Return the languages of these groups, those with most messages first."""
        counts: dict[str, int] = defaultdict(int)
        for answer in self._of(groups, None):
            counts[answer.asked.language] += 1
        return sorted(counts, key=lambda language: (-counts[language], language))

    def _of(self, groups: Iterable[str], language: str | None) -> Iterator[Answer]:
        for answer in self.answers:
            if answer.asked.group in groups and language in (None, answer.asked.language):
                yield answer


EVERYDAY = ("chat", "code", "maths", "fact", "task", "command", "emoji", "says-nothing", "sample")
"""The groups of messages that need no memory; CLINC's commands are apart."""


def own_messages() -> tuple[list[Memory], list[Asked], list[Asked]]:
    """Return the notes of recall_messages.tsv, the messages about them, and those about nothing."""
    notes: list[Memory] = []
    about: list[Asked] = []
    nothing: list[Asked] = []
    for line in MESSAGES.read_text(encoding="utf-8").splitlines():
        kind, _, rest = line.partition("\t")
        language, _, text = rest.partition("\t")
        if kind == "note":
            notes.append(_note(f"own {len(notes)}", text))
        elif kind in ("asks", "says", "later-asks"):
            about.append(Asked(kind, language, text, frozenset({notes[-1].name})))
        elif text:
            nothing.append(Asked(kind, language, text))
    return notes, about, nothing


def _note(name: str, text: str) -> Memory:
    return Memory(name, text, ("user",), ("2026-01-01",))


def beings(
    conversations: Path | None, commands: Path | None, zero_overlap: Path | None
) -> Iterator[Being]:
    """Give the Beings of the files that are there; the first one has the notes of our own."""
    notes, about, nothing = own_messages()
    if zero_overlap is not None:
        sample = (zero_overlap / "unrelated.txt").read_text(encoding="utf-8").splitlines()
        nothing += [Asked("sample", "en", text) for text in sample]
    orders = [] if commands is None else list(_commands(commands))
    yield Being(notes, [*about, *nothing, *orders])
    tasks = [] if conversations is None else list(locomo(conversations))
    for number, task in enumerate(tasks):
        asked = [Asked("locomo", "en", each.text, each.evidence) for each in task.questions]
        share = orders[number :: len(tasks)]
        yield Being(task.memories, [*asked, *nothing, *share])
    if zero_overlap is not None:
        pairs = list(_zero_overlap(zero_overlap))
        turns = [memory for task in tasks for memory in task.memories]
        others = turns[:: max(1, len(turns) // DISTRACTORS)][:DISTRACTORS]
        yield Being([*(note for note, _ in pairs), *others], [asked for _, asked in pairs])


def _commands(file: Path) -> Iterator[Asked]:
    texts = defaultdict(list)
    for row in json.loads(file.read_text(encoding="utf-8"))["rows"]:
        texts[row["label"]].append(row["text"])
    for of_intent in texts.values():
        yield from (Asked("clinc", "en", text) for text in of_intent[-COMMANDS_OF_INTENT:])


def _zero_overlap(folder: Path) -> Iterator[tuple[Memory, Asked]]:
    for name in ("en", "ja", "mix"):
        for line in (folder / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
            note, _, question = line.partition("\t")
            if question:
                memory = _note(f"zero {note}", note)
                yield memory, Asked("zero", name, question, frozenset({memory.name}))


def measure(given: Iterable[Being], embeddings: str) -> Rates:
    """Return how one kind of search answers the messages of these Beings."""
    rates = Rates()
    with tempfile.TemporaryDirectory() as folder:
        laptop = open_laptop(folder, Settings(data_folder=folder, embeddings=embeddings))
        try:
            for number, being in enumerate(given):
                rates.answers += asyncio.run(_answers(laptop, being, number))
        finally:
            laptop.close()
    return rates


async def _answers(laptop: Home, being: Being, number: int) -> list[Answer]:
    being_id = laptop.beings.create(f"Being {number}", owner="me").being_id
    writer = Context(principal=Principal("bench", being_id, FULL))
    reader = Context(principal=Principal("bench", being_id, READ_ONLY))
    tools = {name: laptop.application.surface.get_tool(name) for name in _TOOLS}
    note, recall, search = (tool for name in _TOOLS if (tool := tools[name]) is not None)
    names: dict[str, str] = {}
    for start in range(0, len(being.memories), NOTED_AT_ONCE):
        memories = being.memories[start : start + NOTED_AT_ONCE]
        scenes = [
            {"action": memory.action, "actors": [*memory.actors], "when": [*memory.when]}
            for memory in memories
        ]
        answer = (await note.call({"scenes": scenes}, writer)).to_dict()
        scene_ids = json.loads(answer["content"][0]["text"])["scene_ids"]
        names |= dict(zip(scene_ids, (memory.name for memory in memories), strict=True))

    def ids(answer: Mapping[str, Any]) -> set[str]:
        return {names[memory["id"]] for memory in answer["_meta"]["nacre/search"]["memories"]}

    answers = []
    for asked in being.messages:
        said = ids((await recall.call({"user_message": asked.text}, reader)).to_dict())
        found: set[str] = set()
        if asked.evidence:
            arguments = {"query": asked.text, "limit": RECALL_MEMORIES}
            found = ids((await search.call(arguments, reader)).to_dict())
        answers.append(
            Answer(asked, bool(said), bool(said & asked.evidence), bool(found & asked.evidence))
        )
    return answers


_TOOLS = ("update_notes", "recall", "search_memory")


def report(measured: Mapping[str, Rates]) -> None:
    """Print what was measured as tables."""
    first = next(iter(measured.values()))
    about = [name for name in ("asks", "says", "later-asks", "locomo", "zero") if first.count(name)]
    show(
        "Messages that a memory answers: the share that recalls it, and that a search finds",
        ["search", *(f"{name} ({first.count(name)})" for name in about)],
        [
            [name, *(f"{rates.right(each):.3f} of {rates.found(each):.3f}" for each in about)]
            for name, rates in measured.items()
        ],
    )
    nothing = [name for name in (*EVERYDAY, "later", "clinc") if first.count(name)]
    show(
        "Messages that need no memory: the share that recalls something",
        ["search", f"all but clinc ({first.count(*EVERYDAY)})"]
        + [f"{name} ({first.count(name)})" for name in nothing],
        [
            [
                name,
                f"{rates.spoke(*EVERYDAY):.3f}",
                *(f"{rates.spoke(each):.3f}" for each in nothing),
            ]
            for name, rates in measured.items()
        ],
    )
    languages = [each for each in first.languages("asks", "says", *EVERYDAY) if each != "xx"]
    show(
        "By language: the messages about a memory that recall it; the others that recall something",
        ["search", *languages],
        [
            [name, *(_by_language(rates, language) for language in languages)]
            for name, rates in measured.items()
        ],
    )


def _by_language(rates: Rates, language: str) -> str:
    about, nothing = ("asks", "says"), EVERYDAY
    shares = [
        f"{of(*groups, language=language):.2f} of {rates.count(*groups, language=language)}"
        if rates.count(*groups, language=language)
        else "-"
        for of, groups in ((rates.right, about), (rates.spoke, nothing))
    ]
    return "; ".join(shares)


def main() -> None:
    """Measure the embeddings that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--locomo", type=Path, default=LOCOMO if LOCOMO.exists() else None)
    parser.add_argument("--clinc", type=Path, default=CLINC if CLINC.exists() else None)
    parser.add_argument(
        "--zero-overlap", type=Path, default=ZERO_OVERLAP if ZERO_OVERLAP.exists() else None
    )
    parser.add_argument("embeddings", nargs="*", metavar="EMBEDDINGS")
    given = parser.parse_args()
    chosen = given.embeddings or ["none", "builtin-static", "builtin"]
    report(
        {
            name: measure(beings(given.locomo, given.clinc, given.zero_overlap), name)
            for name in chosen
        }
    )


if __name__ == "__main__":
    main()
