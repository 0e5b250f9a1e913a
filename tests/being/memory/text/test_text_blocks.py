from hypothesis import given
from hypothesis import strategies as st

from nacre.being.memory.text.text_blocks import BlockEntry, Section, block, shortened

texts = st.text(alphabet="abc é日🌊", min_size=1, max_size=60)
entries = st.builds(BlockEntry, texts) | st.builds(BlockEntry, texts, texts)
sections = st.lists(
    st.builds(
        Section,
        title=st.sampled_from(["Rules", "Preferences"]),
        entries=st.lists(entries, max_size=6).map(tuple),
        hint=st.just("update_memory get rules"),
    ),
    max_size=4,
)


def lines(*names: str) -> tuple[BlockEntry, ...]:
    return tuple(BlockEntry(f"- {name}") for name in names)


def test_sections_with_entries_are_shown_in_order() -> None:
    shown = block(
        [
            Section("Rules", lines("be kind", "be brief"), "update_memory get partner_rules"),
            Section("Preferences", (), "update_memory get preferences"),
            Section("People", lines("Ann"), "update_memory get relationship"),
        ],
        1000,
    )

    assert shown == "## Rules\n- be kind\n- be brief\n\n## People\n- Ann"


def test_what_does_not_fit_is_left_out_from_the_end_and_counted() -> None:
    many = Section("Notes", lines(*(f"note {each}" for each in range(100))), "x")

    shown = block([many, Section("People", lines("Ann"), "y")], 90)

    assert shown == ("## Notes\n- note 0\n- note 1\n- note 2\n… 97 more, use x\n\n## People\n- Ann")


def test_briefs_come_before_whole_texts_of_any_section() -> None:
    first = Section(
        "Knowledge", (BlockEntry("- tea: " + "x" * 30, "- tea"), BlockEntry("- b", "- b")), "k"
    )
    second = Section("Tools", lines("a saw"), "t")

    assert block([first, second], 70) == "## Knowledge\n- tea\n- b\n\n## Tools\n- a saw"
    assert "x" * 30 in block([first, second], 120)


@given(sections, st.integers(0, 400))
def test_a_block_keeps_its_budget_unless_the_titles_alone_exceed_it(
    given: list[Section], budget: int
) -> None:
    shown = block(given, budget)
    bare = block(given, 0)

    assert len(shown.encode()) <= max(budget, len(bare.encode()))
    assert block(given, budget) == shown


@given(sections)
def test_with_room_everything_is_shown_whole(given: list[Section]) -> None:
    shown = block(given, 100_000)

    assert all(entry.text in shown for section in given for entry in section.entries)
    assert "more, use" not in shown


@given(st.text(max_size=80), st.integers(3, 60))
def test_a_cut_text_is_a_prefix_with_an_ellipsis(text: str, size: int) -> None:
    cut = shortened(text, size)

    assert len(cut.encode()) <= max(size, 3)
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))
