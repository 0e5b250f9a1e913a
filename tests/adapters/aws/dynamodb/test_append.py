"""Signed writes with the standard library alone, beside the full adapter."""

from collections.abc import Iterator

import pytest

from nacre.adapters.aws.dynamodb.append import SignedAppend
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.core.errors import UnavailableError
from nacre.ports.items.table import Absent, Compare, Either, Item, Key
from tests.adapters.conftest import StillClock
from tests.scaffolding.aws_stack import REGION, Stack
from tests.scaffolding.dynamodb_http import CREDENTIALS, dynamodb_over_http

KEY = Key("A#1", "first")


@pytest.fixture
def signed(stack: Stack, clock: StillClock) -> Iterator[SignedAppend]:
    with dynamodb_over_http(stack) as front:
        signed = SignedAppend(
            stack.ids["DataTable"],
            region=REGION,
            credentials=CREDENTIALS,
            endpoint_url=front.url,
            clock=lambda: clock().timestamp(),
            pause=lambda _seconds: None,
        )
        yield signed
        signed.close()


@pytest.fixture
def table(stack: Stack, clock: StillClock) -> DynamoTable:
    return DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock)


def row(line: str) -> Item:
    return {**KEY.attributes(), "schema": 1, "line": line, "bytes": b"\x00\xff"}


def test_a_put_writes_what_the_full_adapter_reads(signed: SignedAppend, table: DynamoTable) -> None:
    signed.put(row("a"))

    assert table.get(KEY) == row("a")


def test_a_put_may_be_repeated_and_replaces_nothing_else(
    signed: SignedAppend, table: DynamoTable
) -> None:
    for _ in range(2):
        signed.put(row("a"), when=Either((Absent(), Compare("line", "=", "a"))))
    with pytest.raises(UnavailableError, match="ConditionalCheckFailed"):
        signed.put(row("b"), when=Either((Absent(), Compare("line", "=", "b"))))

    assert table.get(KEY) == row("a")
