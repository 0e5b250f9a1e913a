"""Logins to other servers: each for one owner, one server and one URL."""

import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from nacre.core.errors import BrokenSealError, LoginError, UnavailableError
from nacre.gateway.login.logins import Logins, LoginServer
from nacre.gateway.login.store import login_key
from nacre.ports.items.table import Key
from nacre.wiring.compose import Home, compose
from nacre.wiring.laptop import LaptopPorts
from nacre.wiring.settings import Settings
from tests.gateway.login.provider import Provider, provider

BACK = "http://127.0.0.1:8765/callback"


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def opened(folder: Path, clock: Clock) -> Home:
    """Open a data folder, as another process would."""
    return compose(LaptopPorts(str(folder), clock=clock), Settings(data_folder=str(folder)))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def home(tmp_path: Path, clock: Clock) -> Iterator[Home]:
    home = opened(tmp_path / "data", clock)
    yield home
    home.close()


def web(at: Provider, **more: Any) -> LoginServer:
    return LoginServer("web", at.url, **more)


def log_in(logins: Logins, owner: str, at: Provider, account: str = "ann", **more: Any) -> None:
    begun = logins.begin(owner, web(at, **more), BACK)
    assert logins.finish(owner, at.consent(begun.url, account)) == "web"


def asked(begun_url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(begun_url).query))


@pytest.mark.requirement("002.external.login")
def test_an_owner_logs_in_and_gets_a_token(home: Home) -> None:
    with provider() as at:
        log_in(home.logins, "me", at)
        token = home.logins.token("me", web(at))
        assert token is not None
        assert at.access[token] == ("ann", "")
        status = home.logins.status("me", "web")
        assert status is not None
        assert status.issuer == at.base


def test_the_request_names_the_resource_the_client_and_a_challenge(home: Home) -> None:
    with provider(resource={"scopes_supported": ["read", "write"]}) as at:
        query = asked(home.logins.begin("me", web(at), BACK).url)
        assert query["resource"] == at.url
        assert query["scope"] == "read write"
        assert query["redirect_uri"] == BACK
        assert query["code_challenge_method"] == "S256"
        [registered] = at.clients.values()
        assert registered["redirect_uris"] == [BACK]
        assert registered["application_type"] == "native"


def test_a_client_is_registered_once_at_an_issuer(home: Home) -> None:
    with provider() as at, provider() as other:
        first = asked(home.logins.begin("me", web(at), BACK).url)["client_id"]
        assert asked(home.logins.begin("ben", web(at), BACK).url)["client_id"] == first
        home.logins.begin("me", web(other), BACK)
        assert len(at.clients) == len(other.clients) == 1


def test_a_client_of_the_configuration_proves_itself(home: Home) -> None:
    with provider() as at:
        at.clients["mine"] = {"redirect_uris": [BACK]}
        log_in(home.logins, "me", at, client_id="mine", client_secret="s:1 %")
        assert at.authorizations == ["Basic bWluZTpzJTNBMSUyMCUyNQ=="]
        assert "client_secret" not in at.forms[0]


def test_a_published_client_needs_no_registration(home: Home) -> None:
    with provider(metadata={"client_id_metadata_document_supported": True}) as at:
        document = "https://nacre.example.com/client.json"
        begun = home.logins.begin("me", web(at), BACK, document_url=document)
        assert asked(begun.url)["client_id"] == document
        assert at.clients == {}


@pytest.mark.security
def test_two_owners_never_share_a_login(home: Home) -> None:
    with provider() as at:
        log_in(home.logins, "me", at, "ann")
        assert home.logins.token("ben", web(at)) is None
        log_in(home.logins, "ben", at, "ben")
        tokens = {owner: home.logins.token(owner, web(at)) for owner in ("me", "ben")}
        assert [at.access[str(tokens[owner])][0] for owner in ("me", "ben")] == ["ann", "ben"]
        assert home.logins.log_out("ben", web(at)) is True
        assert home.logins.token("me", web(at)) == tokens["me"]


@pytest.mark.security
def test_a_login_is_finished_once_and_only_by_its_owner(home: Home) -> None:
    with provider() as at:
        begun = home.logins.begin("me", web(at), BACK)
        answer = at.consent(begun.url)
        with pytest.raises(LoginError, match="begin again"):
            home.logins.finish("ben", answer)
        home.logins.finish("me", answer)
        with pytest.raises(LoginError, match="begin again"):
            home.logins.finish("me", answer)


@pytest.mark.security
def test_a_login_of_another_url_is_not_used(home: Home) -> None:
    with provider() as at, provider() as other:
        log_in(home.logins, "me", at)
        assert home.logins.token("me", web(other)) is None


@pytest.mark.security
def test_an_item_that_was_moved_to_another_owner_does_not_open(home: Home) -> None:
    with provider() as at:
        log_in(home.logins, "me", at)
        item = home.data.get(login_key("me", "web"))
        assert item is not None
        home.data.put({**item, **login_key("eve", "web").attributes(), "gsi2pk": "LOGINS#eve"})
        fresh = opened(Path(home.ports.where), home.ports.clock)  # type: ignore[arg-type]
        assert fresh.logins.token("eve", web(at)) is None
        fresh.close()


@pytest.mark.security
def test_no_token_and_no_secret_is_stored_in_the_clear(
    home: Home, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with provider(lifetime=10) as at:
        at.clients["mine"] = {"redirect_uris": [BACK]}
        log_in(home.logins, "me", at, client_id="mine", client_secret="hush-hush")
        home.logins.token("me", web(at))
        begun = home.logins.begin("me", web(at), BACK)
        secrets = [*at.access, *at.refresh, "hush-hush", begun.state]
        stored = b"".join(
            path.read_bytes() for path in Path(home.ports.where).rglob("*") if path.is_file()
        )
        said = caplog.text + "".join(capsys.readouterr()) + repr(home.logins.store)
        assert len(secrets) == 5
        assert not [secret for secret in secrets if secret.encode() in stored or secret in said]


# Renewal.


def test_a_token_is_renewed_before_it_ends(home: Home, clock: Clock) -> None:
    with provider(lifetime=600) as at:
        log_in(home.logins, "me", at)
        first = home.logins.token("me", web(at))
        clock.move(500)
        assert home.logins.token("me", web(at)) == first
        clock.move(60)
        second = home.logins.token("me", web(at))
        assert second != first
        assert at.forms[-1]["resource"] == at.url
        assert home.logins.token("me", web(at)) == second


def test_a_refresh_token_that_stays_valid_is_used_again(home: Home, clock: Clock) -> None:
    with provider(lifetime=600, rotates=False) as at:
        log_in(home.logins, "me", at)
        for _ in range(3):
            clock.move(600)
            assert home.logins.token("me", web(at)) in at.access
        assert len({form["refresh_token"] for form in at.forms[1:]}) == 1


@pytest.mark.requirement("002.external.login-renewal")
def test_threads_and_processes_renew_a_token_once(home: Home, clock: Clock) -> None:
    with provider(lifetime=600) as at:
        log_in(home.logins, "me", at, "ann")
        log_in(home.logins, "ben", at, "ben")
        clock.move(590)
        others = [opened(Path(home.ports.where), clock) for _ in range(3)]
        homes = [home, *others]
        at.pause = threading.Event()
        with ThreadPoolExecutor(16) as pool:
            running = {
                owner: [
                    pool.submit(each.logins.token, owner, web(at)) for each in homes for _ in "ab"
                ]
                for owner in ("me", "ben")
            }
            assert at.refreshing.wait(60)
            at.pause.set()
            tokens = {
                owner: {future.result(60) for future in futures}
                for owner, futures in running.items()
            }
        for each in others:
            each.close()
        [ann], [ben] = tokens["me"], tokens["ben"]
        assert (at.access[str(ann)][0], at.access[str(ben)][0]) == ("ann", "ben")
        assert [form["grant_type"] for form in at.forms].count("refresh_token") == 2
        assert at.used_refresh == []


def test_a_login_that_was_revoked_there_ends(home: Home, clock: Clock) -> None:
    with provider(lifetime=600) as at:
        log_in(home.logins, "me", at)
        at.refresh.clear()
        clock.move(600)
        assert home.logins.token("me", web(at)) is None
        assert home.logins.status("me", "web") is None


def test_a_failure_of_the_authorization_server_ends_no_login(home: Home, clock: Clock) -> None:
    with provider(lifetime=600) as at:
        log_in(home.logins, "me", at)
        first = home.logins.token("me", web(at))
        at.token_error = (503, {"error": "temporarily_unavailable"})
        clock.move(550)
        assert home.logins.token("me", web(at)) == first  # it still works
        clock.move(100)
        with pytest.raises(UnavailableError, match="cannot answer now"):
            home.logins.token("me", web(at))
        at.token_error = None
        assert home.logins.token("me", web(at)) in at.access


def test_a_login_that_ended_during_its_renewal_does_not_come_back(home: Home, clock: Clock) -> None:
    with provider(lifetime=600) as at:
        log_in(home.logins, "me", at)
        clock.move(590)
        at.pause = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            renewing = pool.submit(home.logins.token, "me", web(at))
            assert at.refreshing.wait(60)
            home.logins.store.remove("me", "web")
            at.pause.set()
            assert renewing.result(60) is None
        assert home.logins.status("me", "web") is None
        assert at.access.keys() & set(at.revoked) == set()
        assert len(at.revoked) == 2


def test_a_logout_revokes_both_tokens(home: Home) -> None:
    with provider() as at:
        log_in(home.logins, "me", at)
        token = home.logins.token("me", web(at))
        assert home.logins.log_out("me", web(at)) is True
        assert token in at.revoked
        assert at.refresh == {}
        assert home.logins.log_out("me", web(at)) is None


@pytest.mark.parametrize("length", [1, 4000, 9000])
def test_long_tokens_are_stored_whole(length: int, home: Home) -> None:
    token = "x" * length
    with provider(token_extra={"access_token": token}) as at:
        log_in(home.logins, "me", at)
        assert home.logins.token("me", web(at)) == token


def test_more_rights_are_asked_for_together_with_the_old_ones(home: Home) -> None:
    with provider(resource={"scopes_supported": ["read"]}) as at:
        log_in(home.logins, "me", at)
        assert home.logins.needs_more("me", web(at), ("write", "read")) == ("write",)
        query = asked(home.logins.begin("me", web(at), BACK).url)
        assert query["scope"] == "read write"
        log_in(home.logins, "me", at)
        assert home.logins.needs_more("me", web(at), ("write",)) == ()


def test_offline_access_is_asked_for_where_it_exists(home: Home) -> None:
    supported = {"scopes_supported": ["openid", "offline_access"]}
    with provider(metadata=supported, resource={"scopes_supported": ["read"]}) as at:
        query = asked(home.logins.begin("me", web(at), BACK).url)
        assert (query["scope"], query["prompt"]) == ("read offline_access", "consent")


# Hostile servers.

_REFUSED = {
    "another issuer": ({"metadata": {"issuer": "https://bank.example.com"}}, "issuer"),
    "no PKCE": ({"metadata": {"code_challenge_methods_supported": None}}, "PKCE"),
    "plain PKCE": ({"metadata": {"code_challenge_methods_supported": ["plain"]}}, "PKCE"),
    "no code": ({"metadata": {"response_types_supported": ["token"]}}, "codes"),
    "an endpoint without TLS": (
        {"metadata": {"token_endpoint": "http://example.com/token"}},
        "token_endpoint is not https",
    ),
    "an endpoint that is a script": (
        {"metadata": {"authorization_endpoint": "javascript:alert(1)"}},
        "authorization_endpoint is no valid URL",
    ),
    "an endpoint with a password": (
        {"metadata": {"token_endpoint": "https://a:b@example.com/token"}},
        "token_endpoint is no valid URL",
    ),
    "no token endpoint": ({"metadata": {"token_endpoint": None}}, "no token_endpoint"),
    "no registration": ({"metadata": {"registration_endpoint": None}}, "--client-id"),
    "another resource": ({"resource": {"resource": "https://bank.example.com/mcp"}}, "resource"),
    "a resource below": ({"resource": {"resource": "{url}/deeper"}}, "resource"),
    "no resource": ({"resource": {"resource": None}}, "resource"),
    "no authorization server": ({"resource": {"authorization_servers": []}}, "names no"),
    "metadata without TLS": (
        {"challenge": 'Bearer resource_metadata="http://example.com/meta"'},
        "not https",
    ),
}


@pytest.mark.security
@pytest.mark.parametrize("case", _REFUSED)
def test_metadata_that_cannot_be_trusted_is_refused(case: str, home: Home) -> None:
    options, said = _REFUSED[case]
    with provider(**json.loads(json.dumps(options))) as at:
        for members in (at.metadata, at.resource):
            for name, value in members.items():
                if isinstance(value, str):
                    members[name] = value.replace("{url}", at.url)
        with pytest.raises(LoginError, match=said):
            home.logins.begin("me", web(at), BACK)


@pytest.mark.security
@pytest.mark.parametrize("iss", ["https://honest.example.com", None])
def test_the_answer_of_another_server_is_not_used(iss: str | None, home: Home) -> None:
    """An attacker's server starts a login elsewhere, and hopes for that server's code."""
    with provider() as at:
        begun = home.logins.begin("me", web(at), BACK)
        at.iss = iss
        with pytest.raises(LoginError, match="iss"):
            home.logins.finish("me", at.consent(begun.url))
        assert at.forms == []  # the code went to nobody


@pytest.mark.security
def test_a_wrong_issuer_counts_even_where_none_is_promised(home: Home) -> None:
    with provider(iss=None) as at:
        begun = home.logins.begin("me", web(at), BACK)
        answer = {**at.consent(begun.url), "iss": "https://honest.example.com"}
        with pytest.raises(LoginError, match="iss"):
            home.logins.finish("me", answer)


@pytest.mark.security
def test_a_code_of_another_state_is_not_used(home: Home) -> None:
    with provider() as at:
        begun = home.logins.begin("me", web(at), BACK)
        with pytest.raises(LoginError, match="begin again"):
            home.logins.finish("me", {**at.consent(begun.url), "state": "x" * 43})
        with pytest.raises(LoginError, match="begin again"):
            home.logins.finish("me", {"code": "x"})


def test_a_person_may_decline(home: Home) -> None:
    with provider() as at:
        begun = home.logins.begin("me", web(at), BACK)
        answer = {"error": "access_denied", "state": begun.state, "iss": at.base}
        with pytest.raises(LoginError, match="declined"):
            home.logins.finish("me", answer)


@pytest.mark.security
@pytest.mark.parametrize(
    "given",
    [
        {"token_type": "mac"},
        {"access_token": "two words"},
        {"access_token": "line\nbreak"},
        {"access_token": ""},
        {"access_token": None},
        {"refresh_token": 5},
        {"access_token": "x" * 20_000},
    ],
)
def test_an_unusable_token_is_refused(given: dict[str, Any], home: Home) -> None:
    with provider(token_extra=given) as at:
        begun = home.logins.begin("me", web(at), BACK)
        with pytest.raises(LoginError):
            home.logins.finish("me", at.consent(begun.url))
        assert home.logins.status("me", "web") is None


def test_a_started_login_expires(home: Home, clock: Clock) -> None:
    with provider() as at:
        begun = home.logins.begin("me", web(at), BACK)
        clock.move(601)
        with pytest.raises(LoginError, match="too long ago"):
            home.logins.finish("me", at.consent(begun.url))


def test_a_started_login_is_sealed_for_its_state(home: Home) -> None:
    with provider() as at:
        home.logins.begin("me", web(at), BACK)
        begun = home.logins.begin("me", web(at), BACK)
        rows = [
            item for state in (begun.state,) if (item := home.data.get(_started(state))) is not None
        ]
        home.data.put({**rows[0], **_started("another").attributes()})
        with pytest.raises(BrokenSealError):
            home.logins.finish("me", {"state": "another", "code": "x"})


def _started(state: str) -> Key:
    from hashlib import sha256

    return Key(f"LOGIN-STATE#{sha256(state.encode()).hexdigest()}", "STARTED")
