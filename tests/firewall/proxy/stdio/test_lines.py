import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.firewall.proxy.stdio.lines import LineSplitter

WORDS = st.lists(st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b"")), max_size=12)


@given(WORDS, st.lists(st.integers(1, 20), max_size=40))
def test_lines_are_the_same_however_they_arrive(words: list[bytes], sizes: list[int]) -> None:
    whole = b"\n".join(words)
    lines, found = LineSplitter(), []

    rest = whole
    for size in sizes:
        found += lines.feed(rest[:size])
        rest = rest[size:]
    found += lines.feed(rest)
    found += lines.end()

    assert found == [word.removesuffix(b"\r") for word in words if word.strip()]


def test_a_line_that_is_too_long_keeps_its_ends_and_stays_too_long() -> None:
    lines = LineSplitter(1000)
    first, last = b"a" * 900, b"z" * 900

    for piece in (first, *[b"m" * 65_536] * 64, last):
        assert lines.feed(piece) == []
    (found,) = lines.feed(b"\n")

    assert 1000 < len(found) < 2_000_000
    assert found.startswith(first)
    assert found.endswith(last)
    assert lines.feed(b"next\n") == [b"next"]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n \t\r\n"])
def test_ends_of_lines_and_blank_lines_are_no_part_of_a_message(ending: bytes) -> None:
    assert LineSplitter().feed(b"one" + ending + b"two" + ending) == [b"one", b"two"]


def test_nothing_is_left_at_an_end_of_line() -> None:
    lines = LineSplitter()
    lines.feed(b"one\n")

    assert lines.end() == []
