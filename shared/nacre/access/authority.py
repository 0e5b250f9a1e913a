"""One object with everything that decides about access in a deployment."""

from random import Random

from nacre.access.beings import Beings
from nacre.access.oauth.authorization_requests import AccessRequests
from nacre.access.oauth.clients import OAuthClients
from nacre.access.oauth.codes import OAuthCodes
from nacre.access.oauth.grants import Grants
from nacre.access.owners import Owners
from nacre.access.rate_limits import RateLimits
from nacre.access.signin.browser_sessions import Sessions
from nacre.access.signin.passkeys import Passkeys
from nacre.access.signin.passwords import Passwords
from nacre.access.signin.sign_in_links import SignInLinks
from nacre.access.signin.sign_in_methods import SignIn
from nacre.access.tokens.store import TokenStore
from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.table import Table
from nacre.ports.other_programs.client_documents import ClientDocuments


@dataclass(frozen=True, slots=True)
class Authority:
    """Owners, their Beings and sessions, and the tokens and clients that they have let in."""

    owners: Owners
    beings: Beings
    tokens: TokenStore
    sessions: Sessions
    sign_in: SignIn
    limits: RateLimits
    clients: OAuthClients
    requests: AccessRequests
    codes: OAuthCodes
    grants: Grants


def authority(
    tokens: Table,
    data: Table,
    *,
    documents: ClientDocuments | None = None,
    clock: Clock,
    rng: Random,
) -> Authority:
    """Return the authority that stores tokens in one table and Beings in the other.

    `documents` fetches the documents of clients; None rejects clients that have one.
    """
    owners = Owners(tokens, clock=clock)
    limits = RateLimits(tokens, clock=clock)
    links = SignInLinks(tokens, clock=clock, rng=rng)
    passwords = Passwords(tokens, clock=clock, rng=rng)
    passkeys = Passkeys(tokens, clock=clock, rng=rng)
    return Authority(
        owners=owners,
        beings=Beings(data, clock=clock, rng=rng),
        tokens=TokenStore(tokens, clock=clock, rng=rng),
        sessions=Sessions(tokens, clock=clock, rng=rng),
        sign_in=SignIn(owners, links, passwords, passkeys, limits),
        limits=limits,
        clients=OAuthClients(tokens, limits, documents=documents, clock=clock, rng=rng),
        requests=AccessRequests(tokens, clock=clock, rng=rng),
        codes=OAuthCodes(tokens, clock=clock, rng=rng),
        grants=Grants(tokens, clock=clock, rng=rng),
    )
