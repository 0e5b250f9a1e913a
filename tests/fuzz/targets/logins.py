"""What servers and their authorization servers say in a login: taken whole, or refused."""

import json
from urllib.parse import urlsplit

from nacre.core.errors import LoginError, UnavailableError
from nacre.gateway.login.authorization import check_answer, read_tokens
from nacre.gateway.login.challenge import challenge_in, scopes_in
from nacre.gateway.login.discovery import (
    checked_url,
    json_object,
    read_authorization_server,
    read_resource,
    resource_urls,
)
from nacre.gateway.login.registration import read_registration
from nacre.ports.other_programs.login_requests import Reply

SERVER = "https://mcp.example/deep/mcp"
ISSUER = "https://auth.example/tenant"
METADATA = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "registration_endpoint": f"{ISSUER}/register",
    "code_challenge_methods_supported": ["S256"],
}
LENGTH = 1500
SEEDS = (
    b"",
    b'\0Bearer error="insufficient_scope", scope="a b", resource_metadata="https://a.example/m"',
    b'\0Negotiate abc==, Basic realm="x, Bearer", bearer scope=a',
    b"\1" + json.dumps({"resource": SERVER, "authorization_servers": [ISSUER]}).encode(),
    b'\1{"resource":"https://mcp.example","authorization_servers":["http://127.0.0.1:1"]}',
    b"\2" + json.dumps(METADATA).encode(),
    b'\3{"client_id":"c","client_secret":"s","client_secret_expires_at":1}',
    b'\4{"access_token":"a","token_type":"Bearer","expires_in":"3600","scope":"x y"}',
    b"\4" + b'{"access_token":"a","refresh_token":"\\n","expires_in":1e400}',
    b"\5https://a.example/x?y#z",
    b"\5https://[::1/\\@b",
    b"\6https://auth.example/tenant",
    b"\6https://auth]example",
)


def one(data: bytes) -> None:
    """Take the input for what its first byte says."""
    kind, rest = (data[:1] or b"\0")[0] % 7, data[1:]
    text = rest.decode("utf-8", "replace")
    try:
        _take(kind, rest, text)
    except (LoginError, UnavailableError):
        return


def _take(kind: int, rest: bytes, text: str) -> None:
    fields = json_object(rest) or {}
    match kind:
        case 0:
            challenge = challenge_in({"www-authenticate": text})
            assert all(scopes_in(scope) == (scope,) for scope in challenge.scopes)
            assert all(_is_safe(url) for url in resource_urls(SERVER, challenge))
        case 1:
            resource = read_resource(fields, SERVER)
            assert urlsplit(resource.resource).hostname == "mcp.example"
            assert _is_safe(resource.issuer)
        case 2:
            server = read_authorization_server(fields, ISSUER)
            assert server.issuer == ISSUER
            assert _is_safe(server.authorization_endpoint)
            assert _is_safe(server.token_endpoint)
        case 3:
            client = read_registration(fields, "none")
            assert (client.client_secret is None) == (client.auth_method == "none")
        case 4:
            tokens = read_tokens(Reply(200, {}, rest), scopes=(), now=0.0)
            for token in (tokens.access, tokens.refresh or "x"):
                assert token.isascii()
                assert token.isprintable()
                assert " " not in token
        case 5:
            assert _is_safe(checked_url(text, "it"))
        case _:
            query = {"state": "s", "iss": text, "code": "c"}
            check_answer(query, state="s", issuer=ISSUER, names_itself=True)
            assert text == ISSUER


def _is_safe(url: str) -> bool:
    parts = urlsplit(url)
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    return "@" not in parts.netloc and (parts.scheme == "https" or is_local)
