"""The requests to an embedding endpoint, and the reading of its answers."""

import base64
import json
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from nacre.adapters.embeddings.vector_rules import WrongDimensionError
from nacre.adapters.openai import embedder as openai_embedder
from nacre.adapters.openai.embedder import OpenAIEmbedder
from nacre.core.errors import UnavailableError
from tests.adapters.embedders import Endpoint, bag_of_words, endpoint, vectors
from tests.scaffolding.http_front import Answered, front

KEY = "sk-very-secret-key"
AT_ONCE = {"retry-after-ms": "1"}
Reply = Callable[[dict[str, Any]], tuple[int, dict[str, str], bytes]]


@pytest.fixture
def served() -> Iterator[Endpoint]:
    with endpoint() as server:
        yield server
    while _MADE:  # a caught error keeps one and its connection until the collector passes
        _MADE.pop()._patient.close()


_MADE: list[OpenAIEmbedder] = []


def embedder(served: Endpoint, dimension: int = 8) -> OpenAIEmbedder:
    openai_embedder = OpenAIEmbedder("some-model", dimension, key=lambda: KEY, base_url=served.url)
    _MADE.append(openai_embedder)
    return openai_embedder


def failing(times: int, status: int) -> Reply:
    """Answer with an error so many times, and then as an endpoint does."""
    failures = [times]

    def reply(request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if failures[0]:
            failures[0] -= 1
            return status, AT_ONCE, json.dumps({"error": {"message": f"for {KEY}"}}).encode()
        return vectors(request)

    return reply


def answering(data: Any) -> Reply:
    return lambda request: (200, {}, json.dumps({"object": "list", "data": data}).encode())


def test_it_asks_with_model_dimension_and_key(served: Endpoint) -> None:
    embedder(served).documents(["one", "two"])

    (request,) = served.asked
    assert (request["model"], request["input"], request["dimensions"]) == (
        "some-model",
        ["one", "two"],
        8,
    )
    assert served.keys == [f"Bearer {KEY}"]


def test_the_key_is_asked_for_with_the_first_text(served: Endpoint) -> None:
    reads = []

    def key() -> str:
        reads.append(1)
        return ""

    lazy = OpenAIEmbedder("m", 8, key=key, base_url=served.url)
    assert reads == []

    lazy.documents(["", " "])
    lazy.query("one")
    lazy.query("two")

    assert reads == [1]
    assert served.keys == ["Bearer none"] * 2


def test_texts_travel_in_requests_of_bounded_number_and_size(served: Endpoint) -> None:
    embedder(served).documents(["short"] * 600)
    assert [len(request["input"]) for request in served.asked] == [256, 256, 88]

    served.asked.clear()
    embedder(served).documents(["x" * 9000] * 70)
    sizes = [sum(map(len, request["input"])) for request in served.asked]
    assert len(sizes) == 3
    assert max(sizes) <= 256 * 1024


def test_answers_out_of_order_are_put_in_order(served: Endpoint) -> None:
    def shuffled(request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        status, headers, body = vectors(request)
        answer = json.loads(body)
        answer["data"].reverse()
        return status, headers, json.dumps(answer).encode()

    straight = embedder(served).documents(["one", "two", "three"])
    served.reply = shuffled

    assert embedder(served).documents(["one", "two", "three"]) == straight


@pytest.mark.parametrize("status", [429, 500, 503])
def test_it_tries_again_where_that_may_help(served: Endpoint, status: int) -> None:
    served.reply = failing(3, status)

    (vector,) = embedder(served).documents(["one"])

    assert len(served.asked) == 4
    row = np.array(bag_of_words("one", 8))
    np.testing.assert_allclose(np.frombuffer(vector, "<f4"), row / np.linalg.norm(row), atol=1e-6)


def test_a_query_is_tried_twice_only(served: Endpoint) -> None:
    served.reply = failing(9, 503)

    with pytest.raises(UnavailableError, match="it answered 503"):
        embedder(served).query("one")

    assert len(served.asked) == 2


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (400, "it answered 400"),
        (401, "it refused the key; set NACRE_EMBEDDING_API_KEY"),
        (403, "it refused the key"),
        (404, "it does not know the model or the path"),
        (422, "it answered 422"),
        (429, "it asks for patience"),
        (500, "it answered 500"),
    ],
)
def test_a_refusal_says_why_and_never_shows_the_key(
    served: Endpoint, status: int, reason: str
) -> None:
    served.reply = failing(99, status)

    with pytest.raises(UnavailableError, match=reason) as caught:
        embedder(served).documents(["a private text"])

    output = "".join(traceback.format_exception(caught.value))
    assert KEY not in output
    assert "private" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([], "holds no vector for each text"),
        ([{"index": 0, "embedding": [1.0] * 8}] * 2, "holds no vector for each text"),
        ([{"index": 0, "embedding": []}], "0 dimensions instead of 8"),
        ([{"index": 0, "embedding": [1.0] * 7}], "7 dimensions instead of 8"),
        ([{"index": 0, "embedding": ["x"] * 8}], "holds no vector for each text"),
        ([{"index": 0, "embedding": [float("nan")] * 8}], "not finite"),
        ([{"index": 0, "embedding": [1e999] * 8}], "not finite"),
        ([{"index": 0}], "holds no vector for each text"),
        (None, "holds no vector for each text"),
    ],
)
def test_an_answer_without_right_vectors_is_refused(
    served: Endpoint, data: Any, reason: str
) -> None:
    served.reply = answering(data)

    with pytest.raises(UnavailableError, match=reason):
        embedder(served).documents(["one"])


def test_vectors_of_different_lengths_are_refused(served: Endpoint) -> None:
    served.reply = answering(
        [{"index": 0, "embedding": [1.0] * 8}, {"index": 1, "embedding": [1.0] * 7}]
    )

    with pytest.raises(UnavailableError):
        embedder(served).documents(["one", "two"])


@pytest.mark.parametrize("body", [b"<html>busy</html>", b"", b"[1, 2]", b"{"])
def test_an_answer_that_is_no_answer_is_refused(served: Endpoint, body: bytes) -> None:
    served.reply = lambda request: (200, {}, body)

    with pytest.raises(UnavailableError, match="holds no vector for each text"):
        embedder(served).query("one")


def test_a_server_that_ignores_the_dimension_is_refused(served: Endpoint) -> None:
    served.reply = lambda request: vectors(request, size=5)
    stubborn = embedder(served)

    with pytest.raises(WrongDimensionError, match="5 dimensions instead of 8") as caught:
        stubborn.documents(["one"])

    assert (caught.value.expected, caught.value.actual) == (8, 5)
    assert stubborn.probe() == 5
    served.reply = vectors
    assert stubborn.probe() == 8


def test_a_server_that_may_not_be_asked_for_a_dimension_is_measured(served: Endpoint) -> None:
    def one_size(request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if "dimensions" in request:
            return 400, {}, b'{"error": {"message": "dimensions is not supported"}}'
        return vectors(request)

    served.reply = one_size
    model = embedder(served)

    assert len(model.documents(["one"])) == 1
    model.query("two")

    assert ["dimensions" in request for request in served.asked] == [True, False, False]
    with pytest.raises(WrongDimensionError, match="8 dimensions instead of 9"):
        embedder(served, dimension=9).documents(["one"])


def test_a_server_that_does_not_answer_in_time_is_given_up(
    served: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def slow(request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        release.wait(30)
        return vectors(request)

    monkeypatch.setattr(openai_embedder, "QUERY_EMBEDDING_SECONDS", 0.05)
    served.reply = slow
    try:
        with pytest.raises(UnavailableError, match="it did not answer in time"):
            embedder(served).query("one")
    finally:
        release.set()


def test_a_server_that_is_not_there_is_named_by_its_setting() -> None:
    with endpoint() as gone:
        url = gone.url
    absent = OpenAIEmbedder("m", 8, key=str, base_url=url)

    with pytest.raises(UnavailableError, match="see NACRE_EMBEDDING_BASE_URL"):
        absent.query("one")


BODY = json.dumps({"data": [{"index": 0, "embedding": [1.0] * 8}]}).encode()


def test_vectors_as_bytes_are_read_like_those_in_numbers(served: Endpoint) -> None:
    row = np.array([3, 4, 0, 0, 0, 0, 0, 0], "<f4")
    served.reply = answering([{"index": 0, "embedding": base64.b64encode(row.tobytes()).decode()}])

    assert embedder(served).query("one") == (row / 5).tobytes()


def test_half_an_answer_is_asked_for_once_more() -> None:
    answers = [Answered(200, (), BODY, sent=len(BODY) // 2), Answered(200, (), BODY)]
    with front(lambda _: answers.pop(0)) as address:
        broken = OpenAIEmbedder("m", 8, key=str, base_url=f"http://{address}/v1")

        assert len(broken.query("one")) == 4 * 8
    assert answers == []


def test_half_an_answer_each_time_is_unavailable() -> None:
    with front(lambda _: Answered(200, (), BODY, sent=len(BODY) // 2)) as address:
        broken = OpenAIEmbedder("m", 8, key=str, base_url=f"http://{address}/v1")

        with pytest.raises(UnavailableError, match="it cannot be reached"):
            broken.query("one")


def test_an_answer_in_crumbs_is_given_up_by_its_whole_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openai_embedder, "QUERY_EMBEDDING_SECONDS", 0.2)
    crumbs = Answered(200, (), b" " * 10_000 + BODY, pause=0.02)
    with front(lambda _: crumbs) as address:
        slow = OpenAIEmbedder("m", 8, key=str, base_url=f"http://{address}/v1")

        with pytest.raises(UnavailableError, match="it did not answer in time"):
            slow.query("one")
        crumbs.over.set()


def test_an_answer_is_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch, served: Endpoint) -> None:
    monkeypatch.setattr(openai_embedder, "MAX_EMBEDDING_ANSWER_BYTES", 1000)
    served.reply = lambda request: (200, {}, BODY[:-1] + b" " * 1000 + BODY[-1:])

    with pytest.raises(UnavailableError, match="its answer is longer than 1000 bytes"):
        embedder(served).query("one")
