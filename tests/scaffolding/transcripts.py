"""Conversations as the files of other programs have them, written after real ones.

The shapes are those of Claude Code 2.1, Codex 0.46 and 0.20, the exports of ChatGPT and Claude of
2026, Gemini CLI 0.8 and 0.61, Google Takeout of 2026, and Cursor 0.42, 0.50 and 2.0.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

Json = dict[str, Any]

CONTINUED = "This session is being continued from a previous conversation that ran out."


def lines(*records: Json) -> bytes:
    """Return JSON lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def claude_code_record(kind: str, content: Any, number: int, **more: Any) -> Json:
    """Return a line of Claude Code."""
    message: Json = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg_{number}", "type": "message", "model": "claude-opus-4-1"}
    return {
        "parentUuid": f"u-{number - 1}" if number > 1 else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/mia/garden",
        "sessionId": "5f1c6d0e-0000-4000-8000-000000000001",
        "version": "2.1.63",
        "gitBranch": "main",
        "type": kind,
        "message": message,
        "uuid": f"u-{number}",
        "timestamp": f"2026-03-01T17:38:{number:02}.557Z",
        **more,
    }


def claude_code() -> bytes:
    """Return a session of Claude Code: four messages among other records."""
    tool = [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}]
    result = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "roses.txt"}]
    reminder = "<system-reminder>Never mention this.</system-reminder>"
    return lines(
        {"type": "summary", "summary": "A garden", "leafUuid": "u-9"},
        {"type": "file-history-snapshot", "messageId": "u-1", "snapshot": {}},
        claude_code_record("user", "I live in Bern and grow roses.", 1),
        claude_code_record("assistant", [{"type": "thinking", "thinking": "Roses."}], 2),
        claude_code_record("assistant", [{"type": "text", "text": "Roses like lime."}], 3),
        claude_code_record("assistant", tool, 4),
        claude_code_record("user", result, 5, toolUseResult={"stdout": "roses.txt"}),
        claude_code_record("user", "<command-name>/clear</command-name>", 6),
        claude_code_record("user", "Caveat: generated", 7, isMeta=True),
        claude_code_record("user", "Search the files", 8, isSidechain=True),
        claude_code_record("user", [{"type": "text", "text": f"{reminder}\nThank you!"}], 9),
        claude_code_record("user", CONTINUED, 10),
        claude_code_record("assistant", [{"type": "text", "text": "You are welcome."}], 11),
    )


def codex() -> bytes:
    """Return a rollout of Codex since 0.40: two messages, as items and as events."""

    def line(second: int, kind: str, payload: Json) -> Json:
        return {"timestamp": f"2025-10-29T00:59:{second}.317Z", "type": kind, "payload": payload}

    def item(role: str, text: str) -> Json:
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    meta = {"id": "019a2d7a-41c4", "timestamp": "2025-10-29T00:59:38.308Z", "cwd": "/home/mia/ants"}
    return lines(
        line(38, "session_meta", meta | {"originator": "codex_exec", "cli_version": "0.46.0"}),
        line(38, "response_item", item("developer", "Be brief.")),
        line(38, "response_item", item("user", "<environment_context>…</environment_context>")),
        line(39, "response_item", item("user", "My ants eat only honey.")),
        line(39, "event_msg", {"type": "user_message", "message": "My ants eat only honey."}),
        line(39, "turn_context", {"cwd": "/home/mia/ants", "model": "gpt-5-codex"}),
        line(40, "response_item", {"type": "reasoning", "summary": [], "encrypted_content": "x"}),
        line(41, "event_msg", {"type": "agent_message", "message": "Add seeds."}),
        line(41, "response_item", item("assistant", "Add seeds.")),
        line(41, "event_msg", {"type": "token_count", "info": None}),
    )


def codex_items() -> bytes:
    """Return the same rollout as a program wrote it that stores no events."""
    return b"".join(
        line for line in codex().splitlines(keepends=True) if b'"event_msg"' not in line
    )


def codex_early() -> bytes:
    """Return a rollout of Codex before 0.40, without envelopes."""
    meta = {"id": "0197-early", "timestamp": "2025-07-01T10:00:00.000Z", "instructions": None}
    return lines(
        meta | {"git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Hi"}],
        },
    )


def chatgpt_node(key: str, parent: str | None, role: str, text: str, at: float | None) -> Json:
    """Return a node of a tree of ChatGPT."""
    message: Json = {
        "id": key,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        "channel": None,
    }
    return {"id": key, "message": message, "parent": parent, "children": []}


def chatgpt_conversation(number: int = 1) -> Json:
    """Return a conversation of ChatGPT with an edited question: five messages are shown."""
    root: Json = {"id": "root", "message": None, "parent": None, "children": ["system"]}
    hidden = chatgpt_node("system", "root", "system", "", None)
    first = chatgpt_node("q1", "system", "user", "Which tea is mild?", 1700000000.25)
    answer = chatgpt_node("a1", "q1", "assistant", "White tea.", 1700000010.5)
    search = chatgpt_node("t1", "a1", "assistant", "search('tea')", 1700000011.0)
    search["message"] |= {"recipient": "web"}
    edited = chatgpt_node("q2", "system", "user", "Which green tea is mild?", 1700000100)
    again = chatgpt_node("a2", "q2", "assistant", "Gyokuro.", 1700000110)
    photo = chatgpt_node("q3", "a2", "user", "", 1700000120)
    asset = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
    photo["message"]["content"] = {"content_type": "multimodal_text", "parts": [asset, "And this?"]}
    nodes = (root, hidden, first, answer, search, edited, again, photo)
    return {
        "title": "Tea",
        "create_time": 1700000000.0,
        "update_time": 1700000120.0,
        "mapping": {node["id"]: node for node in nodes},
        "current_node": "q3",
        "conversation_id": f"67a0-{number}",
        "id": f"67a0-{number}",
    }


def chatgpt() -> bytes:
    """Return `conversations.json` of ChatGPT, with one conversation."""
    return json.dumps([chatgpt_conversation()]).encode()


def claude_conversation(number: int = 1) -> Json:
    """Return a conversation of Claude with two messages."""

    def message(place: int, sender: str, text: str) -> Json:
        at = f"2025-06-01T08:0{place}:11.123456+00:00"
        block = {"start_timestamp": at, "type": "text", "text": text, "citations": []}
        return {
            "uuid": f"c{number}-m{place}",
            "text": text,
            "content": [block, {"type": "tool_use", "name": "artifacts", "input": {}}],
            "sender": sender,
            "created_at": at,
            "updated_at": at,
            "attachments": [{"file_name": "a.txt", "extracted_content": "not a message"}],
            "files": [],
        }

    return {
        "uuid": f"c{number}",
        "name": "Bees",
        "summary": "",
        "created_at": "2025-06-01T08:00:00.000000Z",
        "updated_at": "2025-06-01T08:05:00.000000Z",
        "account": {"uuid": "acc"},
        "chat_messages": [
            message(1, "human", "My bees swarm in May."),
            message(2, "assistant", "Give them room."),
        ],
    }


def claude() -> bytes:
    """Return `conversations.json` of Claude, with one conversation."""
    return json.dumps([claude_conversation()]).encode()


def gemini() -> bytes:
    """Return a chat of Gemini CLI before 0.39, one object: two messages."""
    session = {
        "sessionId": "92f625c6",
        "projectHash": "a33c",
        "startTime": "2025-12-17T09:00:00.000Z",
        "lastUpdated": "2025-12-17T09:01:00.000Z",
        "messages": [
            {
                "id": "1",
                "timestamp": "2025-12-17T09:00:01.000Z",
                "type": "user",
                "content": "Hi, Jo",
            },
            {
                "id": "2",
                "timestamp": "2025-12-17T09:00:02.000Z",
                "type": "info",
                "content": "Update",
            },
            {
                "id": "3",
                "timestamp": "2025-12-17T09:00:03.000Z",
                "type": "gemini",
                "content": "Hi, I am not Jo.",
                "thoughts": [],
                "model": "gemini-2.5-pro",
            },
        ],
    }
    return json.dumps(session, indent=2).encode()


def gemini_lines() -> bytes:
    """Return a chat of Gemini CLI since 0.39, JSON lines: three messages, one repeated."""
    at = "2026-09-10T18:13:21.000Z"
    return lines(
        {
            "sessionId": "s-61",
            "projectHash": "abc",
            "startTime": at,
            "directories": ["/home/mia/x"],
        },
        {"id": "m1", "timestamp": at, "type": "user", "content": [{"text": "Count to two"}]},
        {"id": "m2", "timestamp": at, "type": "gemini", "content": "", "toolCalls": []},
        {"id": "m2", "timestamp": at, "type": "gemini", "content": "One, two."},
        {"$set": {"lastUpdated": at}},
        {"id": "m3", "timestamp": at, "type": "user", "content": "And back"},
        {"$rewindTo": "m3"},
    )


def takeout() -> bytes:
    """Return `MyActivity.json` of Google Takeout: two questions, three answers, and other rows."""
    common = {"header": "Gemini Apps", "products": ["Gemini Apps"]}
    rows = [
        common
        | {
            "title": "Prompted Best islands in Greece?",
            "time": "2026-04-20T18:24:31.187Z",
            "safeHtmlItem": [{"html": "<p>Naxos &amp; Crete</p><ul><li>by ferry</li></ul>"}],
        },
        common
        | {
            "title": "Eingegebener Prompt: Und im Winter?",
            "time": "2026-04-20T18:25:31.187Z",
            "titleUrl": "https://gemini.google.com/app/0123456789abcdef",
            "safeHtmlItem": [{"html": "Stay home."}, {"html": "Madeira."}],
        },
        common | {"title": "Used an Assistant feature", "time": "2026-04-20T18:26:31.187Z"},
        common | {"title": "Gave feedback: Good response", "time": "2026-04-20T18:27:31.187Z"},
    ]
    return json.dumps(rows).encode()


def write_cursor(path: Path) -> None:
    """Write `state.vscdb` of Cursor: three conversations, two messages in each."""
    conversation = {
        "_v": 10,
        "composerId": "c-new",
        "createdAt": 1748736000000,
        "fullConversationHeadersOnly": [
            {"bubbleId": "b1", "type": 1},
            {"bubbleId": "b2", "type": 2},
        ],
    }
    rows: dict[str, Json] = {
        "composerData:c-new": conversation,
        "bubbleId:c-new:b1": {"_v": 3, "type": 1, "text": "Sort by name", "bubbleId": "b1"},
        "bubbleId:c-new:b2": {
            "_v": 3,
            "type": 2,
            "text": "Sorted.",
            "bubbleId": "b2",
            "createdAt": "2025-06-01T00:00:05.000Z",
        },
        "composerData:c-old": {
            "composerId": "c-old",
            "createdAt": 1738736000000,
            "conversation": [
                {"type": 1, "text": "Why is it slow?", "bubbleId": "o1"},
                {"type": 2, "text": "A loop.", "bubbleId": "o2"},
                {"type": 2, "text": "", "bubbleId": "o3"},
            ],
        },
        "checkpointId:1": {"files": []},
    }
    chats = {
        "tabs": [
            {
                "tabId": "t1",
                "lastSendTime": 1718736000000,
                "bubbles": [
                    {"type": "user", "id": "x1", "text": "Old question"},
                    {"type": "ai", "id": "x2", "rawText": "Old answer"},
                ],
            }
        ]
    }
    with closing(sqlite3.connect(path)) as database:
        for table in ("ItemTable", "cursorDiskKV"):
            database.execute(
                f"CREATE TABLE {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"
            )
        values = [(key, json.dumps(value)) for key, value in rows.items()]
        database.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", values)
        database.execute(
            "INSERT INTO ItemTable VALUES (?, ?)",
            ("workbench.panel.aichat.view.aichat.chatdata", json.dumps(chats)),
        )
        database.commit()


def write_cursor_folder(path: Path, *composer_ids: str) -> None:
    """Write the `state.vscdb` of a folder, which lists its conversations."""
    value = {"allComposers": [{"composerId": id_} for id_ in composer_ids]}
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)")
        row = ("composer.composerData", json.dumps(value))
        database.execute("INSERT INTO ItemTable VALUES (?, ?)", row)
        database.commit()
