"""Tokens and connected clients on a page: made, shown once, ended."""

import re
from datetime import timedelta

from nacre.access.oauth.codes import Consent
from nacre.core.token_prefixes import API
from nacre.protocol.principal import FULL, READ_ONLY
from tests.console.conftest import Desk


def consent(desk: Desk, grant_id: str = "g1", owner: str = "me", name: str = "Claude") -> Consent:
    return Consent(
        grant_id=grant_id,
        owner=owner,
        being_id=desk.being,
        client_id=f"client-{grant_id}",
        client_name=name,
        client_host=None,
        scopes=READ_ONLY,
        resource=f"{desk.place.base}/mcp",
    )


def test_a_token_is_shown_once_and_calls_until_it_is_revoked(desk: Desk) -> None:
    page = desk.get("access")
    made = desk.submit(page, "access", "tokens", label="backup", scope="full", days="30")

    token = re.search(r"brt_\w{49}", made.text)
    assert token is not None
    assert made["cache-control"] == "no-store"
    assert desk.place.call(token[0], path=f"/mcp/{desk.being}").status == 200

    listed = desk.get("access")
    assert token[0] not in listed.text
    assert "backup" in listed.text

    done = desk.submit(listed, "access", "tokens", "revoke")
    assert "The token was revoked." in done.text
    assert desk.place.call(token[0], path=f"/mcp/{desk.being}").status == 401


def test_a_read_only_token_may_not_write(desk: Desk) -> None:
    made = desk.submit(desk.get("access"), "access", "tokens", scope="read-only", days="1")

    token = re.search(r"brt_\w{49}", made.text)
    assert token is not None
    answer = desk.place.call(token[0], "update_notes", path=f"/mcp/{desk.being}")
    assert answer.status == 403


def test_what_a_form_does_not_offer_is_refused(desk: Desk) -> None:
    page = desk.get("access")

    for fields in ({"scope": "admin"}, {"days": "36500"}, {"days": "-1"}, {"label": "x" * 200}):
        sent = {"scope": "full", "days": "30", **fields}
        answer = desk.browser.submit(page, desk.at("access", "tokens"), **sent)
        assert (answer.status, "brt_" in answer.text) == (400, False), fields


def test_a_client_is_disconnected(desk: Desk) -> None:
    pair = desk.place.authority.grants.create(consent(desk))
    path = f"/mcp/{desk.being}"
    assert desk.place.call(pair.access, path="/mcp").status == 200
    page = desk.get("access")
    assert "Claude" in page.text
    assert "nobody has verified this name" in page.text

    done = desk.submit(page, "access", "clients", "revoke")

    assert "The client was disconnected" in done.text
    assert "No client is connected." in done.text
    assert desk.place.call(pair.access, path=path).status == 401


def test_everything_is_ended_at_once(desk: Desk) -> None:
    token = desk.place.api_token()
    pair = desk.place.authority.grants.create(consent(desk))

    done = desk.submit(desk.get("access"), "access", "revoke-all")

    assert "Every token was revoked" in done.text
    for each in (token, pair.access):
        assert desk.place.call(each, path=f"/mcp/{desk.being}").status == 401


def test_nobody_ends_what_another_owner_has(desk: Desk) -> None:
    authority = desk.place.authority
    eve = authority.beings.create("Eve", owner="other").being_id
    issued = authority.tokens.issue(
        API, being_id=eve, owner="other", scopes=FULL, lifetime=timedelta(days=1)
    )
    theirs = authority.grants.create(consent(desk, "g2", owner="other"))
    page = desk.get("access")
    csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert csrf is not None

    fields = {"csrf": csrf[1], "token": issued.record.token_id}
    assert desk.browser.post(desk.at("access", "tokens", "revoke"), fields).status == 404
    fields = {"csrf": csrf[1], "client": "g2"}
    assert desk.browser.post(desk.at("access", "clients", "revoke"), fields).status == 404
    assert desk.place.call(issued.token, path=f"/mcp/{eve}").status == 200
    assert desk.place.call(theirs.access, path="/mcp").status == 200


def test_ended_tokens_are_told_apart(desk: Desk) -> None:
    desk.place.api_token()
    desk.place.time.pass_(days=2)

    page = desk.get("access")

    assert "Ended (1)" in page.text
    assert "expired" in page.text
