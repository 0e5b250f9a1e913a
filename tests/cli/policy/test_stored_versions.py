"""`nacre policy push`, `pull` and `history`, on the laptop and on a stack."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Nacre
from tests.wiring.deployed import deployed

FIRST = '# the first\n[[rule]]\naction = "deny"\ntool = "*"\n'
SECOND = '# the second\n[[rule]]\naction = "allow"\ntool = "*"\n'


@pytest.fixture(params=["laptop", "stack"], autouse=True)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Run every test here on both wirings: the options that name the place."""
    if request.param == "laptop":
        yield []
        return
    with deployed(monkeypatch) as stack:
        yield ["--stack", stack]


@pytest.fixture
def first(tmp_path: Path) -> str:
    (tmp_path / "first.toml").write_text(FIRST)
    return str(tmp_path / "first.toml")


@pytest.fixture
def second(tmp_path: Path) -> str:
    (tmp_path / "second.toml").write_text(SECOND)
    return str(tmp_path / "second.toml")


def test_versions_follow_each_other(
    nacre: Nacre, place: list[str], first: str, second: str
) -> None:
    pushed = nacre("policy", "push", first, "--note", "begin", *place)
    again = nacre("policy", "push", second, "--based-on", "1", "--json", *place).json()

    assert (pushed.out, pushed.err.splitlines()[0]) == (
        "1\n",
        "Version 1 of global, 1 rule, is in force.",
    )
    assert (again["scope"], again["version"]) == ("global", 2)
    assert nacre("policy", "pull", *place).out == SECOND
    assert nacre("policy", "pull", "--version", "1", *place).out == FIRST
    listed = nacre("policy", "history", "--json", *place).json()
    assert [(each["version"], each["note"]) for each in listed] == [(2, ""), (1, "begin")]
    table = nacre("policy", "history", *place).out.splitlines()
    assert table[0].split() == ["VERSION", "PUSHED", "BY", "DIGEST", "NOTE"]
    assert [line.split()[0] for line in table[1:]] == ["2", "1"]


@pytest.mark.parametrize("based_on", [[], ["--based-on", "0"], ["--based-on", "2"]])
def test_a_push_that_has_not_seen_the_version_in_force_is_refused(
    nacre: Nacre, place: list[str], first: str, second: str, based_on: list[str]
) -> None:
    nacre("policy", "push", first, *place)

    refused = nacre("policy", "push", second, *based_on, *place)

    assert (refused.code, refused.out) == (5, "")
    assert "has version 1 in force" in refused.err
    assert "--based-on" in refused.err
    assert nacre("policy", "pull", *place).out == FIRST


def test_the_first_push_is_based_on_none(nacre: Nacre, place: list[str], first: str) -> None:
    refused = nacre("policy", "push", first, "--based-on", "3", *place)

    assert refused.code == 5
    assert "has no version in force" in refused.err


def test_a_policy_that_does_not_load_is_not_pushed(
    nacre: Nacre, place: list[str], tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[[rule]]\naction = "alow"\ntool = "*"\n')

    refused = nacre("policy", "push", str(wrong), *place)

    assert refused.code == 2
    assert f"{wrong}: rule 1: unknown action 'alow'" in refused.err
    assert nacre("policy", "history", "--json", *place).json() == []


def test_the_same_text_is_not_pushed_twice(nacre: Nacre, place: list[str], first: str) -> None:
    nacre("policy", "push", first, *place)

    again = nacre("policy", "push", first, *place)

    assert (again.code, again.out) == (0, "1\n")
    assert "nothing was pushed" in again.err


def test_a_being_may_have_a_policy_of_its_own(
    nacre: Nacre, place: list[str], first: str, second: str
) -> None:
    being = nacre("being", "create", "Ann", "--json", *place).json()["being_id"]
    nacre("policy", "push", first, *place)

    own = nacre("policy", "push", second, "--being", "Ann", "--json", *place).json()

    assert (own["scope"], own["version"]) == (being, 1)
    assert nacre("policy", "pull", "--being", "Ann", *place).out == SECOND
    assert nacre("policy", "pull", *place).out == FIRST


def test_a_version_is_written_to_a_file(
    nacre: Nacre, place: list[str], first: str, tmp_path: Path
) -> None:
    nacre("policy", "push", first, *place)

    pulled = nacre("policy", "pull", "--output", str(tmp_path / "copy.toml"), *place)

    assert (pulled.code, pulled.out) == (0, "")
    assert (tmp_path / "copy.toml").read_text() == FIRST


def test_what_is_not_there_is_said(nacre: Nacre, place: list[str], first: str) -> None:
    none = nacre("policy", "pull", *place)
    nacre("policy", "push", first, *place)
    later = nacre("policy", "pull", "--version", "7", *place)
    file = nacre("policy", "push", f"{first}x", *place)

    assert [none.code, later.code, file.code] == [3, 3, 3]
    assert "push one with 'nacre policy push'" in none.err
    assert "there is no version 7" in later.err
    assert "there is no such file" in file.err
