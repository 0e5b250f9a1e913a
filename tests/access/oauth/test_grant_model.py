"""Random lives of grants beside a model that says which tokens count."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from nacre.access.authority import authority
from nacre.access.oauth.codes import Consent
from nacre.access.tokens.token_check import admission
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import OAuthError
from nacre.core.limits import (
    ACCESS_TOKEN_SECONDS,
    GRANT_DAYS,
    LIVE_ACCESS_TOKENS,
    REFRESH_GRACE_SECONDS,
    REFRESH_TOKEN_DAYS,
)
from nacre.protocol.principal import FULL
from tests.access.conftest import Time

BEING = "11111111-1111-4111-8111-111111111111"
DAY = 86_400


@dataclass(eq=False)
class Modelled:
    """What should be true of one grant."""

    grant_id: str
    made: float
    ended: bool = False
    access: list[tuple[str, float]] = field(default_factory=list)


@dataclass
class Refresh:
    """One refresh token, and when it was used first."""

    token: str
    grant: Modelled
    made: float
    used: float | None = None
    successor: str | None = None


class GrantMachine(RuleBasedStateMachine):
    """Creates, renews, replays, revokes and waits, in any order."""

    refreshes = Bundle("refreshes")

    def __init__(self) -> None:
        super().__init__()
        self.time = Time()
        self.database = SqliteDatabase(":memory:")
        table = SqliteTable(self.database, now=self.time)
        self.made = authority(table, table, clock=self.time, rng=Random(1))
        self.grants: list[Modelled] = []

    def teardown(self) -> None:
        self.database.close()

    @property
    def now(self) -> float:
        return self.time().timestamp()

    @rule(target=refreshes)
    def connect(self) -> Refresh:
        grant = Modelled(f"grant_{len(self.grants)}", self.now)
        pair = self.made.grants.create(
            Consent(grant.grant_id, "me", BEING, "client", "Editor", None, FULL, "https://a/mcp")
        )
        grant.access.append((pair.access, self.now))
        self.grants.append(grant)
        return Refresh(pair.refresh, grant, self.now)

    @rule(target=refreshes, old=refreshes)
    def renew(self, old: Refresh) -> Refresh:
        grant = old.grant
        expired = self.now >= min(
            old.made + REFRESH_TOKEN_DAYS * DAY, grant.made + GRANT_DAYS * DAY
        )
        late = old.used is not None and self.now - old.used > REFRESH_GRACE_SECONDS
        with self._refused_if(grant.ended or expired or late) as allowed:
            pair = self.made.grants.refresh(old.token, client_id="client")
        if not allowed:
            if late and not expired:
                grant.ended = True
            return old
        grant.access.append((pair.access, self.now))
        del grant.access[:-LIVE_ACCESS_TOKENS]
        if old.used is not None:
            assert pair.refresh == old.successor
            return old
        old.used, old.successor = self.now, pair.refresh
        return Refresh(pair.refresh, grant, self.now)

    @rule(old=refreshes)
    def steal(self, old: Refresh) -> None:
        with self._refused_if(True):
            self.made.grants.refresh(old.token, client_id="another")

    @rule(old=refreshes, by_access=st.booleans())
    def log_out(self, old: Refresh, by_access: bool) -> None:
        grant = old.grant
        if by_access:
            token, made = grant.access[-1]
            known = made + ACCESS_TOKEN_SECONDS > self.now
        else:
            token = old.token
            known = old.made + REFRESH_TOKEN_DAYS * DAY > self.now
        self.made.grants.end_by_token(token, client_id="client")
        grant.ended = grant.ended or known

    @rule(seconds=st.sampled_from([1, 29, 30, 31, 600, 3599, 3600, DAY, 29 * DAY, 31 * DAY]))
    def wait(self, seconds: int) -> None:
        self.time.pass_(seconds=seconds)

    @invariant()
    def tokens_count_exactly_while_they_should(self) -> None:
        for grant in self.grants:
            for token, made in grant.access:
                said = admission(f"Bearer {token}", self.made.tokens.lookup, now=self.now)
                lives = not grant.ended and made + ACCESS_TOKEN_SECONDS > self.now
                assert (said["auth"] == "ok") == lives

    @invariant()
    def what_is_listed_is_what_lives(self) -> None:
        listed = {grant.grant_id for grant in self.made.grants.of_owner("me")}
        living = {g for g in self.grants if not g.ended and g.made + GRANT_DAYS * DAY > self.now}
        assert listed == {grant.grant_id for grant in living}

    @contextmanager
    def _refused_if(self, expected: bool) -> Iterator[bool]:
        if not expected:
            yield True
            return
        with pytest.raises(OAuthError):
            yield False


GrantMachine.TestCase.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
TestGrants = GrantMachine.TestCase


class Thorough(GrantMachine):
    """The same, for longer."""


Thorough.TestCase.settings = settings(max_examples=400, stateful_step_count=60, deadline=None)
TestGrantsThoroughly = pytest.mark.slow(Thorough.TestCase)
