"""Break promises in a copy of the checkout and run the tests that carry them.

python -m tests.mutate.run [ID…]     without ids, every promise
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.mutate.mutations import MUTATIONS, Mutation

ROOT = Path(__file__).parents[2]
# Large, and nothing that a mutation changes: the copy has links to them.
LINKED = {".tools", ".git"}
LEFT_OUT = {*LINKED, ".venv", ".aws-sam", "__pycache__", ".*_cache"}
PATIENCE_SECONDS = 600

Outcome = Literal["noticed", "NOT NOTICED", "NOT RUN"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the tests of a promise took it when the promise was broken."""

    mutation: Mutation
    outcome: Outcome
    printed: str


def carriers() -> dict[str, list[str]]:
    """Return every promise's id with the tests that carry it."""
    listing = subprocess.run(
        [sys.executable, "tests/requirements.py", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    by_requirement: dict[str, list[str]] = json.loads(listing.stdout)
    return by_requirement


@contextmanager
def copied_checkout() -> Iterator[Path]:
    """Yield a copy of the checkout that a mutation may change."""
    with tempfile.TemporaryDirectory(prefix="nacre-mutate-") as scratch:
        copy = Path(scratch) / "checkout"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        for name in LINKED:
            if (ROOT / name).exists():
                (copy / name).symlink_to(ROOT / name)
        beside = ROOT.parent / "shared"
        if beside.is_dir():  # what some tests read when it is there
            (Path(scratch) / "shared").symlink_to(beside)
        # Programs that tests start must find the copy of the package, not the original.
        subprocess.run([copy / "infra" / "setup.sh", "dev"], env=_environment(), check=True)
        yield copy


@contextmanager
def applied(mutation: Mutation, checkout: Path) -> Iterator[None]:
    """Break the promise in the copy, and mend it again at the end."""
    path = checkout / "shared" / "nacre" / mutation.module
    original = path.read_text(encoding="utf-8")
    path.write_text(mutation.broken(original), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(original, encoding="utf-8")


def _environment() -> dict[str, str]:
    foreign = ("PYTEST_", "PYTHONPATH", "VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    return {**inherited, "PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}


def try_out(mutation: Mutation, tests: Sequence[str], checkout: Path) -> Verdict:
    """Break one promise and run the tests that carry it."""
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python), "-m", "pytest", "-q", "-x", "-m", "", "-p", "no:cacheprovider"]
    with applied(mutation, checkout):
        try:
            run = subprocess.run(
                [*command, *tests],
                cwd=checkout,
                env=_environment(),
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Verdict(mutation, "noticed", "the tests did not end")
    # 1: a test failed; 2: a module could not be loaded; 5: nothing was run.
    outcome: Outcome = "noticed" if run.returncode == 1 else "NOT NOTICED"
    if run.returncode not in (0, 1):
        outcome = "NOT RUN"
    return Verdict(mutation, outcome, run.stdout[-3000:] + run.stderr[-1000:])


def run(requirements: Sequence[str]) -> Iterator[Verdict]:
    """Break the promises one after the other."""
    tests = carriers()
    chosen = [mutation for mutation in MUTATIONS if mutation.requirement in requirements]
    with copied_checkout() as checkout:
        for mutation in chosen:
            yield try_out(mutation, tests.get(mutation.requirement, ()), checkout)


def main() -> int:
    """Print a line for each promise; 1 where a broken one went unnoticed."""
    every = dict.fromkeys(mutation.requirement for mutation in MUTATIONS)
    parser = argparse.ArgumentParser(prog="make mutate", description=__doc__)
    parser.add_argument("requirements", nargs="*", metavar="ID", help="default: every promise")
    chosen = parser.parse_args().requirements or list(every)
    if unknown := sorted(set(chosen) - every.keys()):
        parser.error(f"no mutation for {', '.join(unknown)}")
    missed = 0
    for verdict in run(chosen):
        print(f"{verdict.outcome:12} {verdict.mutation.requirement}", flush=True)
        if verdict.outcome != "noticed":
            missed += 1
            print(verdict.printed)
    print(f"{missed} of {len(chosen)} broken promises went unnoticed")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
