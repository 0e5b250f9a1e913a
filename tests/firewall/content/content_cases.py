"""Texts for the content rules, judged: the product's own, and those beside the checkout."""

import hashlib
from dataclasses import dataclass

from nacre.firewall.content.injection.scan import scan
from nacre.firewall.content.injection.tool_definitions import scan_definition
from nacre.firewall.rules.sections import SOURCES, InjectionSection
from tests.vectors.sets import rows

EVERYTHING = InjectionSection(sources=SOURCES)
HALVES = ("seen", "held out")


@dataclass(frozen=True, slots=True)
class Judged:
    """One text of a vector file after its scan; the text itself is not kept."""

    half: str
    group: str
    is_hard: bool
    rules: tuple[str, ...]

    @property
    def is_flagged(self) -> bool:
        return bool(self.rules)


def half_of(text: str) -> str:
    """Return the half of a text: rules may be written after reading the seen one only."""
    return HALVES[hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0] % 2]


def judged_texts(which: str, name: str) -> list[Judged]:
    return [
        Judged(
            half_of(row["text"]),
            row.get("kind") or row["family"],
            bool(row.get("hard")),
            tuple(finding.rule for finding in scan(row["text"], kind="result", section=EVERYTHING)),
        )
        for row in rows(which, name)
    ]


def judged_definitions(which: str, *, poisoned: bool) -> list[Judged]:
    return [
        Judged(
            half_of(f"{row['name']}\n{row['description']}"),
            row.get("category") or "uncategorised",
            False,
            tuple(
                finding.rule for finding in scan_definition(tool, section=EVERYTHING, peers=peers)
            ),
        )
        for row in rows(which, "tool_definitions")
        if row["poisoned"] is poisoned
        for tool in [
            {
                "name": row["name"] or "tool",
                "description": row["description"] or "",
                "inputSchema": row.get("inputSchema") or {},
            }
        ]
        for peers in [[finding["tool"] for finding in row.get("peers") or ()]]
    ]


def share(judged: list[Judged]) -> float:
    """Return which part was flagged."""
    return sum(case.is_flagged for case in judged) / max(len(judged), 1)


def is_strict(judged: Judged) -> bool:
    """Tell whether a benign text is of the groups that must hardly ever be flagged."""
    return (
        judged.group.startswith(("NotInject", "agentdojo", "AgentDojo")) or "mail" in judged.group
    )
