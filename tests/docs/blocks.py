"""The code blocks of a page, and how each kind is run.

```python          runs; all of a page share one module, in order
```output          what the python block above it prints
```console         each `$ command` runs in a shell; the lines below it are what it prints
```console server  the same, but the last command is left running until the page ends
```json ```toml    must parse
```text ```mermaid are for reading only

In what a command prints, `…` stands for anything within a line, and a line of only `…` for any
lines; no lines mean that it prints nothing. `[exit 2]` as the last line says that the command ends
with that status. A page's commands share one shell, in a folder with `.venv` and `examples` only;
YOUR_URL and YOUR_TOKEN stand for what the page's server printed. A block that cannot run offline
has `<!-- not run: reason -->` on the line above it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RUN = frozenset({"python", "console", "console server", "json", "toml"})
READ = frozenset({"text", "mermaid", "output"})

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
_NOT_RUN = re.compile(r"^\s*<!-- not run: (?P<reason>.+) -->\s*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: `line` is the number of its first line of code."""

    kind: str
    code: str
    line: int
    not_run: str | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a console block and what it is to print."""

    text: str
    expected: str
    status: int = 0


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page; a python block carries the output block that follows it."""
    found: list[Block] = []
    for block in _fenced(page.read_text().splitlines()):
        if block.kind == "output":
            assert found, f"{page}:{block.line}: an output block follows a python block"
            assert found[-1].kind == "python", f"{page}:{block.line}: output of no python block"
            last = found.pop()
            found.append(Block(last.kind, last.code, last.line, last.not_run, block.code))
        else:
            found.append(block)
    return found


def _fenced(lines: list[str]) -> Iterator[Block]:
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            at += 1
            continue
        above = _NOT_RUN.match(lines[at - 1]) if at else None
        first = at + 1
        at = first
        while lines[at].strip() != fence["ticks"]:
            at += 1
        code = "\n".join(line.removeprefix(fence["indent"]) for line in lines[first:at])
        yield Block(
            kind=fence["info"].strip(),
            code=code + "\n" if code else "",
            line=first + 1,
            not_run=above["reason"] if above else None,
        )
        at += 1


def commands_of(block: Block) -> list[Command]:
    """Split a console block at its `$ ` prompts; a line ending in a backslash continues."""
    found: list[Command] = []
    lines = block.code.splitlines()
    at = 0
    while at < len(lines):
        assert lines[at].startswith("$ "), f"line {block.line + at}: a command starts with `$ `"
        text = lines[at][2:]
        while text.endswith("\\"):
            at += 1
            text = f"{text}\n{lines[at].removeprefix('> ')}"
        at += 1
        output = []
        while at < len(lines) and not lines[at].startswith("$ "):
            output.append(lines[at])
            at += 1
        status = 0
        if output and (said := re.fullmatch(r"\[exit (\d+)\]", output[-1])):
            status = int(said[1])
            output.pop()
        found.append(Command(text, "\n".join(output), status))
    return found


def matches(expected: str, printed: str) -> bool:
    """Whether what was printed is what the page shows."""
    if not expected.strip():
        return not printed.strip()
    parts = []
    for line in expected.strip().splitlines():
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*?".join(map(re.escape, line.rstrip().split("…"))) + r"[ \t]*\n")
    return re.fullmatch("".join(parts), printed.strip() + "\n") is not None
