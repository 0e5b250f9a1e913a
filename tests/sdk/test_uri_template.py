"""URI templates of RFC 6570 level 1."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.errors import InvalidInputError
from nacre.sdk.uri_template import UriTemplate


@given(st.text(min_size=1), st.text(min_size=1))
def test_values_are_read_from_the_uri_they_were_written_into(first: str, second: str) -> None:
    try:
        uri = f"test://x/{quote(first, safe='')}/y.{quote(second, safe='')}"
    except UnicodeEncodeError:  # half a surrogate pair has no UTF-8
        return

    assert UriTemplate("test://x/{a}/y.{b}").values(uri) == {"a": first, "b": second}


@given(st.text(st.sampled_from("ab/?#"), max_size=8))
def test_a_variable_never_reaches_over_a_path_segment(text: str) -> None:
    values = UriTemplate("x:{a}").values(f"x:{text}")

    assert (values == {"a": text}) is (bool(text) and not set(text) & set("/?#"))


@pytest.mark.parametrize(
    "uri", ["test://x/", "test://x", "test://x/1/2", "TEST://x/1", "test://x/1\n"]
)
def test_another_form_has_no_values(uri: str) -> None:
    assert UriTemplate("test://x/{id}").values(uri) is None


def test_dots_and_brackets_of_a_template_are_meant_literally() -> None:
    template = UriTemplate("test://a.b/[x]/{id}")

    assert template.values("test://aXb/[x]/1") is None
    assert template.values("test://a.b/[x]/1") == {"id": "1"}
    assert template.variables == ("id",)


@pytest.mark.parametrize(
    "text", ["x:{+path}", "x:{?q}", "x:{a,b}", "x:{}", "x:{a}{a}", "x:{é}", "x:", "x:{a}{b}-{c}"]
)
def test_what_is_beyond_level_1_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        UriTemplate(text)


def test_two_variables_share_a_segment() -> None:
    template = UriTemplate("x:{name}.{ending}")

    assert template.values("x:a.b.c") == {"name": "a.b", "ending": "c"}
    # Dividing it in every way would take hours.
    assert template.values("x:" + "." * 1_000_000) is None


def test_each_segment_is_divided_by_itself() -> None:
    template = UriTemplate("x:{a}-{b}/{c}.{d}/{e}-{f}.g/{h}{i}")

    uri = "x:1-2-3/4.5.6/7-8.g-9.g/10"
    assert template.values(uri) == {
        "a": "1-2",
        "b": "3",
        "c": "4.5",
        "d": "6",
        "e": "7-8.g",
        "f": "9",
        "h": "1",
        "i": "0",
    }
    # Dividing all of them anew for each way to divide one of them would take hours.
    assert template.values(f"x:{'-' * 400}/{'.' * 400}/{'-' * 400}.g/{'1' * 400}/") is None
