"""Facts that changed: the newest comes first, the earlier beside it; what adds up is unlabelled."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.model.types import Cluster
from nacre.being.memory.search.changed_facts import Fact, Placed, arranged
from nacre.core.errors import InvalidInputError
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import a_node, queue_of
from tests.being.memory.minds import Minded, RefusedError, builtin, minded
from tests.being.memory.search.fact_lines import Line, facts_of, lines_of


def arrange(question: str, *texts: str, person: str = "Ann", visible: int = 10) -> list[str]:
    """Return the order of facts, given newest last; an earlier one has `*`."""
    facts = [
        Fact(str(place), text, frozenset({person}), (f"2026-01-{place + 1:02}",))
        for place, text in enumerate(texts)
    ]
    return [
        texts[int(placed.id)] + ("*" if placed.newer else "")
        for placed in arranged(question, facts, visible=visible)
    ]


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("Where does Ann live?", "Ann lives in Bonn", "Ann moved to Ulm"),
        ("Where does Ann live?", "Ann lives in Bonn", "Ann lives in Ulm"),
        ("What is Ann's rent?", "Ann's rent is 900 euros", "Ann's rent is 950 euros"),
        ("Does Ann smoke?", "Ann smokes", "Ann quit smoking"),
        ("Wo wohnt Ann?", "Ann wohnt in Bonn", "Ann ist nach Ulm gezogen"),
        ("Annはどこに住んでいますか", "Annは大阪に住んでいる", "Annは名古屋に引っ越した"),
        ("Où habite Ann ?", "Ann habite à Lyon", "Ann a déménagé à Nantes"),
        ("¿Dónde vive Ann?", "Ann vive en Jaén", "Ann se mudó a León"),
    ],
)
def test_the_newer_of_a_changed_fact_comes_first_and_the_older_is_labelled(
    question: str, older: str, newer: str
) -> None:
    assert arrange(question, older, newer) == [newer, f"{older}*"]
    assert arrange(question, older, "Ann likes jam", newer) == [newer, f"{older}*", "Ann likes jam"]


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        ("What pets does Ann have?", "Ann adopted a cat named Mo", "Ann adopted a dog named Bo"),
        ("Where does Ann work?", "Ann works in a bakery", "Ann also works in a cinema"),
        ("What is Ann allergic to?", "Ann is allergic to nuts", "Ann is allergic to milk"),
        ("What did Ann buy?", "Ann bought new shoes", "Ann bought a new coat"),
        (
            "Where do Ann's friends live?",
            "Ann's friend Hal lives in Rome",
            "Ann's friend Gus lives in Oslo",
        ),
        (
            "What are Ann's passwords?",
            "Ann's mail password is fox11",
            "Ann's bank password is owl22",
        ),
        ("Annの好きな食べ物は", "Annは寿司が好きだ", "Annはラーメンも好きだ"),
    ],
)
def test_facts_that_add_up_get_no_label(question: str, first: str, second: str) -> None:
    assert sorted(arrange(question, first, second)) == sorted([first, second])


@pytest.mark.parametrize(
    "question",
    [
        "Where did Ann live before?",
        "Wo hat Ann früher gewohnt?",
        "Annは以前どこに住んでいましたか",
        "Où habitait Ann avant ?",
    ],
)
def test_a_question_about_the_past_turns_the_order_round(question: str) -> None:
    older, newer = "Ann lives in Bonn", "Ann moved to Ulm"
    assert arrange(question, older, newer) == [f"{older}*", newer]


def test_of_several_values_the_last_comes_first() -> None:
    homes = ("Ann lives in Bonn", "Ann moved to Ulm", "Ann moved to Kiel")
    assert arrange("Where does Ann live?", *homes) == [homes[2], f"{homes[0]}*", f"{homes[1]}*"]


def test_a_newer_fact_moves_up_from_any_place() -> None:
    others = [f"Ann met Bo {number}" for number in range(20)]
    assert arrange("Where does Ann live?", "Ann lives in Bonn", *others, "Ann moved to Ulm")[
        :2
    ] == [
        "Ann moved to Ulm",
        "Ann lives in Bonn*",
    ]


def test_only_what_is_about_the_same_people_and_the_question_changes_places() -> None:
    facts = [
        Fact("a", "Ann lives in Bonn", frozenset({"Ann"}), ("2026-01-01",)),
        Fact("b", "Bo moved to Ulm", frozenset({"Bo"}), ("2026-02-01",)),
    ]
    assert arranged("Who lives where?", facts, visible=10) == [Placed("a"), Placed("b")]
    assert arrange("What does Ann eat?", "Ann lives in Bonn", "Ann moved to Ulm") == [
        "Ann lives in Bonn",
        "Ann moved to Ulm",
    ]


def test_a_long_message_is_no_fact() -> None:
    message = "Hey! So much happened. I moved to Ulm, and now I work for a bakery there, imagine!"
    assert arrange("Where does Ann live?", "Ann lives in Bonn", message) == [
        "Ann lives in Bonn",
        message,
    ]


def test_no_facts_are_no_facts() -> None:
    assert arranged("x", [], visible=10) == []


@pytest.fixture(params=["words", "vectors"])
def laptop(request: pytest.FixtureRequest, clock: StillClock) -> Iterator[Minded]:
    embedder, tokens = builtin() if request.param == "vectors" else (None, None)
    database = SqliteDatabase(":memory:")
    yield minded(
        SqliteTable(database, now=clock),
        queue_of(database, clock),
        lambda emb_id: LocalVectors(database, emb_id),
        clock,
        embedder=embedder,
        tokens=tokens,
    )
    database.close()


def remember(mind: Minded, lines: list[Line]) -> list[tuple[str, str]]:
    """Store the facts of lines, and return their ids."""
    nodes = [a_node(number, **fields) for number, fields in enumerate(facts_of(lines))]
    for first in range(0, len(nodes), 20):
        mind.remember(*nodes[first : first + 20])
    ids = [node.node_id for node in nodes]
    return list(zip(ids[::2], ids[1::2], strict=True))


def search(mind: Minded, question: str) -> dict[str, str | None]:
    """Return the ids that a search shows in their order, with what is newer."""
    text = mind.text("search_memory", query=question)
    hits = re.findall(r"\[node (\S+?)(?:; (?:weak; )?earlier; now: (\S+?))?;", text)
    return {node_id: newer or None for node_id, newer in hits}


@pytest.mark.parametrize("part", [pytest.param("", marks=pytest.mark.slow), "unseen_"])
def test_searches_show_the_newer_fact_first_and_hide_nothing(laptop: Minded, part: str) -> None:
    changes, additions = lines_of(f"{part}changed_facts"), lines_of(f"{part}added_facts")
    pairs = remember(laptop, [*changes, *additions])
    right = turned = 0
    for line, (old, new) in zip(changes, pairs, strict=False):
        hits = search(laptop, line[4])
        order = list(hits)
        right += new in order and (old not in order or order.index(new) < order.index(old))
        assert hits.get(new) != old
        order = list(search(laptop, line[5]))
        turned += old in order and (new not in order or order.index(old) < order.index(new))
    for line, (first, second) in zip(additions, pairs[len(changes) :], strict=True):
        hits = search(laptop, line[4])
        assert {first, second} <= set(hits), line
        assert (hits[first], hits[second]) != (second, first)
        assert hits[first] != second, line
    assert right >= len(changes) * 0.85
    assert turned >= len(changes) * 0.85


def test_a_search_and_a_recall_say_what_is_earlier(mind: Minded) -> None:
    old = a_node(1, action="Ann lives in Bonn", when=("2025-03-01",), valid_from="2025-03-01")
    new = a_node(2, action="Ann moved to Ulm", when=("2026-03-01",), valid_from="2026-03-01")
    mind.remember(old, new)

    found = mind.text("search_memory", query="Where does Ann live?").splitlines()
    assert f"; earlier; now: {new.node_id};" in found[2]
    assert "Ulm" in found[1]
    recalled = mind.text("recall", user_message="Where does Ann live?")
    assert f"{old.node_id}; earlier" in recalled
    before = mind.text("search_memory", query="Where did Ann live before?").splitlines()
    assert "Bonn" in before[1]


def test_a_search_as_of_a_day_knows_nothing_later(mind: Minded) -> None:
    new = a_node(2, action="Ann moved to Ulm", when=("2026-03-01",))
    old = a_node(
        1,
        action="Ann lives in Bonn",
        when=("2025-03-01",),
        superseded_by=new.node_id,
        valid_until="2026-03-01",
    )
    mind.remember(old, new)

    def found(**more: str) -> str:
        return mind.text("search_memory", query="Where does Ann live?", **more)  # type: ignore[arg-type]

    assert "Bonn" not in found()
    assert "Bonn" in found(as_of="2026-02-28")
    assert "Ulm" not in found(as_of="2026-02-28")
    assert "Bonn" not in found(as_of="2026-03-01")
    assert "Ulm" in found(as_of="2026-03-01")
    assert "no memories" in found(as_of="2024-01-01")
    with pytest.raises((RefusedError, InvalidInputError), match="as_of"):
        found(as_of="yesterday")
    shown = mind.text("recall_memory", node_id=old.node_id)
    assert f"superseded by: {new.node_id}; it held until 2026-03-01" in shown


def test_a_memory_is_browsed_as_of_a_day(mind: Minded) -> None:
    new = a_node(2, action="Ann moved to Ulm", when=("2026-03-01",), cluster_id="c")
    old = a_node(
        1,
        action="Ann lives in Bonn",
        when=("2025-03-01",),
        superseded_by=new.node_id,
        valid_until="2026-03-01",
        cluster_id="c",
    )
    mind.remember(old, new)
    cluster = Cluster(cluster_id="c", created_at="t", label="Ann", first_day="2025-03-01")
    mind.mind.memory.clusters.add(mind.being_id, replace(cluster, digest="Ann lives in Ulm now"))

    def browsed(**more: str) -> str:
        return mind.text("recall_memory", **more)  # type: ignore[arg-type]

    now = browsed(cluster_id="c")
    assert "moved to Ulm" in now
    assert "Bonn" not in now
    then = browsed(cluster_id="c", as_of="2026-02-28")
    assert "Bonn" in then
    assert "Ulm" not in then
    assert "Bonn" not in browsed(cluster_id="c", as_of="2026-03-01")
    assert "Ann" in browsed(as_of="2025-03-01")
    assert browsed(as_of="2025-02-28").startswith("0 clusters")
    assert "on 2026-02-28 it held" in browsed(node_id=old.node_id, as_of="2026-02-28")
    for day in ("2025-02-28", "2026-03-01"):
        assert f"on {day} it did not hold" in browsed(node_id=old.node_id, as_of=day)
    with pytest.raises((RefusedError, InvalidInputError), match="as_of"):
        browsed(as_of="yesterday")
