"""The data folder that a command uses, found without the other settings.

A hook finds it at each prompt of a user, so this module imports next to nothing.
"""

import os
import sys
from collections.abc import Mapping


def data_folder(environment: Mapping[str, str] = os.environ) -> str:
    """Return the data folder; raises ConfigurationError if NACRE_HOME is a relative path."""
    return chosen_folder(environment.get("NACRE_HOME", ""), environment)


def user_data_folder(environment: Mapping[str, str] = os.environ) -> str:
    """Return the data folder of a command that is given none, where NACRE_HOME is not set."""
    return platform_folder(sys.platform, environment)


def chosen_folder(home: str, environment: Mapping[str, str]) -> str:
    """Return the folder that NACRE_HOME names; without one, that of the platform."""
    if not home:
        return platform_folder(sys.platform, environment)
    expanded = os.path.expanduser(home)  # noqa: PTH111  pathlib is not loaded here
    if not os.path.isabs(expanded):  # noqa: PTH117  the same
        from nacre.core.errors import ConfigurationError

        raise ConfigurationError(f"NACRE_HOME: {home[:200]!r} is not an absolute path")
    return expanded


def platform_folder(platform: str, environment: Mapping[str, str]) -> str:
    """Return the platform's folder for a user's application data."""
    home = environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111  as above
    if platform == "win32":
        local = environment.get("LOCALAPPDATA") or rf"{home}\AppData\Local"
        return rf"{local}\Nacre"
    if platform == "darwin":
        return f"{home}/Library/Application Support/Nacre"
    base = environment.get("XDG_DATA_HOME", "")
    # By the XDG specification, a relative path is invalid and ignored.
    return f"{base if base.startswith('/') else home + '/.local/share'}/nacre"
