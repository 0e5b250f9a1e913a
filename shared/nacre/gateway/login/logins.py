"""The logins of owners to other servers: begun, finished, renewed and ended."""

import time
from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from nacre.core.clock import Clock
from nacre.core.errors import (
    InvalidInputError,
    LeaseHeldError,
    LoginEndedError,
    LoginError,
    NacreError,
    UnavailableError,
)
from nacre.core.ids import long_secret
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import LOGIN_EARLY_SECONDS, LOGIN_WAIT_SECONDS
from nacre.gateway.login.authorization import (
    TokenEndpoint,
    Tokens,
    authorization_url,
    check_answer,
    refreshed_tokens,
    revoke,
    tokens_for_code,
)
from nacre.gateway.login.challenge import Challenge, challenge_in
from nacre.gateway.login.discovery import (
    AuthorizationServer,
    ProtectedResource,
    checked_url,
    discover,
    iter_scopes,
)
from nacre.gateway.login.registration import LoginClient, given_client, register
from nacre.gateway.login.store import Login, LoginStatus, LoginStore, StartedLogin
from nacre.jobs.lease import Lease, Leases
from nacre.ports.items.table import Key
from nacre.ports.other_programs.login_requests import LoginRequests
from nacre.protocol import strict_json
from nacre.protocol.versions import LEGACY_VERSIONS

_POLL_SECONDS = 0.05
_OFFLINE = "offline_access"


@dataclass(frozen=True, slots=True)
class LoginServer:
    """A server to log in to. The client and scopes are those of its configuration, if given."""

    name: str
    url: str = field(repr=False)  # its query may hold a secret
    client_id: str = ""
    client_secret: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] = ()


class BegunLogin(NamedTuple):
    """The address for the owner's browser, and the state with which it comes back."""

    url: str
    state: str


class Logins:
    """The logins of a deployment. Threads and processes may share them.

    `requests` gives the way to the authorization server of an MCP server, by its URL. A token is
    renewed under a lease: one process asks at a time, and the others take its result. So a refresh
    token that may be used only once is never sent twice.
    """

    def __init__(
        self,
        store: LoginStore,
        requests: Callable[[str], LoginRequests],
        leases: Leases,
        *,
        clock: Clock,
        rng: Random,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.store = store
        self._requests = requests
        self._leases = leases
        self._clock = clock
        self._rng = rng
        self._sleep = sleep

    # Logging in.

    def begin(
        self,
        owner: str,
        server: LoginServer,
        redirect_uri: str,
        *,
        document_url: str | None = None,
    ) -> BegunLogin:
        """Begin a login, and return where the owner's browser goes.

        `document_url` is where this deployment publishes its client, if others can read it.
        Raises LoginError, or UnavailableError if a server does not answer.
        """
        requests = self._requests(server.url)
        challenge = _challenge(server.url, requests)
        resource, provider = discover(server.url, challenge, requests)
        client = self._client(server, provider, redirect_uri, document_url, requests)
        scopes = self._scopes(owner, server, challenge, resource, provider)
        started = StartedLogin(
            owner=owner,
            server=server.name,
            url=server.url,
            at=TokenEndpoint(
                provider.issuer,
                provider.token_endpoint,
                provider.revocation_endpoint,
                resource.resource,
                client,
            ),
            redirect_uri=redirect_uri,
            verifier=long_secret(self._rng),
            scopes=scopes,
            names_itself=provider.names_itself,
        )
        state = long_secret(self._rng)
        self.store.start(state, started)
        url = authorization_url(
            provider.authorization_endpoint,
            started.at,
            redirect_uri=redirect_uri,
            state=state,
            verifier=started.verifier,
            scopes=scopes,
        )
        return BegunLogin(url, state)

    def finish(self, owner: str, query: Mapping[str, str]) -> str:
        """Finish a login with the browser's answer, and return the server's name.

        Only the owner who began it can finish it, and only once.
        """
        state = query.get("state", "")
        started = self.store.take(state, owner) if state else None
        if started is None:
            raise LoginError("it began too long ago, or was finished already; begin again")
        code = check_answer(
            query, state=state, issuer=started.at.issuer, names_itself=started.names_itself
        )
        requests = self._requests(started.url)
        try:
            tokens = tokens_for_code(
                started.at,
                code,
                redirect_uri=started.redirect_uri,
                verifier=started.verifier,
                scopes=started.scopes,
                requests=requests,
                now=self._now(),
            )
        except LoginEndedError as error:
            if error.code != "invalid_grant":  # the next login registers again
                self.store.forget_client(started.at.issuer, started.redirect_uri)
            raise LoginError(f"its authorization server gave no token ({error.code})") from error
        login = Login(started.at, tokens, long_secret(self._rng))
        self.store.save(owner, started.server, started.url, login)
        self.store.forget_wanted(owner, started.server)
        return started.server

    def log_out(self, owner: str, server: LoginServer) -> bool | None:
        """Remove the owner's login and revoke its tokens; return None if there is none.

        Return False if the server offers no way to revoke them, or cannot be asked now.
        """
        login = self.store.load(owner, server.name, server.url)
        if not self.store.remove(owner, server.name):
            return None
        self.store.forget_wanted(owner, server.name)
        if login is None:
            return False
        try:
            return revoke(login.at, login.tokens, self._requests(server.url))
        except (UnavailableError, InvalidInputError):
            return False

    # Tokens.

    def stored(self, owner: str, server: LoginServer) -> Tokens | None:
        """Return the tokens of a login as they are stored, without asking any server."""
        login = self.store.load(owner, server.name, server.url)
        return None if login is None else login.tokens

    def lasts(self, tokens: Tokens) -> bool:
        """Tell whether tokens need not be renewed yet."""
        return tokens.expires is None or tokens.expires - LOGIN_EARLY_SECONDS > self._now()

    def token(self, owner: str, server: LoginServer) -> str | None:
        """Return the access token for a request, renewed if it ends soon; None without a login."""
        tokens = self.stored(owner, server)
        if tokens is None:
            return None
        if self.lasts(tokens):
            return tokens.access
        try:
            return self.renewed(owner, server, tokens.access)
        except UnavailableError:
            if tokens.expires is not None and tokens.expires > self._now():
                return tokens.access  # it is early enough to try again
            raise

    def renewed(self, owner: str, server: LoginServer, refused: str) -> str | None:
        """Return another token than the refused one; None if the owner must log in again."""
        key = Key(f"LOGIN#{server.name}", f"RENEWING#{owner}")
        deadline = time.monotonic() + LOGIN_WAIT_SECONDS
        while True:
            login = self.store.load(owner, server.name, server.url)
            if login is None or login.tokens.access != refused:
                return _access(login)
            if login.tokens.refresh is None:
                self.store.remove(owner, server.name, only=login)
                return None
            try:
                lease = self._leases.take(key)
            except LeaseHeldError as error:
                if time.monotonic() >= deadline:
                    text = f"another process is renewing the login to '{server.name}'; try again"
                    raise UnavailableError(text) from error
                self._sleep(_POLL_SECONDS)
                continue
            try:
                return self._renew(owner, server, refused, lease)
            finally:
                self._leases.give_back(lease)

    def _renew(self, owner: str, server: LoginServer, refused: str, lease: Lease) -> str | None:
        login = self.store.load(owner, server.name, server.url)  # as its last holder left it
        if login is None or login.tokens.access != refused:
            return _access(login)
        requests = self._requests(server.url)
        try:
            tokens = refreshed_tokens(login.at, login.tokens, requests=requests, now=self._now())
        except LoginEndedError:
            self.store.remove(owner, server.name, only=login)
            return None
        fresh = Login(login.at, tokens, long_secret(self._rng))
        checks = (lease.still_held(),)
        if not self.store.save(
            owner, server.name, server.url, fresh, replaces=login, checks=checks
        ):
            # The owner has logged out meanwhile, or in again: this login must not come back.
            _revoke_quietly(fresh, requests)
            current = self.store.load(owner, server.name, server.url)
            return _access(current)
        return tokens.access

    def needs_more(
        self, owner: str, server: LoginServer, scopes: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Remember the scopes that a server asks for; return those that the login lacks."""
        login = self.store.load(owner, server.name, server.url)
        granted = () if login is None else login.tokens.scopes
        missing = tuple(scope for scope in scopes if scope not in granted)
        if missing:
            self.store.want(owner, server.name, tuple(iter_scopes(granted, scopes)))
        return missing

    def status(self, owner: str, server: str) -> LoginStatus | None:
        """Return the facts about the owner's login to a server, None without one."""
        return self.store.status(owner, server)

    def is_complete(self, owner: str, server: str) -> bool:
        """Tell whether the owner has logged in with all rights that the server asked for."""
        return self.status(owner, server) is not None and not self.store.wanted(owner, server)

    # Steps.

    def _client(
        self,
        server: LoginServer,
        provider: AuthorizationServer,
        redirect_uri: str,
        document_url: str | None,
        requests: LoginRequests,
    ) -> LoginClient:
        if server.client_id:
            return given_client(server.client_id, server.client_secret, provider)
        if document_url is not None and provider.takes_documents:
            return LoginClient(document_url)
        client = self.store.client(provider.issuer, redirect_uri)
        if client is None:
            client = register(provider, redirect_uri, requests)
            self.store.save_client(provider.issuer, redirect_uri, client)
        return client

    def _scopes(
        self,
        owner: str,
        server: LoginServer,
        challenge: Challenge,
        resource: ProtectedResource,
        provider: AuthorizationServer,
    ) -> tuple[str, ...]:
        """Return the scopes to ask for: those of the configuration, else what the server says."""
        login = self.store.load(owner, server.name, server.url)
        before = () if login is None else login.tokens.scopes
        usual = server.scopes or challenge.scopes or resource.scopes
        more = self.store.wanted(owner, server.name)
        scopes = tuple(iter_scopes(usual, before, more))
        if scopes and _OFFLINE in provider.scopes:
            scopes = tuple(iter_scopes(scopes, (_OFFLINE,)))
        return scopes

    def _now(self) -> float:
        return self._clock().timestamp()


def _challenge(server_url: str, requests: LoginRequests) -> Challenge:
    """Return the challenge of a server to a client without a token.

    A server that answers may still ask for a token later; its metadata tells.
    """
    checked_url(server_url, "the URL of the server")
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": LEGACY_VERSIONS[0],
            "capabilities": {},
            "clientInfo": {"name": "nacre", "version": "1"},
        },
    }
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
    }
    reply = requests.send("POST", server_url, headers, strict_json.encode(hello))
    return challenge_in(reply.headers) if reply.status in (401, 403) else Challenge()


def _access(login: Login | None) -> str | None:
    return None if login is None else login.tokens.access


def _revoke_quietly(login: Login, requests: LoginRequests) -> None:
    try:
        revoke(login.at, login.tokens, requests)
    except NacreError:
        return  # its owner wanted it to end; it ends by itself
