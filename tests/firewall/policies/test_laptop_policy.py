"""Which policy counts on a laptop: the file, what was pushed, or the built-in one."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.clock import system_clock
from nacre.core.errors import PolicyError
from nacre.firewall.policies.laptop_policy import LaptopPolicies
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.stored_policy import StoredPolicies
from nacre.firewall.policies.version_store import PolicyVersions
from nacre.firewall.rules.rule import Subject
from nacre.ports.items.table import Key


def rule(action: str) -> str:
    return f'[[rule]]\naction = "{action}"\ntool = "*"\n'


class Laptop:
    """A machine with a store, a place for a policy file, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "policy.toml"
        self.database = SqliteDatabase(":memory:")
        self.table = SqliteTable(self.database)
        self.time = 100.0
        self.told: list[str] = []
        self.written = 0

    def write(self, text: str) -> None:
        """Write the file, some time ago."""
        self.path.write_text(text)
        self.written += 1
        os.utime(self.path, ns=(self.written * 10**9, self.written * 10**9))

    def push(self, text: str) -> None:
        documents = PolicyVersions(self.table, clock=system_clock)
        current = documents.current("global")
        based_on = current.number if current else 0
        documents.push("global", text, source="p.toml", based_on=based_on, by="ann")

    def policies(self, *, must_exist: bool = False) -> LaptopPolicies:
        stored = StoredPolicies(
            lambda key: self.table.get(Key(*key)),
            lambda: load_policy(rule("prompt"), source="built-in"),
            tick=lambda: self.time,
            tell=self.told.append,
        )
        return LaptopPolicies(
            self.path,
            stored,
            must_exist=must_exist,
            tell=self.told.append,
            tick=lambda: self.time,
        )


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Laptop]:
    laptop = Laptop(tmp_path)
    yield laptop
    laptop.database.close()


def decides(policies: LaptopPolicies) -> tuple[str, str]:
    found = policies.of("0191f6a0-0000-7000-8000-000000000001")
    return found.policy.decide(Subject("tool", "read", "files", {})).action, found.scope


def test_the_file_comes_first_then_what_was_pushed_then_the_built_in(laptop: Laptop) -> None:
    nothing = decides(laptop.policies())
    laptop.push(rule("deny"))
    pushed = decides(laptop.policies())
    laptop.write(rule("allow"))
    written = decides(laptop.policies())

    assert nothing == ("prompt", "built-in")
    assert pushed == ("deny", "global")
    assert written == ("allow", laptop.path.name)


def test_a_file_that_appears_counts_within_a_second(laptop: Laptop) -> None:
    policies = laptop.policies()
    laptop.write(rule("allow"))
    at_once = decides(policies)
    laptop.time += 1

    assert at_once == ("prompt", "built-in")
    assert decides(policies) == ("allow", laptop.path.name)
    assert laptop.told == [f"{laptop.path}: the policy was read"]


def test_a_change_counts_within_a_second_and_a_fault_changes_nothing(laptop: Laptop) -> None:
    laptop.write(rule("allow"))
    policies = laptop.policies()
    laptop.write(rule("deny"))
    laptop.time += 1
    changed = decides(policies)
    laptop.write(rule("maybe"))
    laptop.time += 1
    broken = decides(policies)

    assert (changed[0], broken[0]) == ("deny", "deny")
    assert "unknown action" in laptop.told[-1]


def test_a_file_that_appears_and_is_wrong_leaves_the_rest_in_force(laptop: Laptop) -> None:
    laptop.push(rule("deny"))
    policies = laptop.policies()
    laptop.write(rule("maybe"))
    laptop.time += 1

    assert decides(policies) == ("deny", "global")
    assert "the policy before it stays in force" in laptop.told[0]


def test_a_file_that_is_wrong_or_was_named_and_is_missing_stops_the_start(laptop: Laptop) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        laptop.policies(must_exist=True)
    laptop.write(rule("maybe"))
    with pytest.raises(PolicyError, match="rule 1: unknown action 'maybe'"):
        laptop.policies()
