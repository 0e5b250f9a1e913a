"""The ways to sign in: a link from the command line, a password or a passkey.

To add a method, write one that counts its attempts and returns the owner's name or None. All
methods lead to the same kind of session.
"""

from nacre.access.owners import Owners
from nacre.access.rate_limits import RateLimits
from nacre.access.signin.passkeys import Passkeys, PasskeySignature, Purpose
from nacre.access.signin.passwords import Passwords
from nacre.access.signin.sign_in_links import SignInLinks
from nacre.access.signin.webauthn import Site
from nacre.core.errors import NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import (
    PASSKEY_CHALLENGES,
    PASSWORD_ATTEMPTS,
    SIGN_IN_ATTEMPTS,
    SIGN_IN_WINDOW_SECONDS,
)

_ATTEMPTS = "attempts to sign in"


@dataclass(frozen=True, slots=True)
class SignIn:
    """The ways to sign in; each raises RateLimitedError after too many attempts."""

    owners: Owners
    links: SignInLinks
    passwords: Passwords
    passkeys: Passkeys
    limits: RateLimits

    def by_link(self, secret: str, *, address: str) -> str | None:
        """Redeem a link and return its owner; None for an invalid link.

        A valid link is accepted even when the address made too many attempts: others may share
        the address, and links cannot be guessed.
        """
        owner = self.links.use(secret)
        if owner is not None and self._exists(owner):
            return owner
        self._count("link", address)
        return None

    def by_password(self, owner: str, password: str, *, address: str) -> str | None:
        """Return the owner whose password it is, or None.

        Ten wrong passwords, from any address, block this way for 15 minutes. A link still signs
        the owner in.
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

    def by_passkey(
        self, signature: PasskeySignature, *, browser: str, address: str, site: Site
    ) -> str | None:
        """Return the owner whose passkey has signed, or None if that owner was removed.

        Raises InvalidInputError with the reason for a passkey that cannot be accepted. Ten such
        answers, from any address, block this passkey for 15 minutes.
        """
        self._count("passkey", address)
        caller = f"credential {signature.credential}"
        self.limits.take(_ATTEMPTS, caller, most=PASSWORD_ATTEMPTS, seconds=SIGN_IN_WINDOW_SECONDS)
        owner = self.passkeys.match(signature, browser=browser, site=site)
        self.limits.forget(_ATTEMPTS, caller, seconds=SIGN_IN_WINDOW_SECONDS)
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
