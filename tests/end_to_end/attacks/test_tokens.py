"""Attacks on the token endpoint: codes, refresh tokens, and their end."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest

from nacre.core.errors import OAuthError
from nacre.core.limits import OAUTH_CODE_SECONDS, REFRESH_GRACE_SECONDS, TOKEN_REQUESTS_A_MINUTE
from tests.end_to_end.attacks.rows import attack
from tests.scaffolding.oauth import (
    REDIRECT,
    VERIFIER,
    code_for,
    connected,
    exchange,
    register,
    renew,
    tokens_of,
)
from tests.scaffolding.web_site import Browser, Site, site


@pytest.fixture
def browser(place: Site) -> Browser:
    made = Browser(place)
    assert made.sign_in().status == 303
    return made


@attack("T1")
@pytest.mark.parametrize("verifier", ["w" * 43, "v" * 44, "v" * 42, "", "é" * 43, "v" * 200, None])
def test_a_wrong_verifier_burns_the_code(
    browser: Browser, place: Site, verifier: str | None
) -> None:
    client_id = register(place)["client_id"]
    code = code_for(browser, client_id)
    wrong = exchange(place, client_id, code, code_verifier=verifier)
    right = exchange(place, client_id, code)

    assert (wrong.status, wrong.json["error"]) == (400, "invalid_grant")
    assert (right.status, right.json["error"]) == (400, "invalid_grant")
    assert wrong["cache-control"] == "no-store"


@attack("T3")
def test_another_clients_code_is_of_no_use(browser: Browser, place: Site) -> None:
    mine, other = register(place)["client_id"], register(place)["client_id"]
    stolen = exchange(place, other, code_for(browser, mine))

    assert (stolen.status, stolen.json["error"]) == (400, "invalid_grant")


@attack("T4")
@pytest.mark.parametrize(
    "uri", [REDIRECT + "/", "http://127.0.0.1:1/callback", "https://evil.example", "", None]
)
def test_a_code_is_for_the_address_it_was_sent_to(
    browser: Browser, place: Site, uri: str | None
) -> None:
    client_id = register(place)["client_id"]
    answer = exchange(place, client_id, code_for(browser, client_id), redirect_uri=uri)

    assert (answer.status, answer.json["error"]) == (400, "invalid_grant")


@attack("T5")
@pytest.mark.parametrize(
    "resource", ["https://elsewhere.example/mcp", "BEING", "x", "", "https://["]
)
def test_a_code_is_for_the_resource_that_was_asked_about(
    browser: Browser, place: Site, resource: str
) -> None:
    client_id = register(place)["client_id"]
    code = code_for(browser, client_id)
    asked = f"{place.base}/mcp/{place.being}" if resource == "BEING" else resource
    answer = exchange(place, client_id, code, resource=asked)

    assert (answer.status, answer.json["error"]) == (400, "invalid_target")


@attack("T5")
def test_the_same_resource_may_be_named_again(browser: Browser, place: Site) -> None:
    client_id = register(place)["client_id"]
    for resource in (f"{place.base}/mcp", f"{place.base}/mcp/", f"{place.base}/", place.base):
        answer = exchange(place, client_id, code_for(browser, client_id), resource=resource)
        assert answer.status == 200, resource


def test_a_code_lives_a_minute(browser: Browser, place: Site) -> None:
    client_id = register(place)["client_id"]
    code = code_for(browser, client_id)
    place.time.pass_(seconds=OAUTH_CODE_SECONDS)

    assert exchange(place, client_id, code).json["error"] == "invalid_grant"


def test_a_code_ends_with_the_session_in_which_it_was_allowed(place: Site) -> None:
    browser = Browser(place)
    browser.sign_in()
    client_id = register(place)["client_id"]
    code = code_for(browser, client_id)
    place.authority.sessions.close_all("me")
    answer = exchange(place, client_id, code)

    assert (answer.status, answer.json["error"]) == (400, "invalid_grant")
    assert place.authority.grants.of_owner("me") == []


@attack("T7")
def test_a_code_that_is_used_twice_ends_what_came_of_it(browser: Browser, place: Site) -> None:
    client_id = register(place)["client_id"]
    code = code_for(browser, client_id)
    tokens = tokens_of(exchange(place, client_id, code))
    before = place.call(tokens.access).status
    again = exchange(place, client_id, code)

    assert (again.status, again.json["error"]) == (400, "invalid_grant")
    assert (before, place.call(tokens.access).status) == (200, 401)
    assert renew(place, client_id, tokens.refresh).json["error"] == "invalid_grant"


@attack("T8")
@pytest.mark.parametrize("times", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_of_many_redemptions_at_once_one_counts_at_most(times: int) -> None:
    with site("laptop") as place:
        browser = Browser(place)
        browser.sign_in()
        race(browser, place, times)


def race(browser: Browser, place: Site, times: int) -> None:
    client_id = register(place)["client_id"]
    codes, grants = place.authority.codes, place.authority.grants
    for _ in range(times):
        place.time.pass_(minutes=1)
        code = code_for(browser, client_id)

        def redeem(_: int, code: str = code) -> str | None:
            try:
                consent = codes.redeem(
                    code, client_id=client_id, redirect_uri=REDIRECT, verifier=VERIFIER
                )
                return grants.create(consent).access
            except OAuthError as error:
                grant_id = getattr(error, "grant_id", None)
                if grant_id is not None:
                    grants.end(grant_id)
                return None

        with ThreadPoolExecutor(8) as pool:
            issued = [token for token in pool.map(redeem, range(8)) if token]

        assert len(issued) <= 1
        assert [place.call(token).status for token in issued] in ([], [401])
    assert grants.of_owner("me") == []


@attack("T9")
def test_refreshing_gives_a_new_pair(place: Site) -> None:
    client_id, first = connected(place)
    second = tokens_of(renew(place, client_id, first.refresh))
    third = tokens_of(renew(place, client_id, second.refresh, resource=f"{place.base}/mcp"))

    assert len({each.refresh for each in (first, second, third)}) == 3
    assert len({each.access for each in (first, second, third)}) == 3
    assert [place.call(each.access).status for each in (first, second, third)] == [200] * 3


@attack("T10")
def test_refreshing_gives_no_more_scope(place: Site) -> None:
    client_id, tokens = connected(place, scope="read-only")
    more = renew(place, client_id, tokens.refresh, scope="mcp:read mcp:write")
    unknown = renew(place, client_id, tokens.refresh, scope="admin")
    same = renew(place, client_id, tokens.refresh, scope="mcp:read")

    assert (more.status, more.json["error"]) == (400, "invalid_scope")
    assert unknown.json["error"] == "invalid_scope"
    assert tokens_of(same).scope == "mcp:read"


@attack("T10")
def test_less_scope_may_be_asked_for_and_the_grant_keeps_its_own(place: Site) -> None:
    client_id, tokens = connected(place)
    less = tokens_of(renew(place, client_id, tokens.refresh, scope="mcp:read"))
    refused = place.call(less.access, "update_notes")
    whole = tokens_of(renew(place, client_id, less.refresh))

    assert (less.scope, refused.status) == ("mcp:read", 403)
    assert whole.scope == "mcp:read mcp:write"


@attack("T11")
def test_another_clients_refresh_token_is_of_no_use(place: Site) -> None:
    client_id, tokens = connected(place)
    other = register(place)["client_id"]
    stolen = renew(place, other, tokens.refresh)

    assert (stolen.status, stolen.json["error"]) == (400, "invalid_grant")
    assert renew(place, client_id, tokens.refresh).status == 200


@attack("T12")
def test_one_kind_of_token_is_not_another(place: Site) -> None:
    client_id, tokens = connected(place)
    access = renew(place, client_id, tokens.access)
    link = renew(place, client_id, place.link())
    as_code = exchange(place, client_id, tokens.refresh)
    api = renew(place, client_id, place.api_token())

    assert {each.json["error"] for each in (access, link, as_code, api)} == {"invalid_grant"}
    assert place.call(tokens.refresh).status == 401


@attack("T13")
def test_a_refresh_whose_answer_was_lost_may_be_sent_again(place: Site) -> None:
    client_id, tokens = connected(place)
    first = tokens_of(renew(place, client_id, tokens.refresh))
    place.time.pass_(seconds=REFRESH_GRACE_SECONDS)
    again = tokens_of(renew(place, client_id, tokens.refresh))

    assert again.refresh == first.refresh
    assert again.access != first.access
    assert place.call(first.access).status == place.call(again.access).status == 200
    assert renew(place, client_id, again.refresh).status == 200


@attack("T13")
def test_a_refresh_token_that_comes_back_later_ends_the_grant(place: Site) -> None:
    client_id, tokens = connected(place)
    newer = tokens_of(renew(place, client_id, tokens.refresh))
    place.time.pass_(seconds=REFRESH_GRACE_SECONDS + 1)
    replayed = renew(place, client_id, tokens.refresh)

    assert (replayed.status, replayed.json["error"]) == (400, "invalid_grant")
    assert place.call(newer.access).status == 401
    assert place.call(tokens.access).status == 401
    assert renew(place, client_id, newer.refresh).json["error"] == "invalid_grant"
    assert place.authority.grants.of_owner("me") == []


@attack("T13")
def test_processes_that_refresh_at_once_agree(place: Site) -> None:
    client_id, tokens = connected(place)
    grants = place.authority.grants
    with ThreadPoolExecutor(4) as pool:
        pairs = list(
            pool.map(lambda _: grants.refresh(tokens.refresh, client_id=client_id), range(4))
        )

    assert len({pair.refresh for pair in pairs}) == 1
    assert [place.call(pair.access).status for pair in pairs] == [200] * 4


@attack("T15")
@pytest.mark.parametrize("client_id", ["client_" + "0" * 16, "", "x", "é", "https://a.example/c"])
def test_an_unknown_client_is_told_to_register_again(place: Site, client_id: str) -> None:
    _, tokens = connected(place)
    answer = renew(place, client_id, tokens.refresh)
    revoked = place.post_form("/revoke", {"client_id": client_id, "token": tokens.refresh})

    assert (answer.status, answer.json["error"]) == (401, "invalid_client")
    assert (revoked.status, revoked.json["error"]) == (401, "invalid_client")
    assert place.call(tokens.access).status == 200


@attack("T15")
@pytest.mark.parametrize(
    "header", ["Basic", "Basic x", "Basic Y2xpZW50X3g6eA==", "Bearer x", "Basic //8="]
)
def test_a_header_that_names_no_client_is_refused(place: Site, header: str) -> None:
    answer = place.post_form("/token", {"grant_type": "refresh_token"}, {"authorization": header})
    challenge = answer["www-authenticate"] or answer["x-amzn-remapped-www-authenticate"]

    assert (answer.status, answer.json["error"]) == (401, "invalid_client")
    assert challenge.startswith("Basic")


@attack("T19")
@pytest.mark.parametrize("name", ["grant_type", "code", "client_id", "code_verifier", "x"])
def test_a_field_that_comes_twice_is_refused(browser: Browser, place: Site, name: str) -> None:
    client_id = register(place)["client_id"]
    code = code_for(browser, client_id)
    fields = [
        *(("grant_type", "authorization_code"), ("client_id", client_id), ("code", code)),
        *(("redirect_uri", REDIRECT), ("code_verifier", VERIFIER), ("x", "1")),
    ]
    twice = place.post_form("/token", [*fields, (name, dict(fields)[name])])

    assert twice.status == 400
    assert twice.json["error"] == "invalid_request"
    assert place.post_form("/token", fields).status == 200  # nothing was used up


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"grant_type=password", "application/x-www-form-urlencoded", 401),
        (b"", "application/x-www-form-urlencoded", 401),
        (b"{}", "application/json", 400),
        (b"x=1", "", 400),
        (b"%ff=%fe", "application/x-www-form-urlencoded", 400),
        (b"a=1&" * 300, "application/x-www-form-urlencoded", 400),
        (b"a=" + b"x" * 100_000, "application/x-www-form-urlencoded", 413),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_request_is_answered_in_the_protocols_words(
    place: Site, body: bytes, kind: str, status: int
) -> None:
    answer = place.send("POST", "/token", body=body, headers={"content-type": kind})

    assert answer.status == status
    assert set(answer.json) == {"error", "error_description"}


@pytest.mark.parametrize("grant_type", ["password", "client_credentials", "", "implicit", None])
def test_other_grants_are_not_served(place: Site, grant_type: str | None) -> None:
    client_id = register(place)["client_id"]
    fields = {"client_id": client_id, **({"grant_type": grant_type} if grant_type else {})}
    answer = place.post_form("/token", fields)

    assert (answer.status, answer.json["error"]) == (400, "unsupported_grant_type")


def test_too_many_token_requests_have_to_wait(place: Site) -> None:
    answers = [place.post_form("/token", {}) for _ in range(TOKEN_REQUESTS_A_MINUTE + 1)]

    assert {answer.status for answer in answers[:-1]} == {401}
    assert answers[-1].status == 429
    assert int(answers[-1]["retry-after"]) <= 60


@attack("V1")
@pytest.mark.parametrize("which", ["access", "refresh"])
@pytest.mark.parametrize("hint", ["access_token", "refresh_token", None, "x"])
def test_a_client_that_logs_out_ends_its_whole_grant(
    place: Site, which: str, hint: str | None
) -> None:
    client_id, tokens = connected(place)
    newer = tokens_of(renew(place, client_id, tokens.refresh))
    token = newer.access if which == "access" else newer.refresh
    fields = {"client_id": client_id, "token": token}
    if hint:
        fields["token_type_hint"] = hint
    answer = place.post_form("/revoke", fields)
    again = place.post_form("/revoke", fields)

    assert (answer.status, again.status) == (200, 200)
    assert [place.call(each.access).status for each in (tokens, newer)] == [401, 401]
    assert renew(place, client_id, newer.refresh).json["error"] == "invalid_grant"


@attack("V3")
@pytest.mark.parametrize("token", ["x", "bto_" + "0" * 49, "é", "a" * 5000])
def test_a_token_that_is_unknown_is_no_error(place: Site, token: str) -> None:
    client_id, tokens = connected(place)
    answer = place.post_form("/revoke", {"client_id": client_id, "token": token})

    assert (answer.status, answer.body) == (200, b"")
    assert place.call(tokens.access).status == 200


@attack("V3")
def test_an_api_token_cannot_be_ended_here(place: Site) -> None:
    client_id, _ = connected(place)
    token = place.api_token()
    answer = place.post_form("/revoke", {"client_id": client_id, "token": token})

    assert answer.status == 200
    assert place.call(token, path=f"/mcp/{place.being}").status == 200


@attack("V5")
def test_another_clients_token_is_not_ended(place: Site) -> None:
    _, tokens = connected(place)
    other = register(place)["client_id"]
    answers = [
        place.post_form("/revoke", {"client_id": other, "token": token})
        for token in (tokens.access, tokens.refresh)
    ]

    assert [answer.status for answer in answers] == [200, 200]
    assert place.call(tokens.access).status == 200


@attack("V5")
def test_a_client_with_a_secret_shows_it_to_end_a_token(place: Site) -> None:
    made = register(place, token_endpoint_auth_method="client_secret_post")
    fields = {"client_id": made["client_id"], "token": "x"}

    assert place.post_form("/revoke", fields).status == 401
    assert (
        place.post_form("/revoke", {**fields, "client_secret": made["client_secret"]}).status == 200
    )


@pytest.mark.parametrize("path", ["/introspect", "/userinfo", "/oauth/token", "/logout"])
def test_nothing_else_is_served(place: Site, path: str) -> None:
    assert place.post_form(path, {"token": "x"}).status in (404, 405)
    assert place.get(path).status == 404


def test_the_answers_are_read_by_any_client(place: Site) -> None:
    client_id, tokens = connected(place)
    answer = renew(place, client_id, tokens.refresh)

    assert answer["content-type"] == "application/json"
    assert answer["cache-control"] == "no-store"
    assert set(answer.json) == {
        *("access_token", "token_type", "expires_in", "refresh_token", "scope"),
    }
    assert urlencode({"x": answer.json["access_token"]})
