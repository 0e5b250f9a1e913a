"""Policy commands, each imported when it is called."""

import click

from nacre.cli.lazy import LazyGroup

_TESTING = "nacre.cli.policy_testing"
_VERSIONS = "nacre.cli.policy_versions"

MEMBERS = {
    "init": ("nacre.cli.policy_starting", "Write a first policy, with comments."),
    "test": (_TESTING, "Decide the calls in fixture files, and compare."),
    "push": (_VERSIONS, "Put a policy in force, as a new version."),
    "pull": (_VERSIONS, "Show the policy in force, or an earlier version."),
    "history": (_VERSIONS, "List the versions, the newest first."),
}


@click.group(cls=LazyGroup, members=MEMBERS)
def policy() -> None:
    """Write, test and put in force the rules that decide every call."""
