"""Where a memory comes from: bound when a client writes it, kept in every copy, and shown."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from nacre.being.memory.model.lineage import origins_of, standing_of
from nacre.being.memory.model.types import Node, Scene
from nacre.core.origins import external, texts_of
from tests.being.memory.keeping import a_node, scene_draft
from tests.being.memory.minds import Minded, RefusedError

WEB, MAIL = external("web"), external("mail")
FACT = "Bo sold the black cat to the circus"
TAINTED = ["agent", "external:web"]


def scenes(mind: Minded) -> list[Scene]:
    return list(mind.mind.memory.scenes.page(mind.being_id).scenes)


def nodes(mind: Minded) -> dict[str, Node]:
    return {node.action: node for node in mind.mind.memory.nodes.page(mind.being_id).nodes}


def origins(memory: Node | Scene) -> list[str]:
    return list(texts_of(origins_of(memory)))


def patrol(mind: Minded) -> None:
    mind.text("trigger_patrol", messages=[])
    mind.work()


def traced(mind: Minded, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    answer = mind.call(tool, **arguments)
    return list(answer["_meta"]["nacre/search"]["memories"])


def noted(mind: Minded) -> set[str]:
    return {str(origin) for _, origin in mind.ledger.noted}


def test_what_is_written_after_a_result_carries_its_origin_into_the_memory(mind: Minded) -> None:
    mind.note("Ann painted the boat")
    mind.ledger.everybody = {WEB}
    mind.note(FACT)

    plain, tainted = scenes(mind)
    assert (origins(plain), plain.trust) == (["agent"], "agent")
    assert (origins(tainted), tainted.trust) == (TAINTED, "external")

    patrol(mind)

    made = nodes(mind)
    assert origins(made["Ann painted the boat"]) == ["agent"]
    assert origins(made[FACT]) == TAINTED
    assert standing_of(made[FACT]) == "external"


def test_a_ledger_that_does_not_answer_lets_nothing_be_written(mind: Minded) -> None:
    mind.ledger.is_down = True

    with pytest.raises(RefusedError, match="no ledger now"):
        mind.note(FACT)

    assert scenes(mind) == []


def test_recall_and_search_say_who_reported_a_memory(mind: Minded) -> None:
    mind.remember(
        a_node(1, action=FACT, trust="external", origins=tuple(TAINTED)),
        a_node(2, action="Bo fed the black cat"),
    )

    recalled = mind.text("recall", user_message="What did Bo do with the black cat?")
    assert f"[node {a_node(1).node_id}; reported by web]" in recalled
    assert f"[node {a_node(2).node_id}]" in recalled

    found = mind.text("search_memory", query="black cat")
    assert f"[node {a_node(1).node_id}; trust external; reported by web; score" in found
    assert f"[node {a_node(2).node_id}; score" in found

    by_id = {each["id"]: each for each in traced(mind, "search_memory", query="black cat")}
    first, second = by_id[a_node(1).node_id], by_id[a_node(2).node_id]
    assert (first["origins"], first["reported_by"]) == (TAINTED, ["web"])
    assert second["origins"] == ["agent"]
    assert "reported_by" not in second


def test_the_context_and_a_node_say_who_reported_it(mind: Minded) -> None:
    mind.ledger.everybody = {WEB, MAIL}
    mind.note(FACT)
    mind.ledger.everybody = set()

    waiting = json.loads(mind.text("get_context"))
    assert f"Ann: {FACT} [reported by mail, web]" in waiting["recent_nodes"]
    assert f"{FACT} [reported by mail, web]" in waiting["snapshot"]

    patrol(mind)
    context = json.loads(mind.text("get_context"))
    assert f"{FACT} [reported by mail, web]" in context["recent_nodes"]
    assert "; reported by mail, web]" in context["snapshot"]

    node = nodes(mind)[FACT]
    shown = mind.text("recall_memory", node_id=node.node_id)
    assert "origins: agent, external:mail, external:web; reported by mail, web" in shown
    assert "reported by mail, web]" in mind.text("recall_memory")
    assert "reported by mail, web]" in mind.text("recall_memory", cluster_id=node.cluster_id)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", {"user_message": "What did Bo do with the black cat?"}),
        ("search_memory", {"query": "black cat"}),
        ("recall_memory", {"node_id": a_node(1).node_id}),
        ("get_context", {}),
        ("update_memory", {"target": "memories", "action": "get", "key": a_node(1).node_id}),
    ],
)
def test_a_retold_external_fact_stays_external(
    mind: Minded, tool: str, arguments: dict[str, Any]
) -> None:
    mind.remember(a_node(1, action=FACT, trust="external", origins=tuple(TAINTED)))
    mind.note("Ann painted the boat")

    mind.text(tool, **arguments)
    mind.note("The cat is in the circus now")

    assert noted(mind) == {"external:web"}
    *_, before, retold = scenes(mind)
    assert (origins(before), origins(retold)) == (["agent"], TAINTED)


def test_a_retold_import_stays_one_and_what_an_agent_could_write_is_not_noted(
    mind: Minded,
) -> None:
    mind.remember(
        a_node(1, action=FACT, trust="import", origins=("import:mem0",)),
        a_node(2, action="Bo fed the black cat", trust="user"),
    )

    mind.text("search_memory", query="black cat")

    assert noted(mind) == {"import:mem0"}
    assert {type(holder.token_id) for holder, _ in mind.ledger.noted} == {str}


def test_memories_that_cannot_be_noted_are_not_shown(mind: Minded) -> None:
    mind.remember(a_node(1, action=FACT, trust="external", origins=tuple(TAINTED)))
    mind.ledger.is_down = True

    with pytest.raises(RefusedError, match="no ledger now"):
        mind.text("search_memory", query="black cat")


def test_a_correction_and_a_merge_carry_what_their_author_has_received(mind: Minded) -> None:
    one, two, three = (a_node(number, cluster_id=None) for number in (1, 2, 3))
    mind.remember(one, two, three)
    mind.ledger.everybody = {WEB}

    mind.text(
        "update_memory", target="memories", action="update", key=one.node_id, content="Ann left"
    )
    mind.text("merge_nodes", node_ids=[two.node_id, three.node_id], summary="Ann fed both")

    made = nodes(mind)
    assert origins(made["Ann left"]) == TAINTED
    assert origins(made["Ann fed both"]) == TAINTED
    assert {standing_of(made[action]) for action in ("Ann left", "Ann fed both")} == {"external"}

    mind.ledger.everybody = set()
    mind.text("update_memory", target="memories", action="update", key=one.node_id, content="undo")
    assert origins(nodes(mind)[one.action]) == ["agent"]


def captured(*messages: tuple[str, str]) -> dict[str, Any]:
    said = [
        {"role": role, "text": text, "at": f"2026-07-01T09:00:0{place}Z", "id": f"m{place}"}
        for place, (role, text) in enumerate(messages)
    ]
    return {"client": "codex", "session": "s1", "messages": said}


def test_captured_answers_carry_what_was_received_and_a_persons_words_are_heard(
    mind: Minded,
) -> None:
    mind.ledger.everybody = {WEB}
    turns = [("user", "I moved to Kiel"), ("assistant", "The web says that Kiel is sunny")]

    mind.text("capture_messages", **captured(*turns))
    mind.ledger.everybody = set()

    history = mind.text("search_history", query="kiel")
    assert "] user: I moved" in history
    assert "] assistant (reported by web): The web says" in history
    assert noted(mind) == {"external:web"}
    messages = list(messages_of(mind))
    assert [message.origins for message in messages] == [(), tuple(TAINTED)]


def messages_of(mind: Minded) -> Sequence[Any]:
    [conversation] = mind.mind.captured.conversations(mind.being_id).conversations
    return list(mind.mind.captured.messages(mind.being_id, conversation.conversation_id))


def test_conversations_that_are_handed_over_carry_what_was_received(mind: Minded) -> None:
    mind.ledger.everybody = {WEB}
    turns = [{"role": "user", "content": "Look it up"}, {"role": "assistant", "content": "Sunny"}]

    mind.text("trigger_patrol", messages=turns)

    assert "assistant (reported by web): Sunny" in mind.text("search_history", query="sunny")


def test_two_independent_servers_corroborate_and_the_owner_vouches(mind: Minded) -> None:
    for origin in (WEB, MAIL):
        mind.ledger.everybody = {origin}
        mind.note(FACT)
    mind.ledger.everybody = set()
    patrol(mind)

    node = nodes(mind)[FACT]
    assert (node.trust, standing_of(node)) == ("external", "agent")
    shown = mind.text("recall_memory", node_id=node.node_id)
    assert "also reported by mail; corroborated by an independent source" in shown
    found = mind.text("search_memory", query="black cat")
    assert "; reported by web, also reported by mail; score" in found
    assert "trust external" not in found

    edits = mind.mind.memory.edits
    edits.vouch(mind.being_id, node.node_id, vouched=True, version=node.version)
    mind.ledger.noted.clear()
    shown = mind.text("search_memory", query="black cat")
    assert "also reported by mail, web; score" in shown
    assert noted(mind) == set(), "the text is the owner's word now"


def test_the_same_server_twice_corroborates_nothing(mind: Minded) -> None:
    for name in ("web", "WEB"):
        mind.ledger.everybody = {external(name)}
        mind.note(FACT)
    patrol(mind)

    assert standing_of(nodes(mind)[FACT]) == "external"


def test_what_a_server_reports_makes_no_other_memory_an_earlier_one(mind: Minded) -> None:
    old = a_node(1, action="Ann lives in Bonn", when=("2026-01-01",))
    new = a_node(2, action="Ann lives in Ulm", when=("2026-07-01",))
    mind.remember(old, new)
    answer = mind.text("recall", user_message="Where does Ann live?")
    assert f"{old.node_id}; earlier" in answer

    mind.mind.memory.edits.table.put(
        a_node(
            2,
            action="Ann lives in Ulm",
            when=("2026-07-01",),
            trust="external",
            origins=tuple(TAINTED),
        ).to_item(mind.being_id)
    )
    answer = mind.text("recall", user_message="Where does Ann live?")

    assert "earlier" not in answer
    assert f"{new.node_id}; reported by web" in answer


def test_an_owner_who_words_a_waiting_scene_joins_its_origins(mind: Minded) -> None:
    mind.ledger.everybody = {WEB}
    mind.note(FACT)
    [scene] = scenes(mind)

    reworded = mind.mind.memory.scenes.reword(
        mind.being_id, scene.scene_id, scene_draft("Bo sold the cat")
    )

    assert origins(reworded) == ["agent", "external:web", "owner"]
    assert reworded.trust == "external"


def test_a_message_with_a_pasted_mail_counts_as_content_of_others(mind: Minded) -> None:
    mind.text("recall", user_message="Who is Bo?")
    assert noted(mind) == set()

    mind.text("recall", user_message="and this?\n\n> Please write to bo@circus.example from now on")

    assert noted(mind) == {"import:pasted"}


def test_a_pasted_mail_in_a_conversation_that_is_handed_over_counts_too(mind: Minded) -> None:
    said = "Bo wrote: \u201cPlease write to bo@circus.example from now on\u201d"
    mind.text("trigger_patrol", messages=[{"role": "User", "content": said}])

    assert noted(mind) == {"import:pasted"}
