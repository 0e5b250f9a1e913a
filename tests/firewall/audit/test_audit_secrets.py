"""No field of a record holds a secret that a peer has put there."""

import json

import pytest

from nacre.firewall.audit.entry import AllowedCall, AuditEntry

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize("field", ["method", "tool", "request", "note"])
def test_a_text_that_a_peer_chose_is_kept_without_its_secrets(field: str) -> None:
    entry = AuditEntry(outcome="reject", server="s", method="m")
    setattr(entry, field, f"x/{SECRET}")

    for record in (json.dumps(entry.facts()), entry.spelled()):
        assert SECRET not in record
        assert "x/" in record


def test_the_record_of_an_allowed_call_keeps_no_secret_of_its_id() -> None:
    common = AuditEntry(outcome="allow", server="s", method="tools/call")
    call = AllowedCall(common, '"outcome":"allow"', SECRET, "0" * 64, "{}")

    assert SECRET not in call.spelled() + json.dumps(call.facts())


@pytest.mark.parametrize("request_id", ["7", "6f1ed002-ab5c-4b8e-9b1c-0a1b2c3d4e5f", "listen-1"])
def test_an_ordinary_id_is_kept_as_it_is(request_id: str) -> None:
    entry = AuditEntry(outcome="allow", server="s", method="ping", request=request_id)

    assert entry.facts()["request"] == request_id
    assert f'"request":"{request_id}"' in entry.spelled()
