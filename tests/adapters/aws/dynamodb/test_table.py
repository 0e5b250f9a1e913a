"""Behaviour of DynamoDB that a fake lacks: refusals, partial answers and delays."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.core.errors import (
    ConditionFailedError,
    ConfigurationError,
    InvalidInputError,
    UnavailableError,
)
from nacre.ports.items.table import Absent, Change, Delete, Item, Key, Put, Table, Update
from tests.adapters.conftest import StillClock
from tests.scaffolding.aws_stack import Stack

THROTTLED = "ProvisionedThroughputExceededException"


def refusal(code: str, **more: Any) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": "a private thought"}, **more}
    return ClientError(response, "Operation")


class Client:
    """A client that meets trouble before, or instead of, the fake AWS."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.troubles: list[Exception | Callable[[Any], None]] = []
        self.after: list[Exception] = []  # the call is done, and its answer is lost
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**parameters: Any) -> Any:
            self.calls.append((operation, parameters))
            if self.troubles:
                trouble = self.troubles.pop(0)
                if isinstance(trouble, Exception):
                    raise trouble
                trouble(parameters)
            answer = getattr(self._real, operation)(**parameters)
            if self.after:
                raise self.after.pop(0)
            return answer

        return call


@pytest.fixture
def client(stack: Stack) -> Client:
    stack.clear("DataTable")
    return Client(stack.dynamodb)


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def table(client: Client, stack: Stack, clock: StillClock, pauses: list[float]) -> DynamoTable:
    fake: Any = client
    return DynamoTable(fake, stack.ids["DataTable"], now=clock, sleep=pauses.append, rng=Random(11))


def item(sk: str = "A", **attributes: int) -> Item:
    return {"pk": "D", "sk": sk, "schema": 1, **attributes}


KEY = Key("D", "A")
COUNT = Change(set={"schema": 1}, add={"n": 1})
CALLS: dict[str, Callable[[Table], object]] = {
    "get": lambda table: table.get(KEY),
    "get_many": lambda table: table.get_many([KEY]),
    "query": lambda table: table.query("D"),
    "put": lambda table: table.put(item()),
    "put if": lambda table: table.put(item(), when=Absent()),
    "update": lambda table: table.update(KEY, COUNT),
    "delete": lambda table: table.delete(KEY),
    "transact": lambda table: table.transact([Put(item())]),
}
REPEATED_WHEN_UNCLEAR = {"get", "get_many", "query", "put", "transact"}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "code",
    [THROTTLED, "ThrottlingException", "RequestLimitExceeded", "TransactionConflictException"],
)
def test_throttling_is_waited_out_with_jitter(
    table: DynamoTable, client: Client, pauses: list[float], name: str, code: str
) -> None:
    client.troubles = [refusal(code)] * 4

    CALLS[name](table)

    assert len(client.calls) == 5
    assert len(pauses) == 4
    assert all(0 <= pause <= 0.05 * 2**done for done, pause in enumerate(pauses, 1))
    assert len(set(pauses)) == 4


@pytest.mark.parametrize("name", CALLS)
def test_throttling_without_end_is_unavailable(
    table: DynamoTable, client: Client, pauses: list[float], name: str
) -> None:
    client.troubles = [refusal(THROTTLED)] * 100

    with pytest.raises(UnavailableError, match="does not answer now") as raised:
        CALLS[name](table)
    assert "private" not in str(raised.value)
    assert len(client.calls) == 8
    assert max(pauses) <= 2


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "trouble",
    [refusal("InternalServerError"), ReadTimeoutError(endpoint_url="https://dynamodb")],
    ids=["500", "timeout"],
)
def test_an_unclear_end_is_repeated_only_where_twice_is_as_good_as_once(
    table: DynamoTable, client: Client, name: str, trouble: Exception
) -> None:
    client.troubles = [trouble]

    if name in REPEATED_WHEN_UNCLEAR:
        CALLS[name](table)
        assert len(client.calls) == 2
    else:
        with pytest.raises(UnavailableError):
            CALLS[name](table)
        assert len(client.calls) == 1


def test_a_transaction_is_repeated_under_its_request_token(
    table: DynamoTable, client: Client
) -> None:
    client.troubles = [ReadTimeoutError(endpoint_url="https://dynamodb")]

    table.transact([Update(KEY, COUNT)])

    first, second = (parameters["ClientRequestToken"] for _, parameters in client.calls)
    assert first == second
    table.transact([Update(KEY, COUNT)])
    assert client.calls[-1][1]["ClientRequestToken"] != first


def test_a_call_that_never_left_is_repeated_even_for_a_counter(
    table: DynamoTable, client: Client
) -> None:
    client.troubles = [EndpointConnectionError(endpoint_url="https://dynamodb")] * 2

    assert table.update(KEY, COUNT)["n"] == 1


def test_the_callers_token_makes_a_lost_answer_harmless(table: DynamoTable, client: Client) -> None:
    table.put(item(n=0))
    client.after = [refusal("AccessDeniedException")]
    with pytest.raises(UnavailableError):
        table.transact([Update(KEY, COUNT)], token="request-1")

    table.transact([Update(KEY, COUNT)], token="request-1")

    assert table.get(KEY) == item(n=1)


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        (refusal("ValidationException"), InvalidInputError),
        (refusal("ItemCollectionSizeLimitExceededException"), InvalidInputError),
        (refusal("ResourceNotFoundException"), ConfigurationError),
        (refusal("AccessDeniedException"), UnavailableError),
        (refusal("ExpiredTokenException"), UnavailableError),
        (NoCredentialsError(), UnavailableError),
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", CALLS)
def test_aws_errors_become_ours_without_their_text(
    table: DynamoTable, client: Client, name: str, trouble: Exception, error: type[Exception]
) -> None:
    client.troubles = [trouble]

    with pytest.raises(error) as raised:
        CALLS[name](table)
    assert "private" not in str(raised.value)


def test_a_table_that_is_not_there_is_named(stack: Stack) -> None:
    with pytest.raises(ConfigurationError, match="table missing does not exist"):
        DynamoTable(stack.dynamodb, "missing").get(KEY)


def test_keys_that_were_left_over_are_asked_for_again(
    table: DynamoTable, client: Client, stack: Stack, pauses: list[float]
) -> None:
    for name in "ABC":
        table.put(item(name))
    name = stack.ids["DataTable"]
    real = client._real

    class Partial:
        """Answers one key of each batch."""

        def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803  # AWS's own word
            first, *rest = RequestItems[name]["Keys"]
            answer = real.batch_get_item(
                RequestItems={name: {**RequestItems[name], "Keys": [first]}}
            )
            left = {name: {**RequestItems[name], "Keys": rest}} if rest else {}
            return answer | {"UnprocessedKeys": left}

    client._real = Partial()

    keys = [Key("D", sk) for sk in "ABC"]
    assert table.get_many(keys) == {key: item(key.sk) for key in keys}
    assert len(pauses) == 2


def test_keys_that_are_never_answered_are_an_error_and_not_missing_items(
    table: DynamoTable, client: Client
) -> None:
    class Deaf:
        def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803  # AWS's own word
            return {"Responses": {}, "UnprocessedKeys": RequestItems}

    client._real = Deaf()

    with pytest.raises(UnavailableError, match="too busy"):
        table.get_many([KEY])


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError"])
def test_a_transaction_that_meets_another_tries_again(
    table: DynamoTable, client: Client, pauses: list[float], code: str
) -> None:
    reasons = [{"Code": "None"}, {"Code": code}]
    client.troubles = [refusal("TransactionCanceledException", CancellationReasons=reasons)] * 2

    table.transact([Put(item("A")), Put(item("B"))])

    assert len(table.query("D").items) == 2
    assert len(pauses) == 2


def test_an_update_that_finds_its_expired_item_renewed_changes_the_new_one(
    table: DynamoTable, client: Client, clock: StillClock
) -> None:
    table.put(item(n=50, expires_at=clock.at(-1)))

    def another_writer(_: Any) -> None:
        client._real.put_item(
            TableName=client.calls[-1][1]["TableName"],
            Item={"pk": {"S": "D"}, "sk": {"S": "A"}, "schema": {"N": "1"}, "n": {"N": "7"}},
        )

    client.troubles = [lambda _: None, another_writer]  # between the update and its revival

    assert table.update(KEY, COUNT) == item(n=8)


def test_a_transaction_that_finds_its_expired_item_renewed_changes_the_new_one(
    table: DynamoTable, client: Client, stack: Stack, clock: StillClock
) -> None:
    table.put(item(n=50, expires_at=clock.at(-1)))

    def another_writer(_: Any) -> None:
        DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock).put(item(n=7))

    client.troubles = [lambda _: None, another_writer]

    table.transact([Update(KEY, COUNT), Put(item("B"))])

    assert list(table.query("D").items) == [item(n=8), item("B")]


def test_an_expired_item_that_others_keep_renewing_ends_in_an_error(
    table: DynamoTable, client: Client, clock: StillClock
) -> None:
    table.put(item(n=1, expires_at=clock.at(-1)))
    expired = {"pk": {"S": "D"}, "sk": {"S": "A"}, "expires_at": {"N": str(clock.at(-1))}}
    client.troubles = [
        refusal("ConditionalCheckFailedException", Item=expired),
        refusal("ConditionalCheckFailedException"),
    ] * 20

    with pytest.raises(UnavailableError, match="others keep writing this item"):
        table.update(KEY, COUNT)


def test_base_table_reads_are_consistent(table: DynamoTable, client: Client) -> None:
    table.get(KEY)
    table.query("D")
    table.get_many([KEY])
    table.query("D", index="gsi1")
    table.get_many([KEY], may_lag=True)

    (_, get), (_, query), (_, batch), (_, index), (_, lagging) = client.calls
    assert get["ConsistentRead"] is True
    assert query["ConsistentRead"] is True
    assert all(part["ConsistentRead"] is True for part in batch["RequestItems"].values())
    assert "ConsistentRead" not in index
    assert [part["ConsistentRead"] for part in lagging["RequestItems"].values()] == [False]


def test_a_failed_condition_is_not_repeated(table: DynamoTable, client: Client) -> None:
    table.put(item())
    client.calls.clear()

    with pytest.raises(ConditionFailedError):
        table.put(item(), when=Absent())
    assert len(client.calls) == 1


def test_a_transaction_of_one_plain_write_is_that_write(table: Table, client: Client) -> None:
    """It costs half as much, and may be sent again as well."""
    client.troubles = [refusal(THROTTLED)]

    table.transact([Put(item())])
    assert table.get(KEY) == item()
    table.transact([Delete(KEY)])

    assert table.get(KEY) is None
    writes = [name for name, _ in client.calls if name != "get_item"]
    assert writes == ["put_item", "put_item", "delete_item"]


def test_a_transaction_of_one_write_with_a_condition_stays_one(
    table: Table, client: Client
) -> None:
    table.transact([Put(item(), Absent())])

    with pytest.raises(ConditionFailedError) as caught:
        table.transact([Put(item(), Absent())])

    assert caught.value.index == 0
    assert {name for name, _ in client.calls} == {"transact_write_items"}
