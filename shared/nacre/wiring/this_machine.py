"""Where a server runs that is started here."""

import sys
from pathlib import Path

from nacre.adapters.real_paths import resolved
from nacre.policy.rule import Surroundings


def on_this_machine() -> Surroundings:
    """Return the surroundings of a server that is started here, in this folder."""
    return Surroundings(
        is_local=True,
        home=str(Path.home()),
        cwd=str(Path.cwd()),
        folds_case=sys.platform in ("darwin", "win32"),
        follow=resolved,
    )
