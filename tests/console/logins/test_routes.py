"""An owner's logins on a page: begun and ended there, and finished by nobody else."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from nacre.gateway.servers.store import ServerStore
from tests.console.conftest import Desk
from tests.gateway.login.provider import Provider, provider
from tests.scaffolding.web_site import Answer, form_of


def add(desk: Desk, at: Provider) -> None:
    table = desk.controls.table
    ServerStore(lambda: table).add("web", {"url": at.url})


def begin(desk: Desk) -> Answer:
    page = desk.browser.get("/logins?server=web")
    assert page.status == 200
    return desk.browser.post("/logins/begin", form_of(page, "/logins/begin"))


def come_back(desk: Desk, answer: dict[str, str]) -> Answer:
    return desk.browser.get(f"/logins/callback?{urlencode(answer)}")


@pytest.mark.requirement("002.external.login")
def test_an_owner_logs_in_and_out_on_the_page(desk: Desk) -> None:
    with provider() as at:
        add(desk, at)
        gone = begin(desk)
        assert gone.status == 303
        asked = dict(parse_qsl(urlsplit(gone["location"]).query))
        assert asked["redirect_uri"].endswith("/logins/callback")
        if "client" in asked["client_id"] and asked["client_id"].startswith("https:"):
            at.clients[asked["client_id"]] = {"redirect_uris": [asked["redirect_uri"]]}
        back = come_back(desk, at.consent(gone["location"]))
        assert (back.status, back["location"]) == (303, "/logins?said=logged-in")
        page = desk.browser.get("/logins")
        assert "You are logged in at" in page.text
        assert not [token for token in (*at.access, *at.refresh) if token in page.text]
        ended = desk.browser.post("/logins/end", form_of(page, "/logins/end"))
        assert ended["location"] == "/logins?said=logged-out"
        assert "You are logged in at" not in desk.browser.get("/logins").text
        assert len(at.revoked) == 2


@pytest.mark.security
def test_nobody_begins_or_finishes_a_login_without_a_session(desk: Desk) -> None:
    with provider() as at:
        add(desk, at)
        answer = at.consent(begin(desk)["location"])
        desk.browser.cookies.clear()
        for path in ("/logins", f"/logins/callback?{urlencode(answer)}"):
            refused = desk.browser.get(path)
            assert (refused.status, "/sign-in" in refused["location"]) == (303, True)
        assert at.forms == []


@pytest.mark.security
def test_a_login_needs_a_form_of_the_page(desk: Desk) -> None:
    with provider() as at:
        add(desk, at)
        refused = desk.browser.post("/logins/begin", {"server": "web", "csrf": "x"})
        assert refused.status == 403
        assert at.asked == []


@pytest.mark.security
def test_an_answer_that_belongs_to_no_login_is_refused(desk: Desk) -> None:
    with provider() as at:
        add(desk, at)
        answer = at.consent(begin(desk)["location"])
        wrong = come_back(desk, {**answer, "state": "x" * 43})
        assert (wrong.status, "begin again" in wrong.text) == (400, True)
        assert at.forms == []


def test_a_server_that_cannot_be_used_says_why(desk: Desk) -> None:
    with provider(metadata={"code_challenge_methods_supported": None}) as at:
        add(desk, at)
        refused = begin(desk)
        assert (refused.status, "PKCE" in refused.text) == (400, True)


def test_the_client_is_published_for_servers_that_read_it(desk: Desk) -> None:
    document = desk.browser.get("/logins/client.json").json
    assert document["client_id"].endswith("/logins/client.json")
    assert document["redirect_uris"] == [
        re.sub(r"client\.json$", "callback", document["client_id"])
    ]
    assert document["token_endpoint_auth_method"] == "none"
