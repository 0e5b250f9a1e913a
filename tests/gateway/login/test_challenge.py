"""The challenge of a server: what its header says, and where its metadata is looked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.gateway.login.challenge import Challenge, challenge_in, scopes_in
from nacre.gateway.login.discovery import authorization_server_urls, resource_urls

META = "https://mcp.example.com/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        # The forms in which RFC 6750, RFC 9728 and the MCP specification write it.
        ("Bearer", Challenge()),
        ('Bearer realm="example"', Challenge()),
        (f'Bearer resource_metadata="{META}"', Challenge(META)),
        (
            f'Bearer resource_metadata="{META}", scope="files:read"',
            Challenge(META, ("files:read",)),
        ),
        (
            'Bearer error="insufficient_scope", scope="files:read files:write user:profile",'
            f' resource_metadata="{META}", error_description="Additional permission, required"',
            Challenge(META, ("files:read", "files:write", "user:profile"), "insufficient_scope"),
        ),
        ("bearer error=invalid_token", Challenge(error="invalid_token")),
        (f'Basic realm="a, Bearer b", Bearer resource_metadata="{META}"', Challenge(META)),
        (f'Negotiate abc==, Bearer resource_metadata="{META}"', Challenge(META)),
        (f'DPoP algs="ES256", Bearer resource_metadata="{META}"', Challenge(META)),
        (f'Bearer realm="say \\"hi\\"", resource_metadata="{META}"', Challenge(META)),
        ('Basic realm="x"', Challenge()),
        ("", Challenge()),
        ('Bearer scope="a\x00b"', Challenge()),
    ],
)
def test_a_challenge_is_read(header: str, expected: Challenge) -> None:
    assert challenge_in({"www-authenticate": header}) == expected


def test_a_header_that_a_gateway_has_renamed_is_read() -> None:
    name = "x-amzn-remapped-www-authenticate"
    assert challenge_in({name: f'Bearer resource_metadata="{META}"'}).metadata_url == META


@given(st.text(alphabet=st.characters(max_codepoint=255)))
def test_any_header_is_read(header: str) -> None:
    challenge = challenge_in({"www-authenticate": header})
    assert all(scopes_in(scope) == (scope,) for scope in challenge.scopes)


def test_metadata_is_looked_for_at_the_path_and_then_at_the_root() -> None:
    assert resource_urls("https://example.com/public/mcp", Challenge()) == [
        "https://example.com/.well-known/oauth-protected-resource/public/mcp",
        "https://example.com/.well-known/oauth-protected-resource",
    ]
    assert resource_urls("https://example.com", Challenge()) == [
        "https://example.com/.well-known/oauth-protected-resource",
    ]


def test_an_issuer_with_a_path_is_looked_for_in_three_places() -> None:
    assert authorization_server_urls("https://auth.example.com/tenant1") == [
        "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
        "https://auth.example.com/.well-known/openid-configuration/tenant1",
        "https://auth.example.com/tenant1/.well-known/openid-configuration",
    ]
    assert authorization_server_urls("https://auth.example.com") == [
        "https://auth.example.com/.well-known/oauth-authorization-server",
        "https://auth.example.com/.well-known/openid-configuration",
    ]
