"""Tokens that were issued."""

import hashlib
import json
from datetime import timedelta
from random import Random

import pytest

from nacre.access.scopes import SCOPES_BY_NAME
from nacre.access.tokens.store import NewToken, TokenStore
from nacre.access.tokens.token_check import admission
from nacre.access.tokens.token_format import digest, kind_of
from nacre.core.errors import ConditionFailedError, InvalidInputError, NotFoundError
from nacre.core.limits import TOKEN_ROW_DAYS
from nacre.ports.items.table import Item, Table
from tests.access.conftest import Time

BEING = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"


def issue(
    tokens: TokenStore,
    *,
    being_id: str = BEING,
    scope: str = "full",
    days: float = 90,
    label: str = "laptop",
) -> NewToken:
    return tokens.issue(
        "brt",
        being_id=being_id,
        owner="me",
        scopes=SCOPES_BY_NAME[scope],
        lifetime=timedelta(days=days),
        label=label,
    )


def opens(tokens: TokenStore, issued: NewToken, time: Time) -> bool:
    context = admission(f"Bearer {issued.token}", tokens.lookup, now=time().timestamp())
    return context["auth"] == "ok"


@pytest.mark.requirement("003.auth.hashed")
def test_a_token_is_found_by_its_hash_and_stored_nowhere(
    tokens: TokenStore, table: Table, time: Time
) -> None:
    issued = issue(tokens)
    asked: list[str] = []

    def lookup(sha256: str) -> Item | None:
        asked.append(sha256)
        return tokens.lookup(sha256)

    assert admission(f"Bearer {issued.token}", lookup, now=time().timestamp())["auth"] == "ok"
    assert asked == [hashlib.sha256(issued.token.encode()).hexdigest()]
    row = tokens.lookup(digest(issued.token))

    assert row is not None
    assert row["pk"] == f"T#{digest(issued.token)}"
    assert issued.token not in json.dumps(row)
    assert issued.token[4:30] not in json.dumps(row)
    assert issued.token not in repr(issued)


def test_an_issued_token_says_what_it_is_for(tokens: TokenStore, time: Time) -> None:
    issued = issue(tokens, scope="read-only", days=1)

    assert kind_of(issued.token) == "brt"
    assert issued.record.being_id == BEING
    assert issued.record.scopes == SCOPES_BY_NAME["read-only"]
    assert issued.record.expires == time() + timedelta(days=1)
    assert issued.record.hint == f"brt_…{issued.token[-4:]}"
    assert tokens.of_being(BEING) == [issued.record]


def test_a_token_of_an_oauth_client_keeps_client_and_resource(
    tokens: TokenStore, table: Table
) -> None:
    issued = tokens.issue(
        "bto",
        being_id=BEING,
        owner="me",
        scopes=SCOPES_BY_NAME["full"],
        lifetime=timedelta(hours=1),
        client="client-1",
        resource="https://nacre.example/mcp",
    )

    assert tokens.of_being(BEING) == [issued.record]
    family = table.query("UC#me#client-1", index="gsi1").items
    assert [item["token_id"] for item in family] == [issued.record.token_id]


@pytest.mark.requirement("003.auth.expiry")
def test_a_token_opens_until_it_expires_and_stays_listed_for_a_month(
    tokens: TokenStore, time: Time
) -> None:
    issued = issue(tokens, days=90)

    time.pass_(days=89, hours=23)
    assert opens(tokens, issued, time)
    time.pass_(hours=1)
    assert not opens(tokens, issued, time)
    assert [record.state(time()) for record in tokens.of_being(BEING)] == ["expired"]
    time.pass_(days=TOKEN_ROW_DAYS, seconds=1)
    assert tokens.of_being(BEING) == []


@pytest.mark.requirement("003.auth.revocation")
def test_a_revoked_token_is_refused_at_once_and_stays_listed(
    tokens: TokenStore, time: Time
) -> None:
    issued = issue(tokens)
    time.pass_(days=1)

    revoked = tokens.revoke(issued.record.token_id, being_id=BEING)

    assert revoked.revoked == time()
    assert not opens(tokens, issued, time)
    assert tokens.of_being(BEING) == [revoked]
    assert revoked.state(time()) == "revoked"


def test_revoking_again_keeps_the_first_moment(tokens: TokenStore, time: Time) -> None:
    issued = issue(tokens)
    first = tokens.revoke(issued.record.token_id, being_id=BEING)
    time.pass_(hours=1)

    assert tokens.revoke(issued.record.token_id, being_id=BEING) == first


@pytest.mark.parametrize("being_id", [BEING, OTHER])
def test_only_a_token_of_the_being_can_be_revoked(tokens: TokenStore, being_id: str) -> None:
    elsewhere = issue(tokens, being_id=OTHER if being_id == BEING else BEING)

    with pytest.raises(NotFoundError):
        tokens.revoke(elsewhere.record.token_id, being_id=being_id)


def test_the_beginning_of_an_id_revokes_nothing(tokens: TokenStore) -> None:
    issued = issue(tokens)

    with pytest.raises(NotFoundError):
        tokens.revoke(issued.record.token_id[:-1], being_id=BEING)


@pytest.mark.parametrize("seconds", [1, 0.002])
def test_tokens_are_listed_by_being_oldest_first(
    tokens: TokenStore, time: Time, seconds: float
) -> None:
    records = []
    for _ in range(12):
        records.append(issue(tokens).record)
        issue(tokens, being_id=OTHER)
        time.pass_(seconds=seconds)

    assert tokens.of_being(BEING) == records


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_a_lifetime_has_bounds(tokens: TokenStore, days: float) -> None:
    with pytest.raises(InvalidInputError, match="between 1 second and 3650 days"):
        issue(tokens, days=days)


@pytest.mark.parametrize("label", ["a\nb", "x" * 65, "\x1b[31m", "\ud800"])
def test_a_label_is_one_short_printable_line(tokens: TokenStore, label: str) -> None:
    with pytest.raises(InvalidInputError, match="a label"):
        issue(tokens, label=label)


def test_two_sources_of_equal_chance_never_overwrite_a_token(table: Table, time: Time) -> None:
    issue(TokenStore(table, clock=time, rng=Random(1)))

    with pytest.raises(ConditionFailedError):
        issue(TokenStore(table, clock=time, rng=Random(1)))


def test_the_tokens_of_an_erased_being_are_gone_and_others_stay(
    tokens: TokenStore, time: Time
) -> None:
    gone = [issue(tokens) for _ in range(3)]
    stays = issue(tokens, being_id=OTHER)

    assert tokens.erase(BEING) == 3
    assert tokens.erase(BEING) == 0

    assert [opens(tokens, each, time) for each in (*gone, stays)] == [False, False, False, True]
    assert tokens.of_being(BEING) == []
    assert [tokens.lookup(digest(each.token)) for each in gone] == [None] * 3
