"""One answer of many parts: nothing lost, nothing twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.orders.order.agent import without_reasoning
from nacre.being.orders.order.aggregate import NO_RESPONSE, collapsed, combined, holds

pytestmark = pytest.mark.requirement("000.order.aggregation")

words = st.sampled_from(
    ["sea", "shell", "seashell", "15", "5", "a", "b.", "blue\n", " ", "*x*", ""]
)
part = st.lists(words, max_size=5).map(" ".join)
parts = st.lists(part, max_size=6)


@given(parts, part)
def test_no_part_is_lost(said: list[str], final: str) -> None:
    answer = collapsed(combined(said, final))

    for each in (*said, final):
        assert not each.strip() or holds(answer, each)


@given(parts, part)
def test_no_part_is_said_twice(said: list[str], final: str) -> None:
    answer = combined(said, final)
    if answer == NO_RESPONSE:
        assert not any(each.strip() for each in (*said, final))
        return
    kept = _pieces(answer, [*said, final])

    for place, one in enumerate(kept):
        others = kept[:place] + kept[place + 1 :]
        # The final text is what the answer ends with, whatever was said before it.
        if place < len(kept) - 1 or not final.strip():
            assert not any(holds(other, one) for other in others), kept


@given(parts, part)
def test_the_order_stays_and_nothing_is_added(said: list[str], final: str) -> None:
    kept = _pieces(combined(said, final), [*said, final, NO_RESPONSE])
    rest = [collapsed(each) for each in (*said, final, NO_RESPONSE)]

    for each in kept:
        assert collapsed(each) in rest
        rest = rest[rest.index(collapsed(each)) + 1 :]


@given(parts, part)
def test_a_final_text_that_holds_all_others_stands_alone(said: list[str], final: str) -> None:
    whole = f"{' '.join(said)} {final} end"

    assert combined(said, whole) == whole.strip()


@given(parts, part)
def test_combining_once_more_changes_nothing(said: list[str], final: str) -> None:
    answer = combined(said, final)

    assert combined([], answer) == answer
    assert combined([answer], answer) == answer


@given(st.text("ab1 _.\0²é", max_size=12), st.text("ab1 _.\0²é", min_size=1, max_size=4))
def test_a_part_is_found_where_it_is_not_joined_to_a_word(text: str, said: str) -> None:
    whole, part = collapsed(text), collapsed(said)
    if not part:
        return

    def joined(place: int) -> bool:
        return 0 < place < len(whole) and whole[place - 1].isalnum() and whole[place].isalnum()

    places = [at for at in range(len(whole)) if whole.startswith(part, at)]
    free = [at for at in places if not joined(at) and not joined(at + len(part))]

    assert holds(text, said) is bool(free)


def test_a_long_text_that_repeats_itself_takes_no_time() -> None:
    # Each look at what surrounds a part would take as long as the part: a day in all.
    part = "xab " * 200_000 + "xa"

    assert combined([part], "xab " * 600_000) == f"{part}\n\n{'xab ' * 600_000}".strip()


def _pieces(answer: str, said: list[str]) -> list[str]:
    """Split an answer into the parts that it was put together from."""
    known = {each.strip() for each in said}
    lines, pieces, current = answer.split("\n\n"), [], ""
    for line in lines:
        current = f"{current}\n\n{line}" if current else line
        if current in known:
            pieces.append(current)
            current = ""
    assert not current, (answer, said)
    return pieces


@pytest.mark.parametrize(
    ("said", "final", "answer"),
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
def test_examples(said: list[str], final: str, answer: str) -> None:
    assert combined(said, final) == answer


@pytest.mark.parametrize(
    ("text", "said"),
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
def test_what_a_model_thinks_aloud_is_left_out(text: str, said: str) -> None:
    assert without_reasoning(text) == said
