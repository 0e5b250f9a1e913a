"""The login that a request uses, and the question to an owner who must log in first."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from nacre.core.bounded_cache import BoundedCache
from nacre.core.coroutines import is_in_loop
from nacre.core.errors import ClientCapabilityError, LoginNeededError
from nacre.core.limits import LOGIN_ANSWER_SECONDS
from nacre.gateway.servers.config import ServerConfig
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal

if TYPE_CHECKING:
    from nacre.gateway.login.bearer import LoginBearer
    from nacre.gateway.login.logins import Logins, LoginServer
    from nacre.gateway.servers.references import References

_MAX_BEINGS = 1024
_POLL_SECONDS = 0.2


class OwnerLogins:
    """The logins as requests need them.

    `logins` is called only for a server at a URL to which no header gives a token; only then the
    code of logins is loaded. `owner_of` returns the owner of a Being, and `page` the address of
    the console if one is served. Unless there is `one_owner`, lists are for several people, and
    leave out the resources that a server lists for one of them.
    """

    def __init__(
        self,
        logins: "Callable[[], Logins]",
        references: "References",
        *,
        owner_of: Callable[[str], str | None],
        page: Callable[[], str | None],
        one_owner: Callable[[], bool],
    ) -> None:
        self._logins = logins
        self._references = references
        self._owner_of = owner_of
        self._page = page
        self._one_owner = one_owner
        self._owners: BoundedCache[str, str] = BoundedCache(_MAX_BEINGS)

    def owner(self, principal: Principal | None) -> str | None:
        """Return the owner for whom a request is made; a Being never changes its owner."""
        if principal is None:
            return None
        owner = self._owners.get(principal.being_id)
        if owner is None:
            owner = self._owner_of(principal.being_id)
            if owner is not None:
                self._owners[principal.being_id] = owner
        return owner

    def login_owner(self, config: ServerConfig, principal: Principal | None) -> str | None:
        """Return the owner whose login a request uses, None if it needs none.

        Raises LoginNeededError for a server to which only other owners have logged in.
        """
        if not config.takes_login:
            return None
        owners = self._logins().store.owners(config.name)
        if not owners:
            return None
        owner = self.owner(principal)
        if owner not in owners:
            raise LoginNeededError(config.name)
        return owner

    def bearer(self, config: ServerConfig, owner: str | None) -> "LoginBearer | None":
        """Return the tokens of an owner for a server; None for one that takes no login."""
        if not config.takes_login:
            return None
        from nacre.gateway.login.bearer import LoginBearer  # noqa: PLC0415 - see the class

        server = login_server(config, self._references)
        return LoginBearer(self._logins(), owner, server, one_owner=self._one_owner)

    def bearer_of(self, config: ServerConfig, owner: str) -> "LoginBearer | None":
        """Return the tokens of an owner who may have logged in."""
        if not config.takes_login:
            return None
        has_login = self._logins().status(owner, config.name) is not None
        return self.bearer(config, owner if has_login else None)

    async def ask(self, error: LoginNeededError, context: Context) -> None:
        """Ask the person behind a call to log in, and wait until they have.

        Raises the error if the client cannot be asked, or the person does not log in.
        """
        owner, base = self.owner(context.principal), self._page()
        offered = context.capabilities.get("elicitation")
        takes_urls = isinstance(offered, dict) and "url" in offered
        if owner is None or base is None or not takes_urls:
            raise error
        logins, server = self._logins(), error.server
        key = f"login-{server}"
        params = {
            "mode": "url",
            "elicitationId": key,
            "url": f"{base}/logins?server={server}",
            "message": f"Log in to {server}, so that this call can be made for you.",
        }
        try:
            answers = await context.ask({key: {"method": "elicitation/create", "params": params}})
        except ClientCapabilityError:
            raise error from None
        if answers[key].get("action") != "accept":
            raise error
        # The answer says that the person opens the page, not that they have logged in.
        deadline = time.monotonic() + LOGIN_ANSWER_SECONDS
        while not logins.is_complete(owner, server):
            if time.monotonic() >= deadline or context.cancelled:
                raise error
            await _pause()


def login_server(config: ServerConfig, references: "References") -> "LoginServer":
    """Return a configured server for a login, with the references in its values replaced."""
    from nacre.gateway.login.logins import LoginServer  # noqa: PLC0415 - see OwnerLogins

    secret = config.oauth.client_secret
    return LoginServer(
        config.name,
        references.filled(config.url),
        references.filled(config.oauth.client_id),
        references.filled(secret) if secret else None,
        config.oauth.scopes,
    )


async def _pause() -> None:
    if is_in_loop():
        import asyncio  # noqa: PLC0415 - only calls that wait for a login load it

        await asyncio.sleep(_POLL_SECONDS)
    else:  # a blocking call runs in a separate thread
        time.sleep(_POLL_SECONDS)
