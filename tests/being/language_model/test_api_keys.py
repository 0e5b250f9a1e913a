"""Keys in a Being's items: sealed for their place, told to nobody, gone when they should be."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.aws.kms_vault import KmsVault
from nacre.adapters.files.vault import FileVault
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.language_model.api_keys import KeyStatus, LlmKeys, checked_llm_key
from nacre.being.memory.model import keys
from nacre.core.errors import BrokenSealError, InvalidInputError, NotFoundError
from nacre.ports.items.table import Key, Table
from nacre.ports.vault import Vault
from tests.adapters.conftest import StillClock
from tests.being.patrol.planner_world import being_in
from tests.scaffolding.aws_stack import Stack

SECRET = "sk-very-secret-key"


@pytest.fixture(params=["laptop", "aws"])
def parts(
    request: pytest.FixtureRequest, clock: StillClock, tmp_path: Path
) -> Iterator[tuple[Table, Vault]]:
    if request.param == "aws":
        stack: Stack = request.getfixturevalue("stack")
        table = DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock)
        yield table, KmsVault(stack.kms, stack.ids["NacreKey"])
        stack.clear("DataTable")
        return
    database = SqliteDatabase(":memory:")
    yield SqliteTable(database, now=clock), FileVault(tmp_path / "vault.key")
    database.close()


@pytest.fixture
def llm_keys(parts: tuple[Table, Vault], clock: StillClock) -> LlmKeys:
    table, vault = parts
    return LlmKeys(table, lambda: vault, clock=clock, rng=Random(1))


def test_a_key_is_kept_replaced_and_cleared(
    llm_keys: LlmKeys, parts: tuple[Table, Vault], clock: StillClock
) -> None:
    ann = being_in(parts[0], clock)
    assert (llm_keys.stored(ann), llm_keys.status(ann)) == (None, None)

    llm_keys.set(ann, f" {SECRET}\n")
    assert llm_keys.stored(ann) == SECRET
    llm_keys.set(ann, "sk-other")

    assert llm_keys.stored(ann) == "sk-other"
    assert llm_keys.status(ann) == KeyStatus("2026-07-28T12:00:00.000Z")
    assert (llm_keys.clear(ann), llm_keys.clear(ann)) == (True, False)
    assert llm_keys.stored(ann) is None


def test_the_key_of_a_run_is_there_until_the_run_has_ended(
    llm_keys: LlmKeys, parts: tuple[Table, Vault], clock: StillClock
) -> None:
    ann = being_in(parts[0], clock)
    llm_keys.set(ann, "sk-stored")

    first, second = llm_keys.keep_for_run(ann, SECRET), llm_keys.keep_for_run(ann, "sk-second")

    assert (llm_keys.of_run(ann, first), llm_keys.of_run(ann, second)) == (SECRET, "sk-second")
    llm_keys.erase_run(ann, first)
    llm_keys.erase_run(ann, first)
    assert (llm_keys.of_run(ann, first), llm_keys.of_run(ann, second)) == (None, "sk-second")
    assert llm_keys.stored(ann) == "sk-stored"


def test_the_key_of_a_run_that_never_comes_dies_after_a_day(
    llm_keys: LlmKeys, parts: tuple[Table, Vault], clock: StillClock
) -> None:
    ann = being_in(parts[0], clock)
    reference = llm_keys.keep_for_run(ann, SECRET)

    clock.move(86_399)
    assert llm_keys.of_run(ann, reference) == SECRET
    clock.move(2)
    assert llm_keys.of_run(ann, reference) is None


def test_nothing_in_the_store_shows_a_key(
    llm_keys: LlmKeys, parts: tuple[Table, Vault], clock: StillClock
) -> None:
    ann = being_in(parts[0], clock)
    llm_keys.set(ann, SECRET)
    llm_keys.keep_for_run(ann, SECRET)

    items = parts[0].query(keys.home(ann)).items
    assert len([item for item in items if "sealed" in item]) == 2
    if isinstance(parts[1], FileVault):  # moto's KMS encodes and does not encrypt
        assert SECRET.encode() not in repr(items).encode()
    assert SECRET not in repr(llm_keys) + repr(vars(llm_keys)) + repr(llm_keys.status(ann))


def test_a_sealed_key_opens_in_its_own_place_only(
    llm_keys: LlmKeys, parts: tuple[Table, Vault], clock: StillClock
) -> None:
    table, _ = parts
    ann = being_in(table, clock)
    reference = llm_keys.keep_for_run(ann, SECRET)
    item = table.get(Key(keys.home(ann), f"SECRET#RUN#{reference}"))
    assert item is not None

    table.put({**item, "sk": "SECRET#LLM"})
    table.put({**item, "sk": "SECRET#RUN#other"})

    with pytest.raises(BrokenSealError):
        llm_keys.stored(ann)
    with pytest.raises(BrokenSealError):
        llm_keys.of_run(ann, "other")


def test_a_being_that_is_not_there_keeps_no_key(
    llm_keys: LlmKeys, parts: tuple[Table, Vault], clock: StillClock
) -> None:
    nobody = "00000000-0000-4000-8000-000000000000"

    with pytest.raises(NotFoundError):
        llm_keys.set(nobody, SECRET)
    with pytest.raises(NotFoundError):
        llm_keys.keep_for_run(nobody, SECRET)
    assert parts[0].query(keys.home(nobody)).items == ()


@pytest.mark.parametrize("text", ["", "  ", "sk- 1", "sk-\n1", "sk-ключ", "x" * 1025, "sk-\x00"])
def test_what_no_header_carries_is_no_key(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        checked_llm_key(text)

    assert text.strip() == "" or text not in str(caught.value)
