"""The policy in force: a file or a pushed document on the laptop, pushed documents on AWS.

Everything is imported where it is used, to keep the promised start time of the evaluator.
"""

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from nacre.wiring.settings import Settings, user_policy_file

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.firewall.policies.laptop_policy import LaptopPolicies
    from nacre.firewall.policies.stored_policy import Policies, StoredPolicies
    from nacre.firewall.rules.policy import Policy
    from nacre.wiring.ports import Ports

Tell = Callable[[str], None]


def to_stderr(message: str) -> None:
    """Tell the owner of this process, on standard error."""
    line = {"level": "WARNING", "event": "policy", "said": message}
    print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201 - there is no log yet


def policies_of(ports: "Ports", settings: Settings, tell: Tell = to_stderr) -> "Policies":
    """Return the policies of a deployment; raises PolicyError if a file is wrong."""
    return _stored(ports, tell) if ports.is_stack else laptop_policies(ports, settings, tell)


def laptop_policies(ports: "Ports", settings: Settings, tell: Tell) -> "LaptopPolicies":
    """Return the policies of this machine; raises PolicyError if a file is wrong."""
    from nacre.firewall.policies.laptop_policy import LaptopPolicies

    path, is_named = policy_path(settings)
    return LaptopPolicies(path, _stored(ports, tell), must_exist=is_named, tell=tell)


def _stored(ports: "Ports", tell: Tell) -> "StoredPolicies":
    from time import monotonic

    from nacre.firewall.policies.stored_policy import StoredPolicies

    return StoredPolicies(ports.read, built_in, tick=monotonic, tell=tell)


def stack_source(settings: Settings) -> "Callable[[Tell], StoredPolicies]":
    """Return the function that opens the policies of a stack, read by signed requests.

    A missing setting is an error at once.
    """
    settings.require("data_table", "region", *settings.signing_fields)

    def policies(tell: Tell) -> "StoredPolicies":
        from time import monotonic

        from nacre.adapters.aws.dynamodb.get import SignedGet
        from nacre.firewall.policies.stored_policy import StoredPolicies
        from nacre.wiring.signed_requests import signed

        reader = signed(SignedGet, settings.data_table, settings)
        return StoredPolicies(reader.get, built_in, tick=monotonic, tell=tell)

    return policies


def built_in() -> "Policy":
    """Return the policy that applies if nobody has written one."""
    from nacre.firewall.policies.packs import pack

    return pack("default")


def policy_path(settings: Settings) -> "tuple[Path, bool]":
    """Return the path of the policy file, which may not exist, and whether a setting names it."""
    from pathlib import Path

    named = settings.policy_file
    return Path(named or user_policy_file()).expanduser(), bool(named)
