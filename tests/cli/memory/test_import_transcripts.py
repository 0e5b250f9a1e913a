"""The command `nacre import` with conversations of other programs."""

import gzip
import json
import signal
import subprocess
import sys
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.conversations.captured_store import CapturedConversations
from nacre.being.memory.model.counters import PENDING_MESSAGES, count_in, counters
from nacre.cli.hooks.capture_settings import CaptureSettings, write_settings
from nacre.cli.hooks.transcripts import messages_in
from nacre.core.clock import system_clock
from tests.cli.conftest import Nacre, Typed
from tests.cli.worlds import World
from tests.scaffolding import transcripts
from tests.scaffolding.waiting import until


@pytest.fixture
def being_id(nacre: Nacre, world: World) -> str:
    """The id of Ann."""
    return str(nacre("being", "create", "Ann", "--json", *world.options).json()["being_id"])


@pytest.fixture(autouse=True)
def _no_other_places(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)


def history(world: World, being_id: str) -> list[str]:
    """Return every message of the history, the oldest first."""
    messages = world.memory.history.search(being_id, limit=1000).messages
    return [f"{message.role} {message.content}" for message in reversed(messages)]


def test_conversations_are_imported_once_and_cut_of_secrets(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    secret = "ghp_" + "aB3" * 12
    record = transcripts.claude_code_record("user", f"My token is {secret}, keep it", 20)
    file = tmp_path / "5f1c.jsonl"
    file.write_bytes(transcripts.claude_code() + transcripts.lines(record))

    dry = nacre("import", str(file), "--dry-run", "--json", *world.options).json()
    assert history(world, being_id) == []
    first = nacre("import", str(file), "--json", *world.options).json()
    again = nacre("import", str(file), "--format", "claude-code", "--json", *world.options).json()

    row = {
        "format": "claude-code",
        "path": str(file),
        "files": 1,
        "conversations": 1,
        "new": 5,
        "repeated": 0,
        "left_out": 0,
        "first": "2026-03-01",
        "last": "2026-03-01",
    }
    assert dry["imports"] == first["imports"] == [row]
    assert again["imports"] == [row | {"new": 0, "repeated": 5}]
    said = history(world, being_id)
    assert said[:2] == ["user I live in Bern and grow roses.", "assistant Roses like lime."]
    assert len(said) == 5
    assert secret.encode() not in world.content
    assert "My token is" in said[-1]


def test_a_session_that_a_hook_captured_is_not_kept_again(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    hooked = CapturedMessage(
        client="claude-code",
        session="another-session-after-a-resume",
        message_id="u-1",
        role="user",
        text="I live in Bern and grow roses.",
        at=datetime(2026, 3, 1, 17, 38, 1, 557000, tzinfo=UTC),
    )
    CapturedConversations(world.table, clock=system_clock).keep(being_id, [hooked])
    file = tmp_path / "5f1c.jsonl"
    file.write_bytes(transcripts.claude_code())

    [outcome] = nacre("import", str(file), "--json", *world.options).json()["imports"]

    assert (outcome["new"], outcome["repeated"]) == (3, 1)
    assert len(history(world, being_id)) == 4


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini-cli"])
def test_an_import_and_a_hook_agree_on_the_identity_of_every_message(
    name: str, nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    sources = {
        "claude-code": transcripts.claude_code,
        "codex": transcripts.codex,
        "gemini-cli": transcripts.gemini_lines,
    }
    content = sources[name]()
    file = tmp_path / "rollout-session.jsonl"
    file.write_bytes(content)
    hooked = {
        message.id or message.text: CapturedMessage(
            client=name,
            session="s",
            message_id=message.id,
            role=message.role,
            text=message.text,
            at=datetime.fromisoformat(message.at),
        )
        for line in content.splitlines()
        for message in messages_in(name, line)
        if "continued from a previous" not in message.text
    }
    CapturedConversations(world.table, clock=system_clock).keep(being_id, hooked.values())

    [outcome] = nacre("import", str(file), "--json", *world.options).json()["imports"]

    assert (outcome["new"], outcome["repeated"]) == (0, len(hooked))


def test_excluded_projects_and_words_are_left_out(
    nacre: Nacre, world: World, being_id: str, folder: Path, tmp_path: Path
) -> None:
    folder.mkdir(exist_ok=True)
    write_settings(str(folder), CaptureSettings(consented={}, projects=("ants",), words=("lime",)))
    first, second = tmp_path / "rollout-1.jsonl", tmp_path / "5f1c.jsonl"
    first.write_bytes(transcripts.codex())
    second.write_bytes(transcripts.claude_code())

    ants = nacre("import", str(first), "--json", *world.options).json()["imports"]
    roses = nacre("import", str(second), "--json", *world.options).json()["imports"]

    assert [(one["new"], one["left_out"]) for one in (*ants, *roses)] == [(0, 2), (3, 1)]
    assert not any("lime" in text or "ants" in text for text in history(world, being_id))


def test_patrols_look_for_facts_only_if_told(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps([transcripts.claude_conversation(1)]))
    second.write_text(json.dumps([transcripts.claude_conversation(2)]))

    nacre("import", str(first), "--format", "claude", *world.options)
    assert count_in(counters(world.table, being_id), PENDING_MESSAGES) == 0
    nacre("import", str(second), "--format", "claude", "--learn", *world.options)

    assert count_in(counters(world.table, being_id), PENDING_MESSAGES) == 2


def test_a_wrong_format_and_a_folder_without_files_are_refused(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    file = tmp_path / "conversations.json"
    file.write_bytes(transcripts.chatgpt())

    refused = nacre("import", str(file), "--format", "claude", *world.options)
    empty = nacre("import", str(tmp_path), "--format", "codex", *world.options)

    assert refused.code == empty.code == 2
    assert "is not of the format claude: it looks like chatgpt" in refused.err
    assert "it looks like chatgpt" in empty.err
    assert history(world, being_id) == []


def test_an_import_without_a_new_message_says_so(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    assert history(world, being_id) == []
    file = tmp_path / "conversations.json"
    file.write_bytes(transcripts.chatgpt())

    first = nacre("import", str(file), *world.options)
    again = nacre("import", str(file), *world.options)

    assert "Imported into Ann." in first.err
    assert "Nothing was imported: there is no new message." in again.err


def test_a_being_is_created_for_conversations(nacre: Nacre, world: World, tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    file.write_bytes(transcripts.claude())

    dry = nacre("import", str(file), "--create", "Ben", "--dry-run", *world.options)
    assert dry.code == 0
    assert "Nothing was written. The import into the new Being takes" in dry.err
    assert nacre("being", "list", "--json", *world.options).json() == []
    nacre("import", str(file), "--create", "Ben", *world.options)

    [ben] = nacre("being", "list", "--json", *world.options).json()
    assert len(history(world, ben["being_id"])) == 2


def stored_everywhere(home: Path) -> None:
    """Store conversations where programs on Linux do."""
    session = home / ".claude/projects/-home-mia/5f1c.jsonl"
    rollout = home / ".codex/sessions/2025/10/29/rollout-2025-10-29T00-59-38-019a.jsonl"
    chat = home / ".gemini/tmp/a33c/chats/session-2025-12-17T09-00-92f6.json"
    cursor = home / ".config/Cursor/User/globalStorage/state.vscdb"
    export = home / "Downloads/claude-export.zip"
    for path in (session, rollout, chat, cursor, export):
        path.parent.mkdir(parents=True)
    session.write_bytes(transcripts.claude_code())
    rollout.write_bytes(transcripts.codex())
    chat.write_bytes(transcripts.gemini())
    (home / ".gemini/tmp/a33c/.project_root").write_text("/home/mia/greetings\n")
    transcripts.write_cursor(cursor)
    with zipfile.ZipFile(export, "w") as archive:
        archive.writestr("conversations.json", transcripts.claude())
    (home / "Downloads/broken.zip").write_bytes(b"PK\x03\x04 no zip")


@pytest.mark.parametrize("answer", ["y\n", "n\n"])
def test_find_lists_the_conversations_of_this_machine_and_asks(
    answer: str, nacre: Nacre, world: World, being_id: str, tmp_path: Path, typed: Typed
) -> None:
    stored_everywhere(tmp_path / "home")
    typed(answer)

    outcome = nacre("import", "--find", *world.options)

    listed = [
        line.split()[0] for line in outcome.err.splitlines() if ".zip" in line or "/." in line
    ]
    assert listed == ["claude-code", "codex", "gemini", "cursor", "claude"]
    expected = 4 + 2 + 2 + 6 + 2 if answer == "y\n" else 0
    assert len(history(world, being_id)) == expected


def test_find_looks_where_downloads_are_in_the_language_of_the_user(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    folder = home / "Téléchargements"
    unpacked = folder / "data-2026" / "conversations.json"
    activity = folder / "Takeout" / "Meine Aktivitäten" / "Gemini-Apps" / "MeineAktivitäten.json"
    for path in (unpacked, activity, home / ".config" / "user-dirs.dirs"):
        path.parent.mkdir(parents=True)
    (home / ".config/user-dirs.dirs").write_text('XDG_DOWNLOAD_DIR="$HOME/Téléchargements"\n')
    unpacked.write_bytes(transcripts.claude())
    activity.write_bytes(transcripts.takeout())
    (folder / "conversations (1).json").write_bytes(transcripts.chatgpt())
    (folder / "conversations-of-others.json").write_text("[1, 2]")

    done = nacre("import", "--find", "--yes", "--json", *world.options).json()["imports"]

    assert [(one["format"], one["path"]) for one in done] == [
        ("chatgpt", str(folder / "conversations (1).json")),
        ("claude", str(unpacked)),
        ("gemini", str(activity)),
    ]
    assert all(one["new"] for one in done)


def test_a_packed_file_is_refused_with_the_way_out(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    takeout, outer = tmp_path / "takeout.tgz", tmp_path / "outer.zip"
    takeout.write_bytes(gzip.compress(b"x" * 600))
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("inner.zip", b"PK\3\4")

    for options in ([], ["--format", "gemini"]):
        packed = nacre("import", str(takeout), *options, *world.options)
        inside = nacre("import", str(outer), *options, *world.options)
        assert (packed.code, inside.code) == (2, 2)
        assert "it is packed with gzip" in packed.err
        assert "inner.zip" in inside.err


@pytest.mark.slow
def test_an_import_that_is_stopped_says_how_it_goes_on(
    nacre: Nacre, folder: Path, tmp_path: Path
) -> None:
    nacre("being", "create", "Ann")
    pipe = tmp_path / "session.jsonl"
    pipe.write_bytes(
        transcripts.lines(
            *(transcripts.claude_code_record("user", f"text {n}", n) for n in range(40_000))
        )
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "nacre.cli", "import", str(pipe)], stderr=subprocess.PIPE, text=True
    )
    journal = folder / "nacre.db-wal"
    until(lambda: journal.exists() and journal.stat().st_size > 1_000_000, process.poll())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "Stopped. The messages so far are in the history, and the same command" in err
    [outcome] = nacre("import", str(pipe), "--json").json()["imports"]
    assert outcome["repeated"] > 0
    assert outcome["new"] + outcome["repeated"] == 40_000


def test_find_needs_an_answer_and_finds_the_project_of_a_chat(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    stored_everywhere(tmp_path / "home")

    asked = nacre("import", "--find", *world.options)
    assert "Add --yes to import all of it" in asked.err
    assert history(world, being_id) == []
    done = nacre("import", "--find", "--format", "gemini", "--yes", "--json", *world.options)

    assert [one["new"] for one in done.json()["imports"]] == [2]
    captured = CapturedConversations(world.table, clock=system_clock)
    [conversation] = captured.conversations(being_id).conversations
    assert conversation.project == "/home/mia/greetings"


def test_nothing_to_find_and_a_missing_path_are_said(
    nacre: Nacre, world: World, being_id: str
) -> None:
    nothing = nacre("import", "--find", *world.options)
    neither = nacre("import", *world.options)

    assert nothing.code == 0
    assert "There are no conversations where other programs store them." in nothing.err
    assert neither.code == 2
    assert "give either a PATH or --find" in neither.err


@pytest.mark.slow
def test_an_import_that_is_killed_continues(nacre: Nacre, folder: Path, tmp_path: Path) -> None:
    being = str(nacre("being", "create", "Ann", "--json").json()["being_id"])
    file = tmp_path / "conversations.json"
    count = 6000
    file.write_text(json.dumps([transcripts.claude_conversation(n) for n in range(count)]))
    command = [sys.executable, "-m", "nacre.cli", "import", str(file), "--format", "claude"]
    killed = 0
    for wait in (0.9, 1.2, 1.5, 1.8):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL

    [outcome] = nacre("import", str(file), "--format", "claude", "--json").json()["imports"]
    [again] = nacre("import", str(file), "--format", "claude", "--json").json()["imports"]

    assert killed
    assert outcome["new"] + outcome["repeated"] == 2 * count
    assert (again["new"], again["repeated"]) == (0, 2 * count)
    exported = tmp_path / "ann.jsonl"
    facts = nacre("export", str(exported), "--json").json()
    assert facts["counts"]["message"] == 2 * count, being
