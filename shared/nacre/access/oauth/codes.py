"""Authorization codes: a client exchanges one for its tokens, once and within a minute."""

import base64
import hashlib
import hmac
import re
from datetime import timedelta
from random import Random

from nacre.access.oauth.authorization_requests import AccessRequest
from nacre.access.tokens.secret_rows import SecretRows
from nacre.access.tokens.token_format import kind_of, mint
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, OAuthError
from nacre.core.ids import short_id
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import OAUTH_CODE_SECONDS
from nacre.core.token_prefixes import OAUTH_CODE
from nacre.ports.items.table import Item, Table, fields_in

_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_ROW_LIFETIME = timedelta(minutes=10)  # longer than the code, to recognize a second use


@dataclass(frozen=True, slots=True)
class Consent:
    """An owner's decision to give a client access.

    `grant_id` is the id of the grant to create, and `session` the session in which the owner
    decided.
    """

    grant_id: str
    owner: str
    being_id: str
    client_id: str
    client_name: str
    client_host: str | None
    scopes: frozenset[str]
    resource: str
    session: str = ""  # absent from older rows


class CodeUsedTwiceError(OAuthError):
    """The code was used before, so the grant that was issued for it must be revoked."""

    def __init__(self, grant_id: str) -> None:
        super().__init__("invalid_grant", "the code was used before")
        self.grant_id = grant_id


class OAuthCodes:
    """Issues codes and redeems each of them once."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._rows = SecretRows(table, "OA", "CODE")
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
        """Return a new code for a request that the owner allowed; only its hash is stored."""
        code = mint(OAUTH_CODE, self._rng)
        now = self._clock()
        fields: Item = {
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
        }
        self._rows.add(code, fields, until=int((now + _ROW_LIFETIME).timestamp()))
        return code

    def redeem(self, code: str, *, client_id: str, redirect_uri: str, verifier: str) -> Consent:
        """Return the owner's consent; raises OAuthError when the code cannot be redeemed.

        The code is marked as used before anything is compared, so only one attempt counts, even
        if it fails.
        """
        item = self._mark_used(code)
        expires = item["expires"]
        assert isinstance(expires, int | float)
        if item["client_id"] != client_id or item["redirect_uri"] != redirect_uri:
            raise _refused("the code was issued to another client, or for another redirect_uri")
        if expires <= self._clock().timestamp():
            raise _refused("the code has expired")
        if not _proves(verifier, str(item["challenge"])):
            raise _refused("the code_verifier does not match the code_challenge")
        scopes = frozenset(str(item["scopes"]).split())
        return Consent(**{**fields_in(item, Consent), "scopes": scopes})

    def _mark_used(self, code: str) -> Item:
        if kind_of(code) != OAUTH_CODE:
            raise _refused("there is no such code")
        try:
            return self._rows.redeem(code, self._clock())
        except ConditionFailedError:
            row = self._rows.get(code)
            if row is None:
                raise _refused("there is no such code") from None
            raise CodeUsedTwiceError(str(row["grant_id"])) from None


def _proves(verifier: str, challenge: str) -> bool:
    if not _VERIFIER.fullmatch(verifier):
        return False
    hashed = hashlib.sha256(verifier.encode()).digest()
    return hmac.compare_digest(base64.urlsafe_b64encode(hashed).rstrip(b"=").decode(), challenge)


def _refused(reason: str) -> OAuthError:
    return OAuthError("invalid_grant", reason)
