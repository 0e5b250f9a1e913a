"""`make load`: mixed traffic against the laptop server, then against a stack on loopback.

ARGS="laptop --seconds 300" or ARGS="stack --seconds 60" runs one of them; without a word both run.
"""

import argparse
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.table import show
from tests.end_to_end.load.measuring import HEADER
from tests.end_to_end.load.soaking import Soak, count_operations, soak

_MEGABYTE = 2**20


def main() -> int:
    """Run what is asked for; 1 where something is not as it should be."""
    parser = argparse.ArgumentParser(prog="make load", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["laptop", "stack"], help="only one of the two")
    parser.add_argument("--seconds", type=float, default=300, help="of the soak (default 300)")
    parser.add_argument("--stack-seconds", type=float, default=60, help="likewise (default 60)")
    parser.add_argument("--clients", type=int, default=4, help="that call at once (default 4)")
    chosen = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}")
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="nacre-load-") as scratch:
        if chosen.what in (None, "laptop"):
            problems += on_laptop(Path(scratch), chosen.seconds, chosen.clients)
        if chosen.what in (None, "stack"):
            from tests.end_to_end.load.stack import on_stack

            problems += on_stack(Path(scratch) / "stack", chosen.stack_seconds, chosen.clients)
    for problem in problems:
        print(f"!!! {problem}", file=sys.stderr)
    print("load: all is well" if not problems else "load: failed")
    return 1 if problems else 0


def on_laptop(scratch: Path, seconds: float, clients: int) -> list[str]:
    """Show what the laptop server does, and return what is wrong."""
    (scratch / "counted").mkdir()
    (scratch / "soak").mkdir()
    counted = count_operations(scratch / "counted")
    show_operations(counted)
    found = soak(scratch / "soak", seconds=seconds, clients=clients, say=said)
    show_soak(found)
    return [*counted.run.timings.first_errors, *found.problems]


def said(text: str) -> None:
    """Tell what goes on."""
    print(f"... {text}", file=sys.stderr, flush=True)


def show_operations(counted: Soak) -> None:
    """Print what calls ask of the item store."""
    rows: list[Sequence[object]] = [
        (
            kind,
            f"{sum(found.values()):.1f}",
            ", ".join(f"{name} {count:g}" for name, count in found.items()) or "none",
        )
        for kind, found in counted.operations.items()
    ]
    rows.append(("jobs after them", f"{counted.job_operations:.1f}", "for each call of all these"))
    show("Laptop: item-store operations per call", ("Call", "operations", "which"), rows)


def tenths(sizes: Sequence[float]) -> str:
    """Return what was there at each tenth of a run."""
    return " ".join(f"{sizes[len(sizes) * tenth // 10]:.0f}" for tenth in range(1, 10))


def show_soak(found: Soak) -> None:
    """Print what a soak found."""
    run, samples = found.run, found.samples
    show(f"Laptop: {run.lasted:.0f} s", HEADER, run.timings.rows(run.lasted))
    sizes = [each.rss / _MEGABYTE for each in samples]
    each = 1000 * found.processor_seconds / run.timings.calls
    rows: list[Sequence[object]] = [
        ("RSS at the start, MB", f"{sizes[0]:.1f}"),
        ("RSS at each tenth of the run, MB", tenths(sizes)),
        ("RSS at its peak, MB", f"{max(sizes):.1f}"),
        ("RSS at the end, MB", f"{sizes[-1]:.1f}"),
        ("growth from the second third to the last", str(found.growth)),
        (
            "processor time per call, ms",
            f"{each:.1f}",
        ),
        ("memories acknowledged", len(run.acknowledged)),
        ("of the last 300 not found at once", len(found.lost_at_once)),
        ("of all not found after a restart", len(found.lost_after_restart)),
        ("of all not in an export", len(found.not_exported)),
    ]
    show("Laptop: the process", ("What", "found"), rows)


if __name__ == "__main__":
    sys.exit(main())
