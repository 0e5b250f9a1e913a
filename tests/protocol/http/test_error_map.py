"""What each error becomes outside."""

import pytest

from nacre.core import errors
from nacre.protocol.http.error_map import explain, tool_error
from nacre.protocol.messages import Failure

OWN = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.NacreError)
]
_WITH_DATA = (
    errors.BlockedError,
    errors.UnauthorizedError,
    errors.InsufficientScopeError,
    errors.UnsupportedVersionError,
    errors.ClientCapabilityError,
    errors.UnknownResourceError,
)


def test_an_unexpected_error_shows_nothing_of_itself() -> None:
    error = ValueError("secret detail")

    assert explain(error, modern=True) == Failure(-32603, "Internal error", None, 500)
    assert explain(error, modern=False) == Failure(-32603, "Internal error", None, 200)
    assert "secret" not in tool_error("x", error)


@pytest.mark.parametrize(
    ("error", "modern", "legacy"),
    [
        (errors.MalformedJsonError("x"), (-32700, 400), (-32700, 400)),
        (errors.MalformedMessageError("x"), (-32600, 400), (-32600, 400)),
        (errors.TooLargeError("x", limit=1), (-32600, 413), (-32600, 413)),
        (errors.InvalidParamsError("x"), (-32602, 400), (-32602, 200)),
        (errors.HeaderMismatchError("x"), (-32020, 400), (-32020, 400)),
        (errors.ClientCapabilityError("x"), (-32021, 400), (-32021, 200)),
        (errors.UnsupportedVersionError("x", supported=()), (-32022, 400), (-32022, 400)),
        (errors.UnknownMethodError("x"), (-32601, 404), (-32601, 200)),
        (errors.NotFoundError("x"), (-32602, 400), (-32602, 200)),
        (errors.UnknownResourceError("x:y"), (-32602, 400), (-32002, 200)),
        (errors.UnauthorizedError("x", presented=True), (401, 401), (401, 401)),
        (errors.ForbiddenError("x"), (403, 403), (403, 403)),
        (errors.InsufficientScopeError("x", required=()), (403, 403), (403, 403)),
        (errors.UnavailableError("x"), (503, 503), (503, 200)),
        (errors.ConflictError("x"), (-32603, 500), (-32603, 200)),
    ],
)
def test_each_kind_has_its_code_and_status(
    error: errors.NacreError, modern: tuple[int, int], legacy: tuple[int, int]
) -> None:
    told = [explain(error, modern=era) for era in (True, False)]

    assert [(each.code, each.status) for each in told] == [modern, legacy]
    assert {each.message for each in told} == {str(error)}


def test_what_is_for_the_owner_is_not_told_to_callers() -> None:
    error = errors.StoreError("/somewhere/nacre.db: the store is damaged")

    for told in (explain(error, modern=True).message, tool_error("x", error)):
        assert ("somewhere" in told, "log says why" in told) == (False, True)


def test_a_refusal_repeats_its_challenge_in_the_body() -> None:
    error = errors.InsufficientScopeError("update_notes", required=("mcp:read", "mcp:write"))

    assert explain(error, modern=True).data == {
        "error": "insufficient_scope",
        "error_description": "update_notes needs a token with full scope; this token is read-only",
        "scope": "mcp:read mcp:write",
    }


def test_every_own_error_tells_a_model_what_was_wrong() -> None:
    for kind in OWN:
        error = kind.__new__(kind)
        Exception.__init__(error, "what to do")

        assert tool_error("x", error) == f"Error: {kind.public or 'what to do'}"


def test_what_the_policy_denies_says_by_which_rule() -> None:
    error = errors.BlockedError("Not today", rule=2, audit="w/7")
    facts = {"decision": "deny", "rule": 2, "audit": "w/7"}

    assert explain(error, modern=True) == Failure(-31001, "Not today", facts, 200)


def test_codes_of_our_own_stay_out_of_the_reserved_range() -> None:
    for kind in OWN:
        error = kind.__new__(kind)
        Exception.__init__(error, "x")
        if isinstance(error, _WITH_DATA):
            continue  # their data needs fields that only their constructors set
        code = explain(error, modern=True).code

        assert code > 0 or code in {-32700, -32600, -32601, -32602, -32603, -32020}
