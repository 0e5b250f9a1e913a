"""Where a server runs that is started here."""

import sys
from collections.abc import Iterable
from pathlib import Path

from nacre.adapters.real_paths import resolved
from nacre.policy.bases import absolute_bases
from nacre.policy.rule import Surroundings


def declared_bases(folders: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of `--base` as absolute paths; `.` is the folder of this process."""
    absolute = [str(Path(each).expanduser().absolute()) for each in folders]
    return absolute_bases(absolute, "--base")


def on_this_machine(bases: tuple[str, ...] = ()) -> Surroundings:
    """Return the facts about a server that is started here.

    The folder that it is started in is no base: many servers resolve paths elsewhere.
    """
    return Surroundings(
        is_local=True,
        home=str(Path.home()),
        bases=bases,
        folds_case=sys.platform in ("darwin", "win32"),
        follow=resolved,
    )
