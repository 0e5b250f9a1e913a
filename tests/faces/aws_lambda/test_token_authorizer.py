"""The answers to API Gateway about a token."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.access.tokens.token_format import digest, mint
from nacre.core.errors import UnavailableError
from nacre.faces.aws_lambda.token_authorizer import authorizer_handler

NOW = 1_800_000_000.0
TOKEN = mint("brt", Random(1))
OTHER = mint("brt", Random(2))
ROW = {
    "pk": f"T#{digest(TOKEN)}",
    "sk": "T",
    "kind": "brt",
    "token_id": "tok_1",
    "being_id": "11111111-1111-4111-8111-111111111111",
    "scopes": "mcp:read mcp:write",
    "expires": NOW + 60,
}
GOOD = {
    "isAuthorized": True,
    "context": {
        "auth": "ok",
        "kind": "brt",
        "token_id": "tok_1",
        "being_id": "11111111-1111-4111-8111-111111111111",
        "scopes": "mcp:read mcp:write",
        "client": "",
        "resource": "",
    },
}
BAD = {"isAuthorized": True, "context": {"auth": "invalid"}}


def ask(event: Mapping[str, object], **changes: object) -> dict[str, object]:
    rows: dict[str, Mapping[str, object]] = {digest(TOKEN): {**ROW, **changes}}
    return authorizer_handler(rows.get, now=lambda: NOW)(event, None)


def event(authorization: str | None, **changes: object) -> dict[str, Any]:
    """Return a REQUEST event of payload version 2.0, as API Gateway documents it."""
    return {
        "version": "2.0",
        "type": "REQUEST",
        "routeKey": "POST /mcp/{beingId}",
        "identitySource": [authorization] if authorization else None,
        "rawPath": "/mcp/x",
        "headers": {"authorization": authorization} if authorization else {},
        "requestContext": {"http": {"method": "POST", "path": "/mcp/x"}, "stage": "$default"},
        **changes,
    }


def test_a_good_token_gets_its_facts_as_strings() -> None:
    answer = ask(event(f"Bearer {TOKEN}"))

    assert answer == GOOD
    assert json.loads(json.dumps(answer)) == GOOD


def test_the_client_of_a_token_is_told() -> None:
    assert ask(event(f"Bearer {TOKEN}"), client="client-1") == {
        "isAuthorized": True,
        "context": {**GOOD["context"], "client": "client-1"},  # type: ignore[dict-item]
    }


@pytest.mark.parametrize(
    ("header", "changes"),
    [
        (None, {}),
        ("Bearer garbage", {}),
        (f"Bearer {OTHER}", {}),
        (f"Bearer {TOKEN}", {"revoked": NOW - 1}),
        (f"Bearer {TOKEN}", {"expires": NOW}),
        (f"Bearer {TOKEN}", {"kind": "bto"}),
        (f"Basic {TOKEN}", {}),
    ],
)
def test_a_bad_token_is_let_through_to_be_refused_by_the_function(
    header: str | None, changes: dict[str, object]
) -> None:
    assert ask(event(header), **changes) == BAD


@pytest.mark.parametrize("path", ["/mcp", "/mcp/another", "/console", "/%00"])
def test_the_answer_does_not_depend_on_the_path(path: str) -> None:
    assert ask(event(f"Bearer {TOKEN}", rawPath=path, routeKey=f"GET {path}")) == GOOD


def test_the_answer_is_for_the_source_under_which_it_is_kept() -> None:
    other_header = {"authorization": f"Bearer {OTHER}"}

    assert ask(event(f"Bearer {TOKEN}", headers=other_header)) == GOOD


@pytest.mark.parametrize("name", ["authorization", "Authorization", "AUTHORIZATION"])
def test_a_front_that_sends_no_identity_source_is_read_by_its_header(name: str) -> None:
    assert ask({"headers": {name: f"Bearer {TOKEN}"}}) == GOOD


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"headers": None},
        {"headers": []},
        {"headers": {"authorization": 7}},
        {"headers": {"authorization": f"Bearer {TOKEN}", "Authorization": f"Bearer {OTHER}"}},
        {"identitySource": [], "headers": {}},
        {"identitySource": [None]},
        {"identitySource": "Bearer x"},
    ],
)
def test_a_strange_event_is_a_bad_token(broken: dict[str, object]) -> None:
    assert ask(broken) == BAD


def test_a_store_that_does_not_answer_lets_nobody_in() -> None:
    def down(_sha256: str) -> Mapping[str, object] | None:
        raise UnavailableError("no answer")

    with pytest.raises(UnavailableError):
        authorizer_handler(down)(event(f"Bearer {TOKEN}"), None)


def test_the_authorizer_loads_the_standard_library_only_and_little_of_it() -> None:
    code = "import nacre.faces.aws_lambda.token_authorizer, sys; print(*sys.modules)"
    package = Path(__file__).parents[3] / "shared"

    loaded = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=package
    ).stdout.split()

    foreign = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert foreign <= {"nacre", "__main__"}
    assert not {"dataclasses", "typing", "inspect", "datetime", "asyncio"} & set(loaded)
