"""A Qdrant that answers rubbish, in crumbs, without end, or with what belongs to another."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from nacre.adapters.qdrant import calls
from nacre.adapters.qdrant.calls import QdrantCalls, connect
from nacre.adapters.qdrant.vectors import QdrantVectors
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import UnavailableError
from nacre.ports.vectors.vector_index import Candidates, Question
from tests.adapters.conftest import StillClock
from tests.adapters.vector_cases import EMB_ID, EVERY, point, unit
from tests.being.memory.minds import builtin, minded
from tests.scaffolding.http_front import Answer, Answered, front

JSON = (("content-type", "application/json"),)
HIT: dict[str, Any] = {"being_id": "b", "id": "a", "kind": "node", "days": [], "cluster_id": None}


def result(value: Any) -> bytes:
    return json.dumps({"result": value, "status": "ok", "time": 0.1}).encode()


def hits(score: float = 0.5, **payload: Any) -> bytes:
    one = {"id": 1, "version": 1, "score": score, "payload": {**HIT, **payload}}
    return result([{"points": [one]}])


@contextmanager
def index_behind(answer: Answer) -> Iterator[QdrantVectors]:
    with front(answer) as address:
        client = connect(f"http://{address}")
        yield QdrantVectors(client, EMB_ID, call=QdrantCalls(sleep=lambda _: None))
        client.close()


ACTIONS: dict[str, Callable[[QdrantVectors], object]] = {
    "search": lambda index: index.search(
        "b", Question(dense=unit(1), sparse=(), where=EVERY, limit=5)
    ),
    "scan": lambda index: index.scan("b", after="a", limit=5),
    "upsert": lambda index: index.upsert("b", [point("a", unit(1), ["pearl"])]),
    "delete": lambda index: index.delete("b", ["a"]),
    "erase": lambda index: index.erase("b"),
}
RUBBISH: dict[str, bytes] = {
    "html": b"<html>a private thought</html>",
    "nothing": b"",
    "another shape": b'["a private thought"]',
    "nests": b"[" * 100_000,
    "no result": result(None),
    "another result": result({"a private thought": 1}),
    "half a character": b'{"result": "\xff"}',
}


@pytest.mark.parametrize("body", RUBBISH.values(), ids=RUBBISH)
@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
def test_rubbish_is_unavailable_and_not_repeated(
    action: Callable[[QdrantVectors], object], body: bytes
) -> None:
    with (
        index_behind(lambda _: Answered(200, JSON, body)) as index,
        pytest.raises(UnavailableError) as raised,
    ):
        action(index)

    assert "private" not in str(raised.value)


@pytest.mark.parametrize(
    "body",
    [
        hits(id=7),
        hits(kind="soul"),
        hits(days="never"),
        hits(cluster_id=["c"]),
        hits(float("nan")),
        hits(float("inf")),
        result([{"points": [{"id": 1, "version": 1, "score": 1, "payload": {"being_id": "b"}}]}]),
        result([]),
        result([{"points": []}] * 2),
    ],
)
def test_hits_that_are_none_are_no_memories(body: bytes) -> None:
    with (
        index_behind(lambda _: Answered(200, JSON, body)) as index,
        pytest.raises(UnavailableError, match="was not understood"),
    ):
        ACTIONS["search"](index)


def test_points_of_another_being_are_left_out() -> None:
    with index_behind(lambda _: Answered(200, JSON, hits(being_id="another"))) as index:
        assert ACTIONS["search"](index) == Candidates((), ())


def test_a_server_that_gives_one_page_again_and_again_is_given_up() -> None:
    page = [{"id": "00000000-0000-4000-8000-000000000001", "payload": {**HIT, "text_sha": "s"}}]
    body = result({"points": page, "next_page_offset": None})
    with index_behind(lambda _: Answered(200, JSON, body)) as index:
        assert index.scan("b", after=None, limit=5) == [("a", "s")]
        with pytest.raises(UnavailableError, match="was not understood"):
            index.scan("b", after="a", limit=5)


@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
def test_half_an_answer_is_unavailable(action: Callable[[QdrantVectors], object]) -> None:
    body = hits()
    with (
        index_behind(lambda _: Answered(200, JSON, body, sent=len(body) // 2)) as index,
        pytest.raises(UnavailableError, match="does not answer"),
    ):
        action(index)


def test_an_answer_in_crumbs_is_given_up_by_its_whole_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "QDRANT_SECONDS", 1)
    crumbs = Answered(200, JSON, b" " * 10_000 + hits(), pause=0.05)
    with index_behind(lambda _: crumbs) as index:
        with pytest.raises(UnavailableError, match="ReadTimeout"):
            ACTIONS["search"](index)
        crumbs.over.set()
        with pytest.raises(UnavailableError, match="the next attempt is in"):
            ACTIONS["search"](index)


def test_an_answer_is_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_QDRANT_ANSWER_BYTES", 1000)
    with (
        index_behind(lambda _: Answered(200, JSON, b" " * 1001 + hits())) as index,
        pytest.raises(UnavailableError, match="DecodingError"),
    ):
        ACTIONS["search"](index)


@pytest.mark.parametrize("body", [RUBBISH["html"], hits(id="of nobody")])
def test_what_is_noted_over_a_broken_index_is_acknowledged_and_found(
    body: bytes, clock: StillClock
) -> None:
    embedder, tokens = builtin()
    database = SqliteDatabase(":memory:")
    with front(lambda _: Answered(200, JSON, body)) as address:
        client = connect(f"http://{address}")
        call = QdrantCalls(sleep=lambda _: None)
        broken = minded(
            SqliteTable(database, now=clock),
            SqliteQueue(database, "jobs", now=clock),
            lambda emb_id: QdrantVectors(client, emb_id, call=call),
            clock,
            embedder=embedder,
            tokens=tokens,
        )
        [scene_id] = broken.note("Ann planted a walnut tree")
        found = broken.text("search_memory", query="walnut")
        client.close()
    kept = broken.mind.memory.scenes.page(broken.being_id).scenes
    database.close()

    assert [scene.scene_id for scene in kept] == [scene_id]
    assert "keyword search (no index); the search index cannot be reached" in found
    assert "Ann planted a walnut tree" in found
