"""Limits that modules share."""

import ast
from collections import Counter
from pathlib import Path

from nacre.core import limits


def test_no_limit_is_set_twice() -> None:
    tree = ast.parse(Path(limits.__file__).read_text())
    names = Counter(
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    )

    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []
