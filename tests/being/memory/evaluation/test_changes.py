"""What became of an answer, and why."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.evaluation.answer_changes import AnswerChange, totals, worst_first
from nacre.being.memory.evaluation.answers import Answer, QuestionClock, ask_all
from nacre.being.memory.evaluation.memory_changes import PresentMemories, since_kept
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.model.types import Node
from nacre.being.memory.search.candidates import MemoryReader
from nacre.being.memory.services import open_services
from nacre.being.memory.store.kept_questions import FoundMemory, KeptQuestion
from nacre.being.memory.text.memory_text import scene_line
from nacre.being.patrol.compare.geometry import packed
from nacre.core.errors import UnavailableError
from nacre.ports.vectors.embedder import Vector
from nacre.ports.vectors.vector_index import Kind
from tests.being.memory.keeping import Keeper, a_node

ASKED = "2026-07-10T10:00:00.000Z"


def question(*found: FoundMemory, **fields: Any) -> KeptQuestion:
    given: dict[str, Any] = {
        "question_id": "q",
        "tool": "recall",
        "text": "which cat?",
        "arguments": {},
        "found": found,
        "embedding": "none",
        "version": "1",
        "asked": ASKED,
    }
    return KeptQuestion(**{**given, **fields})


FOUND = FoundMemory("a", "node", "")


def change(before: str, after: str, **fields: Any) -> AnswerChange:
    found = [FoundMemory(id_, "node", "") for id_ in before]
    return AnswerChange(question(*found, **fields), (*before,), (*after,), judged=(*before,))


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        ("", "", "same"),
        ("ab", "ab", "same"),
        ("ab", "ba", "moved"),
        ("ab", "bac", "gained"),
        ("", "a", "gained"),
        ("ab", "a", "lost"),
        ("ab", "ac", "lost"),
        ("ab", "", "silent"),
    ],
)
def test_each_change_has_one_outcome(before: str, after: str, outcome: str) -> None:
    assert change(before, after).outcome == outcome


def test_the_worst_changes_come_first() -> None:
    good = change("ab", "a", mark="good", question_id="good")
    first = change("ab", "b", question_id="first")
    second = change("ab", "a", question_id="second")
    often = change("ab", "a", question_id="often", times=9)
    silent = change("ab", "", question_id="silent", mark="bad")
    same = change("a", "a", question_id="same")

    ordered = worst_first([same, second, silent, often, first, good])

    ids = [entry.question.question_id for entry in ordered]
    assert ids == ["good", "silent", "first", "often", "second", "same"]
    assert totals(ordered) == {
        "silent": 1,
        "lost": 4,
        "moved": 0,
        "gained": 0,
        "same": 1,
        "good_lost": 1,
        "bad_lost": 1,
    }


def test_a_good_silence_is_lost_when_it_is_broken() -> None:
    silence = change("", "a", mark="good")

    assert silence.loses_good
    assert not replace(silence, causes=("created",)).loses_good
    assert not change("", "", mark="good").loses_good


def test_what_a_good_answer_did_not_have_is_no_loss() -> None:
    more = AnswerChange(question(FOUND, mark="good"), ("a", "b"), ("a",), judged=("a",))

    assert more.outcome == "lost"
    assert not more.loses_good


def shown(node: Node) -> FoundMemory:
    return FoundMemory.of(node.node_id, "node", scene_line(node))


def since(kept: Keeper, asked: KeptQuestion, *ids: str) -> AnswerChange:
    kinds: dict[str, Kind] = dict.fromkeys((*(hit.id for hit in asked.found), *ids), "node")
    memories = PresentMemories(MemoryReader(kept.table), kept.id, kinds)
    answer = Answer(dict.fromkeys(ids, "node"))
    return since_kept(asked, answer, memories, embedding="none", version="1")


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"status": "dead", "count_at_death": 0, "due": None}, "forgotten"),
        ({"status": "hidden"}, "hidden"),
        ({"superseded_by": "x"}, "superseded"),
        ({"reason": "undone", "status": "dead", "count_at_death": 0, "due": None}, "undone"),
        ({"action": "Ann fed the dog"}, "corrected"),
    ],
)
def test_the_change_of_a_memory_explains_its_loss(
    laptop: Keeper, fields: dict[str, Any], cause: str
) -> None:
    before = a_node(1)
    laptop.memory.nodes.add(laptop.id, [replace(before, **fields)])

    change = since(laptop, question(shown(before), mark="good"))

    assert cause in change.causes
    assert change.outcome == "silent"
    assert not change.loses_good


def test_a_search_finds_forgotten_memories_so_that_explains_nothing(laptop: Keeper) -> None:
    dead = a_node(1, status="dead", count_at_death=0, due=None)
    laptop.memory.nodes.add(laptop.id, [dead])

    change = since(laptop, question(shown(dead), tool="search_memory", mark="good"))

    assert change.causes == ("ranking",)
    assert change.loses_good


def test_a_merge_is_followed_to_what_it_became(laptop: Keeper) -> None:
    nodes = [a_node(1), a_node(2)]
    laptop.memory.nodes.add(laptop.id, nodes)
    merge = laptop.memory.edits.merge(
        laptop.id, [node.node_id for node in nodes], action="Ann fed both cats"
    ).node
    asked = question(*map(shown, nodes), mark="good")

    found, lost = since(laptop, asked, merge.node_id), since(laptop, asked)

    assert (found.outcome, found.causes) == ("same", ("merged",))
    assert (lost.outcome, lost.loses_good) == ("silent", True)


def test_new_memories_settings_and_versions_are_told_apart(laptop: Keeper) -> None:
    old, new = a_node(1), a_node(2, created_at="2026-07-20T10:00:00.000Z")
    laptop.memory.nodes.add(laptop.id, [old, new])
    ids = (new.node_id, old.node_id)

    assert since(laptop, question(shown(old)), *ids).causes == ("created",)
    assert since(laptop, question(shown(new)), *reversed(ids)).causes == ("ranking",)
    assert since(laptop, question(shown(new), embedding="x"), *ids).causes == ("embedding",)
    assert since(laptop, question(shown(new), version="0"), *ids).causes == ("version",)
    assert since(laptop, question(shown(new), version="0"), new.node_id).causes == ()
    replaced = since(laptop, question(shown(old), mark="good"), new.node_id)
    assert (replaced.outcome, replaced.loses_good) == ("lost", False)
    gone = since(laptop, question(shown(a_node(3)), mark="good"))
    assert (gone.causes, gone.loses_good) == (("gone",), False)


class TiringEmbedder:
    """An Embedder whose endpoint answers one query and no more."""

    emb_id = "openai:tired:8:1"
    dimension = 8

    def __init__(self) -> None:
        self.queries = 0

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        return [packed([1.0] + [0.0] * 7) for _ in texts]

    def query(self, text: str) -> Vector:
        self.queries += 1
        if self.queries > 1:
            raise UnavailableError("the endpoint is down")
        return self.documents([text])[0]


def test_a_model_that_stops_answering_is_no_change_of_the_answers(laptop: Keeper) -> None:
    clock = QuestionClock()
    with closing(SqliteDatabase(":memory:")) as points:
        indexing = IndexSync(
            laptop.table,
            partial(LocalVectors, points),
            TiringEmbedder(),
            clock=clock,
            rng=Random(1),
        )
        services = open_services(
            laptop.table, laptop.queue, indexing, None, clock=clock, rng=Random(1)
        )
        asked = [replace(question(), question_id=name) for name in "ab"]
        # With words of time there are two searches, and the model answers the first.
        on_time = replace(question(), text="which cat yesterday?")

        with pytest.raises(UnavailableError, match="question 2 of 2"):
            ask_all(services.queries, clock, laptop.id, asked)
        with pytest.raises(UnavailableError, match="question 1 of 1"):
            ask_all(services.queries, clock, laptop.id, [on_time])
