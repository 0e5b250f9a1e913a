"""Give one target what a fuzzer makes of its seeds: `python -m tests.fuzz.run NAME [-runs=N]`.

What it learns stays in .tools/fuzz/NAME, and an input that breaks the target beside that; every
further argument is libFuzzer's. The fuzzer follows what each input reaches within Nacre.
"""

import hashlib
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

ROOT = Path(__file__).parents[2]
TARGETS = Path(__file__).with_name("targets")
_BOUNDS = ("-timeout=20", "-rss_limit_mb=2048")  # longer or larger is a finding


class Target(Protocol):
    """A module of tests/fuzz/targets."""

    SEEDS: Sequence[bytes]
    LENGTH: int
    one: Callable[[bytes], None]


def names() -> list[str]:
    """Return the names of all targets."""
    return sorted(path.stem for path in TARGETS.glob("*.py"))


def target(name: str) -> Target:
    """Return the target of a name."""
    return cast("Target", import_module(f"tests.fuzz.targets.{name}"))


def command(name: str, folder: Path, *options: str) -> list[str]:
    """Return the command line that fuzzes a target and keeps what it finds in a folder."""
    return [sys.executable, "-m", "tests.fuzz.run", name, f"--folder={folder}", *options]


def main(arguments: Sequence[str]) -> None:
    """Fuzz until it is told to stop, or something breaks."""
    import atheris  # comes without types, and only for Linux

    name, *rest = arguments
    folder = ROOT / ".tools" / "fuzz"
    if rest and rest[0].startswith("--folder="):
        folder = Path(rest.pop(0).removeprefix("--folder="))
    with atheris.instrument_imports(include=["nacre"]):
        found = target(name)
    corpus = folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in found.SEEDS:
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    given = (f"-artifact_prefix={folder}/{name}-", f"-max_len={found.LENGTH}", *_BOUNDS, *rest)
    atheris.Setup([sys.argv[0], str(corpus), *given], found.one)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "shared"))
    main(sys.argv[1:])
