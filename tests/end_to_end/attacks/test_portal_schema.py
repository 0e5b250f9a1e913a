"""Schemathesis on every route of the portal: inputs that fit, and many that do not."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from infra.sample import make
from infra.tools import programs
from nacre.console.parts import Console, Control, control_pages, memory_pages
from nacre.web.portal import portal_app
from nacre.web.portal_parts import Portal
from tests.cli.processes import Server, serving
from tests.end_to_end.attacks.portal_schema import document
from tests.end_to_end.attacks.rows import attack
from tests.end_to_end.attacks.wire import Wire, link
from tests.scaffolding.web_site import Browser, form_of

pytestmark = pytest.mark.slow

MISSING = "11111111-1111-4111-8111-111111111111"
EXAMPLES = 5
# What ends the session, by which everything after it would be a redirect, and what looks at none.
NOT_FOR_OWNERS = r"^/(sign-out|account/password|token|register|revoke|\.well-known/.*)$"
# Who has not signed in is sent to do so, whatever the rest says: tests/console/test_frame.py.
NOT_FOR_STRANGERS = r"^/(beings|rules|approvals|servers)/"


@dataclass(frozen=True, slots=True)
class Served:
    """A running laptop server with a life in it, its OpenAPI document, and its owner's browser."""

    server: Server
    wire: Wire
    schema: Path
    owner: Browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    sample = make(folder / "data")
    where = ("--data-dir", str(folder / "data"))
    with serving(*where) as server:
        base = server.url.removesuffix("/mcp").replace("127.0.0.1", "localhost")
        wire = Wire(base)
        owner = wire.browser()
        assert owner.sign_in(link(base, folder / "data")).status == 303
        known = {"being_id": [sample.being_id, MISSING], **named(owner, sample.being_id)}
        schema = folder / "portal.json"
        schema.write_text(json.dumps(document(routes(), known)))
        yield Served(server, wire, schema, owner)


def routes() -> Any:
    """Return the portal's application for its routes alone."""
    app: Any = portal_app(
        cast("Portal", None),
        memory_pages(cast("Console", None)),
        control_pages(cast("Control", None)),
    )
    return app._app


def named(owner: Browser, being: str) -> dict[str, list[str]]:
    """Return what the pages name: memories, groups, runs, and words of the protocols."""
    page = owner.get(f"/beings/{being}/memories").text
    patrols = owner.get(f"/beings/{being}/patrols").text
    return {
        "node_id": sorted(set(re.findall(rf"/beings/{being}/memories/([\w-]+)\"", page)))[:3],
        "seq": sorted(set(re.findall(rf"/beings/{being}/patrols/(\d+)", patrols)))[:3],
        "target": ["notes", "diary", "souls", "rules"],
        "name": ["nacre.css", "../nacre.css", "nacre.js"],
        "state": ["active", "forgotten"],
        "grant_type": ["authorization_code", "refresh_token"],
        "response_type": ["code"],
        "code_challenge_method": ["S256"],
        "scope": ["full", "read-only", "mcp:read mcp:write"],
        "decision": ["allow", "deny", "once", "minutes", "session"],
        "client_id": ["client_0000000000000000", "https://client.example/c.json"],
        "from": ["2026-01-01", "0000-00-00"],
        "to": ["2026-12-31", "9999-99-99"],
        "place": ["[" * 2_000, '["\\ud800"]', "[null,null,null]"],
    }


def searched(served: Served, *more: str) -> str:
    """Let schemathesis look for faults, and return what it says."""
    command = [
        *(str(programs("schemathesis") / "st"), "run", str(served.schema)),
        *("--url", served.wire.base, "--no-color", "--seed", "20261118"),
        *("--checks", "not_a_server_error,content_type_conformance,guarded_pages"),
        *("--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES)),
        *("--max-redirects", "0", "--suppress-health-check", "all", "--warnings", "off"),
        *("--header", "Accept: text/html"),
        *("--continue-on-failure", "--no-shrink", "--request-timeout", "30", *more),
    ]
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": str(Path(__file__).with_name("schema_checks.py")),
    }
    done = subprocess.run(
        command, cwd=served.schema.parent, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


@attack("N1")
def test_no_stranger_finds_a_fault(served: Served) -> None:
    said = searched(served, "--exclude-path-regex", NOT_FOR_STRANGERS)

    assert "No issues found" in said, said


@attack("N1")
def test_no_owner_finds_a_fault(served: Served) -> None:
    csrf = form_of(served.owner.get("/account"), "/sign-out")["csrf"]
    cookies = "; ".join(f"{name}={value}" for name, value in served.owner.cookies.items())
    own = ("--header", f"Cookie: {cookies}", "--header", f"X-CSRF-Token: {csrf}")
    said = searched(served, *own, "--exclude-path-regex", NOT_FOR_OWNERS)

    assert "No issues found" in said, said
    assert served.owner.get("/account").status == 200  # and was one to the end


@attack("N1")
def test_the_log_holds_no_fault(served: Served) -> None:
    code, _, log = served.server.stop(signal.SIGTERM)

    assert code == 0
    assert '"level": "error"' not in log, log[-3000:]
