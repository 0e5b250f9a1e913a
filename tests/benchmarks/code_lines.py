"""How many lines of code the package has, without blank lines, comments and docstrings.

`python -m tests.benchmarks.code_lines [FOLDER...]` prints a table of the package's folders (of
`shared/nacre` without arguments) and their sum. A line counts if a token of code is on it, so a
statement over four lines counts four times.
"""

import ast
import sys
import tokenize
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parents[2]
_NO_CODE = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)


def code_lines(file: Path) -> int:
    """Return the number of lines of a file that hold code."""
    with file.open("rb") as stream:
        lines = {
            line
            for token in tokenize.tokenize(stream.readline)
            if token.type not in _NO_CODE
            for line in range(token.start[0], token.end[0] + 1)
        }
    return len(lines - _docstring_lines(file))


def _docstring_lines(file: Path) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                lines |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def _main(arguments: Sequence[str]) -> None:
    for folder in map(Path, arguments or [str(HERE / "shared" / "nacre")]):
        by_folder: Counter[str] = Counter()
        files = sorted(folder.rglob("*.py"))
        for file in files:
            parts = file.relative_to(folder).parts
            by_folder[parts[0] if len(parts) > 1 else "."] += code_lines(file)
        print(f"| {folder.name} | Lines of code |\n| --- | ---: |")
        for name, lines in by_folder.most_common():
            print(f"| {name} | {lines:,} |")
        print(f"| {len(files)} modules | {by_folder.total():,} |")


if __name__ == "__main__":
    _main(sys.argv[1:])
