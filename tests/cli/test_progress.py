from collections.abc import Iterator

import pytest

from nacre.cli.progress import progress_lines


def test_a_slow_command_shows_at_most_a_line_a_second_and_none_at_its_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seconds: Iterator[float] = iter([0.0, 0.5, 1.0, 1.5, 2.5])
    show = progress_lines("records", lambda: next(seconds))

    for count in (1, 2, 3, 4):
        show(count, 5)
    show(5, 5)

    assert capsys.readouterr().err == "2 of 5 records\n4 of 5 records\n"


def test_without_a_total_each_second_shows_its_count(capsys: pytest.CaptureFixture[str]) -> None:
    seconds: Iterator[float] = iter([0.0, 1.0, 2.0])
    show = progress_lines("items", lambda: next(seconds))

    show(10)
    show(20)

    assert capsys.readouterr().err == "10 items\n20 items\n"
