"""The option that names a policy file, and its default."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from nacre.errors import NotFoundError
from nacre.policy.loading import read_policy
from nacre.policy.policy import Policy
from nacre.policy.rule import Decision
from nacre.wiring.policies import policy_path
from nacre.wiring.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])

policy_option = click.option(
    "--policy",
    "policy_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The policy. [default: NACRE_POLICY, or ~/.config/nacre/policy.toml]",
)


def chosen_policy(given: Path | None) -> Policy:
    """Return the policy of the option; PolicyError says what is wrong in it."""
    if given is not None:
        return read_policy(given)
    path, is_named = policy_path(Settings.from_environment())
    if not is_named and not path.exists():
        raise NotFoundError(
            f"there is no policy at {path}; write one with 'nacre policy init', or give --policy"
        )
    return read_policy(path)


def why(policy: Policy, decision: Decision) -> str:
    """Return in few words which rule decided."""
    if decision.rule is None:
        text = decision.text
        return text[text.index("(") + 1 : -1] if text.endswith(")") and "(" in text else text
    origin = next(rule.origin for rule in policy.rules if rule.number == decision.rule)
    return f"{origin}: {decision.description}" if decision.description else origin
