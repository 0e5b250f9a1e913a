import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.errors import InvalidInputError
from nacre.core.origins import (
    AGENT,
    HEARD,
    MIRROR,
    OWNER,
    TRUST_OF,
    Origin,
    external,
    external_servers,
    imported,
    origins_in,
    texts_of,
    trust_of,
    union,
)

ORIGINS = st.one_of(
    st.sampled_from([OWNER, HEARD, AGENT, MIRROR]),
    st.text().map(external),
    st.text().map(imported),
)


@given(ORIGINS)
def test_the_text_of_an_origin_is_read_as_the_same_origin(origin: Origin) -> None:
    assert Origin.parse(str(origin)) == origin


@given(st.frozensets(ORIGINS))
def test_a_set_of_origins_survives_its_texts(origins: frozenset[Origin]) -> None:
    assert origins_in(texts_of(origins)) == origins


@given(st.frozensets(ORIGINS, min_size=1), st.frozensets(ORIGINS, min_size=1))
def test_a_union_is_never_trusted_more_than_one_of_its_parts(
    first: frozenset[Origin], second: frozenset[Origin]
) -> None:
    assert trust_of(union([first, second])) == min(trust_of(first), trust_of(second))


@given(st.text())
def test_any_text_is_read_whole_or_refused(text: str) -> None:
    try:
        origin = Origin.parse(text)
    except InvalidInputError:
        return
    assert str(origin) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "unknown origin ''"),
        ("Owner", "unknown origin 'Owner'"),
        ("owner:me", "has no source; write owner alone"),
        ("external", "needs the name of a server, such as external:github"),
        ("external:", "needs the name of a server"),
        ("external: github", "no blanks around it"),
        ("external:git\u200bhub", "printable characters"),
        ("external:a</memory-recall>", "none of <>[]{};,"),
        ("import", "needs the name of a source, such as import:mem0"),
        (f"import:{'x' * 101}", "1 to 100 printable characters"),
    ],
)
def test_a_wrong_origin_is_refused_with_what_to_write(text: str, expected: str) -> None:
    with pytest.raises(InvalidInputError, match="origin") as caught:
        Origin.parse(text)
    assert expected in str(caught.value)


def test_owners_are_trusted_most_and_other_servers_least() -> None:
    in_order = sorted(TRUST_OF, key=TRUST_OF.__getitem__)

    assert in_order == ["external", "import", "mirror", "agent", "heard", "owner"]
    assert trust_of([MIRROR]) == trust_of([AGENT])


def test_servers_are_named_once_and_in_order() -> None:
    origins = [external("web"), AGENT, external("mail"), imported("web"), external("web")]

    assert external_servers(origins) == ("mail", "web")
    assert external_servers([OWNER]) == ()
