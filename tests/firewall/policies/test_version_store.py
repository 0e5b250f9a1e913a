"""Pushed policies: versions, conflicts, and what counts for whom, on both stores."""

import threading
from typing import Any

import pytest

from nacre.core.errors import ConflictError, PolicyError, TooLargeError, UnavailableError
from nacre.core.limits import POLICY_TTL_SECONDS
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.stored_policy import ScopedPolicy, StoredPolicies, current_key
from nacre.firewall.policies.version_store import PolicyVersions
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Subject
from nacre.ports.items.table import Change, Key, Table
from tests.adapters.conftest import StillClock

BEING = "0191f6a0-0000-7000-8000-000000000001"
DENY = '[[rule]]\naction = "deny"\ntool = "*"\n'
ALLOW = '[[rule]]\naction = "allow"\ntool = "*"\n'
PROMPT = '[[rule]]\naction = "prompt"\ntool = "*"\n'


@pytest.fixture
def documents(table: Table, clock: StillClock) -> PolicyVersions:
    return PolicyVersions(table, clock=clock)


def push(documents: PolicyVersions, text: str, *, scope: str = "global", based_on: int = 0) -> int:
    return documents.push(scope, text, source="p.toml", based_on=based_on, by="ann").number


class Reading:
    """A reader over a table that can be made to fail, and what it told."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.fails = False
        self.reads = 0
        self.time = 100.0
        self.told: list[str] = []
        self.policies = StoredPolicies(
            self._read, self._built_in, tick=lambda: self.time, tell=self.told.append
        )

    def _read(self, key: tuple[str, str]) -> Any:
        self.reads += 1
        if self.fails:
            raise UnavailableError("DynamoDB did not answer")
        return self.table.get(Key(*key))

    def _built_in(self) -> Policy:
        return load_policy(PROMPT, source="built-in")

    def later(self) -> None:
        self.time += POLICY_TTL_SECONDS

    def decides(self, being: str | None = BEING) -> tuple[str, str, int]:
        """Return the action for any call, and which document it comes from."""
        found = self.policies.of(being)
        subject = Subject("tool", "read", "files", {})
        return found.policy.decide(subject).action, found.scope, found.version


@pytest.fixture
def reading(table: Table) -> Reading:
    return Reading(table)


def test_versions_are_counted_and_kept(documents: PolicyVersions, clock: StillClock) -> None:
    push(documents, DENY)
    clock.move(60)
    push(documents, ALLOW, based_on=1)

    current = documents.current("global")
    assert current is not None
    assert (current.number, current.text, current.by) == (2, ALLOW, "ann")
    assert current.digest == load_policy(ALLOW, source="x").digest
    assert [(each.number, each.text) for each in documents.history("global")] == [
        (2, ALLOW),
        (1, DENY),
    ]
    assert documents.version("global", 1).pushed < current.pushed


def test_a_history_is_longer_than_a_page(documents: PolicyVersions) -> None:
    for number in range(105):
        push(documents, f"# {number}\n{DENY}", based_on=number)

    assert [each.number for each in documents.history("global")] == list(range(105, 0, -1))


def test_of_pushes_at_once_one_counts(documents: PolicyVersions) -> None:
    outcomes: list[str] = []
    gate = threading.Barrier(4)

    def run(number: int) -> None:
        gate.wait()
        try:
            push(documents, f"# {number}\n{DENY}")
        except ConflictError:
            outcomes.append("conflict")
        else:
            outcomes.append("pushed")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["conflict"] * 3 + ["pushed"]
    assert [each.number for each in documents.history("global")] == [1]


def test_what_does_not_load_or_is_too_long_is_refused(documents: PolicyVersions) -> None:
    with pytest.raises(PolicyError, match=r"p\.toml: rule 1: unknown action"):
        push(documents, DENY.replace("deny", "never"))
    with pytest.raises(TooLargeError):
        push(documents, f"# {'x' * 300_000}\n{DENY}")

    assert documents.current("global") is None


def test_the_longest_policy_fits_an_item(documents: PolicyVersions, reading: Reading) -> None:
    from random import Random

    rng = Random(1)
    rules = "".join(
        f'[[rule]]\naction = "allow"\ntool = "{rng.getrandbits(400):x}"\n' for _ in range(1900)
    )
    push(documents, rules + PROMPT)

    assert reading.decides() == ("prompt", "global", 1)


def test_without_a_document_the_built_in_policy_counts(reading: Reading) -> None:
    assert reading.decides() == ("prompt", "built-in", 0)


def test_a_beings_own_document_comes_first(documents: PolicyVersions, reading: Reading) -> None:
    push(documents, DENY)
    push(documents, ALLOW, scope=BEING)

    assert reading.decides() == ("allow", BEING, 1)
    assert reading.decides(None) == ("deny", "global", 1)
    assert reading.decides("0191f6a0-0000-7000-8000-000000000002") == ("deny", "global", 1)
    assert ScopedPolicy(reading.policies, BEING).current().source == "p.toml"


def test_a_push_counts_after_a_moment(documents: PolicyVersions, reading: Reading) -> None:
    push(documents, DENY)
    first = reading.decides(None)
    push(documents, ALLOW, based_on=1)
    soon = reading.decides(None)
    reading.later()
    later = reading.decides(None)

    assert (first, soon, later) == (
        ("deny", "global", 1),
        ("deny", "global", 1),
        ("allow", "global", 2),
    )
    assert reading.reads == 2


def test_the_same_version_is_not_loaded_again(documents: PolicyVersions, reading: Reading) -> None:
    push(documents, DENY)
    first = reading.policies.of(None).policy
    reading.later()

    assert reading.policies.of(None).policy is first


def test_while_the_store_is_silent_the_last_good_policy_counts(
    documents: PolicyVersions, reading: Reading
) -> None:
    push(documents, DENY)
    reading.decides(None)
    reading.fails = True
    reading.later()

    assert reading.decides(None) == ("deny", "global", 1)
    assert reading.decides(None) == ("deny", "global", 1)
    assert reading.reads == 2, "it is asked again only after a moment"
    assert reading.told == ["global: DynamoDB did not answer; the last good policy stays in force"]


def test_a_silent_store_at_the_start_is_an_error(reading: Reading) -> None:
    reading.fails = True

    with pytest.raises(UnavailableError, match="the policy of global cannot be read"):
        reading.decides(None)
    reading.fails = False
    assert reading.decides(None)[1] == "built-in"


@pytest.mark.parametrize(
    "damage",
    [
        {"compiled": b"not zlib", "version": 2},
        {"compiled": "text", "version": 2},
        {"schema": 2, "version": 2},
    ],
    ids=["bytes", "kind", "newer"],
)
def test_a_document_that_does_not_load_leaves_the_one_before_in_force(
    documents: PolicyVersions, reading: Reading, table: Table, damage: dict[str, Any]
) -> None:
    push(documents, DENY)
    reading.decides(None)
    table.update(Key(*current_key("global")), Change(set=damage))
    reading.later()

    assert reading.decides(None) == ("deny", "global", 1)
    assert len(reading.told) == 1
    with pytest.raises(UnavailableError):
        Reading(table).decides(None)


def test_many_beings_do_not_fill_the_memory(
    documents: PolicyVersions, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.firewall.policies.stored_policy.MAX_POLICY_SCOPES", 4)
    reading = Reading(table)
    push(documents, DENY)

    beings = [f"0191f6a0-0000-7000-8000-{number:012d}" for number in range(20)]
    assert {reading.decides(being) for being in beings} == {("deny", "global", 1)}
    assert len(reading.policies._cache) <= 4
