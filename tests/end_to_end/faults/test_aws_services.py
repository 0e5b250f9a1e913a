"""S3, KMS and SQS that fail, throttle, hang up and answer by half."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nacre.adapters.aws.kms_vault import KmsVault
from nacre.adapters.aws.s3_blobs import S3Blobs
from nacre.adapters.aws.sqs_queue import SqsQueue
from nacre.core.errors import UnavailableError
from tests.adapters.aws.test_incomplete_answers import client_of
from tests.scaffolding.http_front import Answer, Answered

SECRET = b"sk-of-an-owner"
CALLS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "keep a blob": ("s3", lambda client: blobs(client).put("a/b", SECRET)),
    "fetch a blob": ("s3", lambda client: blobs(client).get("a/b")),
    "remove a blob": ("s3", lambda client: blobs(client).delete("a/b")),
    "seal": ("kms", lambda client: vault(client).seal(SECRET, context={"being": "b"})),
    "open": ("kms", lambda client: vault(client).open(b"sealed", context={"being": "b"})),
    "send": ("sqs", lambda client: queue(client).send("a job", group="b")),
    "receive": ("sqs", lambda client: queue(client).receive()),
}


def blobs(client: Any) -> S3Blobs:
    return S3Blobs(client, "bucket", kms_key_id="key", sleep=lambda _: None)


def vault(client: Any) -> KmsVault:
    return KmsVault(client, "key", sleep=lambda _: None)


def queue(client: Any) -> SqsQueue:
    return SqsQueue(client, "http://q/1/patrol.fifo", dead_letter_url="", sleep=lambda _: None)


def refusal(status: int, kind: str) -> Answered:
    """Return what both kinds of protocol read as this error, with words that nobody may repeat."""
    body = json.dumps({"__type": kind, "message": "sk-of-an-owner"}).encode()
    return Answered(status, (("x-amzn-errortype", kind),), body)


_METADATA = (("x-amz-meta-nacre-until", "9999999999"),)
WRONG: dict[str, Answer] = {
    "failing": lambda _: refusal(500, "InternalError"),
    "throttled": lambda _: refusal(400, "ThrottlingException"),
    "refusing": lambda _: refusal(403, "AccessDeniedException"),
    "away": lambda _: None,
    "by half": lambda _: Answered(200, _METADATA, b'{"Plaintext": "c2s="}', sent=9),
    "busy": lambda _: Answered(503, (), b"<html>sk-of-an-owner</html>"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("name", CALLS)
def test_a_service_that_does_not_do_it_is_unavailable_and_says_no_secret(
    name: str, wrong: Answer
) -> None:
    service, call = CALLS[name]
    with client_of(service, wrong) as client, pytest.raises(UnavailableError) as raised:
        call(client)

    assert "sk-of-an-owner" not in str(raised.value)


@pytest.mark.parametrize("name", ["keep a blob", "remove a blob", "receive"])
def test_what_is_over_at_the_next_attempt_does_no_harm(name: str) -> None:
    service, call = CALLS[name]
    answers = iterate(None, refusal(500, "InternalError"), Answered(503, (), b"<html>busy</html>"))
    with client_of(service, lambda _: next(answers)) as client:
        call(client)


def iterate(*first: Answered | None) -> Iterator[Answered | None]:
    yield from first
    while True:
        yield Answered(200, (), b"")
