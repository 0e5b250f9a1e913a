"""The parts of an answer become one text, in which nothing is lost or repeated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.orders.order.agent import without_reasoning
from nacre.being.orders.order.answer import NO_RESPONSE, combined

pytestmark = pytest.mark.requirement("000.order.aggregation")

words = st.sampled_from(
    ["sea", "shell", "seashell", "15", "5", "a", "b.", "blue\n", " ", "*x*", ""]
)
part = st.lists(words, max_size=5).map(" ".join)
parts = st.lists(part, max_size=6)


def collapsed(text: str) -> str:
    """Return a text with every run of white space as one blank."""
    return " ".join(text.split())


def holds(text: str, part: str) -> bool:
    """Return whether a text contains a part, so that the part is left out beside it."""
    return combined([part], text) == (text.strip() or NO_RESPONSE)


@given(parts, part)
def test_no_part_is_lost(texts: list[str], final: str) -> None:
    answer = collapsed(combined(texts, final))

    for text in (*texts, final):
        assert not text.strip() or holds(answer, text)


@given(parts, part)
def test_no_part_is_said_twice(texts: list[str], final: str) -> None:
    answer = combined(texts, final)
    if answer == NO_RESPONSE:
        assert not any(text.strip() for text in (*texts, final))
        return
    pieces = _pieces(answer, [*texts, final])

    for place, piece in enumerate(pieces):
        others = pieces[:place] + pieces[place + 1 :]
        # The final text is what the answer ends with, whatever was said before it.
        if place < len(pieces) - 1 or not final.strip():
            assert not any(holds(text, piece) for text in others), pieces


@given(parts, part)
def test_the_order_stays_and_nothing_is_added(texts: list[str], final: str) -> None:
    pieces = _pieces(combined(texts, final), [*texts, final, NO_RESPONSE])
    remaining = [collapsed(text) for text in (*texts, final, NO_RESPONSE)]

    for piece in pieces:
        assert collapsed(piece) in remaining
        remaining = remaining[remaining.index(collapsed(piece)) + 1 :]


@given(parts, part)
def test_a_final_text_that_holds_all_others_stands_alone(texts: list[str], final: str) -> None:
    last = f"{' '.join(texts)} {final} end"

    assert combined(texts, last) == last.strip()


@given(parts, part)
def test_combining_once_more_changes_nothing(texts: list[str], final: str) -> None:
    answer = combined(texts, final)

    assert combined([], answer) == answer
    assert combined([answer], answer) == answer


@given(st.text("ab1 _.\0²é", max_size=12), st.text("ab1 _.\0²é", min_size=1, max_size=4))
def test_a_part_is_found_where_it_is_not_joined_to_a_word(text: str, sought: str) -> None:
    line, part = collapsed(text), collapsed(sought)
    if not part:
        return

    def joined(place: int) -> bool:
        return 0 < place < len(line) and line[place - 1].isalnum() and line[place].isalnum()

    places = [at for at in range(len(line)) if line.startswith(part, at)]
    free = [at for at in places if not joined(at) and not joined(at + len(part))]

    assert holds(text, sought) is bool(free)


def test_a_long_text_that_repeats_itself_takes_no_time() -> None:
    # Each look at what surrounds a part would take as long as the part: a day in all.
    part = "xab " * 200_000 + "xa"

    assert combined([part], "xab " * 600_000) == f"{part}\n\n{'xab ' * 600_000}".strip()


def _pieces(answer: str, texts: list[str]) -> list[str]:
    """Split an answer into the parts that it was put together from."""
    stripped = {text.strip() for text in texts}
    lines, pieces, current = answer.split("\n\n"), [], ""
    for line in lines:
        current = f"{current}\n\n{line}" if current else line
        if current in stripped:
            pieces.append(current)
            current = ""
    assert not current, (answer, texts)
    return pieces


@pytest.mark.parametrize(
    ("texts", "final", "answer"),
    [
        ([], "", "(No response)"),
        ([" ", "\n"], "\t", "(No response)"),
        ([], " Hi. ", "Hi."),
        (["One."], "", "One."),
        (["One.", "Two."], "Three.", "One.\n\nTwo.\n\nThree."),
        (["One.", "Two."], "One. Two. Three.", "One. Two. Three."),
        (["One.", "One."], "Two.", "One.\n\nTwo."),
        (["a b", "a"], "c", "a b\n\nc"),
        (["It is 15."], "5", "It is 15.\n\n5"),
        (["the sea\n  is blue"], "I say: the sea is blue", "I say: the sea is blue"),
    ],
)
def test_examples(texts: list[str], final: str, answer: str) -> None:
    assert combined(texts, final) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>hm</think>\n\nHi.", "Hi."),
        ("<thinking>a</thinking><think>b</think> Hi.", "Hi."),
        ("opened by the template\n</think>\n\nHi.", "Hi."),
        ("<think>cut in the middle", ""),
        ("Write <think>x</think> for thoughts.", "Write <think>x</think> for thoughts."),
        ("The tag </think> ends it.", "The tag </think> ends it."),
        ("", ""),
    ],
)
def test_what_a_model_thinks_aloud_is_left_out(text: str, answer: str) -> None:
    assert without_reasoning(text) == answer
