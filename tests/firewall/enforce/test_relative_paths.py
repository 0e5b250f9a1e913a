"""Relative paths: what they mean is known only where the server's bases are."""

import posixpath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.core.errors import InvalidInputError
from nacre.firewall.enforce.verdicts import Forward, Hold
from nacre.firewall.policies.packs import text_of
from nacre.firewall.rules.arguments.argument_names import meaning_of, path_arguments
from nacre.firewall.rules.arguments.base_folders import absolute_bases
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.rule import NOWHERE, Surroundings
from tests.firewall.deciding import call, policy
from tests.firewall.guarding import FORM, Person, Scene, encoded, request
from tests.scaffolding.laws import examples

ALLOW_ALL = '[[rule]]\naction = "allow"\ntool = "*"\n'
GUIDE = """
[[rule]]
action = "allow"
tool = "read_*"
server = "fs"
args.path = "/home/user/projects/**"
"""
KEYS = """
[[rule]]
action = "deny"
tool = "*"
args.path = "/home/user/.ssh/**"
"""
ANY_KEYS = '[[rule]]\naction = "deny"\ntool = "*"\nargs."*" = "**/.ssh/**"\n'


def decided(rules: str, where: Surroundings = NOWHERE, /, **given: Any) -> str:
    return policy(rules).decide(call("read_file", given), where).action


def at(*bases: str) -> Surroundings:
    return Surroundings(home="/home/user", bases=bases)


# An allow.


def test_an_allow_asks_about_a_relative_path_of_which_no_base_is_known() -> None:
    assert decided(GUIDE, path="notes.md") == "prompt"
    assert decided(GUIDE, path=".ssh/id_rsa") == "prompt"
    assert decided(GUIDE, path="../.ssh/id_rsa") == "prompt"
    assert decided(GUIDE, path="/home/user/.ssh/id_rsa") == "deny"


def test_an_allow_matches_only_under_every_declared_base() -> None:
    inside, outside = "/home/user/projects/nacre", "/home/user"
    assert decided(GUIDE, at(inside), path="notes.md") == "allow"
    assert decided(GUIDE, at(inside), path="../other/notes.md") == "allow"
    assert decided(GUIDE, at(inside), path="../../.ssh/id_rsa") == "deny"
    assert decided(GUIDE, at(outside), path=".ssh/id_rsa") == "deny"
    assert decided(GUIDE, at(outside), path="projects/notes.md") == "allow"
    assert decided(GUIDE, at(inside, outside), path="notes.md") == "deny"


def test_an_exact_path_is_asked_about_only_where_the_value_ends_it() -> None:
    exact = '[[rule]]\naction = "allow"\ntool = "*"\nargs.path = "/srv/data/report.csv"\n'
    assert decided(exact, path="report.csv") == "prompt"
    assert decided(exact, path="data/report.csv") == "prompt"
    assert decided(exact, path="other.csv") == "deny"


def test_a_relative_pattern_still_matches_as_it_is_written() -> None:
    docs = '[[rule]]\naction = "allow"\ntool = "*"\nargs.path = "docs/**"\n'
    assert decided(docs, path="docs/a.md") == "allow"
    assert decided(docs, path="docs/../secret") == "deny"


# A deny.


@pytest.mark.parametrize(
    "value",
    [
        ".ssh/id_rsa",
        "./.ssh/id_rsa",
        "../.ssh/id_rsa",
        "../../.ssh",
        "user/.ssh/id_rsa",
        "a/../.ssh/id_rsa",
        "~/.ssh/id_rsa",
        "~user/.ssh/id_rsa",
        "~/../user/.ssh/id_rsa",
        "%2essh/id_rsa",
        ".ssh%2fid_rsa",
        ".ssh\\id_rsa",
        "..\\.ssh\\id_rsa",
        "file:.ssh/id_rsa",
        "file:///home/user/.ssh/id_rsa",
        " .ssh/id_rsa",
        "https://x/../../.ssh/id_rsa",
        "home/user/.ssh/id_rsa",
        ".s\u200bsh/id_rsa",
        ".ssh\u2215id_rsa",
    ],
)
def test_a_deny_sees_the_own_segments_of_a_path_below_any_parent(value: str) -> None:
    for where in (NOWHERE, at("/srv"), at("/home/user")):
        assert decided(KEYS + ALLOW_ALL, where, path=value) == "deny"


@pytest.mark.parametrize("value", ["hello", "a.ssh", ".sshx/id_rsa", "other/.ssh/id_rsa", "ssh/x"])
def test_a_deny_does_not_cover_what_only_its_wildcards_could(value: str) -> None:
    assert decided(KEYS + ALLOW_ALL, at("/srv"), path=value) == "allow"
    assert decided(KEYS + ALLOW_ALL, path=value) == "prompt"


def test_a_parent_that_ends_within_the_pattern_counts() -> None:
    deep = '[[rule]]\naction = "deny"\ntool = "*"\nargs.path = "**/config/secrets/**"\n'
    assert decided(deep + ALLOW_ALL, path="secrets/key") == "deny"
    assert decided(deep + ALLOW_ALL, path="config/key") == "prompt"


def test_a_path_that_may_fall_under_a_deny_is_asked_about_before_an_allow_of_everything() -> None:
    assert decided(KEYS + ALLOW_ALL, path="id_rsa") == "prompt"
    assert decided(KEYS + ALLOW_ALL, path=".") == "prompt"
    assert decided(KEYS + ALLOW_ALL, path="..") == "prompt"
    assert decided(KEYS + ALLOW_ALL, path="") == "prompt"
    assert decided(KEYS + ALLOW_ALL, at("/home/user"), path=".ssh") == "deny"
    assert decided(KEYS + ALLOW_ALL, at("/home/user/.ssh"), path="id_rsa") == "deny"
    assert decided(KEYS + ALLOW_ALL, at("/srv", "/home/user/.ssh"), path="id_rsa") == "deny"
    assert decided(KEYS + ALLOW_ALL, at("/srv"), path="id_rsa") == "allow"


def test_without_a_rule_about_paths_no_base_matters() -> None:
    assert decided(ALLOW_ALL, path="src/main.py") == "allow"


# What is a path.


def test_an_argument_is_a_path_by_a_rule_by_its_name_or_by_a_separator() -> None:
    assert decided(ANY_KEYS + ALLOW_ALL, text="hello") == "allow"
    assert decided(ANY_KEYS + ALLOW_ALL, label="hello") == "allow"
    assert decided(ANY_KEYS + ALLOW_ALL, text="this and/or that") == "allow"
    assert decided(ANY_KEYS + ALLOW_ALL, path="hello") == "prompt"
    assert decided(ANY_KEYS + ALLOW_ALL, fileName="hello") == "prompt"
    assert decided(ANY_KEYS + ALLOW_ALL, label="a/b") == "prompt"
    assert decided(ANY_KEYS + ALLOW_ALL, label="..") == "prompt"
    assert decided(ANY_KEYS + ALLOW_ALL, edits=[{"path": "hello"}]) == "prompt"
    assert decided(ANY_KEYS + ALLOW_ALL, paths=["hello"]) == "prompt"
    assert decided(ANY_KEYS + ALLOW_ALL, options={"path": {"value": "hello"}}) == "prompt"
    assert decided(ANY_KEYS + KEYS.replace("path", "doc") + ALLOW_ALL, doc="hello") == "prompt"


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("path", "path"),
        ("filePath", "path"),
        ("file_path", "path"),
        ("oldPath", "path"),
        ("directory", "path"),
        ("sourceURI", "path"),
        ("file_content", "text"),
        ("newText", "text"),
        ("old_string", "text"),
        ("command", "text"),
        ("profile", ""),
        ("direction", ""),
        ("name", ""),
        ("", ""),
    ],
)
def test_a_name_says_what_its_value_is(name: str, meaning: str) -> None:
    assert meaning_of(name) == meaning


def test_a_schema_says_which_arguments_are_paths() -> None:
    schema = {
        "properties": {
            "where": {"type": "string", "description": "Path of the notebook"},
            "notebook": {"type": "string", "format": "uri-reference"},
            "content": {"type": "string", "description": "Text for the file at the path"},
            "label": {"type": "string", "description": "A name for people"},
            "several": {"type": "array", "items": {"properties": {"one": {"format": "path"}}}},
        }
    }
    paths = path_arguments(schema)
    assert paths == {"where", "notebook", "one"}
    assert path_arguments(None) == path_arguments({"properties": [1]}) == frozenset()

    rules = policy(ANY_KEYS + ALLOW_ALL)
    for name in ("where", "notebook", "label", "content"):
        subject = call("read", {name: "hello"})._replace(paths=paths)
        expected = "prompt" if name in paths else "allow"
        assert rules.decide(subject).action == expected


def test_the_policies_that_come_with_nacre_allow_a_word_in_a_text() -> None:
    starter = policy(text_of("starter"))
    assert starter.decide(call("note", {"text": "hello"}, server="nacre")).action == "allow"
    assert starter.decide(call("note", {"key": "a/b"}, server="nacre")).action == "allow"
    assert decided(ANY_KEYS + ALLOW_ALL, text="hello") == "allow"


def test_a_server_that_opens_no_files_has_no_relative_paths() -> None:
    where = Surroundings(opens_files=False)
    assert decided(ANY_KEYS + ALLOW_ALL, where, repository="acme/site") == "allow"
    assert decided(ANY_KEYS + ALLOW_ALL, where, repository=".ssh/x") == "deny"


# Declarations.


def test_a_base_is_an_absolute_folder() -> None:
    assert absolute_bases(["/a/./b/", "~/x", "C:\\d"], "base", "/home/ann") == (
        "/a/b",
        "/home/ann/x",
        "C:/d",
    )
    with pytest.raises(InvalidInputError, match="not an absolute path"):
        absolute_bases(["projects"], "base")
    with pytest.raises(InvalidInputError, match="not an absolute path"):
        absolute_bases(["~/x"], "base")


# Random policies, against a server that resolves as it likes.

segments = st.sampled_from(["a", "b", ".ssh", "..", ".", "key", "home", "~"])
bases = st.lists(st.sampled_from(["a", "b", ".ssh", "home"]), max_size=4).map(
    lambda parts: "/" + "/".join(parts)
)
values = st.lists(segments, max_size=6).map("/".join) | st.builds(
    lambda parts: "/" + "/".join(parts), st.lists(segments, max_size=4)
)
spellings = st.sampled_from(
    [
        lambda text: text,
        lambda text: text.replace("/", "\\"),
        lambda text: text.replace(".", "%2e"),
        lambda text: f"./{text}" if not text.startswith("/") else text,
        lambda text: text.replace("/", "//"),
    ]
)
patterns = st.builds(
    lambda head, parts, tail: head + "/".join(parts) + tail,
    st.sampled_from(["/", "/", "**/", "/home/", "~/"]),
    st.lists(st.sampled_from(["a", "b", ".ssh", "key", "*", "**", "k*"]), min_size=1, max_size=3),
    st.sampled_from(["", "/**", "/*"]),
)
rules = st.lists(
    st.tuples(
        st.sampled_from(["allow", "deny", "prompt"]),
        st.sampled_from(["args.path", 'args."*"', ""]),
        patterns,
    ),
    min_size=1,
    max_size=5,
)
HOME = "/home"


def opened(value: str, base: str) -> list[str]:
    """Return the files that servers open for a value: with and without decoding and `~`.

    Nobody has a folder that is called `~`, so what would be in it counts for nothing.
    """
    decoded = value.replace("\\", "/").replace("%2e", ".")
    texts = [text for text in (value, decoded) if not posixpath.normpath(text).startswith("~")]
    texts += [HOME + text[1:] for text in (value, decoded) if text == "~" or text[:2] == "~/"]
    files = [posixpath.normpath(posixpath.join(base, text)) for text in texts]
    return ["/" + text.lstrip("/") for text in files]


def meant(servers: list[tuple[str, str, str]], file: str) -> str:
    """Return the decision about an absolute path, by the plain meaning of the rules."""
    for action, place, pattern in servers:
        plain = HOME + pattern[1:] if pattern.startswith("~") else pattern
        if not place or matches(plain, file):
            return action
    return "deny"


@settings(max_examples=examples(400), deadline=None)
@given(rules, values, spellings, st.lists(bases, min_size=1, max_size=3), st.booleans())
def test_no_value_is_allowed_that_opens_a_file_which_is_not(
    servers: list[tuple[str, str, str]],
    value: str,
    spelt: Any,
    folders: list[str],
    is_declared: bool,
) -> None:
    text = "".join(
        f'[[rule]]\naction = "{action}"\ntool = "*"\n' + (f"{place} = '{glob}'\n" if place else "")
        for action, place, glob in servers
    )
    where = Surroundings(home=HOME, bases=tuple(folders) if is_declared else ())
    value = spelt(value)
    if policy(text).decide(call("read", {"path": value}), where).action == "allow":
        for base in folders:
            for file in opened(value, base):
                assert meant(servers, file) == "allow", (file, base)


def test_the_proxy_knows_the_schemas_that_a_server_listed() -> None:
    scene = Scene(ANY_KEYS + ALLOW_ALL, pins=False, approver=Person(FORM))
    scene.opened("2025-11-25", {"elicitation": {}})
    schema = {"type": "object", "properties": {"notebook": {"description": "Path to open"}}}
    tools = [{"name": "read", "inputSchema": schema}]
    assert isinstance(scene.answered(request(1, "tools/list"), {"tools": tools}), Forward)

    def told(id_: int, **arguments: str) -> object:
        params = {"name": "read", "arguments": arguments}
        return scene.guard.from_client(encoded(request(id_, "tools/call", params)))

    assert isinstance(told(2, notebook="key"), Hold)
    assert isinstance(told(3, label="key"), Forward)
    assert isinstance(told(4, notebook="/srv/key"), Forward)
