"""The trace of a request: valid members pass, and nothing else."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nacre.core.limits import BAGGAGE_BYTES, TRACESTATE_BYTES
from nacre.protocol.trace_context import trace_of

PARENT = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
STATE = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"
BAGGAGE = "userId=alice,serverNode=DF%2028;ttl=1,isProduction=false"


def test_valid_members_pass_unchanged() -> None:
    members = {"traceparent": PARENT, "tracestate": STATE, "baggage": BAGGAGE}
    assert trace_of({**members, "progressToken": 1}) == members


@pytest.mark.parametrize(
    "parent",
    [
        None,
        7,
        ["00"],
        "",
        PARENT.upper(),
        PARENT + "-",
        PARENT + "\n",
        PARENT[:-1],
        "ff" + PARENT[2:],
        PARENT.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
        PARENT.replace("00f067aa0ba902b7", "0" * 16),
        PARENT * 1000,
    ],
)
def test_a_malformed_parent_is_dropped_with_its_state(parent: Any) -> None:
    assert trace_of({"traceparent": parent, "tracestate": STATE}) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tracestate", "a=" + "b" * TRACESTATE_BYTES),
        ("tracestate", ",".join(f"k{n}=v" for n in range(33))),
        ("tracestate", "novalue"),
        ("tracestate", "a=b\r\nc=d"),
        ("tracestate", "ä=b"),
        ("tracestate", {"a": "b"}),
        ("baggage", "a=" + "b" * BAGGAGE_BYTES),
        ("baggage", ",".join(f"k{n}=v" for n in range(65))),
        ("baggage", "a b=c"),
        ("baggage", "a=\x00"),
        ("baggage", 7),
        ("baggage", ""),
    ],
)
def test_a_malformed_or_long_list_is_dropped_alone(name: str, value: Any) -> None:
    assert trace_of({"traceparent": PARENT, name: value}) == {"traceparent": PARENT}


def test_baggage_needs_no_parent() -> None:
    assert trace_of({"baggage": BAGGAGE, "tracestate": STATE}) == {"baggage": BAGGAGE}


SPACED = st.from_regex(r"\s?[a-z]{1,3}=[a-z]{1,3}\s?", fullmatch=True)
LISTS = st.lists(SPACED, min_size=1, max_size=3).map(",".join)


@given(
    st.dictionaries(
        st.sampled_from(("traceparent", "tracestate", "baggage")),
        st.one_of(st.just(PARENT), LISTS, st.text(), st.integers(), st.lists(st.text())),
    )
)
@example({"traceparent": PARENT, "baggage": "a=b\r\n\u2003,\nc=d\n", "tracestate": "a=b\n"})
def test_what_passes_is_short_and_printable(meta: dict[str, Any]) -> None:
    trace = trace_of(meta)
    assert all(text.isascii() and len(text) <= BAGGAGE_BYTES for text in trace.values())
    assert all(text.replace("\t", "").isprintable() for text in trace.values())
