"""Paths that leave a folder, and paths that do not: what they are follows from how they are built.

A path is built from steps (a name, or `..`) below the root, so whether it leaves the root is known
before the steps are written in one of many encodings.
"""

import random
from collections.abc import Callable
from typing import Any

ROOT = "/home/user/projects"
SIZE = 1100
_NAMES = ("src", "docs", "a", "b.txt", "deep", "node_modules", "x-1", "Ünï", "名前", "with space")
_TARGETS = ("etc/passwd", "etc/shadow", "var/lib/keys", "home/user/.ssh/id_rsa", "windows/win.ini")


def _hex(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def _twice(text: str) -> str:
    return _hex(text).replace("%", "%25")


# How `..` and the slash after it can be written so that some reader still understands them.
ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda step: step,
    "percent": _hex,
    "percent, capitals": lambda step: _hex(step).upper(),
    "percent, dots only": lambda step: step.replace(".", "%2e"),
    "percent, slash only": lambda step: step.replace("/", "%2f"),
    "percent, one dot": lambda step: step.replace("..", ".%2e"),
    "percent twice": _twice,
    "percent three times": lambda step: _twice(step).replace("%", "%25"),
    "backslash": lambda step: step.replace("/", "\\"),
    "percent backslash": lambda step: step.replace("/", "%5c"),
    "percent backslash twice": lambda step: step.replace("/", "%255c"),
    "overlong": lambda step: step.replace(".", "%c0%ae").replace("/", "%c0%af"),
    "overlong slash": lambda step: step.replace("/", "%c0%af"),
    "percent u": lambda step: step.replace(".", "%u002e").replace("/", "%u2215"),
    "full width": lambda step: step.replace(".", "\uff0e").replace("/", "\uff0f"),
    "full width dots": lambda step: step.replace(".", "\uff0e"),
    "division slash": lambda step: step.replace("/", "\u2215"),
    "zero width": lambda step: step.replace("..", ".\u200b."),
    "one dot leaders": lambda step: step.replace(".", "\u2024"),
    "doubled slash": lambda step: step.replace("/", "//"),
    "dot between": lambda step: step + "./",
}


def rows() -> list[dict[str, Any]]:
    """Return the vectors, the same at every call."""
    chance = random.Random(12)
    found: dict[str, dict[str, Any]] = {}
    names = list(ENCODINGS)
    while len(found) < SIZE:
        encoding = names[len(found) % len(names)]
        row = _leaving(encoding, chance) if chance.random() < 0.8 else _staying(chance)
        found.setdefault(row["path"], row)
    return list(found.values())


def _leaving(encoding: str, chance: random.Random) -> dict[str, Any]:
    """Return a path with more steps up than down, so that it ends outside the root."""
    down = [chance.choice(_NAMES[:7]) for _ in range(chance.randrange(4))]
    up = len(down) + 3 + chance.randrange(4)  # the root is three folders deep
    written = "".join(ENCODINGS[encoding]("../") for _ in range(up))
    end = chance.choice(("", "", "", "%00", "\x00", "%00.png")) if encoding == "plain" else ""
    path = "/".join((ROOT, *down, "")) + written + chance.choice(_TARGETS) + end
    return {"path": path, "encoding": encoding, "expected": "not_allow"}


def _staying(chance: random.Random) -> dict[str, Any]:
    """Return an ordinary path, or one whose steps up never leave the root."""
    steps = [chance.choice(_NAMES) for _ in range(1 + chance.randrange(5))]
    if chance.random() < 0.3:
        steps = [*steps, "..", chance.choice(_NAMES)]
    if chance.random() < 0.3:
        steps.append(
            chance.choice(("v1..2", "...", "a..b", "..hidden", "dots..", "100.5", ".env.example"))
        )
    return {"path": "/".join((ROOT, *steps)), "encoding": "none", "expected": "allow"}
