"""The official TypeScript client, against the laptop server over HTTP and stdio."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import finish, serving, start
from tests.end_to_end.conformance.suite import NODE

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "typescript_conversation.cjs"
PACKAGE = Path(__file__).parents[3] / "shared"
WRONG = "the token is unknown, malformed, expired or revoked; make one with 'nacre token create'"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("NACRE_", "AWS_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "data"))


@pytest.fixture
def being_id() -> str:
    return nacre("being", "create", "Ann")


@pytest.fixture
def url(being_id: str) -> Iterator[str]:
    with serving() as server:
        yield f"{server.url}/{being_id}"


def nacre(*arguments: str) -> str:
    code, out, err = finish(start(*arguments))
    assert code == 0, err
    return out.strip()


def converse(**where: Any) -> Any:
    done = subprocess.run(
        [NODE / ".bin" / "node", SCRIPT, json.dumps(where)],
        env={**os.environ, "NODE_PATH": str(NODE), "PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(told: Any, *, version: str | None) -> None:
    noted = told.pop("noted")
    assert (noted[0], noted[1]["success"], len(noted[1]["note_ids"])) == (False, True, 1)
    assert {"recall", "update_notes", "get_context"} <= set(told.pop("tools"))
    assert told == {
        "server": "nacre",
        "version": version,
        "session": None,
        "remembers": True,
        "timezone": "Asia/Tokyo",
        "wrong": [True, "Error: argument 'timezone': expected a string, got an integer"],
        "unknown": -32602,
        "prompts": 1,
        "resources": 3,
    }


def test_it_talks_over_http_with_its_token(url: str) -> None:
    token = nacre("token", "create", "--scope", "full")

    check(converse(url=url, token=token), version="2025-11-25")


def test_it_talks_over_stdio_without_one() -> None:
    told = converse(command=sys.executable, args=["-m", "nacre.cli", "mcp-server"])

    check(told, version=None)  # this transport does not tell


def test_a_read_only_token_reads_and_is_told_why_it_does_not_write(url: str) -> None:
    told = converse(url=url, token=nacre("token", "create", "--scope", "read-only"))

    assert (told["timezone"], told["remembers"]) == ("Asia/Tokyo", False)
    assert told["noted"][0] == 403
    assert "update_notes needs a token with full scope" in told["noted"][1]


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (None, "no token was sent; send it as the header 'Authorization: Bearer TOKEN'"),
        ("brt_wrong", WRONG),
        ("revoked", WRONG),
    ],
)
def test_without_a_good_token_it_is_refused_and_told_what_to_do(
    url: str, token: str | None, said: str
) -> None:
    if token == "revoked":
        made = json.loads(nacre("token", "create", "--scope", "full", "--json"))
        nacre("token", "revoke", made["token_id"])
        token = made["token"]

    told = converse(url=url, token=token)

    assert told["refused"] == 401
    assert said in told["said"]
