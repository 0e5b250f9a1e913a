"""The requests of a login: to the owner's browser, for tokens, and to revoke them."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from nacre.core.errors import LoginEndedError, LoginError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.gateway.login.challenge import scopes_in
from nacre.gateway.login.discovery import is_same_issuer, json_object
from nacre.gateway.login.registration import LoginClient
from nacre.ports.other_programs.login_requests import LoginRequests, Reply

_ENDED = ("invalid_grant", "invalid_client", "unauthorized_client")
_MAX_TOKEN = 16_000  # letters; servers refuse longer headers
_LONGEST_SECONDS = 366 * 86_400


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """The endpoint that gives tokens, and the client that asks for them."""

    issuer: str
    token_url: str
    revocation_url: str | None
    resource: str
    client: LoginClient


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a login; `expires` is in epoch seconds, None if the server does not say."""

    access: str = field(repr=False)
    refresh: str | None = field(repr=False)
    expires: int | None
    scopes: tuple[str, ...]


def authorization_url(
    endpoint: str,
    at: TokenEndpoint,
    *,
    redirect_uri: str,
    state: str,
    verifier: str,
    scopes: tuple[str, ...],
) -> str:
    """Return the address to which the owner's browser goes."""
    fields = {
        "response_type": "code",
        "client_id": at.client.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": pkce_challenge(verifier),
        "code_challenge_method": "S256",
        "resource": at.resource,
    }
    if scopes:
        fields["scope"] = " ".join(scopes)
    if "offline_access" in scopes:  # OpenID gives no refresh token without asking the person
        fields["prompt"] = "consent"
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}"


def pkce_challenge(verifier: str) -> str:
    """Return the S256 challenge of a verifier (RFC 7636)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def check_answer(query: Mapping[str, str], *, state: str, issuer: str, names_itself: bool) -> str:
    """Return the code in a browser's answer; raises LoginError.

    The issuer is compared first (RFC 9207): the answer of another server is not read at all.
    """
    if not hmac.compare_digest(query.get("state", "").encode(), state.encode()):
        raise LoginError("the answer belongs to another login")
    named = query.get("iss")
    if named is None and names_itself:
        raise LoginError("the answer does not say which server it comes from (iss)")
    if named is not None and not is_same_issuer(named, issuer):
        raise LoginError("the answer comes from another authorization server (iss)")
    if "error" in query:
        word = _word(query["error"])
        if word == "access_denied":
            raise LoginError("the login was declined")
        raise LoginError(f"its authorization server refused the login ({word})")
    if not query.get("code"):
        raise LoginError("the answer holds no code")
    return query["code"]


def tokens_for_code(
    at: TokenEndpoint,
    code: str,
    *,
    redirect_uri: str,
    verifier: str,
    scopes: tuple[str, ...],
    requests: LoginRequests,
    now: float,
) -> Tokens:
    """Exchange a code for tokens; raises LoginError or UnavailableError."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
        "resource": at.resource,
    }
    return read_tokens(_post(at.token_url, at.client, form, requests), scopes=scopes, now=now)


def refreshed_tokens(
    at: TokenEndpoint, tokens: Tokens, *, requests: LoginRequests, now: float
) -> Tokens:
    """Exchange a refresh token; raises LoginEndedError if the owner must log in again."""
    assert tokens.refresh is not None
    form = {
        "grant_type": "refresh_token",
        "refresh_token": tokens.refresh,
        "resource": at.resource,
    }
    reply = _post(at.token_url, at.client, form, requests)
    fresh = read_tokens(reply, scopes=tokens.scopes, now=now)
    # A server that does not rotate its refresh tokens need not repeat them.
    return Tokens(fresh.access, fresh.refresh or tokens.refresh, fresh.expires, fresh.scopes)


def revoke(at: TokenEndpoint, tokens: Tokens, requests: LoginRequests) -> bool:
    """Revoke the tokens (RFC 7009); return False if the server offers no way."""
    if at.revocation_url is None:
        return False
    kinds = (("refresh_token", tokens.refresh), ("access_token", tokens.access))
    for kind, token in kinds:
        if token:
            form = {"token": token, "token_type_hint": kind}
            reply = _post(at.revocation_url, at.client, form, requests)
            if reply.status >= 400:
                raise UnavailableError(f"the token was not revoked (HTTP {reply.status})")
    return True


def read_tokens(reply: Reply, *, scopes: tuple[str, ...], now: float) -> Tokens:
    """Return the tokens in an answer; `scopes` are those that were asked for."""
    fields = json_object(reply.body)
    if reply.status != 200 or fields is None or "error" in fields:
        raise _refusal(reply.status, fields or {})
    access, refresh = fields.get("access_token"), fields.get("refresh_token")
    kind = fields.get("token_type", "bearer")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise LoginError("its authorization server gave a token of an unknown kind")
    if not _is_token(access) or not (refresh is None or _is_token(refresh)):
        raise LoginError("its authorization server gave no usable token")
    granted = fields.get("scope")
    return Tokens(
        str(access),
        refresh,
        _end(fields.get("expires_in"), now),
        scopes_in(granted) if isinstance(granted, str) else scopes,
    )


def _refusal(status: int, fields: Mapping[str, Any]) -> LoginError | UnavailableError:
    word = _word(fields.get("error"))
    if status >= 500 or status == 429:
        return UnavailableError(f"its authorization server cannot answer now (HTTP {status})")
    if word in _ENDED:
        return LoginEndedError(word)
    return LoginError(f"its authorization server gave no token ({word})")


def _post(url: str, client: LoginClient, form: Mapping[str, str], requests: LoginRequests) -> Reply:
    headers = {
        "accept": "application/json",
        "content-type": "application/x-www-form-urlencoded",
    }
    # Servers of the official Python SDK look for the id here, also beside Basic.
    fields = {**form, "client_id": client.client_id}
    secret = client.client_secret or ""
    if client.auth_method == "client_secret_basic":
        pair = f"{quote(client.client_id, safe='')}:{quote(secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif client.auth_method == "client_secret_post":
        fields["client_secret"] = secret
    return requests.send("POST", url, headers, urlencode(fields).encode())


def _end(seconds: object, now: float) -> int | None:
    if isinstance(seconds, str) and seconds.isdigit():  # some servers write the number as text
        seconds = int(seconds[:10])
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        return None
    return int(now + min(seconds, _LONGEST_SECONDS))


def _is_token(value: object) -> bool:
    """Tell whether a token can be sent in a header."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= _MAX_TOKEN
        and all("!" <= letter <= "~" for letter in value)
    )


def _word(value: object) -> str:
    """Return an error code of the protocol, or nothing of a text that is none."""
    is_word = isinstance(value, str) and value.replace("_", "").replace("-", "").isalnum()
    return str(value)[:40] if is_word and str(value).isascii() else "no valid error code"
