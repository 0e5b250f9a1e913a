"""The access tokens of one owner for one server, as its transport asks for them."""

import asyncio
from collections.abc import Callable, Mapping

from nacre.core.errors import LoginNeededError
from nacre.gateway.login.challenge import challenge_in
from nacre.gateway.login.logins import Logins, LoginServer


class LoginBearer:
    """Gives the tokens of an owner's login; without an owner, none.

    With `reads_at_once` the store is read in the event loop, where a thread would cost more.
    """

    def __init__(
        self,
        logins: Logins,
        owner: str | None,
        server: LoginServer,
        *,
        one_owner: Callable[[], bool] = lambda: True,
        reads_at_once: bool = False,
    ) -> None:
        self._reads_at_once = reads_at_once
        self._one_owner = one_owner
        self._logins = logins
        self._owner = owner
        self._server = server
        self._need: LoginNeededError | None = None

    async def token(self) -> str | None:
        """Return the token to send; None without a login."""
        if self._owner is None:
            return None
        if self._reads_at_once:
            tokens = self._logins.stored(self._owner, self._server)
            if tokens is None:
                return None
            if self._logins.lasts(tokens):
                return tokens.access
        return await asyncio.to_thread(self._logins.token, self._owner, self._server)

    async def refused(
        self, token: str | None, status: int, headers: Mapping[str, str]
    ) -> str | None:
        """Return a renewed token; None if the owner must log in, or is refused for good."""
        challenge = challenge_in(headers)
        if status == 403 and challenge.error != "insufficient_scope":
            return None
        if status == 401 and token is not None and self._owner is not None:
            renewed = await asyncio.to_thread(
                self._logins.renewed, self._owner, self._server, token
            )
            if renewed is not None:
                return renewed
        await asyncio.to_thread(self._note_need, status, challenge.scopes)
        return None

    def hides_resources(self) -> bool:
        """Tell whether others see the lists that the server makes for this owner."""
        return self._owner is not None and not self._one_owner()

    def take_need(self) -> LoginNeededError | None:
        """Return the login that the server wanted since the last call of this, if any."""
        need, self._need = self._need, None
        return need

    def _note_need(self, status: int, scopes: tuple[str, ...]) -> None:
        owner, server = self._owner, self._server
        has_login = owner is not None and self._logins.status(owner, server.name) is not None
        if owner is not None and scopes:
            missing = self._logins.needs_more(owner, server, scopes)
            if status == 403 and has_login and not missing:
                return  # it was given all that it asks for; logging in again changes nothing
            scopes = missing
        self._need = LoginNeededError(server.name, scopes=scopes, has_login=has_login)
