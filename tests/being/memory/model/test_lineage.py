"""The lineage of memories: which origins they carry, and what raises their standing.

Trust as the minimum of a lineage alone is unsound in both directions; the counter-examples are
here.
"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.memory.model.lineage import (
    class_of,
    is_corroborated,
    is_vouched,
    made_of,
    origins_of,
    rewritten,
    standing_of,
    tellings_of,
    told_again,
    with_vouch,
    without_vouch,
)
from nacre.being.memory.model.types import TRUST_ORDER, Node, Scene, Trust, least_trusted
from nacre.being.memory.store.scenes import checked_scene
from nacre.core.limits import KEPT_TELLINGS
from nacre.core.origins import AGENT, HEARD, OWNER, Origin, external, imported, origins_in
from tests.being.memory.keeping import a_node, scene_draft


def a_scene(*origins: str, **fields: Any) -> Scene:
    return checked_scene(
        scene_draft(origins=origins, **fields),
        "scene",
        scene_id="S",
        created_at="2026-07-01T10:00:00.000Z",
    )


def told(*scenes: Scene) -> Node:
    """Return the node of a scene that the others tell again."""
    node = made_of(a_node(1), scenes[:1])
    for scene in scenes[1:]:
        node = told_again(node, scene)
    return node


def texts(memory: Node | Scene) -> set[str]:
    return {str(origin) for origin in origins_of(memory)}


BEING = "00000000-0000-4000-8000-000000000001"
WEB = ("agent", "external:web")
MAIL = ("agent", "external:mail")


# What version 0.1.0 stored.


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"trust": "agent"}, "agent"),
        ({"trust": "user"}, "heard"),
        ({"trust": "tool"}, "agent"),
        ({"trust": "import"}, "import:unknown"),
        ({"trust": "external"}, "external:unknown"),
    ],
)
def test_a_record_without_origins_has_those_of_its_trust(
    fields: dict[str, Any], expected: str
) -> None:
    assert texts(a_node(1, **fields)) == {expected}
    assert texts(a_scene(**fields)) == {expected}
    assert standing_of(a_node(1, **fields)) == fields["trust"]


def test_a_scene_of_a_mirror_is_from_an_edited_file() -> None:
    scene = a_scene(source="mirror")

    assert texts(scene) == {"mirror"}
    assert texts(told(scene)) == {"mirror"}


def test_what_follows_from_the_trust_is_not_stored() -> None:
    scene = a_scene("agent")

    assert scene == a_scene()
    assert "origins" not in scene.to_item(BEING)
    assert told(scene).to_item(BEING).keys().isdisjoint({"origins", "tellings"})


# Origins are bound, and never lost.


def test_a_scene_is_trusted_no_more_than_its_origins() -> None:
    scene = a_scene(*WEB)

    assert (scene.trust, scene.origins) == ("external", WEB)
    assert a_scene("owner", trust="import").trust == "import"


ORIGINS = st.sampled_from(["owner", "heard", "agent", "mirror", "import:x", *WEB, *MAIL])
SCENES = st.builds(
    lambda origins, trust: a_scene(*origins, trust=trust),
    st.lists(ORIGINS, max_size=3),
    st.sampled_from(TRUST_ORDER),
)


@given(st.lists(SCENES, min_size=1, max_size=5))
def test_a_memory_carries_the_origins_of_all_its_scenes(scenes: list[Scene]) -> None:
    node = told(*scenes)

    assert origins_of(node) == frozenset().union(*map(origins_of, scenes))
    assert node.trust == least_trusted([scene.trust for scene in scenes])
    assert Node.from_item(node.to_item(BEING)) == node


@given(st.lists(st.lists(SCENES, min_size=1, max_size=3), min_size=2, max_size=4))
def test_a_merge_is_trusted_no_more_than_the_text_of_any_source(groups: list[list[Scene]]) -> None:
    sources = [told(*scenes) for scenes in groups]
    merged = made_of(a_node(9), sources, {AGENT})

    assert origins_of(merged) == frozenset({AGENT}).union(*map(origins_of, sources))
    lineages = [class_of(tellings_of(source)[0]) for source in sources]
    lowest = min(map(TRUST_ORDER.index, lineages))
    assert TRUST_ORDER.index(standing_of(merged)) <= max(lowest, TRUST_ORDER.index("agent"))
    assert not is_corroborated(merged)


@given(st.lists(SCENES, min_size=1, max_size=3), st.lists(ORIGINS, min_size=1, max_size=3))
def test_a_rewriting_adds_origins_and_raises_nothing(
    scenes: list[Scene], writer: list[str]
) -> None:
    node = told(*scenes)
    after = rewritten(node, origins_in(writer))

    assert origins_of(after) == origins_of(node) | origins_in(writer)
    assert TRUST_ORDER.index(after.trust) <= TRUST_ORDER.index(node.trust)
    assert tellings_of(after)[0] >= tellings_of(node)[0]


def test_an_agents_summary_of_an_external_fact_stays_external() -> None:
    # Laundering: the agent says it in its own words, merges it, and corrects the merge.
    fact, own = told(a_scene(*WEB)), told(a_scene())

    merged = made_of(a_node(3), [fact, own], {AGENT})
    summary = rewritten(merged, {AGENT})

    assert texts(summary) == {"agent", "external:web"}
    assert (summary.trust, standing_of(summary)) == ("external", "external")


# Counter-examples to trust as the minimum of the lineage: it is too low ...


def test_an_echo_from_another_server_does_not_lower_what_a_person_said() -> None:
    # The minimum lets an attacker discredit any true memory, by repeating it.
    node = told(a_scene("heard", trust="user"), a_scene(*WEB))

    assert node.trust == "external"
    assert standing_of(node) == "user"
    assert "external:web" in texts(node)


def test_two_servers_that_know_nothing_of_each_other_corroborate() -> None:
    # The minimum stays at `external`, however many independent sources agree.
    node = told(a_scene(*WEB), a_scene(*MAIL))

    assert node.trust == "external"
    assert is_corroborated(node)
    assert standing_of(node) == "agent"


def test_a_person_who_says_the_same_corroborates() -> None:
    node = told(a_scene(*WEB), a_scene("heard", trust="user"))

    assert standing_of(node) == "agent", "the text is still the server's, and no person's word"


# ... and a maximum, or a count of tellings, would be too high.


@pytest.mark.parametrize(
    "echo",
    [
        pytest.param(WEB, id="the same server again"),
        pytest.param(("external:WEB",), id="in other case"),
        pytest.param(("external:\uff57\uff45\uff42",), id="in full width"),
        pytest.param(("external:w-e-b",), id="with marks between"),
        pytest.param(("external:wéb",), id="with an accent"),
        pytest.param(("agent",), id="an agent, who may have read it anywhere"),
        pytest.param(("mirror",), id="a file, which agents write"),
        pytest.param(("import:web",), id="an import of the same name"),
        pytest.param(("import:mem0",), id="an import, whose sources nobody knows"),
        pytest.param(("external:unknown",), id="a server that was not recorded"),
        pytest.param(("agent", *WEB, "external:mail"), id="one that has read the first"),
        pytest.param(("heard", *WEB), id="a person's words, mixed with it"),
        pytest.param(("agent", "heard"), id="a conversation, with what the agent said in it"),
        pytest.param(("agent", "import:x", "external:mail"), id="an import that names a server"),
    ],
)
def test_a_telling_that_may_derive_from_the_same_source_raises_nothing(
    echo: tuple[str, ...],
) -> None:
    node = told(a_scene(*WEB), *[a_scene(*echo)] * 3)

    assert not is_corroborated(node)
    assert standing_of(node) == "external"


def test_two_servers_that_were_not_recorded_do_not_corroborate() -> None:
    node = told(a_scene(trust="external"), a_scene(*MAIL))

    assert standing_of(node) == "external"


def test_a_merged_text_is_not_corroborated_by_its_own_sources() -> None:
    # One text of both may say more than either.
    sources = [told(a_scene(*WEB)), told(a_scene(*MAIL))]
    merged = made_of(a_node(3, parents=("A", "B")), sources, {AGENT})

    assert standing_of(merged) == "external"
    assert standing_of(told_again(merged, a_scene(*MAIL))) == "external"
    later = told_again(merged, a_scene("agent", "external:bank"))
    assert (standing_of(later), "external:bank" in texts(later)) == ("external", True)


def test_only_so_many_tellings_are_kept_and_all_origins() -> None:
    scenes = [a_scene("agent", f"external:s{number}") for number in range(KEPT_TELLINGS + 4)]
    node = told(*scenes)

    assert len(node.tellings) == KEPT_TELLINGS
    assert len(origins_of(node)) == len(scenes) + 1


# The owner's hand.


@pytest.mark.parametrize("tellings", [[WEB], [WEB, MAIL], [("heard",), WEB], [("owner",)]])
def test_an_owner_vouches_for_a_text_and_takes_it_back(tellings: list[tuple[str, ...]]) -> None:
    node = told(*(a_scene(*telling, trust="user") for telling in tellings))

    vouched = with_vouch(node)

    assert standing_of(vouched) == "user"
    assert origins_of(vouched) == origins_of(node) | {OWNER}
    assert with_vouch(vouched) == vouched
    assert without_vouch(vouched) == node
    assert without_vouch(node) == node


def test_another_text_needs_another_word_of_the_owner() -> None:
    vouched = with_vouch(told(a_scene(*WEB)))

    assert is_vouched(vouched)
    assert not is_vouched(rewritten(vouched, {AGENT}))
    assert standing_of(rewritten(vouched, {AGENT})) == "agent"
    assert standing_of(rewritten(vouched, {AGENT, external("web")})) == "external"
    assert is_vouched(rewritten(vouched, {OWNER}))
    assert not is_vouched(made_of(a_node(3), [vouched, told(a_scene())], {AGENT}))


def test_what_told_an_earlier_text_does_not_corroborate_another() -> None:
    # Otherwise a correction would inherit the word of servers that never said it.
    node = told(a_scene(*WEB), a_scene(*MAIL))
    assert is_corroborated(node)

    assert standing_of(rewritten(node, {AGENT, external("web")})) == "external"
    assert standing_of(rewritten(with_vouch(node), {AGENT, external("bank")})) == "external"
    # Nor does a scene that is known by that earlier text.
    corrected = replace(rewritten(node, {AGENT}), wordings=("before",))
    later = told_again(corrected, a_scene("agent", "external:bank"))
    assert (standing_of(later), "external:bank" in texts(later)) == ("external", True)


def test_an_echo_leaves_a_vouched_text_as_it_is() -> None:
    vouched = with_vouch(told(a_scene(*WEB)))

    assert standing_of(told_again(vouched, a_scene(*MAIL))) == "user"


def test_the_trust_classes_and_the_origins_are_ordered_alike() -> None:
    by_class: dict[Trust, list[Origin]] = {}
    for origin in (external("x"), imported("x"), AGENT, HEARD, OWNER):
        by_class.setdefault(class_of([origin]), []).append(origin)

    assert [origin for trust in TRUST_ORDER for origin in by_class.get(trust, [])] == [
        external("x"),
        imported("x"),
        AGENT,
        HEARD,
        OWNER,
    ]
    assert replace(a_node(1), trust="tool").trust == "tool"
