"""The key that a Being keeps, on the laptop and on a stack."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Nacre
from tests.wiring.deployed import deployed

SECRET = "sk-very-secret-key"


@pytest.fixture(params=["laptop", "stack"], autouse=True)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Run every test here on both wirings: the options that name the place."""
    if request.param == "laptop":
        yield []
        return
    with deployed(monkeypatch) as stack:
        yield ["--stack", stack]


def piped(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_key_is_read_from_standard_input_and_shown_nowhere(
    nacre: Nacre, place: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre("being", "create", "Ann", *place)
    piped(monkeypatch, f"{SECRET}\n".encode())

    outcome = nacre("llm-key", "set", *place)

    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "Set the key of Ann; its orders and patrols now use it.\n"
    told = nacre("llm-key", "status", *place)
    found = nacre("llm-key", "status", "--json", *place)
    assert told.out.startswith("Ann has a key, set at 20")
    assert found.json()["is_set"] is True
    assert SECRET not in told.out + told.err + found.out + outcome.err


def test_a_key_is_cleared(nacre: Nacre, place: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    nacre("being", "create", "Ann", *place)
    piped(monkeypatch, SECRET.encode())
    nacre("llm-key", "set", *place)

    cleared, again = nacre("llm-key", "clear", *place), nacre("llm-key", "clear", *place)

    assert (cleared.code, cleared.err) == (0, "Deleted the key of Ann.\n")
    assert (again.code, again.out) == (3, "")
    assert "hint: set one with 'nacre llm-key set'" in again.err
    assert nacre("llm-key", "status", *place).out == "Ann has no key.\n"
    status = nacre("llm-key", "status", "--json", *place).json()
    assert (status["name"], status["is_set"], status["set_at"]) == ("Ann", False, None)


@pytest.mark.parametrize("content", [b"", b"sk 1", b"\xff", b"x" * 5000, "sk-ключ".encode()])
def test_what_is_no_key_is_refused_and_not_repeated(
    nacre: Nacre, place: list[str], monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    nacre("being", "create", "Ann", *place)
    piped(monkeypatch, content)

    outcome = nacre("llm-key", "set", *place)

    assert (outcome.code, outcome.out) == (2, "")
    assert not content or content.decode(errors="replace") not in outcome.err
    assert nacre("llm-key", "status", *place).out == "Ann has no key.\n"


def test_a_key_is_not_taken_from_the_command_line(nacre: Nacre, place: list[str]) -> None:
    nacre("being", "create", "Ann", *place)

    outcome = nacre("llm-key", "set", SECRET, *place)

    assert outcome.code == 2
    assert nacre("llm-key", "status", *place).out == "Ann has no key.\n"


def test_each_being_has_its_own(
    nacre: Nacre, place: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre("being", "create", "Ann", *place)
    nacre("being", "create", "Bob", *place)
    piped(monkeypatch, SECRET.encode())

    undecided = nacre("llm-key", "set", *place)
    piped(monkeypatch, SECRET.encode())
    nacre("llm-key", "set", "--being", "Bob", *place)

    assert undecided.code != 0
    assert nacre("llm-key", "status", "--being", "Ann", *place).out == "Ann has no key.\n"
    assert nacre("llm-key", "status", "--being", "bob", *place).out.startswith("Bob has a key")


def test_status_says_which_being_has_one(
    nacre: Nacre, place: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre("being", "create", "Ann", *place)
    nacre("being", "create", "Bob", *place)
    piped(monkeypatch, SECRET.encode())
    nacre("llm-key", "set", "--being", "Bob", *place)

    found = nacre("status", "--json", *place).json()
    rows = nacre("status", *place).out.splitlines()[-2:]

    assert {b["name"]: b["llm_key"] for b in found["beings"]} == {"Ann": False, "Bob": True}
    assert {row.split()[0]: row.split()[3] for row in rows} == {"Ann": "no", "Bob": "yes"}


def test_on_the_laptop_the_key_lies_encrypted_under_a_file_of_the_owner(
    nacre: Nacre, place: list[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    if place:
        pytest.skip("the laptop's folder")
    nacre("being", "create", "Ann", *place)
    piped(monkeypatch, SECRET.encode())
    nacre("llm-key", "set", *place)

    files = [path for path in folder.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in path.read_bytes() for path in files)
    assert (folder / "vault.key").stat().st_mode & 0o777 == 0o600


def test_a_key_leaves_with_its_being_and_never_with_an_export(
    nacre: Nacre, place: list[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    if place:
        pytest.skip("the stack of this test has no worker that forgets")
    nacre("being", "create", "Ann")
    piped(monkeypatch, SECRET.encode())
    nacre("llm-key", "set")

    exported = nacre("export", "-").out
    erased = nacre("forget", "being", "Ann", "--yes", "--verify", "--json").json()

    assert exported
    assert "SECRET#" not in exported
    assert (erased["traces"], erased["places"]) == (0, [])
    assert not any(b"SECRET#LLM" in path.read_bytes() for path in folder.glob("nacre.db*"))
