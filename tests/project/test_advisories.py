"""Looking for known weaknesses: what is found, and that nothing found out is never a success."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra import advisories
from infra.advisories import Finding, Package, audit, locked, npm, osv, pypi
from tests.end_to_end.attacks.rows import attack
from tests.scaffolding.http_front import Answered, Asked, front

GOOD, BAD = Package("PyPI", "good", "1.0"), Package("PyPI", "bad", "2.0")
NODE = Package("npm", "left", "3.0")
JSON = (("content-type", "application/json"),)


def said(value: object, status: int = 200) -> Answered:
    return Answered(status, JSON, json.dumps(value).encode())


def knowing(asked: Asked) -> Answered:
    """Answer as each of the three sources does, of one bad package of each kind."""
    if asked.path == "/v1/querybatch":
        names = [each["package"]["name"] for each in json.loads(asked.body)["queries"]]
        bad = {"vulns": [{"id": "X-1"}]}
        return said({"results": [bad if each in ("bad", "left") else {} for each in names]})
    if asked.path.startswith("/pypi/"):
        bad_ones = [{"id": "X-1"}] if "/bad/" in asked.path else []
        return said({"vulnerabilities": bad_ones})
    return said({"left": [{"url": "X-1"}]} if "left" in json.loads(asked.body) else {})


@pytest.fixture
def source() -> Iterator[str]:
    with front(knowing) as address:
        yield f"http://{address.removeprefix('http://')}"


@attack("N6")
def test_each_source_names_the_package_that_is_weak(source: str) -> None:
    assert osv(source)([GOOD, BAD]) == [Finding(BAD, "X-1")]
    assert pypi(source)([GOOD, BAD]) == [Finding(BAD, "X-1")]
    assert npm(source)([NODE]) == [Finding(NODE, "X-1")]


@attack("N6")
def test_a_weakness_fails_unless_somebody_has_found_it_harmless(
    source: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    weak = audit([GOOD, BAD], {"PyPI": [osv(source)]})
    shown = capsys.readouterr().out
    monkeypatch.setattr(advisories, "HARMLESS", {"X-1": "a reason"})

    assert (weak, audit([GOOD, BAD], {"PyPI": [osv(source)]})) == (1, 0)
    assert "bad 2.0: X-1" in shown
    assert audit([GOOD], {"PyPI": [osv(source)]}) == 1  # nothing finds it any more


@attack("N6")
@pytest.mark.parametrize(
    "answer",
    [
        said({}, 404),
        said({}),
        said([]),
        said({"results": []}),
        said({"info": {}}),
        Answered(200, JSON, b"<html>"),
        None,
    ],
    ids=["no page", "nothing", "a list", "no results", "no versions", "no JSON", "no answer"],
)
def test_what_tells_nothing_is_no_success(answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with front(lambda _: answer) as address:
        base = f"http://{address.removeprefix('http://')}"
        code = audit([GOOD], {"PyPI": [osv(base), pypi(base)]})

    assert code == advisories.NOT_RUN
    assert "!!! NOT RUN: no source of advisories for 1 packages of PyPI" in capsys.readouterr().out


@attack("N6")
def test_the_next_source_is_asked_where_one_is_down(source: str) -> None:
    assert audit([BAD], {"PyPI": [osv("http://127.0.0.1:1"), pypi(source)]}) == 1


@attack("N6")
def test_every_locked_package_is_looked_for() -> None:
    names = {(each.ecosystem, each.name) for each in locked()}

    assert {("PyPI", "boto3"), ("PyPI", "mcp"), ("npm", "mcp-remote")} <= names
    assert ("PyPI", "nacre") not in names
    assert all(each.version for each in locked())
