"""The order of the documentation: sections of pages, as a newcomer reads them."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

# Paths below docs/. The index, the site's navigation and llms.txt follow this order.
SECTIONS = {
    "Quickstart": ("guides/quickstart", "guides/install"),
    "Connect your client": ("guides/connect",),
    "Memory that fills itself": (
        "guides/memory",
        "guides/past",
        "guides/mirror",
        "concepts/patrol",
        "guides/language-model",
        "guides/console",
        "concepts/keeping",
        "concepts/recall",
        "guides/evaluate",
        "concepts/origin",
    ),
    "Orders and tasks": ("guides/order", "guides/media", "concepts/tasks"),
    "Guard your servers": (
        "guides/wrap",
        "guides/policy",
        "guides/five-policies",
        "guides/proxy",
        "guides/gateway",
        "guides/network",
        "guides/tools",
        "guides/control",
        "concepts/policy",
        "concepts/content-checks",
        "concepts/confinement",
    ),
    "Servers that people use": (
        "guides/servers/index",
        "guides/servers/filesystem",
        "guides/servers/git",
        "guides/servers/github",
        "guides/servers/playwright",
        "guides/servers/postgres",
        "guides/servers/sqlite",
        "guides/servers/fetch",
        "guides/servers/time",
        "guides/servers/memory",
        "guides/servers/everything",
    ),
    "Deploy": (
        "guides/deploy",
        "guides/first-deployment",
        "guides/container",
        "concepts/access",
        "concepts/architecture",
    ),
    "Operate": (
        "guides/backup",
        "guides/upgrade",
        "guides/moving",
        "guides/uninstall",
        "guides/runbook",
        "guides/traces",
        "guides/operate-aws",
        "concepts/faults",
    ),
    "Reference": (
        "concepts/glossary",
        "reference/commands",
        "reference/settings",
        "reference/tools",
        "reference/limits",
        "reference/metrics",
        "reference/benchmarks",
        "reference/costs",
        "reference/conformance",
        "reference/threats",
        "concepts/alternatives",
        "concepts/differences",
    ),
}


def sections(docs: Path = DOCS) -> Iterator[tuple[str, list[Path]]]:
    """Yield each section with its pages; the decisions come last, by number."""
    for name, pages in SECTIONS.items():
        yield name, [docs / f"{page}.md" for page in pages]
    yield "Decisions", sorted((docs / "adr").glob("*.md"))


def title(text: str) -> str:
    """Return the heading of a page."""
    return next(line[2:].strip() for line in text.splitlines() if line.startswith("# "))


def first_sentence(text: str) -> str:
    """Return the first sentence of a page's prose, without links."""
    blocks = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).split("\n\n")
    prose = next(block for block in map(str.strip, blocks) if re.match(r"[*`A-Z(\[](?!``)", block))
    unlabelled = re.sub(r"^\*\*[^*]+\.\*\* ", "", prose)  # a decision begins with "Question."
    words = " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", unlabelled).split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`*])", words.replace("**", ""))[0]
