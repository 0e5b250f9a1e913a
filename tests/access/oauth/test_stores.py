"""Sessions, links, counters, codes and grants, on the store of a laptop and that of a stack."""

from datetime import timedelta
from random import Random

import pytest

from nacre.access.authority import Authority, authority
from nacre.access.oauth.authorization_requests import AccessRequest
from nacre.access.oauth.clients import OAuthClient
from nacre.access.oauth.codes import CodeUsedTwiceError, Consent
from nacre.access.tokens.token_check import admission
from nacre.access.tokens.token_format import digest
from nacre.core.errors import NotFoundError, OAuthError, RateLimitedError
from nacre.core.limits import LIVE_ACCESS_TOKENS, SESSION_DAYS
from nacre.ports.items.table import Table
from nacre.protocol.principal import FULL, READ_ONLY
from tests.adapters.conftest import StillClock
from tests.scaffolding.oauth import VERIFIER, challenge
from tests.scaffolding.two_stores import clock, stack, table

__all__ = ["clock", "stack", "table"]

BEING = "11111111-1111-4111-8111-111111111111"
RESOURCE = "https://nacre.example/mcp"
REDIRECT = "https://client.example/callback"


@pytest.fixture
def made(table: Table, clock: StillClock) -> Authority:
    return authority(table, table, clock=clock, rng=Random(1))


def consent(number: int = 1, **changes: str) -> Consent:
    return Consent(
        grant_id=f"grant_{number}",
        owner=changes.get("owner", "me"),
        being_id=changes.get("being_id", BEING),
        client_id="client_1",
        client_name="Editor",
        client_host=None,
        scopes=FULL,
        resource=RESOURCE,
    )


def opens(made: Authority, clock: StillClock, token: str) -> bool:
    said = admission(f"Bearer {token}", made.tokens.lookup, now=clock().timestamp())
    return said["auth"] == "ok"


def test_a_link_is_used_once_and_can_be_taken_back(made: Authority) -> None:
    links = made.sign_in.links
    first, second = links.make("me"), links.make("me")
    used = links.use(first.secret)
    links.drop_all("me")

    assert (used, links.use(first.secret), links.use(second.secret)) == ("me", None, None)


def test_sessions_are_found_listed_and_closed(made: Authority, clock: StillClock) -> None:
    sessions = made.sessions
    first, second = sessions.open("me", browser="Firefox"), sessions.open("me")
    other = sessions.open("eve")
    listed = {each.session for each in sessions.of_owner("me")}
    found = sessions.find(first.cookie)
    sessions.close(first.signed_in.session)

    assert found == first.signed_in
    assert listed == {first.signed_in.session, second.signed_in.session}
    assert sessions.find(first.cookie) is None
    assert sessions.close_all("me") == 1
    assert sessions.find(second.cookie) is None
    assert sessions.find(other.cookie) is not None
    clock.move(SESSION_DAYS * 86_400)
    assert sessions.find(other.cookie) is None


def test_attempts_are_counted_until_the_window_ends(made: Authority, clock: StillClock) -> None:
    for _ in range(3):
        made.limits.take("attempts", "a", most=3, seconds=60)
    with pytest.raises(RateLimitedError) as refused:
        made.limits.take("attempts", "a", most=3, seconds=60)
    made.limits.take("attempts", "b", most=3, seconds=60)
    clock.move(refused.value.seconds)
    made.limits.take("attempts", "a", most=3, seconds=60)
    made.limits.forget("attempts", "a", seconds=60)

    assert 0 < refused.value.seconds <= 60


def test_a_password_is_kept_as_what_scrypt_makes_of_it(made: Authority, table: Table) -> None:
    passwords = made.sign_in.passwords
    passwords.set("me", "vier langsame Schnecken")

    assert passwords.match("me", "vier langsame Schnecken")
    assert not passwords.match("me", "vier langsame Schnecke")
    passwords.remove("me")
    assert not passwords.has("me")


def test_a_client_that_is_used_is_kept(made: Authority, clock: StillClock) -> None:
    body = b'{"redirect_uris":["https://client.example/callback"]}'
    registered = made.clients.register(body, address="a")
    client_id = registered.client.client_id
    clock.move(80 * 86_400)
    made.clients.extend(client_id)
    made.clients.extend("client_unknown")
    clock.move(80 * 86_400)
    found = made.clients.identify(client_id)
    clock.move(11 * 86_400)

    assert found == registered.client
    assert found.has_secret(registered.secret or "")
    assert not found.has_secret("x")
    assert made.clients.identify(client_id) is None
    assert made.clients.identify("client_unknown") is None


def test_a_request_is_taken_once_by_the_session_that_saw_it(made: Authority) -> None:
    client = OAuthClient("client_1", "Editor", (REDIRECT,), "none")
    asked = AccessRequest(
        client_id=client.client_id,
        client_name=client.name,
        client_host=None,
        redirect_uri=REDIRECT,
        state=None,
        challenge=challenge(),
        resource=RESOURCE,
        being_id=None,
        scopes=READ_ONLY,
    )
    name = made.requests.open(asked, session="s1")

    assert made.requests.take(name, session="s2") is None
    assert made.requests.take(name, session="s1") == asked
    assert made.requests.take(name, session="s1") is None
    assert made.requests.take("x", session="s1") is None


def test_a_code_gives_what_was_allowed_once(made: Authority) -> None:
    asked = AccessRequest(
        client_id="client_1",
        client_name="Editor",
        client_host="client.example",
        redirect_uri=REDIRECT,
        state="x",
        challenge=challenge(),
        resource=RESOURCE,
        being_id=None,
        scopes=FULL,
    )
    code = made.codes.issue(asked, owner="me", being_id=BEING, scopes=READ_ONLY, session="s")
    given = made.codes.redeem(code, client_id="client_1", redirect_uri=REDIRECT, verifier=VERIFIER)
    with pytest.raises(CodeUsedTwiceError) as twice:
        made.codes.redeem(code, client_id="client_1", redirect_uri=REDIRECT, verifier=VERIFIER)

    assert (given.owner, given.being_id, given.scopes) == ("me", BEING, READ_ONLY)
    assert twice.value.grant_id == given.grant_id


def test_a_grant_gives_tokens_renews_them_and_ends(made: Authority, clock: StillClock) -> None:
    grants = made.grants
    first = grants.create(consent())
    second = grants.refresh(first.refresh, client_id="client_1")
    again = grants.refresh(first.refresh, client_id="client_1")
    row = made.tokens.lookup(digest(second.access))
    [listed] = grants.of_owner("me")
    before = [opens(made, clock, pair.access) for pair in (first, second, again)]
    grants.end_by_token(second.access, client_id="client_1")
    after = [opens(made, clock, pair.access) for pair in (first, second, again)]

    assert again.refresh == second.refresh
    assert row is not None
    assert (row["resource"], row["client"], row["label"]) == (RESOURCE, "client_1", "Editor")
    assert (listed.grant_id, listed.client_name) == ("grant_1", "Editor")
    assert (before, after) == ([True] * 3, [False] * 3)
    with pytest.raises(OAuthError, match="ended"):
        grants.refresh(second.refresh, client_id="client_1")
    assert grants.of_owner("me") == []


def test_a_replayed_refresh_token_ends_the_grant(made: Authority, clock: StillClock) -> None:
    first = made.grants.create(consent())
    second = made.grants.refresh(first.refresh, client_id="client_1")
    clock.move(31)
    with pytest.raises(OAuthError, match="used before"):
        made.grants.refresh(first.refresh, client_id="client_1")

    assert not opens(made, clock, second.access)


def test_a_grant_that_was_ended_before_it_was_made_is_not_made(made: Authority) -> None:
    made.grants.end("grant_1")
    with pytest.raises(OAuthError, match="ended"):
        made.grants.create(consent())

    assert made.grants.of_owner("me") == []


def test_a_client_that_renews_without_end_has_a_bounded_number_of_tokens(
    made: Authority, clock: StillClock
) -> None:
    pairs = [made.grants.create(consent())]
    for _ in range(LIVE_ACCESS_TOKENS + 2):
        pairs.append(made.grants.refresh(pairs[-1].refresh, client_id="client_1"))
    living = [opens(made, clock, pair.access) for pair in pairs]
    made.grants.end("grant_1")

    assert living == [False] * 3 + [True] * LIVE_ACCESS_TOKENS
    assert not any(opens(made, clock, pair.access) for pair in pairs)


def test_an_owner_ends_only_their_own(made: Authority) -> None:
    made.grants.create(consent())
    with pytest.raises(NotFoundError):
        made.grants.revoke("grant_1", owner="eve")
    with pytest.raises(NotFoundError):
        made.grants.revoke("grant_2", owner="me")

    assert made.grants.revoke("grant_1", owner="me").client_name == "Editor"
    with pytest.raises(NotFoundError):
        made.grants.revoke("grant_1", owner="me")


def test_erasing_a_being_ends_its_grants_and_no_others(made: Authority, clock: StillClock) -> None:
    other = "22222222-2222-4222-8222-222222222222"
    mine, theirs = made.grants.create(consent(1)), made.grants.create(consent(2, being_id=other))
    erased = made.tokens.erase(BEING)

    assert erased == 1
    assert [grant.grant_id for grant in made.grants.of_owner("me")] == ["grant_2"]
    assert [opens(made, clock, pair.access) for pair in (mine, theirs)] == [False, True]
    with pytest.raises(OAuthError):
        made.grants.refresh(mine.refresh, client_id="client_1")


def test_ended_access_tokens_leave_the_list_at_once(made: Authority, clock: StillClock) -> None:
    made.grants.create(consent())
    listed = len(made.tokens.of_being(BEING))
    clock.move(timedelta(hours=1).total_seconds())

    assert (listed, made.tokens.of_being(BEING)) == (1, [])
