"""Kept questions: only if wanted, once each, a bounded number, and gone with what is erased."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.erase.erase_memories import MemoryEraser
from nacre.being.memory.erase.erase_texts import TextEraser
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.model.counters import KEPT_QUESTIONS
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.types import Node
from nacre.being.memory.services import open_services
from nacre.being.memory.store import kept_questions
from nacre.being.memory.store.kept_questions import (
    FoundMemory,
    KeptAnswer,
    KeptQuestion,
    KeptQuestions,
    erase_questions,
)
from nacre.being.memory.store.targets import NOTES
from nacre.core.errors import NotFoundError, UnavailableError
from nacre.core.limits import MAX_QUERY, MAX_TRANSACTION_WRITES
from nacre.ports.items.table import Value
from nacre.ports.vectors.embedder import Vector
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, a_node, keeper, queue_of, scene_draft
from tests.being.patrol.worlds import Fuse, FusedTable, Stopped

SILENCE = KeptAnswer((), "none")


@pytest.fixture
def questions(kept: Keeper, clock: StillClock) -> KeptQuestions:
    """The questions of a Being that keeps them."""
    store = KeptQuestions(kept.table, clock=clock)
    store.switch(kept.id, on=True)
    return store


def answer(*nodes: Node) -> KeptAnswer:
    return KeptAnswer([FoundMemory.of(node.node_id, "node", node.action) for node in nodes], "none")


def ask(
    store: KeptQuestions,
    being_id: str,
    text: str,
    given: KeptAnswer = SILENCE,
    arguments: Mapping[str, Value] | None = None,
) -> None:
    store.add(being_id, "recall", text, arguments or {"timezone": "UTC"}, given)


def texts(store: KeptQuestions, being_id: str) -> list[str]:
    return [question.text for question in store.all(being_id)]


def counted(kept: Keeper) -> object:
    return kept.meta(KEPT_QUESTIONS)


def test_nothing_is_kept_unless_it_is_on(kept: Keeper, clock: StillClock) -> None:
    store = KeptQuestions(kept.table, clock=clock)
    ask(store, kept.id, "where is Juno?")
    assert store.all(kept.id) == []
    assert counted(kept) is None

    store.switch(kept.id, on=True)
    ask(store, kept.id, "where is Juno?")
    store.switch(kept.id, on=False)
    ask(store, kept.id, "where is Tom?")

    assert texts(store, kept.id) == ["where is Juno?"]
    with pytest.raises(NotFoundError):
        store.switch("00000000-0000-4000-8000-000000000009", on=True)


def test_a_question_that_is_asked_again_is_counted_with_its_newest_answer(
    kept: Keeper, questions: KeptQuestions, clock: StillClock
) -> None:
    node = a_node(1)
    kept.memory.nodes.add(kept.id, [node])
    ask(questions, kept.id, "which cat?")
    clock.move(60)
    ask(questions, kept.id, "which cat?", answer(node))
    ask(questions, kept.id, "which cat?", answer(node), {"timezone": "Asia/Tokyo"})

    again, other = sorted(questions.all(kept.id), key=lambda question: -question.times)
    assert (again.times, again.asked) == (2, "2026-07-28T12:01:00.000Z")
    assert [hit.id for hit in again.found] == [node.node_id]
    assert other.arguments == {"timezone": "Asia/Tokyo"}
    assert counted(kept) == 2


def test_a_marked_answer_stays_as_it_was_marked(
    kept: Keeper, questions: KeptQuestions, clock: StillClock
) -> None:
    node = a_node(1)
    kept.memory.nodes.add(kept.id, [node])
    ask(questions, kept.id, "which cat?", answer(node))
    [question] = questions.all(kept.id)
    assert questions.mark(kept.id, question.question_id, "good").mark == "good"
    clock.move(60)
    ask(questions, kept.id, "which cat?")

    [marked] = questions.all(kept.id)
    assert marked == replace(question, mark="good", times=2)

    assert questions.mark(kept.id, question.question_id, None).mark is None
    ask(questions, kept.id, "which cat?")
    assert questions.all(kept.id)[0].found == ()
    for unknown in ("", "000000000000"):
        with pytest.raises(NotFoundError, match="nacre eval list"):
            questions.mark(kept.id, unknown, "bad")


def test_the_newest_questions_are_kept_and_those_with_a_mark(
    kept: Keeper, questions: KeptQuestions, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_questions, "KEPT_QUESTIONS_OF_BEING", 3)
    for number in range(6):
        clock.move(1)
        ask(questions, kept.id, f"question {number}")
        if number == 0:
            questions.mark(kept.id, questions.all(kept.id)[0].question_id, "good")

    assert texts(questions, kept.id) == ["question 0", "question 4", "question 5"]
    assert counted(kept) == 3

    for question in questions.all(kept.id):
        questions.mark(kept.id, question.question_id, "bad")
    ask(questions, kept.id, "one more")
    assert "one more" not in texts(questions, kept.id)


def test_secrets_are_cut_and_what_is_no_question_is_left_out(
    kept: Keeper, questions: KeptQuestions
) -> None:
    secret = "ghp_" + "aB3" * 12
    ask(questions, kept.id, f"what does {secret} open?")
    for other in ("", " ", "*", "why? " * MAX_QUERY):
        ask(questions, kept.id, other)

    [question] = questions.all(kept.id)
    assert question.text == "what does [redacted: github-token] open?"
    assert question.is_cut


def test_an_answer_with_a_memory_that_was_just_erased_is_not_kept(
    kept: Keeper, questions: KeptQuestions
) -> None:
    ask(questions, kept.id, "which cat?", answer(a_node(1)))

    assert questions.all(kept.id) == []
    assert counted(kept) is None


class SilentEmbedder:
    """An Embedder whose endpoint is down."""

    emb_id = "openai:down:8:1"
    dimension = 8

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        raise UnavailableError("the endpoint is down")

    def query(self, text: str) -> Vector:
        raise UnavailableError("the endpoint is down")


def test_an_answer_that_the_embedder_had_no_part_in_is_not_kept(laptop: Keeper) -> None:
    KeptQuestions(laptop.table, clock=StillClock()).switch(laptop.id, on=True)
    for embedder, kept_count in ((SilentEmbedder(), 0), (None, 1)):
        with closing(SqliteDatabase(":memory:")) as points:
            indexing = IndexSync(
                laptop.table,
                partial(LocalVectors, points),
                embedder,
                clock=StillClock(),
                rng=Random(1),
            )
            services = open_services(
                laptop.table, laptop.queue, indexing, None, clock=StillClock(), rng=Random(1)
            )
            services.queries.recall(laptop.id, "where is Juno?", counted=True)
            services.queries.recall(laptop.id, "only read", counted=False)
            services.queries.search(laptop.id, "*", limit=3, counted=True)

        store = KeptQuestions(laptop.table, clock=StillClock())
        assert len(store.all(laptop.id)) == kept_count
    [question] = store.all(laptop.id)
    assert (question.text, question.embedding) == ("where is Juno?", "none")


def test_erasing_a_memory_erases_the_questions_that_found_or_quote_it(
    kept: Keeper, questions: KeptQuestions, clock: StillClock
) -> None:
    gone = a_node(1, action="Ann hid the Zirkon in the shed", evidence=())
    stays = a_node(2, evidence=())
    kept.memory.nodes.add(kept.id, [gone, stays])
    other = kept.another("Other")
    questions.switch(other, on=True)
    ask(questions, other, "Ann hid the Zirkon in the shed")
    ask(questions, kept.id, "where is it?", answer(gone, stays))
    ask(questions, kept.id, "Is it true that ann HID the  Zirkon in the shed?")
    ask(questions, kept.id, f"show {gone.node_id}")
    ask(questions, kept.id, "the Zirkon in")
    ask(questions, kept.id, "which cat?", answer(stays))
    ask(questions, kept.id, "shed")

    MemoryEraser(kept.table, clock=clock, rng=Random(1)).node(kept.id, gone.node_id)

    assert sorted(texts(questions, kept.id)) == ["shed", "which cat?"]
    assert counted(kept) == 2
    assert texts(questions, other) == ["Ann hid the Zirkon in the shed"]


def test_erasing_a_scene_a_note_or_a_message_erases_the_questions_that_quote_it(
    kept: Keeper, questions: KeptQuestions, clock: StillClock
) -> None:
    [scene] = kept.memory.scenes.record(kept.id, [scene_draft("Ann hid the Zirkon")]).scenes
    note = kept.memory.entries.append(kept.id, NOTES, "the pearls are under the bed").key
    kept.memory.history.add(kept.id, [ChatMessage("user", "Where did I leave my keys?")])
    shown = KeptAnswer([FoundMemory.of(scene.scene_id, "scene", "line")], "none")
    ask(questions, kept.id, "what was hidden?", shown)
    ask(questions, kept.id, "the pearls are under the bed")
    ask(questions, kept.id, "where did I leave my keys?")
    ask(questions, kept.id, "what else?")

    MemoryEraser(kept.table, clock=clock, rng=Random(1)).scene(kept.id, scene.scene_id)
    assert len(questions.all(kept.id)) == 3
    TextEraser(kept.table).entry(kept.id, NOTES, note)
    assert len(questions.all(kept.id)) == 2
    TextEraser(kept.table).messages(kept.id, "2026-01-01", "2099-01-01")
    assert texts(questions, kept.id) == ["what else?"]
    assert counted(kept) == 1


def test_all_can_be_erased_and_then_nothing_is_kept(kept: Keeper, questions: KeptQuestions) -> None:
    for number in range(3):
        ask(questions, kept.id, f"question {number}")

    assert questions.erase_all(kept.id) == 3
    assert not questions.is_on(kept.id)
    assert questions.all(kept.id) == []
    assert counted(kept) == 0


def test_more_questions_than_one_transaction_writes_are_erased(
    kept: Keeper, questions: KeptQuestions
) -> None:
    for number in range(MAX_TRANSACTION_WRITES + 5):
        ask(questions, kept.id, f"question {number}")

    assert questions.erase_all(kept.id) == MAX_TRANSACTION_WRITES + 5
    assert (questions.all(kept.id), counted(kept)) == ([], 0)


def test_after_an_interrupted_erasing_questions_are_kept_again(
    laptop: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_questions, "KEPT_QUESTIONS_OF_BEING", 3)
    monkeypatch.setattr(kept_questions, "_ERASED_AT_ONCE", 2)
    store = KeptQuestions(laptop.table, clock=StillClock())
    for stop in range(4):
        store.switch(laptop.id, on=True)
        for number in range(3):
            ask(store, laptop.id, f"question {number}")
        with suppress(Stopped):
            fused = FusedTable(laptop.table, Fuse(stop_before=stop))
            KeptQuestions(fused, clock=StillClock()).erase_all(laptop.id)
        assert len(store.all(laptop.id)) == counted(laptop)

        store.switch(laptop.id, on=True)
        ask(store, laptop.id, f"asked after {stop}")
        assert f"asked after {stop}" in texts(store, laptop.id)
        store.erase_all(laptop.id)


def test_erasing_all_while_another_process_turns_it_on_counts_what_is_kept(laptop: Keeper) -> None:
    store = KeptQuestions(laptop.table, clock=StillClock())
    store.switch(laptop.id, on=True)
    ask(store, laptop.id, "question 0")

    def meanwhile(number: int) -> None:
        if number == 1:  # after it was switched off
            erase_questions(laptop.table, laptop.id, [], ["question 0"])
            store.switch(laptop.id, on=True)
            ask(store, laptop.id, "question 1")

    fused = FusedTable(laptop.table, Fuse(before=meanwhile))
    assert KeptQuestions(fused, clock=StillClock()).erase_all(laptop.id) == 0
    assert (texts(store, laptop.id), counted(laptop)) == (["question 1"], 1)


def test_a_question_that_is_just_being_marked_stays(
    laptop: Keeper, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_questions, "KEPT_QUESTIONS_OF_BEING", 2)
    store = KeptQuestions(laptop.table, clock=clock)
    store.switch(laptop.id, on=True)
    for number in range(2):
        ask(store, laptop.id, f"question {number}")
        clock.move(1)

    def mark_the_oldest(number: int) -> None:
        if number == 0:
            store.mark(laptop.id, store.all(laptop.id)[0].question_id, "good")

    fused = FusedTable(laptop.table, Fuse(before=mark_the_oldest))
    ask(KeptQuestions(fused, clock=clock), laptop.id, "question 2")

    assert texts(store, laptop.id) == ["question 0", "question 2"]
    assert counted(laptop) == 2


@pytest.mark.parametrize(
    "text", ["\u0958\u0932\u092e" * 9, "\U0001d160" * 99, "\ud800a\x00", "\ufb2c"]
)
def test_a_text_that_grows_when_it_is_normalized_is_kept(laptop: Keeper, text: str) -> None:
    store = KeptQuestions(laptop.table, clock=StillClock())
    store.switch(laptop.id, on=True)
    ask(store, laptop.id, text)

    assert len(store.all(laptop.id)) == 1


@pytest.mark.parametrize(
    ("erased", "question"),
    [
        ("My PIN is 4711.", "is it true that my pin is 4711?"),
        ("\u201cMy PIN is 4711!\u201d", "MY PIN IS  4711"),
        (
            "\u6211\u7684\u5bc6\u7801\u662f\u4e03",
            "\u6211\u7684\u5bc6\u7801\u662f\u4e03\u5417\uff1f",
        ),
        ("PIN: 4711", "(pin: 4711)"),
    ],
)
def test_marks_around_a_text_do_not_hide_that_it_is_quoted(
    laptop: Keeper, erased: str, question: str
) -> None:
    store = KeptQuestions(laptop.table, clock=StillClock())
    store.switch(laptop.id, on=True)
    ask(store, laptop.id, question)
    ask(store, laptop.id, "?!")

    erase_questions(laptop.table, laptop.id, [], [erased, "\u2026"])

    assert texts(store, laptop.id) == ["?!"]


def test_a_process_that_dies_in_the_middle_leaves_whole_entries(laptop: Keeper) -> None:
    node = a_node(1)
    laptop.memory.nodes.add(laptop.id, [node])
    for stop in range(4):
        fused = FusedTable(laptop.table, Fuse(stop_before=stop))
        store = KeptQuestions(fused, clock=StillClock())
        with suppress(Stopped):
            store.switch(laptop.id, on=True)
            ask(store, laptop.id, f"question {stop}", answer(node))
            ask(store, laptop.id, f"question {stop}", answer(node))
            erase_questions(fused, laptop.id, [node.node_id], [])

        present = KeptQuestions(laptop.table, clock=StillClock()).all(laptop.id)
        assert len(present) == (laptop.meta(KEPT_QUESTIONS) or 0)
        assert all(isinstance(question, KeptQuestion) for question in present)


def test_no_question_is_lost_or_kept_twice_among_threads(
    tmp_path: Path, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_questions, "KEPT_QUESTIONS_OF_BEING", 6)
    database = SqliteDatabase(tmp_path / "nacre.db")
    kept = keeper(SqliteTable(database, now=clock), queue_of(database, clock), clock)
    KeptQuestions(kept.table, clock=clock).switch(kept.id, on=True)
    # Each has connections of its own, as another process would.
    others = [SqliteDatabase(tmp_path / "nacre.db") for _ in range(2)]
    stores = [KeptQuestions(SqliteTable(other), clock=clock) for other in others]

    def keep(number: int) -> None:
        ask(stores[number % 2], kept.id, f"question {number % 4}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(keep, range(24)))
    present = stores[0].all(kept.id)
    assert len(present) == kept.meta(KEPT_QUESTIONS) == 4
    assert sum(question.times for question in present) == 24

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: ask(stores[number % 2], kept.id, f"more {number}"), range(16)))
    present = stores[0].all(kept.id)
    assert len(present) == kept.meta(KEPT_QUESTIONS) == 6
    for opened in (database, *others):
        opened.close()
