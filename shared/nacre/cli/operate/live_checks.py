"""The checks of `nacre doctor --stack NAME --live`, after a real deployment."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from datetime import timedelta

from nacre.access.scopes import SCOPES_BY_NAME
from nacre.cli.being_options import Place
from nacre.cli.operate.finding import Finding, attempt
from nacre.core.token_prefixes import API
from nacre.http_client.address import parse_address
from nacre.http_client.client import HttpClient
from nacre.http_client.errors import HttpError
from nacre.wiring.compose import Home
from nacre.wiring.outgoing import outgoing_of
from nacre.wiring.settings import Settings

_TIMEOUT_SECONDS = 29
_CHALLENGE = "www-authenticate"
_RENAMED = "x-amzn-remapped-www-authenticate"
_LIFETIME = timedelta(minutes=10)
_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_WRITE = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "update_notes", "arguments": {"notes": ["never written"]}},
}
_FRONT = "deploy with Front=cloudfront: see docs/guides/operate-aws.md"


def check_live(home: Home, place: Place) -> list[Finding]:
    """Check the stack's answers over HTTP, and the state of its resources on AWS.

    A token is created for ten minutes and revoked; nothing else is changed.
    """
    url = home.ports.mcp_url or ""
    findings = attempt("no token", lambda: _check_stranger(url))
    findings += attempt("wrong token", lambda: _check_wrong_token(url))
    findings += attempt("read-only token", lambda: _check_token(home, place, url))
    deployment = home.ports.deployment
    if deployment is not None:
        findings += [
            Finding(fact.check, fact.state, fact.found, fact.advice) for fact in deployment.facts()
        ]
    return findings


def _check_stranger(url: str) -> Iterator[Finding]:
    status, headers = _post(url, _PING)
    if status != 401:
        advice = "check the routes of the API: mcp has an authorizer"
        yield Finding("no token", "fail", f"a request without a token gets {status}", advice)
    elif _CHALLENGE in headers:
        yield Finding("no token", "ok", "401, with a challenge that says where to log in")
    else:
        problem = "401 without a challenge; clients that need one must be told to log in"
        yield Finding("no token", "warn", problem, _FRONT)


def _check_wrong_token(url: str) -> Iterator[Finding]:
    status, headers = _post(url, _PING, token=f"{API}_of_nobody")
    if status != 401:
        problem = f"a request with a wrong token gets {status} instead of 401"
        yield Finding("wrong token", "fail", problem, "see the log groups of the two functions")
    elif _CHALLENGE in headers:
        yield Finding("wrong token", "ok", "401, and the header WWW-Authenticate arrives")
    elif _RENAMED in headers:
        problem = f"401, but API Gateway renames WWW-Authenticate to {_RENAMED}"
        advice = "most clients read the metadata instead; tell yours its URL if it does not log in"
        yield Finding("wrong token", "warn", problem, advice)
    else:
        yield Finding("wrong token", "warn", "401 without a challenge", _FRONT)


def _check_token(home: Home, place: Place, url: str) -> Iterator[Finding]:
    beings = home.beings.of_owner(place.owner_name)
    if not beings:
        yield Finding("read-only token", "warn", "not seen: there is no Being to ask for")
        return
    being_id = beings[0].being_id
    issued = home.tokens.issue(
        API,
        being_id=being_id,
        owner=place.owner_name,
        scopes=SCOPES_BY_NAME["read-only"],
        lifetime=_LIFETIME,
        label="nacre doctor",
    )
    here = f"{url}/{being_id}"
    try:
        ping, _ = _post(here, _PING, token=issued.token)
        write, _ = _post(here, _WRITE, token=issued.token)
    finally:
        home.tokens.revoke(issued.record.token_id, being_id=being_id)
    if ping == 200:
        yield Finding("grants", "ok", "the functions may use both tables and the key")
    else:
        advice = "look for AccessDenied in the log groups, and deploy the template again"
        yield Finding("grants", "fail", f"a valid token gets {ping} instead of 200", advice)
    if write == 403:
        yield Finding("read-only token", "ok", "403 for a tool that writes")
    else:
        problem = f"a tool that writes answers {write} instead of 403"
        yield Finding("read-only token", "fail", problem, "deploy the template again")


def _post(url: str, message: object, *, token: str = "") -> tuple[int, Mapping[str, str]]:
    """Return the status and the headers of an answer; status 0 if there is none."""
    address = parse_address(url)
    body = json.dumps(message).encode()
    headers = [
        (b"host", address.authority.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"content-type", b"application/json"),
        (b"accept", b"application/json, text/event-stream"),
    ]
    if token:
        headers.append((b"authorization", f"Bearer {token}".encode()))

    outgoing = outgoing_of(Settings.from_environment())

    async def post() -> tuple[int, Mapping[str, str]]:
        client = HttpClient(outgoing=outgoing, connect_seconds=_TIMEOUT_SECONDS)
        response = await client.send(
            "POST", address, tuple(headers), body, seconds=_TIMEOUT_SECONDS
        )
        response.close()
        return response.status, response.headers

    try:
        return asyncio.run(post())
    except HttpError:
        return 0, {}
