"""Who may come in: the attack list of the access design, one row per case."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.access.tokens.authentication import Gate, admit_context
from nacre.access.tokens.token_check import admission
from nacre.access.tokens.token_format import digest, mint
from nacre.core.errors import ForbiddenError, UnauthorizedError, UnknownBeingError
from nacre.protocol.principal import FULL, READ_ONLY, Principal

BEING = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
UNKNOWN = "33333333-3333-4333-8333-333333333333"
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)

rng = Random(7)
API = mint("brt", rng)
READER = mint("brt", rng)
OAUTH = mint("bto", rng)
EXPIRED = mint("brt", rng)
REVOKED = mint("brt", rng)
OWNER_SECRET = mint("bos", rng)
REFRESH = mint("btr", rng)
UNSTORED = mint("brt", rng)


def row(token: str, **changes: object) -> dict[str, object]:
    return {
        "kind": token[:3],
        "token_id": f"tok_{token[-4:]}",
        "being_id": BEING,
        "scopes": "mcp:read mcp:write",
        "expires": NOW.timestamp() + 1,
        **changes,
    }


ROWS: dict[str, Mapping[str, object]] = {
    digest(API): row(API),
    digest(READER): row(READER, scopes="mcp:read"),
    digest(OAUTH): row(OAUTH, client="client-1", resource="https://nacre.example/mcp"),
    digest(EXPIRED): row(EXPIRED, expires=NOW.timestamp()),
    digest(REVOKED): row(REVOKED, revoked=NOW.timestamp() - 5),
    digest(OWNER_SECRET): row(OWNER_SECRET),
    digest(REFRESH): row(REFRESH),
}


def enter(
    authorization: str | None, *, path: str | None = None, query: str | None = None
) -> Principal:
    gate = Gate(ROWS.get, lambda: NOW)
    return gate.admit(authorization=authorization, path_being=path, query_being=query)


@pytest.mark.requirement("003.auth.brt")
@pytest.mark.parametrize("where", ["path", "query", "both", "upper case"])
def test_an_api_token_enters_with_its_being_in_the_url(where: str) -> None:
    path = {"path": BEING, "both": BEING, "upper case": BEING.upper()}.get(where)
    query = {"query": BEING, "both": BEING}.get(where)

    principal = enter(f"Bearer {API}", path=path, query=query)

    assert principal == Principal(subject=f"tok_{API[-4:]}", being_id=BEING, scopes=FULL)


@pytest.mark.requirement("003.auth.bto")
@pytest.mark.parametrize("path", [None, "", BEING])
def test_an_oauth_token_carries_its_being(path: str | None) -> None:
    principal = enter(f"Bearer {OAUTH}", path=path)

    assert principal == Principal(
        subject=f"tok_{OAUTH[-4:]}", being_id=BEING, scopes=FULL, client="client-1"
    )


@pytest.mark.requirement("003.scope.read-only")
def test_a_read_only_token_enters_without_the_scope_to_write() -> None:
    principal = enter(f"Bearer {READER}", path=BEING)

    assert principal.scopes == READ_ONLY
    assert not principal.may_write


@pytest.mark.requirement("003.auth.bearer")
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", " Bearer  "])
def test_the_scheme_is_read_in_any_case_and_with_spare_blanks(scheme: str) -> None:
    assert enter(f"{scheme} {API}", path=BEING).being_id == BEING


def test_no_header_is_told_apart_from_a_bad_one() -> None:
    with pytest.raises(UnauthorizedError) as refusal:
        enter(None, path=BEING)

    assert refusal.value.presented is False


WRONG_CHECKSUM = API[:-1] + ("0" if API[-1] != "0" else "1")
NOT_VALID = {
    "garbage": "Bearer garbage",
    "wrong checksum": f"Bearer {WRONG_CHECKSUM}",
    "never stored": f"Bearer {UNSTORED}",
    "expired": f"Bearer {EXPIRED}",
    "revoked": f"Bearer {REVOKED}",
    "owner secret": f"Bearer {OWNER_SECRET}",
    "refresh token as access token": f"Bearer {REFRESH}",
    "unsigned JWT": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.",
    "9 kB": "Bearer " + "a" * 9000,
    "9 kB of blanks before a good token": "Bearer " + " " * 9000 + API,
    "non-ASCII": "Bearer brt_" + "\xe9" * 49,
    "lone surrogate": "Bearer brt_" + "\udcff" * 49,
    "full-width digits": "Bearer brt_" + "\uff11" * 49,
    "bare Bearer": "Bearer",
    "Bearer and a blank": "Bearer ",
    "empty": "",
    "token without a scheme": API,
    "Basic scheme": f"Basic {API}",
    "two tokens": f"Bearer {API} {API}",
    "two headers joined": f"Bearer {API}, Bearer {API}",
    "token with a line end": f"Bearer {API}\r\nX: y",
}


@pytest.mark.parametrize("header", NOT_VALID.values(), ids=NOT_VALID.keys())
def test_a_token_that_is_not_valid_is_refused_with_one_text(header: str) -> None:
    with pytest.raises(UnauthorizedError) as refusal:
        enter(header, path=BEING)

    assert refusal.value.presented is True
    assert str(refusal.value).startswith("the token is unknown, malformed, expired or revoked")
    assert API not in str(refusal.value)


@pytest.mark.requirement("003.auth.brt")
def test_an_api_token_without_a_being_in_the_url_is_told_where_to_put_it() -> None:
    with pytest.raises(ForbiddenError, match=r"/mcp/BEING_ID or /mcp\?being_id=BEING_ID"):
        enter(f"Bearer {API}")


@pytest.mark.parametrize("token", [API, OAUTH], ids=["brt", "bto"])
@pytest.mark.parametrize(
    ("path", "query"),
    [
        (OTHER, None),
        (UNKNOWN, None),
        (None, OTHER),
        (None, UNKNOWN),
        (BEING, OTHER),
        (OTHER, BEING),
        (OTHER, OTHER),
    ],
)
def test_another_being_is_forbidden_with_one_text_whether_it_exists_or_not(
    token: str, path: str | None, query: str | None
) -> None:
    with pytest.raises(ForbiddenError) as refusal:
        enter(f"Bearer {token}", path=path, query=query)

    assert str(refusal.value) == "this token does not open that Being"


MALFORMED = [
    "%2f..%2f",
    "%2e%2e",
    "%00",
    "\0",
    "%0d%0a",
    "\r\nX: y",
    '"',
    "a" * 5000,
    "..",
    BEING + "\n",
    BEING + "," + BEING,
    BEING.replace("-", ""),
    "\uff11" + BEING[1:],
]


@pytest.mark.parametrize("being", MALFORMED)
@pytest.mark.parametrize("where", ["path", "query"])
def test_a_malformed_being_is_not_found_and_not_reflected(where: str, being: str) -> None:
    with pytest.raises(UnknownBeingError) as refusal:
        enter(f"Bearer {API}", **{where: being})

    assert str(refusal.value) == "there is no such Being"


@pytest.mark.parametrize("being", MALFORMED)
def test_a_bad_token_is_refused_before_the_url_is_looked_at(being: str) -> None:
    with pytest.raises(UnauthorizedError):
        enter(f"Bearer {UNSTORED}", path=being)


GOOD = {
    "auth": "ok",
    "kind": "brt",
    "token_id": "tok_1",
    "being_id": BEING,
    "scopes": "mcp:read mcp:write",
    "client": "",
}


def test_a_complete_authorizer_context_is_admitted() -> None:
    principal = admit_context(GOOD, path_being=BEING, query_being=None)

    assert principal == Principal(subject="tok_1", being_id=BEING, scopes=FULL)


@pytest.mark.parametrize(
    "changes",
    [
        {"auth": "invalid"},
        {"auth": "OK"},
        {"auth": True},
        {"auth": None},
        {"auth": "bound"},
        {"profile": "home"},
        {"auth": "bound", "profile": ""},
        {"auth": "bound", "profile": ["home"]},
        {"kind": "bos"},
        {"kind": None},
        {"token_id": ""},
        {"token_id": None},
        {"being_id": ""},
        {"being_id": "*"},
        {"being_id": None},
        {"scopes": ""},
        {"scopes": "mcp:write"},
        {"scopes": "admin"},
        {"scopes": ["mcp:read"]},
    ],
    ids=json.dumps,
)
def test_anything_but_a_complete_ok_context_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(UnauthorizedError):
        admit_context({**GOOD, **changes}, path_being=BEING, query_being=None)


def test_a_missing_context_is_refused() -> None:
    with pytest.raises(UnauthorizedError) as refusal:
        admit_context(None, path_being=BEING, query_being=None)

    assert refusal.value.presented is False


@pytest.mark.parametrize("field", sorted(set(GOOD) - {"client"}))
def test_a_context_that_lacks_a_field_is_refused(field: str) -> None:
    context = {name: value for name, value in GOOD.items() if name != field}

    with pytest.raises(UnauthorizedError):
        admit_context(context, path_being=BEING, query_being=None)


def test_scopes_that_nobody_defined_are_not_passed_on() -> None:
    context = {**GOOD, "scopes": "mcp:read admin:everything"}

    assert admit_context(context, path_being=BEING, query_being=None).scopes == READ_ONLY


@given(st.text(), st.text(), st.text())
def test_no_header_and_no_url_ever_crash_the_gate(header: str, path: str, query: str) -> None:
    with pytest.raises(UnauthorizedError):
        enter(header, path=path, query=query)


def failing(sha256: str) -> Mapping[str, object] | None:
    raise ConnectionError(sha256)


def test_a_lookup_that_fails_is_never_taken_for_a_refusal_or_a_yes() -> None:
    with pytest.raises(ConnectionError):
        admission(f"Bearer {API}", failing, now=0)


@pytest.mark.parametrize("header", [None, "Bearer garbage", f"Bearer {WRONG_CHECKSUM}"])
def test_what_cannot_be_a_token_costs_no_read(header: str | None) -> None:
    assert admission(header, failing, now=0) == {"auth": "invalid"}


def test_an_authorized_request_costs_one_read() -> None:
    reads = []

    def lookup(sha256: str) -> Mapping[str, object] | None:
        reads.append(sha256)
        return ROWS.get(sha256)

    Gate(lookup, lambda: NOW).admit(
        authorization=f"Bearer {API}", path_being=BEING, query_being=None
    )

    assert reads == [digest(API)]


@pytest.mark.parametrize(
    ("expires", "live"),
    [(NOW.timestamp() + 0.5, True), (NOW.timestamp(), False), (NOW.timestamp() - 1, False)],
)
def test_a_token_ends_when_the_checking_clock_says_so(expires: float, live: bool) -> None:
    context = admission(
        f"Bearer {API}", {digest(API): row(API, expires=expires)}.get, now=NOW.timestamp()
    )

    assert (context["auth"] == "ok") is live


def test_a_token_made_by_a_clock_that_runs_ahead_works_at_once() -> None:
    made_ahead = row(API, created=NOW.timestamp() + 3600, expires=NOW.timestamp() + 7200)

    context = admission(f"Bearer {API}", {digest(API): made_ahead}.get, now=NOW.timestamp())

    assert context["auth"] == "ok"


@pytest.mark.parametrize("expires", [None, "never", True])
def test_a_row_without_a_proper_end_is_not_valid(expires: object) -> None:
    rows = {digest(API): row(API, expires=expires)}

    assert admission(f"Bearer {API}", rows.get, now=0) == {"auth": "invalid"}
