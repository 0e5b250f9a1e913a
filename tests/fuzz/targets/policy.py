"""The loader of policies, and the decision.

A policy either loads or is refused by name. A decision never fails; it is the same from
the compiled form; and no value is allowed whose plain decodings leave the allowed root.
"""

import json
import posixpath
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote

from nacre.core.errors import PolicyError
from nacre.firewall.analysis.explain import explain
from nacre.firewall.policies.compiled import from_json, to_json
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.arguments.base_folders import roots_in, with_roots
from nacre.firewall.rules.rule import Subject, Surroundings
from tests.firewall.rules.arguments.test_readings import ESCAPES, ORDINARY
from tests.firewall.rules.test_evaluate import SEED

LENGTH = 200
SEEDS = (
    b"\x00" + SEED.encode(),
    b"\x00[settings]\nmode = 'monitor'\n[injection]\naction = 'off'\n",
    *(b"\x01" + tail.encode("utf-8", "surrogatepass") for tail in (*ESCAPES, *ORDINARY)),
    b"\x01../../../etc/passwd",
    b'\x02{"path": ["/home/user/projects/a", {"x": null}], "n": 1e999}',
    b"\x02[[[[",
    b'\x02{"roots": [{"uri": "file:///home/user/a%20b"}, {"uri": "https://x"}, 5]}',
    b"\x01.ssh/id_rsa",
    b"\x03~/**/*.txt",
    b"\x03file:///a/../**",
    b"",
)
FOLDER = "/home/user/projects"
ALLOW = load_policy(
    f"[[rule]]\naction = 'allow'\ntool = 'read'\nargs.path = '{FOLDER}/**'\n", source="allow"
)
DENY = load_policy(
    "[[rule]]\naction = 'deny'\ntool = '**'\nargs.'*' = ['/etc/**', '**/.ssh/**']\n"
    "[[rule]]\naction = 'allow'\ntool = '**'\n",
    source="deny",
)
PLACES = (
    Surroundings(),
    Surroundings(home="/home/user", bases=(FOLDER,)),
    Surroundings(folds_case=True),
)


def one(data: bytes) -> None:
    """Try one input: its first byte says as what."""
    kind, text = (
        data[:1] or b"\0",
        data[1:].decode("utf-8", "surrogatepass" if _pairs(data) else "replace"),
    )
    match kind[0] % 4:
        case 0:
            _load(text)
        case 1:
            _path(text)
        case 2:
            _arguments(text)
        case _:
            _load(f"[[rule]]\naction = 'allow'\ntool = 'read'\nargs.path = '''{text}'''\n")


def _load(text: str) -> None:
    with suppress(PolicyError):
        policy = load_policy(text, source="fuzz")
        again = from_json(to_json(policy))
        assert again == policy
        for subject in (
            Subject("tool", "read", "fs", {"path": f"{FOLDER}/a"}),
            Subject("method", "resources/read", "fs", {"uri": "file:///a"}),
        ):
            for where in PLACES:
                assert policy.decide(subject, where) == again.decide(subject, where)


def _path(text: str) -> None:
    value = f"{FOLDER}/{text}"
    subject = Subject("tool", "read", "fs", {"path": value})
    for where in PLACES:
        if ALLOW.decide(subject, where).action == "allow":
            for read in _decodings(value):
                path = posixpath.normpath(read)
                assert path == FOLDER or path.startswith(f"{FOLDER}/"), (value, read)
        explain(DENY, subject, where)
    relative = Subject("tool", "read", "fs", {"path": text})
    if not text.startswith(("/", "~", " ")) and ALLOW.decide(relative, PLACES[1]).action == "allow":
        for read in _decodings(text):
            path = posixpath.normpath(posixpath.join(FOLDER, read))
            assert path == FOLDER or path.startswith(f"{FOLDER}/"), (text, read)
    for read in _decodings("/" + text):
        if "\0" not in read and posixpath.normpath(read).startswith("/etc/"):
            denied = Subject("tool", "read", "fs", {"any": ["/" + text]})
            assert DENY.decide(denied).action == "deny", (text, read)


def _decodings(text: str) -> Iterator[str]:
    for _ in range(4):
        yield text
        yield text.replace("\\", "/")
        text = unquote(text)


def _arguments(text: str) -> None:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = text
    for policy in (ALLOW, DENY):
        decision = policy.decide(Subject("tool", "read", text[:40], arguments))
        assert decision.action in ("allow", "deny", "prompt")
    where = with_roots(PLACES[1], list(roots_in(arguments)))
    assert not where.bases or FOLDER in where.bases


def _pairs(data: bytes) -> bool:
    try:
        data[1:].decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True
