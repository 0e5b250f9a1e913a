"""Paths and what else they may mean: only what stays inside under every reading is allowed."""

import os
import posixpath
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.firewall.rules.arguments.readings import LONGEST_NAME, normal, readings
from nacre.firewall.rules.rule import NOWHERE, Surroundings
from tests.firewall.deciding import PROJECTS, call, decides_path, policy
from tests.scaffolding.laws import examples

ROOT = "/home/user/projects"
ALLOWED = policy(PROJECTS)

ESCAPES = [
    "../x",
    "a/../../x",
    "..",
    "..%2f..%2fx",
    "%2e%2e/x",
    "%252e%252e%252fx",
    "%25252e%25252e/x",
    "%c0%ae%c0%ae/x",
    "%e0%80%ae%e0%80%ae%e0%80%afx",
    "..%c0%afx",
    "..%u2215x",
    "%u002e%u002e/x",
    "..\\x",
    "..%5cx",
    "\uff0e\uff0e/x",
    "\uff0e\uff0e\uff0fx",
    "\u2024\u2024/x",
    "\u2025/x",
    "..\u2215x",
    "..\u2044x",
    ".\u200b./x",
    ".\u00ad./x",
    ".\t./x",
    "%2e\n%2e/x",
    ".%0d./x",
    "\uff05\uff12\uff45%2e/x",
    "..\\..\u200b/x",
    "x\0/../y",
    "x%00/../y",
    "x%2500",
    "\udcff",
    "%25252525252e",
]
ORDINARY = [
    "a.py",
    "a/b/c",
    ".env",
    ".git/config",
    "a b/c d.txt",
    "100%.txt",
    "50%25off.md",
    "a%20b.txt",
    "résumé.md",
    "日本語/メモ.md",
    "a..b/c",
    "..a/b",
    "a//b",
    "./a",
    "a/",
    "a/../b",
    "👩‍👩‍👧.png",
    "...",
    "a:b",
    "a~",
]


@pytest.mark.parametrize("tail", ESCAPES)
def test_a_path_that_may_leave_its_root_is_not_allowed(tail: str) -> None:
    assert not decides_path("allow", f"{ROOT}/**", f"{ROOT}/{tail}")


@pytest.mark.parametrize("tail", ORDINARY)
def test_an_ordinary_path_is_allowed(tail: str) -> None:
    assert decides_path("allow", f"{ROOT}/**", f"{ROOT}/{tail}")


@pytest.mark.parametrize(
    "value",
    [
        "/home/user/.ssh/id_rsa",
        "/home/user//.ssh/id_rsa",
        "/home/user/./.ssh/id_rsa",
        "/home/user/x/../.ssh/id_rsa",
        "/home/user/%2essh/id_rsa",
        "/home/user/%252essh/id_rsa",
        "/home/user\\.ssh\\id_rsa",
        "file:///home/user/.ssh/id_rsa",
        "file://localhost/home/user/.ssh/id_rsa",
        "FILE:/home/user/.ssh/id_rsa",
        "file:///home/user/.ssh/id_rsa#part",
        "../../../../home/user/.ssh/id_rsa",
        "home/user/.ssh/id_rsa",
        "/home/user/.s\u200bsh/id_rsa",
        "/home/user/\uff0essh/id_rsa",
        " /home/user/.ssh/id_rsa ",
        "/home/user/.ssh",
        "/home/user/.ssh/",
        "~/.ssh/id_rsa",
        "~user/.ssh/id_rsa",
        "$HOME/.ssh/id_rsa",
        "${HOME}/.ssh/id_rsa",
        "${HOME}//./.ssh/id_rsa",
        "%24HOME/.ssh/id_rsa",
        "%USERPROFILE%\\.ssh\\id_rsa",
        "$env:USERPROFILE\\.ssh\\id_rsa",
        " $HOME/.ssh/id_rsa",
        ["/srv/a", "/home/user/.ssh/id_rsa"],
        {"deep": ["/home/user/.ssh/id_rsa"]},
        "%252525252525252e",
    ],
)
@pytest.mark.parametrize("action", ["deny", "prompt"])
def test_a_deny_and_a_question_see_every_spelling(action: str, value: object) -> None:
    assert decides_path(action, "/home/user/.ssh/**", value)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("~/.ssh/**", "/home/user/.ssh/x"),
        ("~/.ssh/**", "~/.ssh/x"),
        ("/home/user/.ssh/**", "~/.ssh/x"),
        ("file:///home/user/.ssh/**", "/home/user/.ssh/x"),
        ("C:\\Users\\**", "c:\\users\\me"),
        ("/home/user//.ssh/", "/home/user/.ssh"),
    ],
)
def test_a_pattern_is_read_like_a_value(pattern: str, value: str) -> None:
    where = Surroundings(home="/home/user", folds_case=True)
    assert decides_path("deny", pattern, value, where)


def test_a_home_that_is_not_known_may_be_any() -> None:
    for home in ("/home/somebody", "/Users/somebody", "/root"):
        assert decides_path("deny", "~/.ssh/**", f"{home}/.ssh/id_rsa")
    assert not decides_path("allow", "~/notes/**", "/home/somebody/notes/a")


def test_a_known_home_allows_both_spellings() -> None:
    where = Surroundings(home="/home/user")
    assert decides_path("allow", "~/notes/**", "/home/user/notes/a", where)
    assert decides_path("allow", "~/notes/**", "~/notes/a", where)
    assert decides_path("allow", "/home/user/notes/**", "~/notes/a", where)
    assert not decides_path("allow", "~/notes/**", "~/notes/../.ssh/a", where)


def test_a_variable_stands_for_the_home_in_a_value_and_in_a_rule() -> None:
    where = Surroundings(home="/home/user", bases=(ROOT,))
    for home in ("$HOME", "${HOME}"):
        assert decides_path("deny", f"{home}/.ssh/**", "/home/user/.ssh/a", where)
        assert decides_path("deny", f"{home}/.ssh/**", "/home/somebody/.ssh/a")
        assert decides_path("deny", f"{home}/.ssh/**", ".ssh/a")
        assert not decides_path("allow", f"{ROOT}/**", f"{home}/.ssh/a", where)
        assert not decides_path("allow", f"{ROOT}/**", home, where)
    assert decides_path("allow", f"{ROOT}/**", "$HOMEWORK/a", where)
    assert decides_path("allow", f"{ROOT}/**", "a$HOME/b", where)


def test_a_relative_path_is_allowed_only_where_its_folder_is_known() -> None:
    known = Surroundings(bases=(ROOT,))
    assert not decides_path("allow", f"{ROOT}/**", "a.py")
    assert decides_path("allow", f"{ROOT}/**", "a.py", known)
    assert not decides_path("allow", f"{ROOT}/**", "../a.py", known)
    assert decides_path("allow", "src/**", "src/a.py", known)
    assert decides_path("allow", "src/**", "src/a.py")
    assert not decides_path("allow", "src/**", "src/../a.py")
    assert decides_path("allow", "*.md", "a.md", known)
    assert not decides_path("allow", "*", "..")
    assert not decides_path("allow", "*", "..", known)


def test_case_is_folded_for_what_is_denied_only() -> None:
    mac = Surroundings(folds_case=True)
    assert decides_path("deny", "/Users/me/.SSH/**", "/users/ME/.ssh/id_rsa", mac)
    assert not decides_path("deny", "/Users/me/.SSH/**", "/users/ME/.ssh/id_rsa")
    assert not decides_path("allow", "/Users/me/**", "/users/me/a", mac)


@pytest.mark.parametrize(
    "value",
    [
        "C:/p/.env.",
        "C:/p/.env:x",
        "//?/C:/p/.env",
        "\\\\.\\C:\\p\\.env",
        "C:/p./q /.env",
        "C:\\p\\.env ",
        "c:/P/.ENV::$DATA",
        "C:/p/x../.env",
    ],
)
def test_a_name_is_denied_as_windows_opens_it(value: str) -> None:
    assert decides_path("deny", "C:\\p\\**\\.env", value, Surroundings(folds_case=True))


def test_dots_and_blanks_that_windows_drops_do_not_lead_out() -> None:
    windows = Surroundings(folds_case=True, bases=("C:\\work",))
    assert decides_path("allow", "C:\\work\\**", "a.txt", windows)
    assert not decides_path("allow", "C:\\work\\**", "C:\\work\\.. \\x", windows)
    assert not decides_path("allow", "C:\\work\\**", ".. \\x", windows)


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("https://api.example.com/**", "https://api.example.com/v1?q=/../x", True),
        ("https://api.example.com/**", "https://api.example.com/", True),
        ("https://api.example.com/v1/**", "https://api.example.com/v1/../admin", False),
        ("https://api.example.com/v1/**", "https://api.example.com/v1/%2e%2e/admin", False),
        ("https://api.example.com/**", "https://api.example.com@evil.example/", False),
        ("https://api.example.com/**", "https://api.example.com\\@evil.example/", False),
        ("https://api.example.com/**", "http://api.example.com/", False),
        ("https://*.example.com/**", "https://api.example.com/v1", True),
        ("https://*.example.com/**", "https://evil.example#.example.com/", False),
        ("https://*.example.com/**", "https://evil.example?.example.com/", False),
        ("https://*.example.com:*/**", "https://a.example.com:1@evil.example/", False),
        ("file:///home/user/**", "file:///home/user/a.md", True),
        ("file:///home/user/**", "file:///home/user/../a.md", False),
        ("file:///home/user/**", "file://evil.example/home/user/a.md", False),
    ],
)
def test_a_url_is_allowed_by_its_host_and_path(pattern: str, value: str, expected: bool) -> None:
    assert decides_path("allow", pattern, value) is expected


@pytest.mark.parametrize(
    "value",
    [
        "https://evil.example/x",
        "HTTPS://EVIL.example/x",
        "https://evil.example:443/x",
        "https://evil.example./x",
        "https://someone@evil.example/x",
        "https://evil.example",
        "https://good.example\\@evil.example/x",
        " https://evil.example/x",
        "ht\ttps://evil.ex\nample/x",
        "\x01https://evil.example/x",
        "https:/evil.example/x",
        "https:evil.example/x",
        "https:///evil.example/x",
        "//evil.example/x",
        "https://evil.example:/x",
        "https://evil.example:0443/x",
        "https://evil\u3002example/x",
        "https://evil\uff61example/x",
        "view-source:https://evil.example/x",
    ],
)
def test_a_denied_host_is_found_however_it_is_written(value: str) -> None:
    assert decides_path("deny", "https://evil.example/**", value)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "0177.0.0.1", "127.0.0.1:80"])
def test_a_denied_address_is_found_however_it_is_written(host: str) -> None:
    assert decides_path("deny", "http://127.0.0.1/**", f"http://{host}/admin")


@pytest.mark.parametrize("value", ["/x/id_rsa\0", "/x/id_rsa%00.txt", "jar:file:///x/id_rsa"])
def test_what_a_server_may_cut_is_denied_as_it_is_cut(value: str) -> None:
    assert decides_path("deny", "/x/id_rsa", value)
    assert decides_path("deny", "a b", "a b\0c")


def test_a_blank_in_front_does_not_make_a_path_relative() -> None:
    known = Surroundings(bases=(ROOT,))
    assert decides_path("deny", "/etc/**", " /etc/passwd", known)
    assert not decides_path("allow", f"{ROOT}/**", " /etc/passwd", known)


@pytest.mark.parametrize("value", ["\u2025/" * 100_000, "a/" * 100_000, "/" + "../" * 100_000])
def test_a_long_path_is_read_in_a_time_that_grows_with_it(value: str) -> None:
    # Read once per segment, these took minutes.
    for where in (NOWHERE, Surroundings(is_local=True, bases=(ROOT,))):
        assert not decides_path("allow", "/a/**", value, where)


def test_links_are_followed_for_a_server_on_this_machine(tmp_path: Path) -> None:
    root = tmp_path / "root"
    outside = tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "inside.txt").touch()
    (root / "link").symlink_to(outside)
    (root / "loop").symlink_to(root / "loop")
    here, elsewhere = Surroundings(is_local=True), NOWHERE

    assert decides_path("allow", f"{root}/**", f"{root}/inside.txt", here)
    assert decides_path("allow", f"{root}/**", f"{root}/not-there-yet.txt", here)
    assert not decides_path("allow", f"{root}/**", f"{root}/link/x", here)
    assert not decides_path("allow", f"{root}/**", f"{root}/link/../x", here)
    assert decides_path("allow", f"{root}/**", f"{root}/link/x", elsewhere)
    assert decides_path("deny", f"{outside}/**", f"{root}/link/x", here)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        (unicodedata.normalize("NFD", "café"), unicodedata.normalize("NFC", "café")),
        (unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")),
        ("\uff4c\uff49\uff4e\uff4b", "link"),
        ("link", "\uff4c\uff49\uff4e\uff4b"),
        ("\u212b", "\u00c5"),
        ("\u1100\u1161", "\uac00"),
    ],
)
def test_a_link_is_followed_in_every_spelling_of_its_name(
    tmp_path: Path, stored: str, asked: str
) -> None:
    """A server that compares names in one normal form opens it, whatever the file system says."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / stored).symlink_to(outside)
    below = root / "below" / stored
    below.parent.mkdir()
    below.symlink_to(outside)
    here = Surroundings(is_local=True)
    based = Surroundings(is_local=True, bases=(str(root),))

    for path in (f"{root}/{asked}", f"{root}/{asked}/x", f"{root}/below/{asked}/x/y"):
        assert not decides_path("allow", f"{root}/**", path, here)
        assert decides_path("deny", f"{outside}/**", path, here)
    assert not decides_path("allow", f"{root}/**", f"{asked}/x", based)
    assert decides_path("allow", f"{root}/**", f"{root}/other{asked}/x", here)


def test_a_name_of_its_own_is_allowed_in_every_spelling(tmp_path: Path) -> None:
    composed, apart = (unicodedata.normalize(form, "résumé.md") for form in ("NFC", "NFD"))
    here = Surroundings(is_local=True)
    for stored, asked in ((composed, apart), (apart, composed), (composed, composed)):
        root = tmp_path / f"root{len(list(tmp_path.iterdir()))}"
        root.mkdir()
        (root / stored).touch()
        assert decides_path("allow", f"{root}/**", f"{root}/{asked}", here)
        assert decides_path("allow", f"{root}/**", f"{root}/new-{asked}", here)


def test_more_names_that_are_called_alike_than_are_looked_at_allow_nothing(
    tmp_path: Path,
) -> None:
    for number in range(20):
        (tmp_path / "".join(chr(0xFF41) if number >> bit & 1 else "a" for bit in range(5))).touch()
    assert not decides_path(
        "allow",
        f"{tmp_path}/**",
        f"{tmp_path}/\uff41\uff41\uff41\uff41a",
        Surroundings(is_local=True),
    )


def test_a_root_that_is_a_link_allows_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "real")
    here = Surroundings(is_local=True)

    assert decides_path("allow", f"{tmp_path}/home/**", f"{tmp_path}/home/a", here)
    assert decides_path("deny", f"{tmp_path}/home/**", f"{tmp_path}/real/a", here)


def test_commands_are_no_paths() -> None:
    assert decides_path("allow", "git **", "git add a/../b")
    assert decides_path("allow", "git **", "git log --format=%H%n")
    assert not decides_path("allow", "git *", "git add a/b")
    assert decides_path("deny", "**rm -rf**", "rm\u200b -rf /")
    assert decides_path("deny", "**rm -rf**", "rm \t -rf /")


@pytest.mark.slow
def test_a_long_text_is_decided_like_a_short_one() -> None:
    content = "%2e./\u200b\\" * LONGEST_NAME
    assert decides_path("allow", "**", content)
    assert not decides_path("allow", "/a/**", "/a/" + content)
    assert decides_path("deny", "**/etc/**", "x/" * LONGEST_NAME + "%2fetc%2fpasswd")


def test_what_has_more_readings_than_are_found_is_denied_by_any_rule_about_it() -> None:
    assert not readings("%2525252525252e", NOWHERE).complete
    assert decides_path("deny", "/etc/**", "%2525252525252e")
    assert not decides_path("allow", "**/x", "%2525252525252e/x")


fragments = st.sampled_from(
    [
        *("..", ".", "/", "\\", "a", "%2e", "%2f", "%5c", "%252e", "%25", "%c0%ae", "%c0%af"),
        *("%u002e", "%u2215", "\uff0e", "\uff0f", "\uff05", "\u200b", "\u2215", "\u2024"),
        *("\u2025", "~", "file:", "%00", "\0", " ", "%", "2e", "é", "e\u0301", "%e0%80%af"),
        *("//", "#", "?", "\t", "\n", "%0a", "\r"),
    ]
)
hostile = st.lists(fragments, max_size=14).map("".join)


@settings(max_examples=examples(400))
@given(hostile, st.lists(st.integers(0, 6), max_size=7))
def test_no_value_is_allowed_that_any_chain_of_decoders_takes_out_of_the_root(
    tail: str, steps: list[int]
) -> None:
    value = f"{ROOT}/{tail}"
    if ALLOWED.decide(call("read", {"path": value})).action == "allow":
        read = value
        for step in steps:
            assert "\0" not in read
            path = posixpath.normpath(read)
            assert path == ROOT or path.startswith(f"{ROOT}/"), (value, read)
            read = DECODERS[step](read)


@settings(max_examples=examples(300))
@given(hostile, st.lists(st.integers(0, 6), max_size=3))
def test_what_a_decoder_reads_as_denied_is_denied(tail: str, steps: list[int]) -> None:
    read = tail
    for step in steps:
        read = DECODERS[step](read)
    path = posixpath.normpath("/" + read)
    if "\0" not in read and path.startswith("/a/"):
        assert decides_path("deny", "/a/**", tail)


@given(st.text("ab./", max_size=20))
def test_a_normal_path_is_what_posix_says(path: str) -> None:
    expected = posixpath.normpath("/" + path).replace("//", "/")
    assert normal("/" + path) == expected


@given(hostile)
def test_what_is_read_includes_what_was_sent(value: str) -> None:
    found = readings(value, NOWHERE)
    assert value in found.possible
    assert set(found.sure) <= set(found.possible)


def _overlong(text: str) -> str:
    for spelt, meant in {"%c0%ae": ".", "%c0%af": "/", "%e0%80%af": "/"}.items():
        text = text.replace(spelt, meant)
    return re.sub("%u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)


def _plain(text: str) -> str:
    return text.translate({0x200B: None, 0x2215: "/", 0x2024: ".", 0x2025: ".."})


# Written apart from the product's: what servers are known to do to a path.
DECODERS: list[Callable[[str], str]] = [
    unquote,
    _overlong,
    lambda text: text.replace("\\", "/"),
    lambda text: unicodedata.normalize("NFKC", text),
    _plain,
    os.path.normpath,
    lambda text: text.translate(dict.fromkeys(map(ord, "\t\r\n"))),  # as in a URL
]


def test_two_dots_at_the_end_of_a_name_do_not_lead_upwards() -> None:
    assert "/srv/fileh" not in readings("/srv/file../h", NOWHERE).possible
    assert "fileh" not in readings("file../h", NOWHERE).possible
