"""The keys that seal requestState."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random, SystemRandom

import pytest

from nacre.access.state_keys import StoredSigningKeys
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.aws.kms_vault import KmsVault
from nacre.adapters.files.vault import FileVault
from nacre.core.errors import UnavailableError
from nacre.core.limits import REQUEST_STATE_SECONDS
from nacre.ports.items.table import Key, Table
from nacre.ports.vault import Vault
from nacre.protocol.dispatch.request_state import SigningKeys
from tests.access.conftest import Time
from tests.scaffolding.aws_stack import aws_stack

ITEM = Key("KEYS#request-state", "CUR")
Keys = Callable[[], SigningKeys]


@pytest.fixture(params=["laptop", "aws"])
def stores(
    request: pytest.FixtureRequest, table: Table, tmp_path: Path, time: Time
) -> Iterator[tuple[Table, Vault]]:
    if request.param == "laptop":
        yield table, FileVault(tmp_path / "vault.key")
        return
    with aws_stack() as stack:
        data = DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=time)
        yield data, KmsVault(stack.kms, stack.ids["NacreKey"])


@pytest.fixture
def process(stores: tuple[Table, Vault], time: Time) -> Callable[[], Keys]:
    """Return how to start another process over the same stores."""
    return lambda: StoredSigningKeys(*stores, clock=time, rng=SystemRandom())


def test_every_process_gets_the_key_that_the_first_one_made(process: Callable[[], Keys]) -> None:
    first, second = process()(), process()()

    assert first == second
    assert len(first.current) == 32
    assert first.previous is None


def test_the_key_lies_wrapped_in_the_store(
    stores: tuple[Table, Vault], process: Callable[[], Keys]
) -> None:
    key = process()().current

    item = stores[0].get(ITEM)

    assert item is not None
    assert isinstance(item["newest"], bytes)
    assert key not in item["newest"]


def test_after_a_month_a_new_key_takes_over_and_the_old_one_opens_for_one_more_lifetime(
    process: Callable[[], Keys], time: Time
) -> None:
    keys = process()
    old = keys().current

    time.pass_(days=30)
    announced = keys()
    time.pass_(minutes=2)
    taken_over = keys()
    time.pass_(seconds=REQUEST_STATE_SECONDS)
    alone = keys()

    new = taken_over.current
    assert new != old
    assert announced == SigningKeys(old, new)
    assert taken_over == SigningKeys(new, old)
    assert alone == SigningKeys(new)


def test_what_any_process_seals_every_process_opens_at_every_moment_of_a_change(
    process: Callable[[], Keys], time: Time
) -> None:
    early, late = process(), process()
    early()
    time.pass_(seconds=45)
    late()
    time.pass_(days=30, seconds=-100)

    for _ in range(120):
        time.pass_(seconds=10)
        one, other = early(), late()
        assert one.current in {other.current, other.previous}
        assert other.current in {one.current, one.previous}


def test_two_processes_that_change_the_key_at_once_agree(
    process: Callable[[], Keys], time: Time
) -> None:
    first, second = process(), process()
    first(), second()
    time.pass_(days=31)

    assert first() == second()


def test_when_the_vault_was_lost_a_new_key_is_made(
    table: Table, tmp_path: Path, time: Time
) -> None:
    before = StoredSigningKeys(table, FileVault(tmp_path / "a"), clock=time, rng=Random(1))()

    after = StoredSigningKeys(table, FileVault(tmp_path / "b"), clock=time, rng=Random(2))()

    assert after.current != before.current
    assert after.previous is None


def test_the_store_is_read_once_a_minute(table: Table, tmp_path: Path, time: Time) -> None:
    keys = StoredSigningKeys(table, FileVault(tmp_path / "vault"), clock=time, rng=Random(1))
    known = keys()
    table.delete(ITEM)

    time.pass_(seconds=59)
    assert keys() == known
    time.pass_(seconds=1)
    assert keys() != known


def test_a_vault_that_does_not_answer_is_no_reason_to_make_a_new_key(
    table: Table, tmp_path: Path, time: Time
) -> None:
    class Down(FileVault):
        def open(self, sealed: bytes, *, context: object) -> bytes:
            raise UnavailableError("no answer")

    StoredSigningKeys(table, FileVault(tmp_path / "vault"), clock=time, rng=Random(1))()
    item = table.get(ITEM)

    with pytest.raises(UnavailableError):
        StoredSigningKeys(table, Down(tmp_path / "vault"), clock=time, rng=Random(2))()

    assert table.get(ITEM) == item
