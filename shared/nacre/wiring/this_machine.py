"""Where a server runs that is started here."""

import sys
from collections.abc import Iterable
from pathlib import Path

from nacre.adapters.real_paths import resolved
from nacre.policy.bases import NONE, declared
from nacre.policy.rule import Surroundings


def on_this_machine() -> Surroundings:
    """Return the facts about a server that is started here.

    The folder that it is started in is no base: many servers resolve paths elsewhere.
    """
    return Surroundings(
        is_local=True,
        home=str(Path.home()),
        folds_case=sys.platform in ("darwin", "win32"),
        follow=resolved,
    )


def with_bases(where: Surroundings, folders: Iterable[str]) -> Surroundings:
    """Return the facts with the folders of `--base`; `.` is the folder of this process."""
    absolute = [
        each if each == NONE else str(Path(each).expanduser().absolute()) for each in folders
    ]
    return declared(where, absolute, "--base")
