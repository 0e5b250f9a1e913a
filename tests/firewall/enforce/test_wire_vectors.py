"""Raw messages: the product's own, and those beside the checkout."""

import base64
import json
from typing import Any

import pytest

from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Verdict
from nacre.firewall.policies.loader import load_policy
from tests.firewall.guarding import Scene, encoded, request
from tests.vectors.sets import SETS, policies, rows

pytestmark = pytest.mark.security
READ = {"name": "filesystem_read", "arguments": {"path": "/home/user/projects/a"}}


def sent(which: str, row: dict[str, Any]) -> tuple[bytes, Verdict, Scene]:
    scene = Scene(load_policy(policies(which)[row["policy"]], source=row["policy"]))
    raw = base64.b64decode(row["raw_b64"])
    if row["direction"] == "server_to_client":
        call = row.get("call", READ)
        assert isinstance(scene.guard.from_client(encoded(request(1, "tools/call", call))), Forward)
        return raw, scene.guard.from_server(raw), scene
    envelope = json.loads(raw) if b'"headers"' in raw else None
    if envelope is not None:
        body = encoded(envelope["body"])
        headers = {name.lower(): value for name, value in envelope["headers"].items()}
        return body, scene.guard.from_client(body, headers), scene
    return raw, scene.guard.from_client(raw), scene


def as_expected(which: str, row: dict[str, Any]) -> bool:
    raw, verdict, scene = sent(which, row)
    expected = row["expected"]
    is_audited = bool(scene.audit.entries)
    if expected.startswith(("allow", "passed through")):
        return isinstance(verdict, Forward) and verdict.raw is raw and is_audited
    if expected.startswith("drop"):
        return isinstance(verdict, Drop) and is_audited
    if row["direction"] == "server_to_client":
        result = json.loads(verdict.raw)["result"] if isinstance(verdict, Forward) else {}
        return result.get("isError") is True and "inputRequests" not in result
    if not isinstance(verdict, Answer) or not is_audited:
        return False
    answer = json.loads(verdict.raw)
    codes = [code for code in ("-32600", "-32601", "-32700") if code in expected]
    if expected.startswith(("reject", "not treated")) and "or deny" not in expected:
        return str(answer["error"]["code"]) in codes
    return "error" in answer or answer["result"]["isError"] is True


@pytest.mark.parametrize("which", SETS)
def test_every_message_is_handled_as_the_vectors_expect(which: str) -> None:
    failed = [row["id"] for row in rows(which, "wire_cases") if not as_expected(which, row)]

    assert failed == []
