"""What a refusal tells the client."""

from hypothesis import given
from hypothesis import strategies as st

from nacre.core.errors import ForbiddenError, InsufficientScopeError, UnauthorizedError
from nacre.protocol.http.challenge import challenge_fields, metadata_url, www_authenticate

URL = "https://nacre.example/.well-known/oauth-protected-resource/mcp"
NOTHING_SENT = UnauthorizedError("no token was sent", presented=False)
NOT_VALID = UnauthorizedError("the token has expired", presented=True)
READ_ONLY = InsufficientScopeError("update_notes", required=("mcp:read", "mcp:write"))


def test_a_missing_token_is_asked_for_without_an_error() -> None:
    assert www_authenticate(NOTHING_SENT, resource_metadata=URL) == (
        f'Bearer scope="mcp:read mcp:write", resource_metadata="{URL}"'
    )


def test_metadata_is_named_only_where_there_is_any() -> None:
    assert www_authenticate(NOTHING_SENT) == 'Bearer scope="mcp:read mcp:write"'


def test_a_bad_token_is_called_invalid() -> None:
    assert www_authenticate(NOT_VALID, resource_metadata=URL) == (
        'Bearer error="invalid_token", error_description="the token has expired", '
        f'scope="mcp:read mcp:write", resource_metadata="{URL}"'
    )


def test_a_missing_scope_is_named() -> None:
    assert www_authenticate(READ_ONLY) == (
        'Bearer error="insufficient_scope", error_description='
        '"update_notes needs a token with full scope; this token is read-only", '
        'scope="mcp:read mcp:write"'
    )


def test_a_foreign_being_gets_no_challenge_because_logging_in_again_would_not_help() -> None:
    assert www_authenticate(ForbiddenError("this token does not open that Being")) is None


def test_the_body_repeats_the_challenge() -> None:
    assert challenge_fields(NOT_VALID) == {
        "error": "invalid_token",
        "error_description": "the token has expired",
        "scope": "mcp:read mcp:write",
    }
    assert challenge_fields(ForbiddenError("not yours")) == {
        "error": "access_denied",
        "error_description": "not yours",
    }


def test_metadata_has_its_place_at_the_root_of_the_host() -> None:
    assert metadata_url("https://nacre.example/") == URL
    assert metadata_url("https://nacre.example", part="b") == f"{URL}/b"


@given(st.text())
def test_no_text_breaks_out_of_its_quotes(text: str) -> None:
    value = www_authenticate(InsufficientScopeError(text, required=("mcp:read",)))

    assert value is not None
    assert value.isascii()
    assert value.isprintable()
    assert value.count('"') == 6
