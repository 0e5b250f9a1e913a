"""Where relative paths begin is proposed where a command line shows it, and never guessed."""

import pytest

from nacre.firewall.rules.arguments.proposed_base import ProposedBase, proposed_base, with_certain

FILESYSTEM = "@modelcontextprotocol/server-filesystem"


@pytest.mark.parametrize(
    ("line", "folders"),
    [
        (["npx", "-y", FILESYSTEM, "/home/user"], ["/home/user"]),
        (["npx", "-y", f"{FILESYSTEM}@2025.8.21", "/a", "/b"], ["/a", "/b"]),
        (["cmd", "/c", "npx", "-y", FILESYSTEM, "C:\\Users\\ann"], ["C:\\Users\\ann"]),
        (["node", f"/x/node_modules/{FILESYSTEM}/dist/index.js", "/a"], ["/a"]),
        (["/usr/local/bin/mcp-server-filesystem", "/a"], ["/a"]),
        (["npx", FILESYSTEM, "~/notes"], ["/home/ann/notes"]),
    ],
)
def test_the_folders_of_the_filesystem_server_are_certain(
    line: list[str], folders: list[str]
) -> None:
    proposed = proposed_base(line, home="/home/ann")
    assert (list(proposed.folders), proposed.is_certain) == (folders, True)


@pytest.mark.parametrize(
    "line",
    [
        ["docker", "run", "-i", "node", "npx", "-y", FILESYSTEM, "/projects"],
        ["docker", "run", "-i", "mcp/filesystem", "/projects"],
        ["ssh", "host", "npx", "-y", FILESYSTEM, "/home/user"],
        ["wsl", "npx", "-y", FILESYSTEM, "/home/user"],
        ["sh", "-c", f"npx -y {FILESYSTEM} /home/user"],
        ["npx", "-y", FILESYSTEM],
        ["npx", "-y", FILESYSTEM, "."],
        ["npx", "-y", FILESYSTEM, "/a", "${workspaceFolder}"],
        ["npx", "-y", FILESYSTEM, "%USERPROFILE%"],
        ["npx", "-y", "some-other-server", "/home/user"],
        ["server", "--directory", "/a"],
        [],
    ],
)
def test_nothing_is_guessed(line: list[str]) -> None:
    assert not proposed_base(line, home="/home/ann").folders


def test_a_folder_that_may_be_the_base_is_only_proposed() -> None:
    started = proposed_base(["uv", "--directory", "/srv/notes", "run", "server"])
    assert (started.folders, started.is_certain) == (("/srv/notes",), False)
    placed = proposed_base(["node", "server.js"], cwd="/srv/work")
    assert (placed.folders, placed.is_certain) == (("/srv/work",), False)
    below = proposed_base(["npx", "-y", FILESYSTEM, "docs"], cwd="/srv/work")
    assert (below.folders, below.is_certain) == (("/srv/work/docs",), True)


@pytest.mark.parametrize(
    ("declared", "bases", "missing"),
    [
        ((), (), ()),
        (("/home/ann",), ("/home/ann",), ()),
        (("/home/./ann/",), ("/home/./ann/",), ()),
        (("~",), ("~",), ()),
        (("/home/ann/x",), ("/home/ann/x", "/home/ann"), ("/home/ann",)),
        (("none",), ("/home/ann",), ("/home/ann",)),
    ],
)
def test_certain_bases_join_the_declared_ones(
    declared: tuple[str, ...], bases: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    certain = ProposedBase(("/home/ann",), is_certain=True)
    assert with_certain(declared, certain, "/home/ann") == (bases, missing)
    assert with_certain(declared, ProposedBase(("/home/ann",)), "/home/ann") == (declared, ())
