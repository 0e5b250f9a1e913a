"""What others wrote runs nowhere: every page with hostile text in every field."""

from html import unescape
from html.parser import HTMLParser

from nacre.being.memory.model.types import SceneText
from nacre.being.memory.store.targets import TARGETS
from tests.being.memory.keeping import scene_draft
from tests.console.conftest import Desk
from tests.console.filled import HOSTILE, captured, conversed, patrolled
from tests.scaffolding.web_site import Answer

_RUNS = frozenset({"script", "iframe", "object", "embed", "style", "base", "link", "meta", "img"})


class _Tags(HTMLParser):
    """Notes every tag that does something, every handler, and every address."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.active: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in _RUNS:
            self.active.append(f"{tag} {given.get('src') or given.get('href') or ''}")
        self.active += [
            f"{tag} {name}" for name, _ in attrs if name.startswith("on") or name == "style"
        ]
        self.addresses += [
            value or ""
            for name, value in attrs
            if name in ("href", "src", "action", "formaction", "hx-get", "xlink:href")
        ]
        if given.get("id"):
            self.ids.append(given["id"] or "")


def read(page: Answer) -> _Tags:
    tags = _Tags()
    tags.feed(page.text)
    return tags


def pages(desk: Desk) -> list[Answer]:
    """Fill every field with hostile text, and return every page that shows it."""
    memory, being = desk.own.mind.memory, desk.being
    for name in (HOSTILE[0], HOSTILE[1][:60], "‮evil"):
        desk.place.authority.beings.create(name.replace("‮", ""), owner="me")
    nodes = patrolled(
        desk, *HOSTILE, actors=list(HOSTILE[:4]), setting=HOSTILE[1], feeling=HOSTILE[2],
        themes=list(HOSTILE[4:8]),
    )  # fmt: skip
    wording = SceneText(action=HOSTILE[3], actors=HOSTILE, when=("2026-07-01",), themes=HOSTILE[:8])
    version = nodes[3].version
    changed = memory.edits.reword(being, nodes[3].node_id, wording, version=version)
    memory.scenes.record(being, [scene_draft(text) for text in HOSTILE])
    for target in TARGETS.values():
        for place, text in enumerate(HOSTILE):
            key = f"2026-11-{place + 1:02}" if target.keyed_by == "day" else text[:80]
            key = "voice" if target.keyed_by == "field" else key
            location = text if target.name == "partner_map" else None
            memory.entries.append(being, target, text, key=key, location=location)
    for text in HOSTILE:
        memory.relations.upsert(being, text, relation_type=text[:30], content=text)
    conversed(desk, *HOSTILE, f"{HOSTILE[0]}" * 100)
    key = HOSTILE[1][:80]
    answers = [
        desk.get("overview"), desk.get("map"), desk.get("map", forgotten="1"),
        desk.get("map", group=changed.cluster_id or "none"),
        desk.get("memories"), desk.get("memories", state="pending"),
        *(desk.get("memories", q=text, group="c", place="") for text in HOSTILE),
        desk.get("memories", group=HOSTILE[0], status=404),
        desk.get("memories", place=HOSTILE[0], status=400),
        desk.get("memories", q="x", status=400, **{"from": HOSTILE[1]}),
        *(desk.get("memories", each.node_id) for each in nodes[:4]),
        desk.get("memories", changed.node_id, "edit"),
        desk.get("memories", changed.node_id, "forget"),
        desk.get("scenes", nodes[0].evidence[0]),
        desk.get("scenes", nodes[0].evidence[0], "forget"),
        desk.get("memories", "merge", **{f"pick-{each.node_id}": "1" for each in nodes[:4]}),
        desk.get("profile"), *(desk.get("profile", name) for name in TARGETS),
        desk.get("profile", "knowledge", "entry", key=key),
        desk.get("profile", "souls", "entry", key="voice", version="3"),
        desk.get("relations"), desk.get("history"), desk.get("captured"),
        *(desk.get("captured", each) for each in captured(desk, *HOSTILE)),
        *(desk.get("history", q=text, **{"from": ""}) for text in HOSTILE),
        desk.get("export"), desk.browser.get("/"),
        desk.get("profile", "knowledge", "entry", key=HOSTILE[0] * 2, status=404),
        desk.get("overview", said=HOSTILE[0]),
        *(
            desk.get("scenes", scene.scene_id, "edit")
            for scene in memory.scenes.pending(being).scenes[:4]
        ),
    ]  # fmt: skip
    form = desk.get("profile", "diary")
    answers.append(desk.submit(form, "profile", "diary", key=HOSTILE[1], content=HOSTILE[3]))
    form = desk.get("relations")
    answers.append(
        desk.submit(form, "relations", entity=HOSTILE[1], type=HOSTILE[2] * 9, content=HOSTILE[3])
    )
    return answers


def test_hostile_text_is_text_everywhere(desk: Desk) -> None:
    own = read(desk.get("export"))

    for page in pages(desk):
        tags = read(page)
        assert set(tags.active) <= set(own.active), (tags.active, page.text[:300])
        for each in tags.addresses:
            assert each.startswith(("/", "#main")), each
            assert not each.startswith("//"), each
        assert len(tags.ids) == len(set(tags.ids)), tags.ids
        policy = page["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "5329" not in page.text, "a template in a text was run"


def test_the_text_itself_is_shown_as_it_is(desk: Desk) -> None:
    nodes = patrolled(desk, *HOSTILE)

    for node in nodes:
        assert node.action in unescape(desk.get("memories", node.node_id).text)
