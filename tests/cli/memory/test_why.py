"""The command `nacre why`: end to end on a laptop, and the same facts on a stack."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nacre.adapters.files.audit import JsonlAudit
from nacre.being.memory.model.types import Node
from nacre.cli.commands import run_commands
from nacre.core.token_prefixes import API
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.audit.log import AuditTrail
from nacre.firewall.audit.stored_log import ItemAudit
from nacre.protocol.principal import FULL
from tests.being.memory.keeping import a_node, scene_draft
from tests.cli.conftest import Nacre
from tests.cli.worlds import World
from tests.gateway.http_upstream import http_upstream
from tests.scaffolding.deployments import Deployment, on_laptop
from tests.scaffolding.gateway_world import EVERYTHING_GOES

RULES = f"""
[[rule]]
action = "deny"
tool = "mcp__web__huge"
{EVERYTHING_GOES}"""
SECRET_TEXT = "the harbour opens at nine"


def now() -> datetime:
    return datetime.now(UTC)


def flat(cause: dict[str, Any]) -> list[dict[str, Any]]:
    return [cause, *(each for below in cause.get("causes", ()) for each in flat(below))]


def related(cause: dict[str, Any], relation: str) -> list[dict[str, Any]]:
    return [each for each in flat(cause) if each.get("relation") == relation]


class Story(Deployment):
    """An agent that hears, reads the web, notes, merges and corrects, with a patrol between."""

    token: str

    def tell(self) -> Node:
        self.token = self.home.tokens.issue(
            API, being_id=self.being.being_id, owner="me", scopes=FULL,
            lifetime=timedelta(days=1), label="work laptop",
        ).record.token_id  # fmt: skip
        self.do(
            "capture_messages", client="codex", session="s1",
            messages=[{"role": "user", "text": "I moved to Kiel last week", "id": "m1",
                       "at": self.clock().isoformat().replace("+00:00", "Z")}],
        )  # fmt: skip
        self.do("mcp__web__echo")
        scene = {"action": f"The web says {SECRET_TEXT}", "actors": ["web"], "when": ["2026-11-20"]}
        self.do("update_notes", scenes=[scene])
        folder = str(self.home.ports.where)
        assert run_commands(["patrol", "run", "--data-dir", folder]) == 0
        ids = [node.node_id for node in self.nodes()]
        assert len(ids) == 2
        self.do("recall", user_message="when does the harbour open?")
        self.do("merge_nodes", node_ids=ids, summary="Kiel has a harbour")
        [merged] = [node for node in self.nodes() if node.parents]
        self.do(
            "update_memory", target="memories", action="update", key=merged.node_id,
            content="Kiel has a harbour, open from nine",
        )  # fmt: skip
        return merged

    def do(self, tool: str, **arguments: Any) -> None:
        result = self.call(tool, arguments, token=self.token)
        assert "isError" not in result, result

    def nodes(self) -> list[Node]:
        return list(self.home.memory_services.memory.nodes.page(self.being.being_id).nodes)


def test_a_whole_story_leads_back_to_its_beginning(nacre: Nacre, tmp_path: Path) -> None:
    with http_upstream() as web, on_laptop(Story, tmp_path, RULES) as story:
        story.add("web", {"url": web.url, "read_tools": ["echo"]})
        story.restart()
        merged = story.tell()
        denied = story.call("mcp__web__huge", {}, token=story.token)
        assert denied["isError"]
        options = ("--data-dir", str(tmp_path / "data"))

        tree = nacre("why", merged.node_id, "--json", *options).json()

        assert (tree["being"], tree["kind"], tree["id"]) == ("Pearl", "memory", merged.node_id)
        assert tree["text"].endswith(": Kiel has a harbour, open from nine")
        assert tree["facts"]["origins"] == "agent, external:web, heard"
        [correction] = related(tree, "corrected by an agent")
        assert correction["facts"]["text before"].endswith("Kiel has a harbour")
        [corrected] = related(tree, "made by")
        [merge] = related(tree, "merged by")
        [written] = related(tree, "written by")
        called = [each["facts"]["called"] for each in (written, merge, corrected)]
        assert called == ["update_notes", "merge_nodes", "update_memory"]
        assert {each["link"] for each in (written, merge, corrected)} == {"time"}
        assert written["facts"]["caller"] == f"work laptop ({story.token})"
        [result] = written["causes"]
        assert (result["relation"], result["facts"]["called"]) == ("after calls to web", "echo")
        assert len(related(tree, "merged from")) == 2
        [heard] = related(tree, "found in")
        assert (heard["text"], heard["facts"]["client"]) == ("I moved to Kiel last week", "codex")
        [found] = related(tree, "found and taken by")
        [taken] = related(tree, "taken by")
        assert found["id"] == taken["id"]
        assert "unknown" not in written

        text = nacre("why", merged.node_id, *options).out
        assert f"  - merged by: call {merge['id']}, " in text
        assert "(by its time)" in text
        assert "          | I moved to Kiel last week\n" in text

        name = nacre("audit", "tail", "-n", "1", *options).out.split()[-1]
        call = nacre("why", name, "--json", *options).json()
        assert (call["being"], call["kind"], call["facts"]["decision"]) == (
            "Pearl",
            "call",
            "denied",
        )
        assert call["facts"]["rule"].startswith("1 of the policy ")
        assert related(call, "after calls to web")
        assert related(call, "had received external:web")
        assert [each["text"] for each in related(call, "said before")] == [heard["text"]]
        [read] = related(call, "after reading memory")
        assert [SECRET_TEXT in each["text"] for each in related(read, "showed")] == [True]

        everywhere = (tmp_path / "data" / "audit").glob("*")
        assert not any(SECRET_TEXT.encode() in file.read_bytes() for file in everywhere)
        story.home.close()


def test_what_was_erased_comes_back_nowhere(nacre: Nacre, tmp_path: Path) -> None:
    with http_upstream() as web, on_laptop(Story, tmp_path, RULES) as story:
        story.add("web", {"url": web.url, "read_tools": ["echo"]})
        story.restart()
        merged = story.tell()
        day = f"{now():%Y-%m-%d}"
        options = ("--data-dir", str(tmp_path / "data"))
        [scene_id] = [
            scene.scene_id
            for scene in story.home.memory_services.memory.scenes.page(story.being.being_id).scenes
            if SECRET_TEXT in scene.action
        ]
        story.home.close()

        nacre("forget", "messages", "--from", day, "--to", day, "--yes", *options)
        tree = nacre("why", merged.node_id, "--json", *options).json()
        assert related(tree, "found in") == []
        [extracted] = [each for each in related(tree, "told by") if "unknown" in each]
        assert extracted["unknown"][0].startswith("its messages are not stored")

        nacre("forget", "scene", scene_id, "--yes", *options)
        for target in (scene_id, merged.node_id):
            done = nacre("why", target, *options)
            assert SECRET_TEXT not in done.out + done.err
        done = nacre("why", scene_id, *options)
        assert done.code != 0
        assert "it was erased, or the id is another one" in done.err


@pytest.fixture
def being_id(nacre: Nacre, world: World) -> str:
    return str(nacre("being", "create", "Ann", "--json", *world.options).json()["being_id"])


def recorded(world: World, *entries: AuditEntry) -> list[str]:
    """Write records as the server of this world does, and return their names."""
    log = (
        ItemAudit(world.table, entries[0].being, clock=now, new_writer=lambda: "stack-1")
        if world.file is None
        else JsonlAudit(world.file.parent / "audit")
    )
    trail = AuditTrail(log, now)
    names = [trail.record(entry) for entry in entries]
    trail.close()
    return names


def entry(being_id: str, tool: str, **facts: Any) -> AuditEntry:
    known: dict[str, Any] = {"outcome": "allow", "server": "nacre", "method": "tools/call"}
    return AuditEntry(**{**known, "being": being_id, "tool": tool, **facts})


def test_a_memory_and_a_call_are_explained_on_both_wirings(
    nacre: Nacre, world: World, being_id: str
) -> None:
    created = nacre(
        "token", "create", "--scope", "full", "--label", "laptop", "--json", *world.options
    )
    token = created.json()["token_id"]
    read, wrote = recorded(
        world,
        entry(being_id, "fetch", server="web", principal=token),
        entry(being_id, "update_notes", principal=token),
    )
    origins = ("agent", "external:web")
    draft = scene_draft("Bo sold the cat", trust="external", origins=origins)
    [scene] = world.memory.scenes.record(being_id, [draft]).scenes
    node = a_node(1, evidence=(scene.scene_id,), trust="external", origins=origins)
    world.memory.nodes.add(being_id, [node])

    tree = nacre("why", node.node_id, "--json", *world.options).json()
    [written] = related(tree, "written by")
    assert (written["id"], written["facts"]["caller"]) == (wrote, f"laptop ({token})")
    assert [each["id"] for each in written["causes"]] == [read]
    assert nacre("why", scene.scene_id, "--json", *world.options).json()["kind"] == "scene"

    call = nacre("why", wrote, "--json", *world.options).json()
    assert (call["being"], call["id"]) == ("Ann", wrote)
    assert related(call, "after calls to web")[0]["id"] == read


def test_texts_of_others_cannot_command_a_terminal(
    nacre: Nacre, world: World, being_id: str
) -> None:
    world.memory.nodes.add(
        being_id, [a_node(1, action="a\x1b[2J\x07b\nc\u202ed\u2066e\u2028f", evidence=())]
    )
    [name] = recorded(world, entry(being_id, "x\x1b[2J\ny", principal="\x1b[31m"))

    out = nacre("why", a_node(1).node_id, *world.options).out
    out += nacre("why", name, *world.options).out

    assert not {"\x1b", "\x07", "\u202e", "\u2066", "\u2028"} & set(out)


def test_unknown_things_are_refused_with_what_to_do(
    nacre: Nacre, world: World, being_id: str
) -> None:
    for target, problem, advice in (
        (a_node(7).node_id, "no memory and no scene with this id", "nacre audit tail"),
        ("laptop-1/7", "the audit has no record laptop-1/7", "prints the names of records"),
        ("laptop-1/x", "a call is named as at the end of a line", "laptop-1/7"),
    ):
        done = nacre("why", target, *world.options)
        assert done.code != 0
        assert done.out == ""
        assert problem in done.err
        assert advice in done.err


def test_calls_of_another_being_and_of_another_owner_are_not_shown(
    nacre: Nacre, folder: Path
) -> None:
    nacre("owner", "add", "joe")
    own = nacre("being", "create", "Ann", "--json").json()["being_id"]
    other = nacre("being", "create", "Opal", "--owner", "joe", "--json").json()["being_id"]
    trail = AuditTrail(JsonlAudit(folder / "audit"), now)
    mine, theirs, nobodys = (
        trail.record(entry(being, "recall", principal="tok_1")) for being in (own, other, "")
    )
    trail.close()

    assert nacre("why", mine, "--json").json()["being"] == "Ann"
    done = nacre("why", theirs)
    assert done.code != 0
    assert "belongs to another Being" in done.err
    assert nacre("why", theirs, "--owner", "joe", "--json").json()["being"] == "Opal"
    assert nacre("why", mine, "--being", "Ann", "--json").json()["being"] == "Ann"
    assert "being" not in nacre("why", nobodys, "--json").json()
    nacre("being", "create", "Eva")
    assert "belongs to another Being" in nacre("why", mine, "--being", "Eva").err
