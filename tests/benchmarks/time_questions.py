"""How often the memory of the right day is found, where the same thing happens every week.

    python -m tests.benchmarks.time_questions [EMBEDDINGS]

Six people each do one thing a week for half a year, among 400 other memories. Every question names
one of these things and a time. It is asked without and with the words of time, by `search_memory`
on the laptop's wiring.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from statistics import fmean

from nacre.protocol.context import Context
from nacre.protocol.principal import FULL, READ_ONLY, Principal
from nacre.protocol.surface import WireTool
from nacre.text.time_expressions.time_expression import find_time
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.benchmarks.table import show

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
WEEKS = 24
TOP = (1, 3, 10)
HABITS = (
    ("Bo cooked {} for dinner", "What did Bo cook", "soup,lasagne,curry,dumplings,risotto,stew"),
    ("Ann ran {} along the canal", "How far did Ann run", "3 km,5 km,8 km,10 km,12 km,15 km"),
    ("Cleo had a meeting with {}", "Who did Cleo meet", "the bank,Dana,the notary,Priya,Tom"),
    ("Dan watched the film {}", "Which film did Dan see", "Alien,Heat,Her,Fargo,Arrival,Coco"),
    ("Eva paid {} for groceries", "What did Eva's groceries cost", "30 euros,42 euros,61 euros"),
    ("Finn fixed {} in the house", "What did Finn repair", "the sink,a lamp,the door,the oven"),
)
TIMES = (
    "last week",
    "last month",
    "two weeks ago",
    "in September",
    "last weekend",
    "yesterday",
    "last Friday",
    "three weeks ago",
    "this month",
    "in early August",
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question without its time, the words of time, and the texts that answer it."""

    text: str
    words: str
    answers: frozenset[tuple[str, str]]  # each a text and its day


def life(rng: Random) -> list[tuple[str, str]]:
    """Return texts with their days: the habits, and other things."""
    days = [
        (template.format(rng.choice(things.split(","))), _day(7 * week + rng.randrange(7)))
        for template, _, things in HABITS
        for week in range(WEEKS)
    ]
    people, verbs = ("Gus", "Hana", "Bo", "Ann", "Cleo"), ("bought", "lost", "liked", "sold")
    things, places = ("a book", "a bike", "some tea", "a map"), ("in Rome", "at work", "at home")
    other = [
        (
            " ".join(rng.choice(part) for part in (people, verbs, things, places)),
            _day(rng.randrange(7 * WEEKS)),
        )
        for _ in range(400)
    ]
    return [*days, *other]


def _day(ago: int) -> str:
    return (NOW - timedelta(days=ago)).date().isoformat()


def questions(memories: Sequence[tuple[str, str]]) -> Iterator[Question]:
    """Give each habit's question at each time at which it has an answer."""
    for template, text, _ in HABITS:
        start = template.partition("{")[0]
        for words in TIMES:
            expression = find_time(words, NOW)
            assert expression is not None
            first, last = expression.days.first, expression.days.last
            assert first is not None
            assert last is not None
            answers = frozenset(
                (said, day)
                for said, day in memories
                if said.startswith(start) and first.isoformat() <= day <= last.isoformat()
            )
            if answers:
                yield Question(text, words, answers)


async def measure(embeddings: str) -> Mapping[str, list[float]]:
    """Return recall at each of TOP for each way to ask."""
    memories = life(Random(5))
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_folder=folder, embeddings=embeddings)
        laptop = open_laptop(folder, settings, clock=lambda: NOW)
        being_id = laptop.beings.create("Pearl", owner="me").being_id
        server = laptop.application.surface
        note, search = server.get_tool("update_notes"), server.get_tool("search_memory")
        assert note is not None
        assert search is not None
        names = await _noted(note, memories, Context(principal=Principal("bench", being_id, FULL)))
        reader = Context(principal=Principal("bench", being_id, READ_ONLY))
        recalls: dict[str, list[list[float]]] = {}
        for question in questions(memories):
            for way, query in _ways(question):
                arguments = {"query": query, "limit": max(TOP)}
                answer = (await search.call(arguments, reader)).to_dict()
                ids = [hit["id"] for hit in answer["_meta"]["nacre/search"]["memories"]]
                hits = [names[memory_id] for memory_id in ids]
                recalls.setdefault(way, []).append(_recall(question.answers, hits))
        laptop.close()
    return {
        way: [fmean(column) for column in zip(*rows, strict=True)] for way, rows in recalls.items()
    }


async def _noted(
    note: WireTool, memories: Sequence[tuple[str, str]], writer: Context
) -> dict[str, tuple[str, str]]:
    names = {}
    for text, day in memories:
        scene = {"action": text, "actors": [text.split()[0]], "when": [day]}
        answer = (await note.call({"scenes": [scene]}, writer)).to_dict()
        [scene_id] = json.loads(answer["content"][0]["text"])["scene_ids"]
        names[scene_id] = (text, day)
    return names


def _ways(question: Question) -> Iterator[tuple[str, str]]:
    yield "without the time", f"{question.text}?"
    yield "with words of time", f"{question.text} {question.words}?"


def _recall(answers: frozenset[tuple[str, str]], hits: Sequence[tuple[str, str]]) -> list[float]:
    most = [min(k, len(answers)) for k in TOP]
    return [len(answers & set(hits[:k])) / size for k, size in zip(TOP, most, strict=True)]


def main() -> None:
    """Measure one kind of search."""
    embeddings = sys.argv[1] if len(sys.argv) > 1 else "builtin"
    measured = asyncio.run(measure(embeddings))
    rows = [[way, *(f"{each:.3f}" for each in recalls)] for way, recalls in measured.items()]
    show(f"Questions about a time, {embeddings}", ["asked", *(f"R@{k}" for k in TOP)], rows)


if __name__ == "__main__":
    main()
