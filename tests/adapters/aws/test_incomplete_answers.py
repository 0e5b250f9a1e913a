"""Broken answers that the SDK would treat as empty ones, and the errors they become here."""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.config import Config

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.aws.incomplete_answers import refuse_broken_answers
from nacre.adapters.aws.s3_blobs import S3Blobs
from nacre.adapters.aws.sqs_queue import SqsQueue
from nacre.core.errors import UnavailableError
from nacre.ports.items.table import Change, Key, Put, Table
from tests.scaffolding.aws_stack import REGION
from tests.scaffolding.http_front import Answer, Answered, front

KEY = Key("P", "A")
ITEM = b'{"Item": {"pk": {"S": "P"}, "sk": {"S": "A"}, "schema": {"N": "1"}}}'
CALLS: dict[str, Callable[[Table], object]] = {
    "get": lambda table: table.get(KEY),
    "get_many": lambda table: table.get_many([KEY]),
    "query": lambda table: table.query("P"),
    "put": lambda table: table.put({"pk": "P", "sk": "A", "schema": 1}),
    "update": lambda table: table.update(KEY, Change(set={"schema": 1})),
    "delete": lambda table: table.delete(KEY),
    "transact": lambda table: table.transact([Put({"pk": "P", "sk": "A", "schema": 1})]),
}


@contextmanager
def client_of(service: str, answer: Answer) -> Iterator[Any]:
    """Give a client as the wiring makes them, of a service that answers so."""
    with front(answer) as address:
        client = boto3.client(
            service,  # type: ignore[call-overload]  # its name is a literal at every call
            endpoint_url=f"http://{address}",
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"total_max_attempts": 1}),
        )
        refuse_broken_answers(client)
        yield client
        client.close()


def table_of(client: Any) -> DynamoTable:
    return DynamoTable(client, "table", sleep=lambda _: None)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "answered",
    [
        Answered(200, (), ITEM, sent=5),
        Answered(200, (), ITEM, sent=0),
        Answered(200, (), ITEM[:-4]),
        Answered(200, (), b"<html>a private thought</html>"),
        Answered(200, (), b""),
        Answered(200, (("x-amz-crc32", "1"),), ITEM),
        Answered(200, (("x-amz-crc32", "no number"),), ITEM),
    ],
    ids=["cut", "no body", "cut and told so", "another page", "empty", "altered", "no sum"],
)
def test_a_broken_answer_is_neither_absence_nor_success(name: str, answered: Answered) -> None:
    with (
        client_of("dynamodb", lambda _: answered) as client,
        pytest.raises(UnavailableError, match="does not answer now") as raised,
    ):
        CALLS[name](table_of(client))

    assert "private" not in str(raised.value)


def test_a_whole_answer_is_believed() -> None:
    told = (("x-amz-crc32", str(zlib.crc32(ITEM))),)
    with client_of("dynamodb", lambda _: Answered(200, told, ITEM)) as client:
        assert table_of(client).get(KEY) == {"pk": "P", "sk": "A", "schema": 1}


def test_a_list_of_blobs_that_was_cut_off_is_not_an_empty_one() -> None:
    body = b"<ListBucketResult><Contents><Key>a/b</Key></Contents></ListBucketResult>"
    with (
        client_of("s3", lambda _: Answered(200, (), body, sent=10)) as client,
        pytest.raises(UnavailableError),
    ):
        S3Blobs(client, "bucket", kms_key_id="key", sleep=lambda _: None).delete_all("a")


def test_a_service_that_says_nothing_is_believed_where_that_is_its_way() -> None:
    with client_of("sqs", lambda _: Answered(200, (), b"")) as client:
        assert SqsQueue(client, "http://queue/1/q", dead_letter_url="").receive() is None


def test_a_head_has_no_body() -> None:
    with client_of("s3", lambda _: Answered(200, (), b"12345")) as client:
        assert client.head_object(Bucket="bucket", Key="a")["ContentLength"] == 5
