"""Policy commands, each imported when it is called."""

import click

from nacre.cli.lazy import LazyGroup

_COVERING = "nacre.cli.policy.tool_coverage"
_LOOKING = "nacre.cli.policy.inspection"
_VERSIONS = "nacre.cli.policy.stored_versions"

MEMBERS = {
    "init": ("nacre.cli.policy.init_command", "Write a first policy, with comments."),
    "test": ("nacre.cli.policy.test_command", "Decide the calls in fixture files, and compare."),
    "lint": (_LOOKING, "Find rules that never match, or say more than they seem to."),
    "explain": (_LOOKING, "Show which rule decides a call, and why."),
    "prove": (_LOOKING, "Show that no call of a shape can be allowed, or one that can."),
    "coverage": (_COVERING, "Show what the rules make of each tool that is known."),
    "replay": (_COVERING, "Decide anew what an audit holds."),
    "push": (_VERSIONS, "Put a policy in force, as a new version."),
    "pull": (_VERSIONS, "Show the policy in force, or an earlier version."),
    "history": (_VERSIONS, "List the versions, the newest first."),
}


@click.group(cls=LazyGroup, members=MEMBERS)
def policy() -> None:
    """Write, test and put in force the rules that decide every call."""
