"""Only lines with code count."""

from pathlib import Path

from tests.benchmarks.code_lines import code_lines

SOURCE = '''"""A module."""

# A comment.
TEXT = """two
lines"""  # both count


def double(number: int) -> int:
    """Return twice the number.

    The docstring does not count.
    """
    return (
        number * 2
    )
'''


def test_blank_lines_comments_and_docstrings_do_not_count(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(SOURCE)

    assert code_lines(module) == 6
