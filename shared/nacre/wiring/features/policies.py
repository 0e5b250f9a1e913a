"""Which policy counts: a file or a pushed document on the laptop, documents on AWS.

Everything is imported where it is used: the evaluator's start is a promise.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.wiring.settings import Settings, user_policy_file

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.firewall.policies.laptop_policy import LaptopPolicies
    from nacre.firewall.policies.stored_policy import StoredPolicies
    from nacre.firewall.rules.policy import Policy
    from nacre.ports.items.table import Table

Tell = Callable[[str], None]


def laptop_policies(settings: Settings, table: "Table", tell: Tell) -> "LaptopPolicies":
    """Return the policies of this machine; PolicyError for a file that is wrong."""
    from time import monotonic

    from nacre.firewall.policies.laptop_policy import LaptopPolicies
    from nacre.firewall.policies.stored_policy import StoredPolicies
    from nacre.ports.items.table import Key

    path, is_named = policy_path(settings)
    stored = StoredPolicies(lambda key: table.get(Key(*key)), built_in, tick=monotonic, tell=tell)
    return LaptopPolicies(path, stored, must_exist=is_named, tell=tell)


def stack_policies(settings: Settings, tell: Tell) -> "StoredPolicies":
    """Return the policies of a stack, read by one signed request each, without boto3."""
    from time import monotonic

    from nacre.firewall.policies.stored_policy import StoredPolicies

    settings.require("data_table", "region", *settings.signing_fields)
    reader: list[Callable[[tuple[str, str]], Mapping[str, Any] | None]] = []

    def read(key: tuple[str, str]) -> Mapping[str, Any] | None:
        if not reader:
            from nacre.adapters.aws.dynamodb.get import SignedGet
            from nacre.wiring.signed_requests import signed

            reader.append(signed(SignedGet, settings.data_table, settings).get)
        return reader[0](key)

    return StoredPolicies(read, built_in, tick=monotonic, tell=tell)


def policies_in(
    table: "Table", settings: Settings, tell: Tell, *, is_stack: bool
) -> "LaptopPolicies | StoredPolicies":
    """Return the policies of this machine, or of a stack whose table a command has opened."""
    if not is_stack:
        return laptop_policies(settings, table, tell)
    from time import monotonic

    from nacre.firewall.policies.stored_policy import StoredPolicies
    from nacre.ports.items.table import Key

    return StoredPolicies(lambda key: table.get(Key(*key)), built_in, tick=monotonic, tell=tell)


def stack_source(settings: Settings) -> "Callable[[Tell], StoredPolicies]":
    """Return what makes the policies of a stack; a missing setting is an error at once."""
    settings.require("data_table", "region", *settings.signing_fields)
    return lambda tell: stack_policies(settings, tell)


def built_in() -> "Policy":
    """Return the policy that counts where nobody has written one."""
    from nacre.firewall.policies.packs import pack

    return pack("default")


def policy_path(settings: Settings) -> "tuple[Path, bool]":
    """Return where the policy file is or would be, and whether a setting names it."""
    from pathlib import Path

    named = settings.policy_file
    return Path(named or user_policy_file()).expanduser(), bool(named)
