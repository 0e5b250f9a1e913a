"""What every vector index does: the laptop's, the items', Qdrant's client and a real server."""

import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.qdrant_server import QdrantServer
from nacre.adapters.qdrant.calls import connect
from nacre.adapters.qdrant.vectors import QdrantVectors
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.core.errors import InvalidInputError
from nacre.ports.vectors.vector_index import (
    Candidates,
    Filter,
    Hit,
    Kind,
    Point,
    Question,
    VectorIndex,
    dimension_of,
)
from tests.adapters.conftest import StillClock
from tests.adapters.vector_cases import (
    DIMENSION,
    EMB_ID,
    EVERY,
    both,
    ids,
    point,
    some_vector,
    unit,
)
from tests.scaffolding.index_files import WrittenFirst, files_of

Make = Callable[[str], VectorIndex]
STORES = [
    "local",
    "file",
    "file-and-changes",
    "qdrant-client",
    pytest.param("qdrant-server", marks=pytest.mark.slow),
]


OWN_POINTS = [store for store in STORES if not str(store).startswith("file")]
"""The stores whose points are not those of the items."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantServer]:
    server = QdrantServer(tmp_path_factory.mktemp("qdrant"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(params=STORES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Give what opens the store's index of an embedding; each test has a store of its own."""
    if request.param == "local":
        database = SqliteDatabase(":memory:")
        yield lambda emb_id: LocalVectors(database, emb_id)
        database.close()
        return
    if request.param.startswith("file"):
        database = SqliteDatabase(":memory:")
        table = SqliteTable(database)
        opened, always = files_of(table, tmp_path, StillClock()), request.param == "file"
        yield lambda emb_id: WrittenFirst(table, opened(emb_id), always=always)
        database.close()
        return
    if request.param == "qdrant-client":
        from qdrant_client import QdrantClient

        client, prefix = QdrantClient(":memory:"), "nacre"
    else:
        client = connect(request.getfixturevalue("server").url)
        prefix = f"t{abs(hash(request.node.nodeid)):x}"
    yield lambda emb_id: QdrantVectors(client, emb_id, prefix=prefix)
    client.close()


@pytest.fixture
def index(make: Make) -> VectorIndex:
    return make(EMB_ID)


def search(index: VectorIndex, where: Filter = EVERY, *, being: str = "b") -> set[str]:
    """Return which points pass a filter: every point of these tests has this vector and term."""
    found = index.search(being, Question(dense=unit(1), sparse=["pearl"], where=where, limit=100))
    assert set(ids(found.dense)) == set(ids(found.sparse))
    return both(found)


# Finding


def test_the_nearest_vectors_come_first_with_their_cosines(index: VectorIndex) -> None:
    index.upsert("b", [point("far", unit(0, 1)), point("near", unit(4, 3)), point("same", unit(1))])

    found = index.search("b", Question(dense=unit(1), sparse=(), where=EVERY, limit=2))

    assert ids(found.dense) == ["same", "near"]
    assert [hit.score for hit in found.dense] == pytest.approx([1.0, 0.8], abs=1e-6)
    assert found.sparse == ()


def test_words_are_found_without_a_vector(index: VectorIndex) -> None:
    index.upsert("b", [point("a", None, ["pearl", "sea"]), point("z", None, ["shell"])])

    found = index.search("b", Question(dense=None, sparse=["pearl"], where=EVERY, limit=5))

    assert found.dense == ()
    assert [(hit.id, hit.kind, hit.score > 0) for hit in found.sparse] == [("a", "node", True)]


def test_a_hit_says_when_it_was_and_where_it_belongs(index: VectorIndex) -> None:
    days = ("2026-01-10", "2026-03-09")
    index.upsert("b", [point("a", unit(1), ["pearl"], kind="scene", cluster_id="c", days=days)])

    found = index.search("b", Question(dense=unit(1), sparse=["pearl"], where=EVERY, limit=5))

    assert found.dense == (Hit("a", "scene", 1.0, days, "c"),)
    assert found.sparse == (Hit("a", "scene", found.sparse[0].score, days, "c"),)


def test_a_derived_index_on_a_server_gives_summaries_back(index: VectorIndex) -> None:
    index.upsert("b", [point("a", unit(1), summary="pearl é"), point("z", unit(1))])
    index.upsert("other", [point("a", unit(1), summary="shell")])

    found = index.search("b", Question(dense=unit(1), sparse=(), where=EVERY, limit=5))

    # The laptop's index stores none, because its items cost nothing to read.
    kept = {} if isinstance(index, LocalVectors) else {"a": "pearl é"}
    assert found.summaries(["a", "z", "unknown"]) == kept
    assert found.summaries([]) == {}


def test_points_are_listed_in_order_of_time(index: VectorIndex) -> None:
    index.upsert(
        "b",
        [
            point("late", unit(1), days=("2026-03-09",)),
            point("twice", None, days=("2026-01-10", "2026-03-01")),
            point("b", None, days=("2026-02-02",)),
            point("a", unit(1), days=("2026-02-02",), state="dead"),
        ],
    )
    index.upsert("other", [point("theirs", unit(1), days=("2026-02-02",))])

    def listed(limit: int = 9, **where: Any) -> tuple[list[str], bool]:
        listing = index.list_days("b", Filter(**where), limit=limit)
        return [hit.id for hit in listing.hits], listing.truncated

    assert listed() == (["twice", "a", "b", "late"], False)
    assert listed(day_from="2026-02-01") == (["a", "b", "twice", "late"], False)
    assert listed(day_to="2026-02-02", states=frozenset({"active"})) == (["twice", "b"], False)
    assert listed(2) == (["twice", "a"], True)
    assert listed(4) == (["twice", "a", "b", "late"], False)
    assert listed(day_from="2027-01-01") == ([], False)
    assert index.list_days("nobody", EVERY, limit=9).hits == ()


def test_a_point_without_a_vector_is_not_among_the_nearest(index: VectorIndex) -> None:
    index.upsert("b", [point("words", None, ["pearl"]), point("both", unit(1), ["pearl"])])

    found = index.search("b", Question(dense=unit(1), sparse=["pearl"], where=EVERY, limit=5))

    assert ids(found.dense) == ["both"]
    assert ids(found.sparse) == ["both", "words"]


def test_rare_and_repeated_words_weigh_more_and_long_texts_less(index: VectorIndex) -> None:
    index.upsert(
        "b",
        [
            point("twice", None, ["pearl", "pearl", "sea"]),
            point("once", None, ["pearl", "sea", "sand"]),
            point("long", None, ["pearl", *(f"w{n}" for n in range(40))]),
            *(point(f"common{n}", None, ["sea", "sand", f"x{n}"]) for n in range(20)),
        ],
    )

    found = index.search("b", Question(dense=None, sparse=["pearl", "sea"], where=EVERY, limit=30))

    assert ids(found.sparse)[:3] == ["twice", "once", "long"]
    assert set(ids(found.sparse)[3:]) == {f"common{n}" for n in range(20)}


def test_the_rarity_of_each_term_tells_how_many_points_have_it(index: VectorIndex) -> None:
    index.upsert(
        "b",
        [
            point("once", None, ["pearl", "sea"]),
            *(point(f"common{n}", None, ["sea", f"x{n}"]) for n in range(9)),
        ],
    )
    terms = ["pearl", "sea", "absent", "pearl"]

    found = index.search("b", Question(dense=None, sparse=terms, where=EVERY, limit=5))
    only_dead = Filter(states=frozenset({"dead"}))
    filtered = index.search("b", Question(dense=None, sparse=terms, where=only_dead, limit=5))
    absent = index.search("b", Question(dense=None, sparse=["absent"], where=EVERY, limit=5))

    assert set(found.rarity) == set(terms)
    assert found.rarity["absent"] > found.rarity["pearl"] > found.rarity["sea"] > 0
    assert found.rarity["pearl"] == pytest.approx(math.log(1 + 9.5 / 1.5), rel=1e-4)
    assert found.rarity["absent"] == pytest.approx(math.log(2 * 10 + 2), rel=1e-4)
    assert filtered.rarity == absent.rarity == {}


def test_a_score_is_at_most_the_rarity_times_what_counts_repetitions(index: VectorIndex) -> None:
    index.upsert("b", [point("a", None, ["pearl"] * 50), point("z", None, ["pearl", "sea"])])

    found = index.search("b", Question(dense=None, sparse=["pearl"], where=EVERY, limit=5))

    assert all(0 < hit.score < 2 * found.rarity["pearl"] for hit in found.sparse)


def test_a_repeated_term_of_the_question_counts_once(index: VectorIndex) -> None:
    index.upsert("b", [point("a", None, ["pearl"]), point("z", None, ["shell"])])

    once = index.search("b", Question(dense=None, sparse=["pearl"], where=EVERY, limit=5))

    assert (
        index.search("b", Question(dense=None, sparse=["pearl"] * 3, where=EVERY, limit=5)) == once
    )


def test_equal_scores_stand_in_the_order_of_their_ids(index: VectorIndex) -> None:
    names = [f"p{n:02}" for n in range(30)]
    shuffled = Random(1).sample(names, len(names))
    for name in shuffled:
        index.upsert("b", [point(name, unit(3, 1, 2), ["pearl"])])

    found = index.search("b", Question(dense=unit(1, 1), sparse=["pearl"], where=EVERY, limit=40))

    assert ids(found.dense) == names
    assert ids(found.sparse) == names


def test_a_question_of_nothing_finds_nothing(index: VectorIndex) -> None:
    index.upsert("b", [point("a", unit(1), ["pearl"])])

    assert index.search("b", Question(dense=None, sparse=(), where=EVERY, limit=5)) == Candidates(
        (), ()
    )
    assert index.search(
        "b", Question(dense=None, sparse=["x"], where=EVERY, limit=5)
    ) == Candidates((), ())


def test_an_index_that_was_never_written_to_is_empty(index: VectorIndex) -> None:
    assert search(index) == set()
    assert index.scan("b", after=None, limit=5) == []
    index.delete("b", ["a"])
    index.erase("b")


def test_the_nearest_of_many_are_those_of_a_plain_sum(index: VectorIndex) -> None:
    rng = Random(7)
    vectors = {f"p{n:03}": some_vector(rng) for n in range(400)}
    index.upsert("b", [point(id_, vector) for id_, vector in vectors.items()])
    query = some_vector(rng)

    found = index.search("b", Question(dense=query, sparse=(), where=EVERY, limit=50))

    exact = {id_: _dot(query, vector) for id_, vector in vectors.items()}
    assert ids(found.dense) == sorted(exact, key=exact.__getitem__, reverse=True)[:50]
    assert [hit.score for hit in found.dense] == pytest.approx(
        sorted(exact.values(), reverse=True)[:50], abs=2e-6
    )


def _dot(left: bytes, right: bytes) -> float:
    pairs = zip(memoryview(left).cast("f"), memoryview(right).cast("f"), strict=True)
    return sum(one * other for one, other in pairs)


# Filters


def test_kinds_and_states_are_told_apart(index: VectorIndex) -> None:
    index.upsert(
        "b",
        [
            point("n", unit(1), ["pearl"]),
            point("d", unit(1), ["pearl"], state="dead"),
            point("s", unit(1), ["pearl"], kind="scene", state="pending"),
        ],
    )

    assert search(index) == {"n", "d", "s"}
    assert search(index, Filter(kinds=frozenset({"node"}))) == {"n", "d"}
    assert search(index, Filter(states=frozenset({"active", "pending"}))) == {"n", "s"}
    assert search(index, Filter(kinds=frozenset({"scene"}), states=frozenset({"dead"}))) == set()
    assert search(index, Filter(kinds=frozenset())) == set()
    assert search(index, Filter(states=frozenset())) == set()
    assert search(index, Filter(states=frozenset({"unknown"}))) == set()


def test_a_cluster_is_told_apart_from_another_and_from_none(index: VectorIndex) -> None:
    index.upsert(
        "b",
        [
            point("one", unit(1), ["pearl"], cluster_id="c1"),
            point("two", unit(1), ["pearl"], cluster_id="c2"),
            point("none", unit(1), ["pearl"]),
        ],
    )

    assert search(index, Filter(cluster_id="c1")) == {"one"}
    assert search(index, Filter(cluster_id="active")) == set()


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("2026-03-01", None, {"march", "both"}),
        (None, "2026-01-31", {"january", "both"}),
        ("2026-01-10", "2026-01-10", {"january", "both"}),
        ("2026-01-11", "2026-03-09", set()),
        ("2026-03-10", "2026-03-10", {"march", "both"}),
    ],
)
def test_days_are_inclusive_and_one_day_must_fit_both_ends(
    index: VectorIndex, low: str | None, high: str | None, expected: set[str]
) -> None:
    index.upsert(
        "b",
        [
            point("january", unit(1), ["pearl"], days=("2026-01-10",)),
            point("march", unit(1), ["pearl"], days=("2026-03-10",)),
            point("both", unit(1), ["pearl"], days=("2026-01-10", "2026-03-10")),
            point("undated", unit(1), ["pearl"]),
        ],
    )

    assert search(index, Filter(day_from=low, day_to=high)) == expected


def test_the_limit_counts_what_passes_the_filter(index: VectorIndex) -> None:
    index.upsert("b", [point(f"near{n}", unit(1), state="dead") for n in range(40)])
    index.upsert("b", [point(f"far{n}", unit(0, 1)) for n in range(3)])

    active = Filter(states=frozenset({"active"}))
    found = index.search("b", Question(dense=unit(1), sparse=(), where=active, limit=3))

    assert ids(found.dense) == ["far0", "far1", "far2"]


# Writing


def test_a_point_is_replaced_as_a_whole(index: VectorIndex) -> None:
    index.upsert("b", [point("a", unit(1), ["pearl"], cluster_id="c", days=("2026-01-01",))])
    index.upsert("b", [point("a", None, ["shell"], state="dead", text_sha="new")])

    assert search(index) == set()
    assert search(index, Filter(cluster_id="c")) == set()
    found = index.search("b", Question(dense=None, sparse=["shell"], where=EVERY, limit=5))
    assert ids(found.sparse) == ["a"]
    assert index.scan("b", after=None, limit=5) == [("a", "new")]


def test_of_two_points_with_one_id_the_last_stays(index: VectorIndex) -> None:
    index.upsert("b", [point("a", text_sha="first"), point("a", text_sha="second")])

    assert index.scan("b", after=None, limit=5) == [("a", "second")]


def test_a_deleted_point_is_gone_and_can_come_back(index: VectorIndex) -> None:
    index.upsert("b", [point(name, unit(1), ["pearl"]) for name in "abc"])
    assert search(index) == {"a", "b", "c"}

    index.delete("b", ["a", "c", "unknown", "a"])
    assert search(index) == {"b"}

    index.upsert("b", [point("a", unit(1), ["pearl"])])
    assert search(index) == {"a", "b"}


def test_an_erased_being_is_gone_and_others_stay(index: VectorIndex) -> None:
    index.upsert("b", [point("a", unit(1), ["pearl"])])
    index.upsert("other", [point("a", unit(1), ["pearl"])])
    assert search(index) == {"a"}

    index.erase("b")

    assert search(index) == set()
    assert index.scan("b", after=None, limit=5) == []
    assert search(index, being="other") == {"a"}
    index.upsert("b", [point("z", unit(1), ["pearl"])])
    assert search(index) == {"z"}


def test_a_scan_gives_every_point_once_in_pages(index: VectorIndex) -> None:
    index.upsert("b", [point(f"p{n}", text_sha=f"s{n}") for n in range(25)])
    index.upsert("other", [point("else")])

    pages, after = [], None
    while page := index.scan("b", after=after, limit=10):
        pages.append(page)
        after = page[-1][0]

    assert [len(page) for page in pages] == [10, 10, 5]
    assert sorted(pages[0] + pages[1] + pages[2]) == sorted((f"p{n}", f"s{n}") for n in range(25))


def test_a_scan_goes_on_where_its_last_point_was_removed(index: VectorIndex) -> None:
    index.upsert("b", [point(f"p{n}") for n in range(20)])
    first = index.scan("b", after=None, limit=8)
    index.delete("b", [first[-1][0]])

    rest = index.scan("b", after=first[-1][0], limit=100)

    assert {id_ for id_, _ in (*first, *rest)} == {f"p{n}" for n in range(20)}
    assert len(rest) == 12


@pytest.mark.parametrize("make", OWN_POINTS, indirect=True)
def test_embeddings_do_not_mix(make: Make) -> None:
    one, other = make(EMB_ID), make("test:words:3:1")
    one.upsert("b", [point("a", unit(1), ["pearl"])])
    other.upsert("b", [point("z", unit(1)[:12], ["pearl"])])

    assert search(one) == {"a"}
    found = other.search("b", Question(dense=unit(1)[:12], sparse=["pearl"], where=EVERY, limit=5))
    assert both(found) == {"z"}
    one.erase("b")
    assert other.scan("b", after=None, limit=5) == [("z", "sha")]


def test_an_embedding_without_vectors_is_found_by_words(make: Make) -> None:
    index = make("none")
    index.upsert("b", [point("a", None, ["pearl"])])

    found = index.search("b", Question(dense=None, sparse=["pearl"], where=EVERY, limit=5))
    assert ids(found.sparse) == ["a"]
    with pytest.raises(InvalidInputError, match="does not belong"):
        index.upsert("b", [point("a", unit(1))])


# What is refused


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (point("a", unit(1)[:-4]), "a vector of 7 numbers does not belong to an index of 8"),
        (point(""), "must not be empty"),
        (point("\ud800"), "must be text in Unicode"),
        (point("a", days=("yesterday",)), "'yesterday' is not an ISO date"),
    ],
)
def test_a_wrong_point_is_refused_and_nothing_is_written(
    index: VectorIndex, wrong: Point, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        index.upsert("b", [point("good"), wrong])

    assert index.scan("b", after=None, limit=5) == []


def test_a_wrong_question_is_refused(index: VectorIndex) -> None:
    with pytest.raises(InvalidInputError, match="at least one hit"):
        index.search("b", Question(dense=None, sparse=["a"], where=EVERY, limit=0))
    with pytest.raises(InvalidInputError, match="run 'nacre reindex'"):
        index.search("b", Question(dense=unit(1) * 2, sparse=(), where=EVERY, limit=5))
    with pytest.raises(InvalidInputError, match="must not be empty"):
        index.search("", Question(dense=None, sparse=["a"], where=EVERY, limit=5))
    with pytest.raises(ValueError, match="ISO date"):
        Filter(day_from="yesterday")


# Beings


BEINGS = ["b", "B", "b ", "b%", "*", "b\x00", "b'--", '{"any": ["b"]}', "\u0431", "b\u0301", "b#x"]
hostile = st.sampled_from([*BEINGS, "active", "node", "c", "x" * 300]) | st.text(
    st.characters(codec="utf-8"), min_size=1, max_size=12
)
filters = st.builds(
    Filter,
    kinds=st.none() | st.sets(st.sampled_from(["node", "scene"])).map(frozenset),
    states=st.none() | st.sets(hostile, max_size=4).map(frozenset),
    cluster_id=st.none() | hostile,
    day_from=st.none() | st.just("2026-01-01"),
    day_to=st.none() | st.just("2026-12-31"),
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    beings=st.lists(hostile, min_size=2, max_size=3, unique=True),
    names=st.lists(hostile, min_size=1, max_size=4, unique=True),
    where=filters,
    kind=st.sampled_from(["node", "scene"]),
    state=hostile,
    cluster_id=st.none() | hostile,
)
def test_no_being_ever_meets_anothers_points(
    index: VectorIndex,
    beings: list[str],
    names: list[str],
    where: Filter,
    kind: Kind,
    state: str,
    cluster_id: str | None,
) -> None:
    mine, *others = beings
    for being in others:
        index.upsert(
            being,
            [
                point(
                    name, unit(1), ["pearl"], kind=kind, state=state, cluster_id=cluster_id,
                    days=("2026-05-05",), text_sha=being,
                )
                for name in [*names, mine]
            ],
        )  # fmt: skip

    assert search(index, where, being=mine) == set()
    assert index.scan(mine, after=None, limit=10) == []
    index.delete(mine, names)
    index.erase(mine)
    for being in others:
        found = sorted(index.scan(being, after=None, limit=10))
        assert found == sorted((name, being) for name in {*names, mine})
        index.erase(being)


# Several at once


@pytest.mark.parametrize(
    "make", [each for each in STORES if each != "qdrant-client"], indirect=True
)
def test_threads_write_and_search_at_once(make: Make) -> None:
    # The client's own local mode is not for several threads.
    index = make(EMB_ID)
    index.upsert("b", [point("first", unit(1), ["pearl"])])
    missing: list[str] = []

    def work(number: int) -> None:
        for each in range(10):
            name = f"{number}-{each}"
            index.upsert("b", [point(name, unit(1, number), ["pearl"])])
            # Others write between the two halves of a search, so these may differ by theirs.
            found = index.search(
                "b", Question(dense=unit(1), sparse=["pearl"], where=EVERY, limit=100)
            )
            if name not in set(ids(found.dense)) & set(ids(found.sparse)):
                missing.append(name)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert missing == []
    assert len(index.scan("b", after=None, limit=100)) == 41


def test_the_dimension_is_read_from_the_embeddings_name() -> None:
    assert dimension_of(EMB_ID) == DIMENSION
    assert dimension_of("openai:nomic-embed-text:v1.5:768:2") == 768
    assert dimension_of("none") == 0
