"""The policies that ship with Nacre: their TOML, and the compiled form that is loaded.

A test keeps both equal; run `python infra/policy_packs.py` to compile them again.
"""

from functools import cache
from pathlib import Path
from typing import Literal

from nacre.firewall.policies.compiled import from_json
from nacre.firewall.rules.policy import Policy

Pack = Literal["default", "careful", "guarded"]
PACKS: tuple[Pack, ...] = ("default", "careful", "guarded")


@cache
def pack(name: Pack) -> Policy:
    """Return a policy that Nacre ships."""
    return from_json(_FOLDER.joinpath(f"{name}.json").read_text(encoding="utf-8"))


def default_policy() -> Policy:
    """Return the policy that is in force until the owner writes one."""
    return pack("default")


def text_of(name: Pack | Literal["starter"]) -> str:
    """Return the TOML of a pack, with comments; `starter` is a policy to begin with."""
    return _FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8")


_FOLDER = Path(__file__).parent
