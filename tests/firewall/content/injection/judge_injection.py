"""Judge the injection features on two files of texts: attacks and benign texts.

    python -m tests.firewall.content.injection.judge_injection ATTACKS BENIGN

Both are JSON Lines with a `text` in each row; rows may name their `family`. The command prints how
many attacks of each family are found, and every benign text that is flagged, without its content.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from nacre.firewall.content.injection.scan import scan
from nacre.firewall.rules.sections import SOURCES, InjectionSection, Source

EVERYTHING = InjectionSection(sources=SOURCES)


def rules_of(text: str, kind: Source = "result") -> list[str]:
    """Return the rules that flag a text."""
    return [finding.rule for finding in scan(text, kind=kind, section=EVERYTHING)]


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON Lines file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def by_family(texts: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Return how many texts of each family are flagged, and how many there are."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in texts:
        count = counts[str(row.get("family", "all"))]
        count[0] += bool(rules_of(row["text"]))
        count[1] += 1
    return {family: (hits, total) for family, (hits, total) in sorted(counts.items())}


def _total(counts: dict[str, tuple[int, int]]) -> str:
    hits, total = (sum(column) for column in zip(*counts.values(), strict=True))
    return f"{hits} of {total} ({100 * hits / total:.1f} %)"


def main(attacks_file: str, benign_file: str) -> None:
    """Print the two tables."""
    out = sys.stdout.write
    attacks = by_family(rows(Path(attacks_file)))
    out("attacks found, by family\n")
    for family, (hits, total) in attacks.items():
        out(f"  {family}: {hits} of {total}\n")
    benign = rows(Path(benign_file))
    out("benign texts flagged\n")
    for number, row in enumerate(benign, start=1):
        rules = rules_of(row["text"])
        if rules:
            out(f"  line {number} ({row.get('family', 'all')}): {', '.join(rules)}\n")
    out(f"found: {_total(attacks)}\nflagged although benign: {_total(by_family(benign))}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tests.firewall.content.injection.judge_injection ATTACKS BENIGN")
    main(*sys.argv[1:])
