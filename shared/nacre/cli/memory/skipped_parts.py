"""The parts of imported files that were not understood."""

from collections import Counter
from typing import Any

from nacre.being.memory.transfer.foreign_records import SkippedPart
from nacre.cli.display import without_controls
from nacre.core.lazy_dataclasses import dataclass, field

_EXAMPLES = 3  # places that are listed for each reason


@dataclass(slots=True)
class SkippedParts:
    """Counts and first places by reason."""

    counts: Counter[str] = field(default_factory=Counter)
    where: dict[str, list[str]] = field(default_factory=dict)

    def add(self, part: SkippedPart) -> None:
        """Count a part."""
        self.counts[part.reason] += 1
        places = self.where.setdefault(part.reason, [])
        if len(places) < _EXAMPLES:
            places.append(part.where)

    def facts(self) -> list[dict[str, Any]]:
        """Return the reasons as JSON, the most frequent first."""
        return [
            {"reason": reason, "count": count, "where": self.where[reason]}
            for reason, count in self.counts.most_common()
        ]

    def lines(self) -> list[str]:
        """Return a line for each reason, the most frequent first."""
        return [
            without_controls(f"not understood: {count}: {reason} ({', '.join(self.where[reason])})")
            for reason, count in self.counts.most_common()
        ]
