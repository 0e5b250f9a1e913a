"""A word that only one of thousands of memories has, asked alone."""

from collections.abc import Iterator
from random import Random

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import a_node, queue_of
from tests.being.memory.minds import Minded, minded

SIZE = 4_523
FILLER = "They talked about the weather, trains, the garden and what to cook. "
PLACES = ("market", "garden", "harbour", "school", "office", "bakery", "museum", "park")
# Many of these words have the same stem, share pieces, or differ in leading zeros only.
SYLLABLES = (
    *("ba", "ke", "di", "no", "ru", "ler", "mi", "ing"),
    *("ed", "ly", "ness", "ou", "sh", "er", "al"),
)


@pytest.fixture
def laptop_mind(clock: StillClock) -> Iterator[Minded]:
    database = SqliteDatabase(":memory:")
    table, queue = SqliteTable(database, now=clock), queue_of(database, clock)
    yield minded(table, queue, lambda emb_id: LocalVectors(database, emb_id), clock)
    database.close()


@pytest.mark.parametrize("size", [300, pytest.param(SIZE, marks=pytest.mark.slow)])
def test_a_word_that_only_one_memory_has_returns_it_first(laptop_mind: Minded, size: int) -> None:
    rng = Random(3)
    words = some_words(rng, size)
    nodes = [a_node(number, action=some_note(rng, word)) for number, word in enumerate(words)]
    for start in range(0, size, 20):
        laptop_mind.remember(*nodes[start : start + 20])
    search = laptop_mind.mind.search

    missed = [
        word
        for word, node in zip(words, nodes, strict=True)
        if search.find(laptop_mind.being_id, word, limit=1).hits[0].memory.id != node.node_id
    ]

    assert missed == []


def some_words(rng: Random, count: int) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < count:
        kind = rng.random()
        if kind < 0.7:
            words["".join(rng.choices(SYLLABLES, k=rng.choice((2, 3, 4))))] = None
        elif kind < 0.85:
            words[f"{rng.randint(0, 99_999):05}"] = None
        else:
            words[f"{rng.choice('abcdxyz')}{rng.choice('kqz')}-{rng.randint(1, 99)}"] = None
    return list(words)


def some_note(rng: Random, word: str) -> str:
    place = rng.choice(PLACES)
    if rng.random() < 0.8:
        return f"Somebody wrote {word} on the wall of the {place}"
    return f"{FILLER * rng.randint(1, 40)}And then {word} was said at the {place}."
