"""What a proof of an erasure finds: rows everywhere, and on the laptop pages too."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.adapters.aws.dynamodb.residue import DynamoResidue
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.residue import SqliteResidue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.core.errors import UnavailableError
from nacre.ports.items.table import Key, Table, Value
from nacre.ports.operation.residue import Residue, Trace
from nacre.ports.vectors.vector_index import Point
from tests.adapters.conftest import StillClock
from tests.scaffolding.aws_stack import Stack

BEING = "5853af0e-aa0a-4a4d-96be-ad1b9e2ccd28"
OTHER = "6853af0e-aa0a-4a4d-96be-ad1b9e2ccd28"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(tmp_path / "nacre.db")
    yield database
    database.close()


@pytest.fixture(params=["sqlite", "dynamodb"])
def ground(
    request: pytest.FixtureRequest, clock: StillClock, database: SqliteDatabase
) -> Iterator[tuple[Table, Residue]]:
    if request.param == "sqlite":
        yield SqliteTable(database, now=clock), SqliteResidue(database)
        return
    stack: Stack = request.getfixturevalue("stack")
    name = stack.ids["DataTable"]
    yield DynamoTable(stack.dynamodb, name, now=clock), DynamoResidue(stack.dynamodb, [name])
    stack.clear("DataTable")


@pytest.mark.parametrize(
    "value",
    [
        "the Zirkon",
        'a "quoted" Zirkon\nof two lines',
        ["a list", {"with": ["the Zirkon"]}],
        {"Zirkon": 1},
    ],
    ids=["text", "quotes", "nested", "name"],
)
def test_a_text_is_found_wherever_it_stands(ground: tuple[Table, Residue], value: Value) -> None:
    table, residue = ground
    table.put({"pk": f"B#{BEING}#N", "sk": "one", "schema": 1, "value": value})
    table.put({"pk": f"B#{BEING}#N", "sk": "two", "schema": 1, "value": "nothing"})
    needle = 'a "quoted" Zirkon\nof two' if isinstance(value, str) and '"' in value else "Zirkon"
    found = list(residue.find([needle, ""]))

    assert [(trace.place.split()[1:], trace.being_id) for trace in found] == [
        ([f"B#{BEING}#N", "one"], BEING)
    ]
    assert "Zirkon" not in found[0].place
    assert list(residue.find(["Rubin"])) == list(residue.find([])) == []


def test_keys_and_expired_items_are_looked_at_too(
    ground: tuple[Table, Residue], clock: StillClock
) -> None:
    table, residue = ground
    table.put({"pk": "T#1", "sk": "Zirkon", "schema": 1})
    table.put({"pk": "T#2", "sk": "T", "schema": 1, "expires_at": clock.at(5), "of": "Zirkon"})
    clock.move(10)

    assert len(list(residue.find(["Zirkon"]))) == 2


def test_points_and_messages_of_the_laptop_are_looked_at(
    database: SqliteDatabase, clock: StillClock
) -> None:
    residue = SqliteResidue(database)
    point = Point("Zirkon-id", "node", "active", None, (), None, ("term",), "sha")
    LocalVectors(database, "none").upsert(OTHER, [point])
    queue = SqliteQueue(database, "jobs", now=clock)
    queue.send("about the Zirkon", group=BEING, dedupe_key="again")
    queue.send("about the Zirkon", group=f"{BEING}#reindex")
    queue.send("about the Zirkon", group=OTHER)

    assert Trace("vector_points Zirkon-id", OTHER) in list(residue.find(["Zirkon"]))
    assert len(list(residue.find([BEING]))) == 3

    residue.drop_jobs(BEING)
    residue.settle()

    assert list(residue.find([BEING])) == []
    assert len([each for each in residue.find(["Zirkon"]) if "messages" in each.place]) == 1


def test_pages_hold_deleted_rows_until_they_are_settled(
    database: SqliteDatabase, clock: StillClock
) -> None:
    table, residue = SqliteTable(database, now=clock), SqliteResidue(database)
    for number in range(50):
        text = "Zirkon" if number == 7 else "nothing"
        table.put({"pk": "P", "sk": str(number), "schema": 1, "text": text * 200})
    table.delete(Key("P", "7"))

    before = [trace.place for trace in residue.find(["Zirkon"])]
    residue.settle()

    assert before
    assert all(place.startswith("pages of nacre.db") for place in before)
    assert list(residue.find(["Zirkon"])) == []
    assert len(table.query("P").items) == 49


def test_a_reader_that_does_not_end_is_told(tmp_path: Path, clock: StillClock) -> None:
    database = SqliteDatabase(tmp_path / "nacre.db", busy_seconds=0.05)
    table = SqliteTable(database, now=clock)
    table.put({"pk": "P", "sk": "1", "schema": 1})
    other = SqliteDatabase(tmp_path / "nacre.db")
    with other.read() as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT * FROM data").fetchall()
        table.put({"pk": "P", "sk": "2", "schema": 1})

        with pytest.raises(UnavailableError, match=r"reading|writing"):
            SqliteResidue(database).settle()

        connection.execute("ROLLBACK")
    SqliteResidue(database).settle()
    other.close()
    database.close()
