"""How an owner proves who they are: by a link from the command line, a password or a passkey.

Another way is one more method here that counts its attempts and returns the owner's name or
None; the session that follows is the same.
"""

from dataclasses import dataclass

from nacre.access.owners import Owners
from nacre.access.rate_limits import RateLimits
from nacre.access.signin.passkeys import Passkeys, Purpose, Signed
from nacre.access.signin.passwords import Passwords
from nacre.access.signin.sign_in_links import SignInLinks
from nacre.access.signin.webauthn import Site
from nacre.core.errors import NotFoundError
from nacre.core.limits import (
    PASSKEY_CHALLENGES,
    PASSWORD_ATTEMPTS,
    SIGN_IN_ATTEMPTS,
    SIGN_IN_WINDOW_SECONDS,
)

_ATTEMPTS = "attempts to sign in"


@dataclass(frozen=True, slots=True)
class SignIn:
    """The ways in; each raises RateLimitedError when it was tried too often."""

    owners: Owners
    links: SignInLinks
    passwords: Passwords
    passkeys: Passkeys
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

    def ask_passkey(self, purpose: Purpose, *, browser: str, address: str) -> str:
        """Return a challenge for a passkey, bound to one browser."""
        self.limits.take(
            "passkeys asked for", address, most=PASSKEY_CHALLENGES, seconds=SIGN_IN_WINDOW_SECONDS
        )
        return self.passkeys.ask(purpose, browser)

    def by_passkey(self, signed: Signed, *, browser: str, address: str, site: Site) -> str | None:
        """Return the owner whose passkey has signed, or None for an owner who is gone.

        Raises InvalidInputError, which says why, for a passkey that does not count. Ten such
        answers close this one passkey for a quarter of an hour, from wherever they came.
        """
        self._count("passkey", address)
        who = f"credential {signed.credential}"
        self.limits.take(_ATTEMPTS, who, most=PASSWORD_ATTEMPTS, seconds=SIGN_IN_WINDOW_SECONDS)
        owner = self.passkeys.match(signed, browser=browser, site=site)
        self.limits.forget(_ATTEMPTS, who, seconds=SIGN_IN_WINDOW_SECONDS)
        return owner if self._exists(owner) else None

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
