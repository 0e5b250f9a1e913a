"""Faults that only Qdrant's adapter meets: servers that stop, refuse, or have lost their data."""

import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from qdrant_client import QdrantClient, models

from infra.local_cloud import free_port
from infra.qdrant_server import QdrantServer
from nacre.adapters.qdrant.calls import QdrantCalls, connect
from nacre.adapters.qdrant.collection import alias_of, make_collection
from nacre.adapters.qdrant.vectors import QdrantVectors
from nacre.core.errors import UnavailableError
from nacre.ports.vectors.vector_index import Filter, Question
from tests.adapters.vector_cases import DIMENSION, EMB_ID, EVERY, ids, point, unit

KEY = "secret-key-of-nobody"
OTHER = f"test:other:{DIMENSION}:1"


@contextmanager
def running(folder: Path, *, api_key: str = "") -> Iterator[QdrantServer]:
    server = QdrantServer(folder, api_key=api_key)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def index_at(url: str) -> QdrantVectors:
    return QdrantVectors(connect(url), EMB_ID, call=QdrantCalls(sleep=lambda _: None))


def found(index: QdrantVectors) -> list[str]:
    return ids(index.search("b", Question(dense=unit(1), sparse=(), where=EVERY, limit=10)).dense)


def test_a_server_that_is_not_there_is_unavailable_soon_and_nothing_secret_is_said() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the client minds a key without TLS
        call = QdrantCalls(sleep=lambda _: None)
        index = QdrantVectors(connect(url, KEY), EMB_ID, call=call)
    started = time.monotonic()

    for action in (
        lambda: index.upsert("b", [point("a", unit(1), ["pearl"])]),
        lambda: index.delete("b", ["a"]),
        lambda: index.search("b", Question(dense=unit(1), sparse=(), where=EVERY, limit=5)),
        lambda: index.scan("b", after=None, limit=5),
        lambda: index.erase("b"),
    ):
        with pytest.raises(UnavailableError, match="check NACRE_QDRANT_URL") as raised:
            action()
        assert KEY not in str(raised.value)
        assert "pearl" not in str(raised.value)

    assert time.monotonic() - started < 30


def test_a_server_that_never_answers_is_unavailable_after_one_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nacre.adapters.qdrant.calls.QDRANT_SECONDS", 1)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        index = index_at(f"http://127.0.0.1:{listener.getsockname()[1]}")

        with pytest.raises(UnavailableError, match="Timeout"):
            found(index)


def test_a_server_that_let_one_wait_is_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nacre.adapters.qdrant.calls.QDRANT_SECONDS", 1)
    now = [100.0]
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client = connect(f"http://127.0.0.1:{listener.getsockname()[1]}")
        call = QdrantCalls(sleep=lambda _: None, now=lambda: now[0])
        index, second_index = (QdrantVectors(client, name, call=call) for name in (EMB_ID, OTHER))

        for attempt in ("Timeout", "next attempt is in 30 s", "next attempt is in 1 s", "Timeout"):
            with pytest.raises(UnavailableError, match=attempt):
                found(index)
            if attempt == "Timeout":
                with pytest.raises(UnavailableError, match="did not answer in time"):
                    second_index.upsert("b", [point("a", unit(1), ["pearl"])])
            else:
                now[0] += 29 if "30" in attempt else 1


def test_a_server_that_refuses_the_connection_is_asked_each_time() -> None:
    index = index_at(f"http://127.0.0.1:{free_port()}")

    for _ in range(2):
        with pytest.raises(UnavailableError, match="check NACRE_QDRANT_URL"):
            found(index)


@pytest.mark.parametrize(
    ("status", "message", "requests"),
    [
        (401, "refuses the API key", 1),
        (403, "refuses the API key", 1),
        (400, "cannot handle the request now", 1),
        (503, "cannot handle the request now", 3),
        (429, "cannot handle the request now", 3),
    ],
)
def test_what_a_server_refuses_is_repeated_where_that_may_help(
    status: int, message: str, requests: int
) -> None:
    with (
        answering(status) as (url, received),
        pytest.raises(UnavailableError, match=message) as raised,
    ):
        found(index_at(url))

    assert len(received) == requests
    assert "words of a user" not in str(raised.value)


@contextmanager
def answering(status: int) -> Iterator[tuple[str, list[bytes]]]:
    """Run a server that gives every request the same answer."""
    body = b'{"status": {"error": "words of a user"}}'
    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    received: list[bytes] = []
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with closing(connection):
                    received.append(connection.recv(65536))
                    connection.sendall(head.encode() + body)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", received
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_aliases_can_be_read_and_are_never_shared() -> None:
    names = [alias_of(emb_id, prefix="nacre") for emb_id in ("a:b:8:1", "a/b:8:1", "A:B:8:1")]

    assert len(set(names)) == 3
    assert names[0] == "nacre-a-b-8-1-" + names[0][-8:]


def test_a_collection_that_is_half_made_is_finished() -> None:
    client = QdrantClient(":memory:")
    make_collection(client, EMB_ID, prefix="nacre")
    alias = alias_of(EMB_ID, prefix="nacre")
    client.update_collection_aliases(
        [models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))]
    )
    index = QdrantVectors(client, EMB_ID)

    index.upsert("b", [point("a", unit(1))])

    assert found(index) == ["a"]
    client.close()


@pytest.mark.slow
def test_acknowledged_points_survive_the_servers_sudden_end(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        with subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("qdrant_process.py")), server.url],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline().strip() for _ in range(40)]
            server.kill()
            lines += [line.strip() for line in process.stdout]
        assert lines[-1].startswith("UnavailableError: Qdrant does not answer")

        server.start()
        index = index_at(server.url)
        ids = {id_ for id_, _ in index.scan("b", after=None, limit=10_000)}
        assert set(lines[:-1]) <= ids
        index.upsert("b", [point("after", unit(1))])
        assert found(index)[0] == "after"


@pytest.mark.slow
def test_an_index_goes_on_when_its_server_is_back(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        index = index_at(server.url)
        index.upsert("b", [point("a", unit(1))])
        server.kill()
        with pytest.raises(UnavailableError):
            found(index)

        server.start()

        assert found(index) == ["a"]


@pytest.mark.slow
def test_a_server_that_lost_its_data_is_empty_and_takes_points_again(tmp_path: Path) -> None:
    with running(tmp_path / "one") as server:
        index = index_at(server.url)
        index.upsert("b", [point("a", unit(1))])
        for collection in connect(server.url).get_collections().collections:
            connect(server.url).delete_collection(collection.name)
        assert found(index) == []

        index.upsert("b", [point("a", unit(1))])

        assert found(index) == ["a"]


@pytest.mark.slow
def test_the_collection_is_made_for_many_beings_and_found_by_its_alias(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        index_at(server.url).upsert("b", [point("a", unit(1))])
        alias = alias_of(EMB_ID, prefix="nacre")
        client = connect(server.url)
        [found_alias] = client.get_aliases().aliases
        assert (found_alias.alias_name, found_alias.collection_name) == (alias, f"{alias}-v1")
        info = client.get_collection(alias)
        client.close()

    vectors, sparse = info.config.params.vectors, info.config.params.sparse_vectors
    assert isinstance(vectors, dict)
    assert sparse is not None
    assert (vectors["dense"].size, vectors["dense"].distance) == (DIMENSION, models.Distance.DOT)
    assert sparse["sparse"].modifier is models.Modifier.IDF
    assert (info.config.hnsw_config.m, info.config.hnsw_config.payload_m) == (0, 16)
    tenant = info.payload_schema["being_id"].params
    assert isinstance(tenant, models.KeywordIndexParams)
    assert tenant.is_tenant
    assert {name: field.data_type.value for name, field in info.payload_schema.items()} == {
        "being_id": "keyword",
        "kind": "keyword",
        "state": "keyword",
        "cluster_id": "keyword",
        "days": "integer",
    }


@pytest.mark.slow
def test_several_processes_make_one_collection(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        errors: list[Exception] = []

        def write(number: int) -> None:
            try:
                index_at(server.url).upsert("b", [point(f"p{number}", unit(1))])
            except UnavailableError as error:
                errors.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert found(index_at(server.url)) == [f"p{number}" for number in range(6)]


@pytest.mark.slow
def test_a_wrong_key_is_refused_and_the_right_one_is_taken(tmp_path: Path) -> None:
    with running(tmp_path, api_key=KEY) as server:
        with pytest.raises(UnavailableError, match="NACRE_QDRANT_API_KEY"):
            index_at(server.url).upsert("b", [point("a", unit(1))])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            index = QdrantVectors(connect(server.url, KEY), EMB_ID)
        index.upsert("b", [point("a", unit(1))])
        assert found(index) == ["a"]


@pytest.mark.slow
def test_the_graph_of_a_large_being_finds_what_a_plain_sum_finds(tmp_path: Path) -> None:
    """Large enough that the server searches a graph instead of all points."""
    from array import array
    from random import Random

    rng = Random(5)

    def vector(dimension: int = 128) -> bytes:
        numbers = [rng.gauss(0, 1) for _ in range(dimension)]
        length = sum(number * number for number in numbers) ** 0.5
        return array("f", [number / length for number in numbers]).tobytes()

    points = [point(f"p{n:05}", vector(), state=f"s{n % 3}") for n in range(6000)]
    with running(tmp_path) as server:
        index = QdrantVectors(connect(server.url), "test:graph:128:1")
        index.upsert("b", points)
        query = vector()
        some = Filter(states=frozenset({"s1"}))
        hits = index.search("b", Question(dense=query, sparse=(), where=some, limit=20)).dense

    query_numbers = memoryview(query).cast("f")
    exact = {
        entry.id: sum(
            a * b for a, b in zip(memoryview(entry.vector).cast("f"), query_numbers, strict=True)
        )
        for entry in points
        if entry.state == "s1" and entry.vector is not None
    }
    best = sorted(exact, key=exact.__getitem__, reverse=True)[:20]
    assert len(set(best) & set(ids(hits))) >= 18
