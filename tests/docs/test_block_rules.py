from pathlib import Path

import pytest

from tests.docs.blocks import Block, Command, blocks_of, commands_of, matches

PAGE = """# A page

```python
print("one")
```

```output
one
```

<!-- not run: needs an account -->
```console
$ sam deploy \\
>   --guided
…
$ false
no
[exit 1]
```

1. In a list:

   ```json
   {"a": 1}
   ```
"""


def test_a_page_is_split_into_its_blocks(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)

    python, console, json = blocks_of(tmp_path / "page.md")

    assert python == Block("python", 'print("one")\n', 4, None, "one\n")
    assert console.not_run == "needs an account"
    assert commands_of(console) == [
        Command("sam deploy \\\n  --guided", "…", 0),
        Command("false", "no", 1),
    ]
    assert json == Block("json", '{"a": 1}\n', 24)


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("one", "one\n", True),
        ("one", "one\ntwo\n", False),
        ("one\n…", "one\ntwo\nthree\n", True),
        ("one\n…", "one\n", True),
        ("…\nthree", "one\ntwo\nthree\n", True),
        ("…\nthree", "one\ntwo\n", False),
        ("token brt_…", "token brt_abc\n", True),
        ("token brt_… ok", "token brt_abc no\n", False),
        ("a.c", "abc\n", False),
        ("", "", True),
        ("", "something\n", False),
    ],
)
def test_an_ellipsis_stands_for_what_differs_between_runs(
    expected: str, printed: str, same: bool
) -> None:
    assert matches(expected, printed) is same
