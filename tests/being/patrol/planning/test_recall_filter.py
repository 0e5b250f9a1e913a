"""Recalled memories are not learned again, in whatever form they come back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.memory.text.memory_text import Fragment, recall_block
from nacre.being.patrol.planning.prompt_text import without_recalls

NODE = "node 5f0c2f8e-0000-5000-8000-000000000001"
BLOCK = recall_block([Fragment("SECRET fern", NODE), Fragment("SECRET train", NODE)], "ferns?")


@pytest.mark.parametrize(
    "block",
    [
        BLOCK,
        BLOCK.upper(),
        BLOCK.replace("<", "< ").replace("</", "< / "),
        BLOCK.replace("<memory-recall>", '<memory-recall count="2" source="nacre">'),
        BLOCK.replace("-recall", "_recall"),
        BLOCK.replace("memory-recall", "Memory Recall"),
        BLOCK.replace("<", "&lt;").replace(">", "&gt;"),
        BLOCK.replace("<", "\\u003c").replace(">", "\\u003e"),
        BLOCK.replace("</", "<\\/"),
        BLOCK.replace("<", "[").replace(">", "]"),
        BLOCK.replace("<", "\uff1c").replace(">", "\uff1e"),
        "\n".join(f"> {line}" for line in BLOCK.splitlines()).replace("> <", "><"),
        BLOCK.replace("SECRET fern", "SECRET &lt;memory-recall> fern"),
        BLOCK.replace("SECRET fern", "SECRET &lt;/memory-recall> fern SECRET"),
        json.dumps(BLOCK),
    ],
)
def test_a_block_is_taken_out_in_whatever_dress(block: str) -> None:
    text = without_recalls(f"before {block} after")

    assert "SECRET" not in text
    assert text.startswith("before")
    assert text.endswith("after")


def test_what_stands_between_two_blocks_stays() -> None:
    assert without_recalls(f"a\n{BLOCK}\nb\n{BLOCK}\nc").split() == ["a", "b", "c"]


def test_a_block_that_was_cut_takes_the_rest_with_it() -> None:
    assert without_recalls("before <memory-recall>\n- SECRET") == "before"
    assert without_recalls("- SECRET\n</memory-recall> after") == "after"


def test_lines_that_name_their_memory_go_without_tags_too() -> None:
    text = (
        f"I remember:\n- SECRET fern [{NODE}]\n- SECRET [scene 01K0ABCDEFGHJKMNPQRSTVWXYZ]\nand so"
    )

    assert without_recalls(text) == "I remember:\nand so"


@pytest.mark.parametrize(
    "text",
    [
        "how does memory recall work?",
        "call the tool recall_memory",
        "use <memory-recaller> and [memory-recall-tests] there",
        "a < memory - recalling > b",
        "the [node 17] of the tree",
    ],
)
def test_talk_about_recalling_is_no_recall(text: str) -> None:
    assert without_recalls(text) == text


@given(st.text(), st.text())
def test_nothing_in_a_block_gets_out(before: str, after: str) -> None:
    block = recall_block([Fragment(f"{before} SECRET {after}", NODE)], "x")

    assert "SECRET" not in without_recalls(f"{before}{block}{after}")


@pytest.mark.parametrize(
    "text",
    [
        "<" + " " * 250_000,
        "< " * 100_000,
        "<memory-recall " * 10_000,
        "<memory-recall>" * 10_000,
        "[node 0123456789012345678901234567" * 8_000,
        ("[node 01234567890123456789012345]" + " " * 1000 + "x\n") * 200,
    ],
    ids=len,
)
def test_no_text_takes_long_to_look_through(text: str) -> None:
    # Any step that grows with the square of a text would outlast the whole suite here.
    assert len(without_recalls(text)) <= len(text)
