"""The codes that a client exchanges for its tokens: one minute, one use, one owner of the proof."""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from nacre.access.oauth.authorization_requests import AccessRequest
from nacre.access.tokens.token_format import digest, kind_of, mint
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, OAuthError
from nacre.core.ids import short_id
from nacre.core.limits import OAUTH_CODE_SECONDS
from nacre.core.token_prefixes import OAUTH_CODE
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Change,
    Every,
    Item,
    Key,
    Present,
    Table,
)

_SCHEMA_VERSION = 1
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_KEPT = timedelta(minutes=10)  # so that a second use is known as one


@dataclass(frozen=True, slots=True)
class Consent:
    """What an owner has allowed; the grant that follows has its id already.

    `session` is where it was allowed.
    """

    grant_id: str
    owner: str
    being_id: str
    client_id: str
    client_name: str
    client_host: str | None
    scopes: frozenset[str]
    resource: str
    session: str = ""


class CodeUsedTwiceError(OAuthError):
    """Somebody else has used the code: what came of it must end."""

    def __init__(self, grant_id: str) -> None:
        super().__init__("invalid_grant", "the code was used before")
        self.grant_id = grant_id


class OAuthCodes:
    """Issues codes and takes them back, once."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def issue(
        self,
        request: AccessRequest,
        *,
        owner: str,
        being_id: str,
        scopes: frozenset[str],
        session: str,
    ) -> str:
        """Return a new code for what an owner has allowed, stored by its hash only."""
        code = mint(OAUTH_CODE, self._rng)
        now = self._clock()
        item: Item = {
            "pk": _key(code).pk,
            "sk": _key(code).sk,
            SCHEMA: _SCHEMA_VERSION,
            "grant_id": f"grant_{short_id(self._rng)}",
            "owner": owner,
            "being_id": being_id,
            "client_id": request.client_id,
            "client_name": request.client_name,
            "client_host": request.client_host,
            "redirect_uri": request.redirect_uri,
            "challenge": request.challenge,
            "resource": request.resource,
            "scopes": " ".join(sorted(scopes)),
            "session": session,
            "expires": int(now.timestamp()) + OAUTH_CODE_SECONDS,
            EXPIRES_AT: int((now + _KEPT).timestamp()),
        }
        self._table.put(item, when=Absent())
        return code

    def redeem(self, code: str, *, client_id: str, redirect_uri: str, verifier: str) -> Consent:
        """Return what was allowed; raises OAuthError, after which the code is of no use.

        It is marked as used before anything about it is compared, so that of many who try
        at once, and of many tries, one counts.
        """
        item = self._mark(code)
        expires = item["expires"]
        assert isinstance(expires, int | float)
        if item["client_id"] != client_id or item["redirect_uri"] != redirect_uri:
            raise _refused("the code was given to another client, or for another redirect_uri")
        if expires <= self._clock().timestamp():
            raise _refused("the code has expired")
        if not _proves(verifier, str(item["challenge"])):
            raise _refused("the code_verifier does not fit the code_challenge")
        host = item["client_host"]
        return Consent(
            grant_id=str(item["grant_id"]),
            owner=str(item["owner"]),
            being_id=str(item["being_id"]),
            client_id=client_id,
            client_name=str(item["client_name"]),
            client_host=None if host is None else str(host),
            scopes=frozenset(str(item["scopes"]).split()),
            resource=str(item["resource"]),
            session=str(item.get("session", "")),  # of before there was one
        )

    def _mark(self, code: str) -> Item:
        if kind_of(code) != OAUTH_CODE:
            raise _refused("there is no such code")
        used = Change(set={"used": int(self._clock().timestamp())})
        try:
            return self._table.update(_key(code), used, when=Every((Present(), Absent("used"))))
        except ConditionFailedError:
            known = self._table.get(_key(code))
            if known is None:
                raise _refused("there is no such code") from None
            raise CodeUsedTwiceError(str(known["grant_id"])) from None


def _proves(verifier: str, challenge: str) -> bool:
    if not _VERIFIER.fullmatch(verifier):
        return False
    hashed = hashlib.sha256(verifier.encode()).digest()
    return hmac.compare_digest(base64.urlsafe_b64encode(hashed).rstrip(b"=").decode(), challenge)


def _refused(reason: str) -> OAuthError:
    return OAuthError("invalid_grant", reason)


def _key(code: str) -> Key:
    return Key(f"OA#{digest(code)}", "CODE")
