import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.model import keys
from nacre.being.memory.search.candidates import MemoryReader
from nacre.being.memory.search.search import FINDABLE, LIVING, SearchResult
from nacre.ports.items.table import Change
from nacre.ports.vectors.vector_index import Filter
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import a_node, queue_of
from tests.being.memory.minds import DownIndex, Minded, minded

CAT = "Bo fed the black cat in the garden"
TAX = "Ann finished her tax return"
SEA = "Ann swam in the cold sea at dawn"


def find(
    mind: Minded, query: str, limit: int = 10, where: Filter = LIVING, **options: Any
) -> SearchResult:
    search = mind.mind.search
    return search.find(mind.being_id, query, limit=limit, where=where, **options)


def actions(answer: SearchResult) -> list[str]:
    return [hit.memory.record.action for hit in answer.hits]


def test_a_scene_is_found_by_its_words_and_by_its_meaning(mind: Minded) -> None:
    mind.note(CAT, TAX, SEA)

    words = find(mind, "tax")
    meaning = find(mind, "kittens and other pets")

    assert (words.kind, actions(words)[0]) == ("vector", TAX)
    assert actions(meaning)[0] == CAT
    assert words.remarks == meaning.remarks == ()


def test_a_hit_carries_the_scores_of_its_channels_and_parts(mind: Minded) -> None:
    mind.note(CAT, TAX, SEA)

    hit = find(mind, "Who fed the cat?").hits[0]

    assert set(hit.channels) == {"vector", "words", "share", "coverage", "tokens"}
    assert hit.channels["words"] > 0
    assert 0 < hit.channels["share"] <= 1
    assert 0 < hit.channels["coverage"] <= 1
    assert hit.score == pytest.approx(sum(hit.parts.values()))
    assert hit.parts["actor"] == 0


def test_the_person_a_query_names_comes_first(mind: Minded) -> None:
    mind.note("went hiking", actors=["Ann"], when=["2026-01-01"])
    mind.note("went hiking", actors=["Bo"], when=["2026-02-02"])

    hit = find(mind, "When did Bo go hiking?").hits[0]

    assert hit.memory.record.actors == ("Bo",)
    assert hit.parts["actor"] > 0


@pytest.mark.parametrize(
    "query", ["quantum chromodynamics lattice", "zzzz", "量子力学の格子", "What pet does she have?"]
)
@pytest.mark.parametrize("size", [1, 3, 10, 30])
def test_a_question_is_never_answered_with_nothing(mind: Minded, query: str, size: int) -> None:
    mind.remember(*(a_node(number, action=f"{TAX}, form {number}") for number in range(size)))

    hits = find(mind, query).hits

    assert len(hits) == min(size, 10)
    assert all(hit.is_weak for hit in hits)


def test_filters_may_leave_nothing(mind: Minded) -> None:
    mind.note(CAT)

    assert find(mind, "cat", where=Filter(states=frozenset({"dead"}))).hits == ()
    assert find(mind, "zzzz", where=Filter(states=frozenset({"dead"}))).hits == ()


def test_a_blank_query_finds_nothing(mind: Minded) -> None:
    mind.note(CAT)

    assert find(mind, "").hits == find(mind, " \n").hits == ()


def test_a_query_without_a_vector_shows_the_newest_memories_and_says_so(mind: Minded) -> None:
    mind.note(CAT, TAX)

    answer = find(mind, "𒀀𒀁", limit=1)

    assert len(answer.hits) == 1
    assert answer.hits[0].is_weak
    assert answer.remarks == ("nothing compares with this query, so these are the newest",)


def test_a_hit_is_weak_unless_its_meaning_or_its_words_relate(mind: Minded) -> None:
    mind.note(CAT, TAX, SEA)

    def strong(query: str) -> list[str]:
        hits = find(mind, query).hits
        return [hit.memory.record.action for hit in hits if not hit.is_weak]

    assert strong("kittens and other pets") == [CAT]
    assert strong("tax") == [TAX]
    assert strong("tax xylophone zeppelin quarantine") == []  # one word of four


def test_without_vectors_a_hit_with_few_of_the_words_is_weak(wordy: Minded) -> None:
    wordy.note(CAT, TAX, SEA)

    hits = find(wordy, "cat xylophone zeppelin").hits

    assert [(hit.memory.record.action, hit.is_weak) for hit in hits] == [(CAT, True)]
    assert not find(wordy, "black cat").hits[0].is_weak


def test_a_long_memory_is_found_by_a_sentence_anywhere_in_it(mind: Minded) -> None:
    filler = "The minutes of the meeting list budgets, agendas, votes and the next dates. "
    long = f"{filler * 25}Aiko's violin teacher moved to Osaka. {filler * 22}"
    assert 3_600 < len(long.encode()) < 4_096
    mind.note(long.strip())
    mind.note(*(f"{name} went to the market and bought bread" for name in ("Bo", "Cleo", "Dan")))
    mind.note(*(f"The {place} was closed on Monday" for place in ("bank", "pool", "zoo", "bar")))

    assert actions(find(mind, "Where does the violin teacher live now?"))[0] == long.strip()


@pytest.mark.parametrize("word", ["Zorblax", "42817", "naivete", "xy-17", "universities", "ワシ"])
def test_a_word_that_one_memory_has_finds_it_first(mind: Minded, word: str) -> None:
    others = ["Zora blacked out", "428 and 17", "naive", "xylophone 17", "the universe", "ワニ"]
    filler = "They talked about the weather, trains, the garden and what to cook. "
    mind.note(*(text for text in others for _ in range(3)))
    mind.note(f"{filler * 20}Somebody wrote {word} on the wall. {filler * 20}")

    assert word in actions(find(mind, word))[0]


def test_japanese_words_of_two_letters_are_found(mind: Minded) -> None:
    mind.note("昨日、京都で抹茶を飲んだ", "東京でラーメンを食べた", actors=["アン"])

    assert actions(find(mind, "抹茶"))[0] == "昨日、京都で抹茶を飲んだ"
    assert actions(find(mind, "東京で何を食べた"))[0] == "東京でラーメンを食べた"


@pytest.mark.parametrize(
    "text", ["🎉🎉 party 🎉", "שלום עולם", "naïve café", "a\u202eb\u202c", "\U0001d518\U0001d52b"]
)
def test_any_script_is_taken_and_found(mind: Minded, text: str) -> None:
    mind.note(text)

    assert actions(find(mind, text))[:1] == [text]


def test_filters_hold_in_the_items_as_well(mind: Minded) -> None:
    mind.remember(
        a_node(1, action=CAT, cluster_id="c1", when=("2026-03-03",)),
        a_node(2, action=CAT, cluster_id="c2", when=("2026-04-04",)),
        a_node(3, action=CAT, status="dead", count_at_death=0),
    )
    mind.note(CAT)

    def ids(where: Filter) -> set[str]:
        return {hit.memory.id[-1] for hit in find(mind, "cat", where=where).hits}

    assert len(ids(LIVING)) == 3
    assert len(ids(FINDABLE)) == 4
    assert ids(Filter(states=LIVING.states, cluster_id="c1")) == {"1"}
    assert ids(Filter(states=LIVING.states, day_from="2026-04-01", day_to="2026-04-30")) == {"2"}
    assert ids(Filter(states=frozenset({"dead"}))) == {"3"}


def test_what_the_items_no_longer_hold_is_dropped(mind: Minded) -> None:
    """The index lags behind, as it may after a crash: the items decide."""
    mind.remember(
        a_node(1, action=CAT),
        a_node(2, action=CAT),
        a_node(3, action=CAT),
        a_node(4, action=CAT),
    )
    merged = a_node(1, action=CAT, status="merged", merged_into="x")
    superseded = a_node(2, action=CAT, superseded_by="x")
    dead = a_node(3, action=CAT, status="dead", count_at_death=0)
    for node in (merged, superseded, dead):
        mind.table.put(node.to_item(mind.being_id))

    assert [hit.memory.id for hit in find(mind, "cat").hits] == [a_node(4).node_id]
    asked = find(mind, "cat", superseded=True)
    assert {hit.memory.id for hit in asked.hits} == {a_node(2).node_id, a_node(4).node_id}


def test_what_a_patrol_just_made_of_a_scene_is_found_in_its_place(mind: Minded) -> None:
    """Between a patrol's commit and the index, and once more after a merge of what it made."""
    [scene_id] = mind.note(CAT)
    scenes, table = mind.mind.memory.scenes, mind.table
    scene = scenes.get_many(mind.being_id, [scene_id])[scene_id]
    node, merged = a_node(2, action=CAT), a_node(3, action=CAT)
    for made in (
        replace(node, status="merged", merged_into=merged.node_id),
        merged,
        replace(scene, status="consumed", node_id=node.node_id),
    ):
        table.put(made.to_item(mind.being_id))

    [hit] = find(mind, "Who fed the cat?").hits

    assert hit.memory.id == merged.node_id
    assert {"vector", "words", "tokens"} <= set(hit.channels)


def test_long_unused_nodes_stand_lower(mind: Minded) -> None:
    mind.remember(a_node(1, action=CAT, stability=0.01), a_node(2, action=CAT))
    mind.table.update(keys.meta(mind.being_id), Change(set={"clock": 400}))

    first, second = find(mind, "cat").hits

    assert (first.memory.id, second.memory.id) == (a_node(2).node_id, a_node(1).node_id)
    assert first.memory.retention > second.memory.retention


def test_another_beings_memories_are_never_found(mind: Minded) -> None:
    other = mind.beings.create("Other", owner="me").being_id
    mind.note(CAT)
    search = mind.mind.search

    assert search.find(other, "cat", limit=10).hits == ()
    assert len(search.find(mind.being_id, "cat", limit=10).hits) == 1


# Without vectors, without an index


def test_without_vectors_words_are_searched(wordy: Minded) -> None:
    wordy.note(CAT, TAX, SEA)

    answer = find(wordy, "cat or tax")

    assert answer.kind == "words"
    assert set(actions(answer)) == {CAT, TAX}
    assert find(wordy, "kittens and other pets").hits == ()


@pytest.mark.requirement("003.search_memory.keyword")
def test_mode_and_finds_what_many_that_have_one_word_stand_before(wordy: Minded) -> None:
    for _ in range(3):
        wordy.note(*["axolotl axolotl axolotl axolotl"] * 15)
        wordy.note(*["a dog barked"] * 20)
        wordy.note(*["a dog barked"] * 20)
    both = "An axolotl was seen by a dog that had come a long way down from the hills to the lake"
    wordy.note(both)

    assert actions(find(wordy, "axolotl dog", mode="and")) == [both]


def test_mode_and_wants_every_word(wordy: Minded) -> None:
    wordy.note("Ann saw a cat", "Ann saw a dog", "Ann saw a cat and a dog")

    assert actions(find(wordy, "cat dog", mode="and")) == ["Ann saw a cat and a dog"]
    assert len(find(wordy, "cat dog", mode="or").hits) == 3


@pytest.fixture
def indexless(clock: StillClock) -> Iterator[Minded]:
    database = SqliteDatabase(":memory:")
    yield minded(SqliteTable(database, now=clock), queue_of(database, clock), DownIndex, clock)
    database.close()


def test_without_an_index_the_newest_items_are_read(indexless: Minded) -> None:
    indexless.note(CAT, TAX)
    indexless.remember(a_node(1, action="Ann bought a cat flap"))

    answer = find(indexless, "cat")

    assert answer.kind == "scan"
    assert set(actions(answer)) == {CAT, "Ann bought a cat flap"}
    assert answer.remarks == ("the search index cannot be reached",)
    assert actions(find(indexless, "cat flap", mode="and")) == ["Ann bought a cat flap"]


def test_a_scan_that_ends_early_says_so(indexless: Minded, monkeypatch: pytest.MonkeyPatch) -> None:
    indexless.note(*(f"Ann saw cat number {each}" for each in range(5)))
    monkeypatch.setattr("nacre.being.memory.search.candidates.SCANNED_BYTES", 1500)

    answer = find(indexless, "cat")

    assert 0 < len(answer.hits) < 5
    assert answer.remarks[-1] == "truncated: only the newest memories were looked at"
    assert actions(answer)[0] in {f"Ann saw cat number {each}" for each in (3, 4)}


def test_dead_nodes_are_scanned_where_they_are_asked_for(indexless: Minded) -> None:
    indexless.remember(a_node(1, action=CAT, status="dead", count_at_death=0))

    assert find(indexless, "cat").hits == ()
    assert actions(find(indexless, "cat", where=FINDABLE)) == [CAT]


def test_the_order_does_not_depend_on_the_order_of_writing(clock: StillClock) -> None:
    def ordered(seed: int) -> list[str]:
        database = SqliteDatabase(":memory:")
        mind = minded(
            SqliteTable(database, now=clock),
            queue_of(database, clock),
            lambda emb_id: LocalVectors(database, emb_id),
            clock,
        )
        nodes = [a_node(each, action=f"cat {each % 3}") for each in range(9)]
        random.Random(seed).shuffle(nodes)
        for node in nodes:
            mind.remember(node)
        found = [hit.memory.id for hit in find(mind, "cat").hits]
        database.close()
        return found

    assert ordered(1) == ordered(2)


def test_a_shelf_reads_in_the_order_of_the_ids(wordy: Minded) -> None:
    wordy.remember(a_node(1), a_node(2))
    ids = [a_node(2).node_id, "gone", a_node(1).node_id]

    read = MemoryReader(wordy.table).read(wordy.being_id, dict.fromkeys(ids, "node"))

    assert [memory.id for memory in read] == [ids[0], ids[2]]
