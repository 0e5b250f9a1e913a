"""How an owner proves who they are: by a link from the command line, or by a password.

Another way, such as a passkey, is one more method here that counts its attempts and returns
the owner's name or None; the session that follows is the same.
"""

from dataclasses import dataclass

from nacre.access.owners import Owners
from nacre.access.passwords import Passwords
from nacre.access.rate_limits import RateLimits
from nacre.access.sign_in_links import SignInLinks
from nacre.errors import NotFoundError
from nacre.limits import PASSWORD_ATTEMPTS, SIGN_IN_ATTEMPTS, SIGN_IN_WINDOW_SECONDS

_ATTEMPTS = "attempts to sign in"


@dataclass(frozen=True, slots=True)
class SignIn:
    """The ways in; each raises RateLimitedError when it was tried too often."""

    owners: Owners
    links: SignInLinks
    passwords: Passwords
    limits: RateLimits

    def by_link(self, secret: str, *, address: str) -> str | None:
        """Return whose link it is, this once; None for one that does not count.

        A link that counts is never refused for the attempts of others, who may share an
        address with its owner: it cannot be guessed.
        """
        owner = self.links.use(secret)
        if owner is not None and self._exists(owner):
            return owner
        self._count("link", address)
        return None

    def by_password(self, owner: str, password: str, *, address: str) -> str | None:
        """Return the owner whose password it is, or None.

        Ten wrong ones close this way for a quarter of an hour, from wherever they came: a
        link still lets the owner in.
        """
        self._count("password", address)
        self.limits.take(
            _ATTEMPTS, f"owner {owner}", most=PASSWORD_ATTEMPTS, seconds=SIGN_IN_WINDOW_SECONDS
        )
        if not self.passwords.match(owner, password) or not self._exists(owner):
            return None
        self.limits.forget(_ATTEMPTS, f"owner {owner}", seconds=SIGN_IN_WINDOW_SECONDS)
        return owner

    def _count(self, way: str, address: str) -> None:
        self.limits.take(
            _ATTEMPTS, f"{way} {address}", most=SIGN_IN_ATTEMPTS, seconds=SIGN_IN_WINDOW_SECONDS
        )

    def _exists(self, owner: str) -> bool:
        try:
            self.owners.get(owner)
        except NotFoundError:
            return False
        return True
