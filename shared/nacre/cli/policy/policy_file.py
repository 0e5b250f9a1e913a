"""The `--policy` option, and the policy that is used without it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import click

from nacre.cli.being_options import Place
from nacre.core.errors import NotFoundError, UnknownProfileError
from nacre.firewall.policies.loader import read_policy
from nacre.firewall.policies.stored_policy import BUILT_IN, GLOBAL, StoredPolicies
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.profile import Profile
from nacre.firewall.rules.rule import Decision
from nacre.ports.items.table import Key
from nacre.wiring.data_folder import DATABASE
from nacre.wiring.features.policies import built_in, policy_path
from nacre.wiring.settings import Settings

_BUILT_IN_NOTE = "Policy: the built-in one, because you have not written one."
Function = TypeVar("Function", bound=Callable[..., Any])


def _option(help_text: str) -> Callable[[Function], Function]:
    path = click.Path(path_type=Path)
    return click.option("--policy", "chosen", metavar="FILE", type=path, help=help_text)


file_option = _option("The policy. [default: NACRE_POLICY, or ~/.config/nacre/policy.toml]")
policy_option = _option(
    "The policy. [default: the one in force: NACRE_POLICY or ~/.config/nacre/policy.toml, "
    "else the pushed one, else the built-in one]"
)


def policy_file(chosen: Path | None) -> Policy:
    """Return the policy of the option, else of this machine's policy file.

    A missing file is an error: a build that checks its policy must not check another one.
    """
    if chosen is not None:
        return read_policy(chosen)
    path, is_named = policy_path(Settings.from_environment())
    if not is_named and not path.exists():
        raise NotFoundError(
            f"there is no policy at {path}; write one with 'nacre policy init', or give --policy"
        )
    return read_policy(path)


def policy_in_force(chosen: Path | None, place: Place) -> Policy:
    """Return the policy of the option, else the one in force, with a note about its source.

    Raise PolicyError if it is wrong.
    """
    if chosen is not None:
        return read_policy(chosen)
    if not place.stack:
        path, is_named = policy_path(Settings.from_environment())
        if is_named or path.exists():
            return read_policy(path)
    return _pushed(place)


def _pushed(place: Place) -> Policy:
    if not place.stack and not (Path(place.folder()) / DATABASE).exists():
        click.echo(_BUILT_IN_NOTE, err=True)
        return built_in()
    home = place.open()
    being_id = place.choose(home).being_id if place.being else None
    stored = StoredPolicies(
        lambda key: home.data.get(Key(*key)),
        built_in,
        tick=monotonic,
        tell=partial(click.echo, err=True),
    )
    in_force = stored.of(being_id)
    if in_force.scope == BUILT_IN:
        click.echo(_BUILT_IN_NOTE, err=True)
    else:
        owner = "" if in_force.scope == GLOBAL else f" of {place.being}"
        click.echo(f"Policy: pushed version {in_force.version}{owner}.", err=True)
    return in_force.policy


def profile_named(policy: Policy, name: str) -> Profile:
    """Return a profile of a policy; raises NotFoundError, which names those that it has."""
    try:
        return policy.profile(name)
    except UnknownProfileError:
        names = ", ".join(profile.name for profile in policy.profiles)
        advice = f"it has {names}" if names else f"write [profile.{name[:40]}]"
        raise NotFoundError(
            f"the policy ({policy.source}) has no profile {name[:40]!r}; {advice}"
        ) from None


def why(policy: Policy, decision: Decision) -> str:
    """Return a short text that names the deciding rule."""
    if decision.rule is None:
        text = decision.text
        return text[text.index("(") + 1 : -1] if text.endswith(")") and "(" in text else text
    origin = next(rule.origin for rule in policy.rules if rule.number == decision.rule)
    return f"{origin}: {decision.description}" if decision.description else origin
