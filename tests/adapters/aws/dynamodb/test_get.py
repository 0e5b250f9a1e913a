from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.adapters.aws.dynamodb.get import SignedGet
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.core.errors import UnavailableError
from nacre.ports.items.table import Item, Key
from tests.adapters.conftest import StillClock
from tests.scaffolding.aws_stack import REGION, Stack
from tests.scaffolding.dynamodb_http import CREDENTIALS, DynamoDb, dynamodb_over_http
from tests.scaffolding.http_front import Answered, front

KEY = Key("T#1", "T")


@pytest.fixture
def dynamodb(stack: Stack) -> Iterator[DynamoDb]:
    with dynamodb_over_http(stack) as front:
        yield front


@pytest.fixture
def table(stack: Stack, clock: StillClock) -> DynamoTable:
    return DynamoTable(stack.dynamodb, stack.ids["TokensTable"], now=clock)


@pytest.fixture
def signed(stack: Stack, dynamodb: DynamoDb, clock: StillClock) -> Iterator[SignedGet]:
    signed = signed_get(stack, dynamodb.url, clock)
    yield signed
    signed.close()


def signed_get(stack: Stack, url: str, clock: StillClock) -> SignedGet:
    return SignedGet(
        stack.ids["TokensTable"],
        region=REGION,
        credentials=CREDENTIALS,
        endpoint_url=url,
        clock=lambda: clock().timestamp(),
        pause=lambda _seconds: None,
    )


def row(**attributes: Any) -> Item:
    return {"pk": KEY.pk, "sk": KEY.sk, "schema": 1, **attributes}


numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(
    -1e100, 1e100, allow_nan=False, allow_infinity=False
).filter(lambda number: number == 0 or abs(number) > 1e-100)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.none() | st.booleans() | numbers | texts | st.binary(max_size=20)
names = st.sampled_from(["S", "B", "N", "M", "L", "name"])  # kinds of DynamoDB among them
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


def test_answers_equal_those_of_the_full_adapter(signed: SignedGet, table: DynamoTable) -> None:
    @given(st.dictionaries(names, values, max_size=4))
    @settings(max_examples=40, deadline=None)
    def check(attributes: dict[str, Any]) -> None:
        table.put(row(**attributes))

        assert signed.get(KEY) == table.get(KEY)

    check()


def test_a_missing_item_is_none(signed: SignedGet) -> None:
    assert signed.get(Key("T#missing", "T")) is None


def test_an_expired_item_is_absent_though_it_is_still_stored(
    signed: SignedGet, table: DynamoTable, clock: StillClock
) -> None:
    table.put(row(expires_at=clock.at(60)))
    before = signed.get(KEY)
    clock.move(60)

    assert before is not None
    assert signed.get(KEY) is None


def test_the_connection_is_kept(signed: SignedGet, dynamodb: DynamoDb) -> None:
    for _ in range(3):
        signed.get(KEY)

    assert (dynamodb.connections, dynamodb.requests) == (1, 3)


def test_a_connection_that_was_closed_while_idle_is_opened_again(
    signed: SignedGet, dynamodb: DynamoDb
) -> None:
    dynamodb.hangs_up = True
    for _ in range(3):
        signed.get(KEY)

    assert dynamodb.requests == 3


def test_throttling_and_server_errors_pass(
    signed: SignedGet, table: DynamoTable, dynamodb: DynamoDb
) -> None:
    table.put(row(kind="brt"))
    dynamodb.failures = [(400, "ThrottlingException"), (500, "InternalServerError")]

    assert signed.get(KEY) == row(kind="brt")


def test_what_stays_broken_is_unavailable(signed: SignedGet, dynamodb: DynamoDb) -> None:
    dynamodb.failures = [(500, "InternalServerError")] * 9

    with pytest.raises(UnavailableError, match="500 InternalServerError"):
        signed.get(KEY)
    assert dynamodb.requests == 3


def test_a_refusal_is_not_repeated_and_its_text_not_shown(
    signed: SignedGet, dynamodb: DynamoDb
) -> None:
    dynamodb.failures = [(400, "AccessDeniedException")]

    with pytest.raises(UnavailableError) as caught:
        signed.get(KEY)
    assert str(caught.value).endswith(": 400 AccessDeniedException")
    assert dynamodb.requests == 1


def test_nobody_listening_is_unavailable(stack: Stack, clock: StillClock) -> None:
    with pytest.raises(UnavailableError, match="ConnectionRefusedError"):
        signed_get(stack, "http://127.0.0.1:1", clock).get(KEY)


def test_a_signature_is_made_anew_each_day(signed: SignedGet, clock: StillClock) -> None:
    signed.get(KEY)
    clock.move(24 * 3600)

    assert signed.get(Key("T#missing", "T")) is None


def test_credentials_show_no_secret() -> None:
    assert "wJalr" not in repr(CREDENTIALS)
    assert "session" not in repr(CREDENTIALS)


@pytest.mark.parametrize("body", [b"", b"<html>busy</html>", b"[]", b"[" * 100_000, b'{"Item": {'])
@pytest.mark.parametrize("sent", [None, 1])
def test_an_answer_that_is_none_does_not_say_that_the_item_is_absent(
    stack: Stack, clock: StillClock, body: bytes, sent: int | None
) -> None:
    with front(lambda _: Answered(200, (), body, sent=sent)) as address:
        signed = signed_get(stack, f"http://{address}", clock)
        with pytest.raises(UnavailableError, match="DynamoDB did not"):
            signed.get(KEY)
        signed.close()
