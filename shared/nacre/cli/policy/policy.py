"""The command `policy`, whose sub-commands are imported when they are called."""

import click

from nacre.cli.command_kinds import LazyGroup

MEMBERS = {
    "init": ("policy.init_command:init_command", "Write a first policy, with comments."),
    "test": ("policy.test_command:test_command", "Check the decisions on calls in fixture files."),
    "lint": (
        "policy.inspection:lint_command",
        "Find rules that never match, or match more or less than they seem to.",
    ),
    "explain": ("policy.inspection:explain_command", "Show which rule decides a call, and why."),
    "prove": (
        "policy.inspection:prove_command",
        "Prove that no call of a shape can be allowed, or show one that can.",
    ),
    "coverage": (
        "policy.tool_coverage:coverage_command",
        "Show how the rules decide about each known tool.",
    ),
    "replay": (
        "policy.tool_coverage:replay_command",
        "Decide the calls of an audit log again, and show the differences.",
    ),
    "push": ("policy.stored_versions:push_command", "Put a policy in force, as a new version."),
    "pull": (
        "policy.stored_versions:pull_command",
        "Show the policy in force, or an earlier version.",
    ),
    "history": ("policy.stored_versions:history_command", "List the versions, the newest first."),
}


@click.group(cls=LazyGroup, members=MEMBERS)
def policy() -> None:
    """Write, test and publish the rules that decide every call."""
