"""The owner sees what was captured, and removes it with one click."""

from datetime import UTC, datetime, timedelta

from nacre.being.memory.conversations.captured_message import CapturedMessage, conversation_id_of
from nacre.being.memory.model.types import SceneDraft
from tests.console.conftest import Desk

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
S1 = conversation_id_of("codex", "s1")


def capture(desk: Desk, session: str, *texts: str, project: str | None = "/home/ann/boat") -> None:
    desk.own.mind.captured.keep(
        desk.being,
        [
            CapturedMessage(
                client="codex",
                session=session,
                role="user" if number % 2 == 0 else "assistant",
                text=text,
                at=NOON + timedelta(minutes=number),
                project=project,
            )
            for number, text in enumerate(texts)
        ],
    )


def test_the_list_names_client_project_and_count(desk: Desk) -> None:
    assert "Nothing was captured yet" in desk.get("captured").text
    capture(desk, "s1", "I moved to Kiel", "Noted <b>it</b>")
    capture(desk, "s2", "hi", project=None)

    page = desk.get("captured").text

    assert "Codex, /home/ann/boat" in page
    assert "2 messages, " in page
    assert "1 message, " in page
    talk = desk.get("captured", S1).text
    assert talk.index("I moved to Kiel") < talk.index("Noted &lt;b&gt;it&lt;/b&gt;")
    assert desk.get("captured", "0" * 32, status=404).status == 404


def test_one_click_removes_a_conversation_and_what_was_heard_in_it(desk: Desk) -> None:
    capture(desk, "s1", "I moved to Kiel")
    capture(desk, "s2", "I sail a lot")
    memory = desk.own.mind.memory
    kiel, sail = (
        memory.history.search(desk.being, limit=1, query=word).messages[0]
        for word in ("Kiel", "sail")
    )
    drafts = [
        SceneDraft(
            action=message.content,
            actors=("user",),
            when=("2026-07-01",),
            source="extract",
            evidence=(message.message_id,),
        )
        for message in (kiel, sail)
    ]
    heard, other = memory.scenes.record(desk.being, drafts).scenes

    page = desk.submit(desk.get("captured"), "captured", "remove", conversation=S1)

    assert "Erased permanently" in page.text
    assert "/home/ann/boat" in page.text  # of the other conversation
    assert memory.history.get(desk.being, kiel.message_id) is None
    remaining = memory.scenes.get_many(desk.being, [heard.scene_id, other.scene_id])
    assert set(remaining) == {other.scene_id}
    capture(desk, "s3", "I moved to Kiel")
    assert memory.history.search(desk.being, limit=1, query="Kiel").messages == ()


def test_one_click_removes_a_message(desk: Desk) -> None:
    capture(desk, "s1", "I moved to Kiel", "Noted")
    first = desk.own.mind.memory.history.search(desk.being, limit=1, query="Kiel").messages[0]

    page = desk.submit(desk.get("captured", S1), "captured", S1, "remove", message=first.message_id)

    assert "I moved to Kiel" not in page.text
    assert "Noted" in page.text
    last = desk.own.mind.memory.history.search(desk.being, limit=1).messages[0]
    assert "Nothing was captured yet" in (
        desk.submit(page, "captured", S1, "remove", message=last.message_id).text
    )


def test_long_lists_go_on_on_the_next_page(desk: Desk) -> None:
    for number in range(35):
        capture(desk, f"n{number}", f"text {number}")
    capture(desk, "s1", *(f"part {number}" for number in range(60)))

    first = desk.get("captured").text
    assert first.count("Remove the conversation") == 30
    before = first.partition("?before=")[2].partition('"')[0]
    rest = desk.browser.get(f"{desk.at('captured')}?before={before}").text
    assert rest.count("Remove the conversation") == 6
    talk = desk.get("captured", S1).text
    after = talk.partition("?after=")[2].partition('"')[0]
    assert (
        desk.browser.get(f"{desk.at('captured', S1)}?after={after}").text.count(
            "Remove the message"
        )
        == 10
    )
    desk.get("captured", status=400, before="x" * 301)
