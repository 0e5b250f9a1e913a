"""Calls and what a policy must decide about them, worked out by hand from the documented rules."""

# ruff: noqa: E501 (a table is read best with one case in a line)

from typing import Any

HOME = "/home/user"
POLICIES = {
    "project": """
        [[rule]]
        action = "deny"
        tool = "run_shell"
        [[rule]]
        action = "prompt"
        tool = "fs_*"
        args.path = "/etc/**"
        [[rule]]
        action = "allow"
        tool = "fs_read"
        args.path = "/home/user/site/**"
        [[rule]]
        action = "deny"
        tool = "*"
    """,
    "nothing": "",
    "ordered": """
        [[rule]]
        action = "allow"
        tool = "get_*"
        [[rule]]
        action = "deny"
        tool = "get_keys"
        [[rule]]
        action = "prompt"
        tool = "**"
    """,
    "servers": """
        [[rule]]
        action = "deny"
        tool = "*"
        server = "guest"
        [[rule]]
        action = "allow"
        tool = "list_*"
        server = "disk"
        [[rule]]
        action = "prompt"
        tool = "list_*"
        server = "cloud-*"
    """,
    "nested": """
        [[rule]]
        action = "deny"
        tool = "set"
        args.where.path = "/etc/**"
        [[rule]]
        action = "prompt"
        tool = "set"
        args.where.path = "/srv/**"
        args.where.mode = "r?"
        [[rule]]
        action = "allow"
        tool = "set"
        args.where.path = "/srv/**"
    """,
    "many": """
        [[rule]]
        action = "deny"
        tool = "read_all"
        args.paths = "/home/user/private/**"
        [[rule]]
        action = "allow"
        tool = "read_all"
        args.paths = "/home/user/**"
    """,
    "numbers": """
        [[rule]]
        action = "deny"
        tool = "pay"
        args.test = "false"
        [[rule]]
        action = "allow"
        tool = "pay"
        args.amount = 5
        [[rule]]
        action = "prompt"
        tool = "pay"
        args.amount = "4?"
    """,
    "globs": """
        [[rule]]
        action = "allow"
        tool = "open"
        args.path = "/data/*/a.txt"
        [[rule]]
        action = "allow"
        tool = "open"
        args.path = "/logs/**/b.log"
        [[rule]]
        action = "allow"
        tool = "open"
        args.path = "/one/file.txt"
        [[rule]]
        action = "allow"
        tool = "open"
        args.path = "/q/v?.txt"
        [[rule]]
        action = "allow"
        tool = "open"
        args.path = "/w/a[1]{2}.txt"
    """,
    "secrets": """
        [[rule]]
        action = "deny"
        tool = "**"
        args.path = "/home/user/.ssh/**"
        [[rule]]
        action = "deny"
        tool = "**"
        args.path = "**/.env"
        [[rule]]
        action = "allow"
        tool = "fs_*"
    """,
    "shell": """
        [[rule]]
        action = "deny"
        tool = "run"
        args.command = "**sudo**"
        [[rule]]
        action = "allow"
        tool = "run"
        args.command = "ls *"
        [[rule]]
        action = "prompt"
        tool = "run"
        args.command = "**"
    """,
    "web": """
        [[rule]]
        action = "allow"
        tool = "fetch"
        args.url = "https://api.example.org/v1/**"
        [[rule]]
        action = "deny"
        tool = "*"
    """,
    "methods": """
        [[rule]]
        action = "allow"
        tool = "resources/read"
        args.uri = "file:///home/user/site/**"
        [[rule]]
        action = "allow"
        tool = "prompts/get"
        args.name = "draft*"
        [[rule]]
        action = "prompt"
        tool = "prompts/get"
        args.name = "plan_?"
        [[rule]]
        action = "allow"
        tool = "say"
    """,
    "names": """
        [[rule]]
        action = "deny"
        tool = "mcp__shop__buy"
        [[rule]]
        action = "allow"
        tool = "mcp__sums__*"
    """,
    "home": """
        [[rule]]
        action = "deny"
        tool = "*"
        args.path = "~/.gnupg/**"
        [[rule]]
        action = "allow"
        tool = "fs_read"
    """,
}

_SITE = "/home/user/site"
# policy, server, tool, arguments, what may be decided, why
_CALLS: tuple[tuple[str, str, str, Any, str, str], ...] = (
    ("project", "fs", "fs_read", {"path": f"{_SITE}/a.md"}, "allow", "rule 3"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/a/b/c.md"}, "allow", "** crosses folders"),
    ("project", "fs", "fs_read", {"path": _SITE}, "allow deny", "the folder itself"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/"}, "allow deny", "the folder itself"),
    ("project", "fs", "fs_read", {"path": "/home/user/site2/a.md"}, "deny", "another folder"),
    ("project", "fs", "fs_read", {"path": "/home/user/sit"}, "deny", "a shorter name"),
    ("project", "fs", "fs_read", {"path": "/etc/hosts"}, "prompt", "rule 2 comes first"),
    ("project", "fs", "fs_write", {"path": "/etc/hosts"}, "prompt", "a glob in the name"),
    ("project", "fs", "fs_write", {"path": f"{_SITE}/a.md"}, "deny", "rule 3 names one tool"),
    ("project", "fs", "run_shell", {"command": "ls"}, "deny", "rule 1"),
    ("project", "fs", "run_shell", {}, "deny", "without arguments"),
    ("project", "fs", "Run_Shell", {}, "deny", "another name meets rule 4"),
    ("project", "fs", "fs_read", {}, "deny", "a missing argument never matches"),
    ("project", "fs", "fs_read", {"path": None}, "deny", "null never matches"),
    ("project", "fs", "fs_read", {"Path": f"{_SITE}/a.md"}, "deny", "names are exact"),
    ("project", "fs", "fs_read", {"path": {"x": f"{_SITE}/a.md"}}, "deny", "an object is no text"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/../../../etc/hosts"}, "deny prompt", "up and out"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/x/../../.ssh/id"}, "deny", "up and out"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/x/../a.md"}, "allow", "up and back in"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/./a.md"}, "allow", "a dot is the same folder"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}//a.md"}, "allow", "two slashes are one"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/..%2f..%2f..%2fetc/hosts"}, "deny prompt", "encoded"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/%2e%2e/%2e%2e/x"}, "deny", "encoded"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/..%252f..%252fx"}, "deny", "encoded twice"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/..\\..\\x"}, "deny", "backslashes"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/\uff0e\uff0e/\uff0e\uff0e/x"}, "deny", "full width"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/a\u0000.md"}, "deny", "a NUL ends some paths"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/a%00.md"}, "deny", "an encoded NUL too"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/...a"}, "allow", "dots in a name"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/a..b"}, "allow", "dots in a name"),
    ("project", "fs", "fs_read", {"path": f"{_SITE}/100%"}, "allow", "a percent sign alone"),
    ("project", "fs", "fs_read", {"path": "/home/user/./site/a.md"}, "allow", "normalised"),
    ("project", "fs", "fs_read", {"path": "/HOME/user/site/a.md"}, "deny", "case counts"),
    ("project", "fs", "fs_read", {"path": f"file://{_SITE}/a.md"}, "allow deny", "a file address"),
    ("project", "fs", "fs_read", {"path": 7}, "deny", "a number is no path"),
    ("project", "fs", "other", {"path": f"{_SITE}/a.md"}, "deny", "rule 4"),
    ("nothing", "fs", "fs_read", {"path": "/a"}, "deny", "no rule, no call"),
    ("nothing", "fs", "x", {}, "deny", "no rule, no call"),
    ("ordered", "a", "get_page", {}, "allow", "rule 1"),
    ("ordered", "a", "get_keys", {}, "allow", "rule 1 comes before rule 2"),
    ("ordered", "a", "put_page", {}, "prompt", "rule 3"),
    ("ordered", "a", "get", {}, "prompt", "no underscore"),
    ("servers", "guest", "list_files", {}, "deny", "rule 1"),
    ("servers", "disk", "list_files", {}, "allow", "rule 2"),
    ("servers", "cloud-eu", "list_files", {}, "prompt", "rule 3"),
    ("servers", "cloud", "list_files", {}, "deny", "the glob needs a dash"),
    ("servers", "disk2", "list_files", {}, "deny", "names of servers are whole"),
    ("servers", "disk", "read_file", {}, "deny", "no rule"),
    ("nested", "c", "set", {"where": {"path": "/etc/hosts"}}, "deny", "rule 1"),
    ("nested", "c", "set", {"where": {"path": "/srv/a", "mode": "rw"}}, "prompt", "both arguments"),
    ("nested", "c", "set", {"where": {"path": "/srv/a", "mode": "w"}}, "allow", "rule 3"),
    ("nested", "c", "set", {"where": {"path": "/srv/a"}}, "allow", "rule 2 needs the mode"),
    ("nested", "c", "set", {"where.path": "/srv/a"}, "deny", "a dot in a name is no level"),
    ("nested", "c", "set", {"path": "/srv/a"}, "deny", "another level"),
    ("nested", "c", "set", {"where": "/srv/a"}, "deny", "a text has no members"),
    ("nested", "c", "set", {"where": {"path": "/srv/../etc/hosts"}}, "deny", "up and into rule 1"),
    ("many", "fs", "read_all", {"paths": ["/home/user/a", "/home/user/b"]}, "allow", "every element"),
    ("many", "fs", "read_all", {"paths": ["/home/user/a", "/etc/b"]}, "deny", "one element outside"),
    ("many", "fs", "read_all", {"paths": ["/home/user/a", "/home/user/private/b"]}, "deny", "one denied"),
    ("many", "fs", "read_all", {"paths": []}, "deny", "an empty list matches no allow"),
    ("many", "fs", "read_all", {"paths": [["/home/user/a"]]}, "deny", "a list in a list"),
    ("many", "fs", "read_all", {"paths": [{"p": "/home/user/private/b"}]}, "deny", "any leaf"),
    ("many", "fs", "read_all", {"paths": "/home/user/a"}, "allow", "one text"),
    ("many", "fs", "read_all", {"paths": ["/home/user/a", None]}, "deny", "null is no path"),
    ("numbers", "p", "pay", {"amount": 5}, "allow", "the same number"),
    ("numbers", "p", "pay", {"amount": "5"}, "deny", "a text is no number"),
    ("numbers", "p", "pay", {"amount": 42}, "prompt", "a number by its digits"),
    ("numbers", "p", "pay", {"amount": 142}, "deny", "three digits"),
    ("numbers", "p", "pay", {"amount": 5, "test": False}, "deny", "false by its text"),
    ("numbers", "p", "pay", {"amount": 5, "test": True}, "allow", "true is not false"),
    ("numbers", "p", "pay", {"amount": 5.5}, "deny", "another number"),
    ("globs", "fs", "open", {"path": "/data/x/a.txt"}, "allow", "* is one segment"),
    ("globs", "fs", "open", {"path": "/data/x/y/a.txt"}, "deny", "* does not cross"),
    ("globs", "fs", "open", {"path": "/data/a.txt"}, "deny", "a segment is missing"),
    ("globs", "fs", "open", {"path": "/logs/b.log"}, "allow", "** may be nothing"),
    ("globs", "fs", "open", {"path": "/logs/x/y/b.log"}, "allow", "** crosses"),
    ("globs", "fs", "open", {"path": "/logs/xb.log"}, "deny", "a whole name"),
    ("globs", "fs", "open", {"path": "/one/file.txt"}, "allow", "the same path"),
    ("globs", "fs", "open", {"path": "/one/fileXtxt"}, "deny", "a dot is a dot"),
    ("globs", "fs", "open", {"path": "/q/v1.txt"}, "allow", "? is one character"),
    ("globs", "fs", "open", {"path": "/q/v12.txt"}, "deny", "? is one character"),
    ("globs", "fs", "open", {"path": "/q/v.txt"}, "deny", "? is one character"),
    ("globs", "fs", "open", {"path": "/w/a[1]{2}.txt"}, "allow", "brackets are themselves"),
    ("globs", "fs", "open", {"path": "/w/a12.txt"}, "deny", "brackets are themselves"),
    ("globs", "fs", "open", {"path": "/one/file.txt\n"}, "deny", "a line break counts"),
    ("secrets", "fs", "fs_read", {"path": "/home/user/.ssh/id_rsa"}, "deny", "rule 1"),
    ("secrets", "fs", "fs_read", {"path": "/home/user/x/../.ssh/id_rsa"}, "deny", "normalised"),
    ("secrets", "fs", "fs_read", {"path": "/home/user/%2essh/id_rsa"}, "deny", "decoded"),
    ("secrets", "fs", "fs_read", {"path": "/home/user//.ssh//id_rsa"}, "deny", "two slashes"),
    ("secrets", "fs", "fs_read", {"path": "/srv/app/.env"}, "deny", "rule 2"),
    ("secrets", "fs", "fs_read", {"path": "/srv/app/.environment"}, "allow", "a whole name"),
    ("secrets", "fs", "fs_read", {"path": "/home/user/notes.md"}, "allow", "rule 3"),
    ("secrets", "fs", "web", {"path": "/home/user/notes.md"}, "deny", "no rule"),
    ("shell", "sh", "run", {"command": "ls notes"}, "allow", "rule 2"),
    ("shell", "sh", "run", {"command": "ls a/b"}, "prompt", "* stops at a slash"),
    ("shell", "sh", "run", {"command": "sudo ls a"}, "deny", "rule 1"),
    ("shell", "sh", "run", {"command": "a; sudo b"}, "deny", "** on both sides"),
    ("shell", "sh", "run", {"command": "cat a"}, "prompt", "rule 3"),
    ("web", "w", "fetch", {"url": "https://api.example.org/v1/users"}, "allow", "rule 1"),
    ("web", "w", "fetch", {"url": "http://api.example.org/v1/users"}, "deny", "another scheme"),
    ("web", "w", "fetch", {"url": "https://api.example.org.evil.example/v1/"}, "deny", "another host"),
    ("web", "w", "fetch", {"url": "https://api.example.org/v1/../admin"}, "deny", "up and out"),
    ("web", "w", "fetch", {"url": "https://api.example.org/v1/%2e%2e/admin"}, "deny", "up and out"),
    ("names", "shop", "buy", {}, "deny", "rule 1 by the full name"),
    ("names", "sums", "add", {}, "allow", "rule 2 by the full name"),
    ("names", "other", "add", {}, "deny", "another server"),
    ("names", "shop", "sell", {}, "deny", "no rule"),
    ("home", "fs", "fs_read", {"path": "/home/user/.gnupg/key"}, "deny", "~ is the home"),
    ("home", "fs", "fs_read", {"path": "~/.gnupg/key"}, "deny", "in the value too"),
    ("home", "fs", "fs_read", {"path": "/home/user/notes"}, "allow", "rule 2"),
    ("methods", "m", "say", {}, "allow", "a tool"),
    ("methods", "m", "resources/read", {"uri": "x"}, "deny", "a tool of that name is no method"),
)  # fmt: skip
_METHODS: tuple[tuple[str, Any, str, str], ...] = (
    ("resources/read", {"uri": "file:///home/user/site/a"}, "allow", "rule 1"),
    ("resources/read", {"uri": "file:///home/user/other/a"}, "deny", "another folder"),
    ("resources/read", {"uri": "file:///home/user/site/../a"}, "deny", "up and out"),
    ("prompts/get", {"name": "draft_mail"}, "allow", "rule 2"),
    ("prompts/get", {"name": "mail"}, "deny", "another name"),
    ("prompts/get", {"name": "plan_b"}, "prompt", "rule 3"),
)


def rows() -> list[dict[str, Any]]:
    """Return the cases: a message, the policy's name and the actions that are right."""
    calls = [
        (policy, server, "tools/call", {"name": tool, "arguments": arguments}, expected, why)
        for policy, server, tool, arguments, expected, why in _CALLS
    ]
    methods = [("methods", "m", *case) for case in _METHODS]
    return [
        {
            "id": f"decision-{number}",
            "policy": policy,
            "server": server,
            "message": {"jsonrpc": "2.0", "id": number, "method": method, "params": params},
            "expected": expected.split(),
            "why": why,
            "env": {"HOME": HOME} if policy == "home" else {},
        }
        for number, (policy, server, method, params, expected, why) in enumerate(
            [*calls, *methods], start=1
        )
    ]
