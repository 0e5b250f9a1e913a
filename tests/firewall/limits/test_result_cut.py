import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.firewall.limits.result_cut import Whole, cut, is_cuttable, size_of
from nacre.firewall.rules.limit import Limit
from nacre.protocol import strict_json
from tests.firewall.deciding import policy

KEPT = Whole("nacre://results/" + "a" * 32)
GONE = Whole(None, "The rest is not stored.")


def limit(most: int, more: str = "") -> Limit:
    [made] = policy(f'[[limit]]\ntool = "**"\nresult_bytes = {most}\n{more}').limits
    return made


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def image(data: str) -> dict[str, Any]:
    return {"type": "image", "data": data, "mimeType": "image/png"}


def cut_to(
    most: int, result: dict[str, Any], whole: Whole = KEPT, method: str = "tools/call"
) -> dict[str, Any]:
    return cut(method, result, limit(most), size_of(result), whole)


def test_a_long_text_ends_early_and_the_whole_is_linked() -> None:
    result = {"content": [text("word " * 10_000)]}

    fitted = cut_to(2000, result)

    beginning, note, link = fitted["content"]
    assert ("word " * 10_000).startswith(beginning["text"])
    assert len(beginning["text"]) > 1400
    assert note["text"] == (
        "[Cut by policy (limit 1): this result is 50,039 bytes; the limit is 2,000."
        f" The full result is available for 60 minutes as the resource {KEPT.uri}]"
    )
    assert link == {
        "type": "resource_link",
        "uri": KEPT.uri,
        "name": "whole result",
        "size": size_of(result),
    }
    assert fitted.keys() == {"content"}


def test_without_a_store_the_note_says_so_and_links_nothing() -> None:
    fitted = cut_to(1000, {"content": [text("x" * 5000)]}, GONE)

    assert [block["type"] for block in fitted["content"]] == ["text", "text"]
    assert fitted["content"][1]["text"].endswith("The rest is not stored.]")


def test_a_description_replaces_the_reason() -> None:
    made = limit(1000, 'description = "Long pages cost too much"\n')

    fitted = cut("tools/call", {"content": [text("x" * 5000)]}, made, 5038, GONE)

    assert fitted["content"][-1]["text"].startswith("[Long pages cost too much: this result is")


def test_json_that_ends_early_is_named() -> None:
    rows = json.dumps([{"id": number} for number in range(2000)])

    fitted = cut_to(3000, {"content": [text(rows)]})

    assert "The JSON above ends early and cannot be parsed." in fitted["content"][1]["text"]
    assert "JSON" not in cut_to(3000, {"content": [text("a" * 5000)]})["content"][1]["text"]


def test_media_are_left_out_as_wholes_and_later_texts_stay() -> None:
    content = [text("before"), image("A" * 8000), image("B" * 100), text("after")]

    fitted = cut_to(1500, {"content": content})

    assert fitted["content"][:3] == [content[0], content[2], content[3]]
    assert "1 of its parts is left out." in fitted["content"][3]["text"]


def test_structured_content_stays_whole_while_its_text_is_cut() -> None:
    result = {"content": [text("x" * 5000)], "structuredContent": {"rows": [1, 2, 3]}}

    fitted = cut_to(2000, result)

    assert fitted["structuredContent"] == {"rows": [1, 2, 3]}
    assert "isError" not in fitted


def test_a_result_without_its_structured_content_is_an_error() -> None:
    result = {
        "content": [text("short")],
        "structuredContent": {"text": "x" * 5000},
        "isError": False,
    }

    fitted = cut_to(2000, result)

    assert "structuredContent" not in fitted
    assert fitted["isError"] is True
    assert fitted["content"][0] == text("short")
    assert "Its structured content is left out." in fitted["content"][1]["text"]


def test_contents_of_a_resource_are_cut_alike() -> None:
    result = {
        "contents": [
            {"uri": "file:///a", "mimeType": "text/plain", "text": "x" * 5000},
            {"uri": "file:///b", "mimeType": "image/png", "blob": "A" * 5000},
        ]
    }

    fitted = cut_to(1500, result, method="resources/read")

    assert [content["uri"] for content in fitted["contents"]] == ["file:///a", KEPT.uri]
    assert "1 of its parts is left out." in fitted["contents"][1]["text"]


@pytest.mark.parametrize(
    "letter", ["é", "界", "🙂", "👩‍👩‍👧", "e\u0301", '"', "\\", "\n", "\x01", "👍🏽"]
)
def test_no_visible_character_is_broken(letter: str) -> None:
    for most in range(1000, 1040):
        [beginning, _] = cut_to(most, {"content": [text(letter * 1000)]}, GONE)["content"]
        words = beginning["text"]
        assert words
        assert words == letter * (len(words) // len(letter))


def test_marks_without_end_are_cut_all_the_same() -> None:
    [beginning, _] = cut_to(1000, {"content": [text("e" + "\u0301" * 5000)]}, GONE)["content"]

    assert len(beginning["text"]) > 100


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
BLOCKS = st.one_of(
    st.builds(text, st.text(max_size=3000)),
    st.builds(image, st.text("AB", max_size=3000)),
    JSON,
)


@given(
    st.integers(1000, 5000),
    st.lists(BLOCKS, max_size=6),
    st.one_of(st.just({}), st.fixed_dictionaries({"structuredContent": JSON, "_meta": JSON})),
    st.sampled_from([KEPT, GONE]),
)
def test_any_result_fits_and_shows_only_parts_of_the_whole(
    most: int, blocks: list[Any], more: dict[str, Any], whole: Whole
) -> None:
    result = {"content": blocks, **more}

    fitted = cut_to(most, result, whole)

    assert strict_json.parse(strict_json.encode(fitted)) == fitted
    assert size_of(fitted) <= most
    shown = fitted["content"][: -2 if whole.uri else -1]
    for block in shown[:-1]:
        assert block in blocks
    if shown and shown[-1] not in blocks:
        assert any(
            isinstance(block, dict) and str(block.get("text")).startswith(shown[-1]["text"])
            for block in blocks
        )
    lacks = more.get("structuredContent") is not None and "structuredContent" not in fitted
    assert (fitted.get("isError") is True) is lacks


@pytest.mark.parametrize(
    ("method", "result", "cuttable"),
    [
        ("tools/call", {"content": []}, True),
        ("resources/read", {"contents": [], "resultType": "complete"}, True),
        ("prompts/get", {"messages": []}, False),
        ("tools/call", {"resultType": "input_required"}, False),
        ("tools/call", {"resultType": "task", "taskId": "1"}, False),
        ("tools/call", {"inputRequests": {}}, False),
    ],
)
def test_only_the_end_of_a_call_is_cut(method: str, result: Any, cuttable: bool) -> None:
    assert is_cuttable(method, result) is cuttable


def test_the_note_names_no_part_of_the_result() -> None:
    [_, note, _] = cut_to(1000, {"content": [text("secret " * 500)]})["content"]

    assert re.search("secret", note["text"]) is None
