"""Which folders and ports follow from the rules about a server."""

from pathlib import Path

import pytest

from nacre.core.errors import ConfigurationError
from nacre.firewall.confine.policy_rights import access_of, code_rights, policy_rights
from nacre.firewall.confine.rights import Rights, Root
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.rule import Surroundings


def rights(
    rules: str,
    folder: Path,
    *,
    bases: tuple[str, ...] = (),
    kept: tuple[str, ...] = (),
    programs: tuple[str, ...] = (),
    gaps: tuple[str, ...] = (),
) -> Rights:
    where = Surroundings(is_local=True, home=str(folder), bases=bases)
    policy = load_policy(rules.replace("FOLDER", str(folder)), source="policy.toml")
    return policy_rights(policy, "files", where, forbidden=kept, programs=programs, gaps=gaps)


def rule(action: str, tool: str, **args: str) -> str:
    lines = "".join(f'args.{name} = "{value}"\n' for name, value in args.items())
    return f'[[rule]]\naction = "{action}"\ntool = "{tool}"\n{lines}'


def granted(found: Rights, folder: Path) -> dict[str, str]:
    return {str(Path(root.path).relative_to(folder)): root.access for root in found.roots}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("notes/drafts", "notes/.git", "keys"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "notes" / "one.md").write_text("1")
    return tmp_path


@pytest.mark.parametrize(
    ("tool", "access"),
    [
        *(("read_file", "read"), ("list_directory", "read"), ("directory_tree", "read")),
        *(("getFileInfo", "read"), ("mcp__files__search_files", "read"), ("read_*", "read")),
        *(("write_file", "write"), ("move_file", "write"), ("*", "write"), ("**", "write")),
        *(("read_and_delete", "write"), ("find_and_replace", "write"), ("notes", "write")),
    ],
)
def test_the_name_of_a_tool_says_whether_its_folders_may_be_changed(tool: str, access: str) -> None:
    assert access_of(tool) == access


def test_each_allowed_path_is_a_root_with_the_rule_that_names_it(folder: Path) -> None:
    rules = rule("allow", "read_*", path="FOLDER/notes/**")
    rules += rule("allow", "write_file", path="~/notes/drafts/**")

    found = rights(rules, folder)

    assert granted(found, folder) == {"notes": "read", "notes/drafts": "write"}
    assert [root.reason for root in found.roots] == ["rule 1: args.path", "rule 2: args.path"]


def test_rules_of_other_servers_methods_and_commands_grant_nothing(folder: Path) -> None:
    rules = rule("allow", "mcp__other__read", path="FOLDER/notes/**")
    rules += rule("deny", "write", path="FOLDER/notes/**")
    rules += '[[rule]]\naction = "allow"\ntool = "run"\nargs.line.one_command = "ls **"\n'
    rules += '[[rule]]\naction = "allow"\nmethod = "sampling/createMessage"\n'
    rules += rule("allow", "read", path="FOLDER/notes/**").replace("args.", 'server = "b"\nargs.')

    found = rights(rules, folder)

    assert found.roots == ()


def test_a_rule_without_a_path_gives_the_declared_bases(folder: Path) -> None:
    base = str(folder / "notes")

    assert granted(rights(rule("allow", "status"), folder, bases=(base,)), folder) == {
        "notes": "read"
    }
    assert rights(rule("allow", "status"), folder).roots == ()


def test_a_rule_with_a_path_gives_no_base(folder: Path) -> None:
    rules = rule("allow", "write", path="FOLDER/notes/drafts/**")

    found = rights(rules, folder, bases=(str(folder),))

    assert granted(found, folder) == {"notes/drafts": "write"}


def test_a_relative_path_begins_at_the_bases(folder: Path) -> None:
    found = rights(rule("allow", "write", path="notes/**"), folder, bases=(str(folder),))

    assert granted(found, folder) == {"notes": "write"}


def test_a_resource_is_read(folder: Path) -> None:
    rules = f'[[rule]]\naction = "allow"\nresource = "file://{folder}/notes/**"\n'

    assert granted(rights(rules, folder), folder) == {"notes": "read"}


def test_a_narrower_glob_grants_its_folder_and_says_so(folder: Path) -> None:
    found = rights(rule("allow", "read", path="FOLDER/notes/*.md"), folder)

    assert granted(found, folder) == {"notes": "read"}
    assert any("not '" in text and "*.md" in text for text in found.unsaid)


def test_a_missing_folder_and_a_question_are_named_and_not_granted(folder: Path) -> None:
    rules = rule("allow", "read", path="FOLDER/missing/**")
    rules += rule("prompt", "write", path="FOLDER/keys/**")

    found = rights(rules, folder)

    assert found.roots == ()
    assert any("does not exist" in text for text in found.unsaid)
    assert any("rule 2 asks" in text for text in found.unsaid)


@pytest.mark.parametrize("glob", ["/**", "/**/*.md", "/*/notes/**"])
def test_a_rule_about_every_file_is_refused(glob: str, folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="begins at /"):
        rights(rule("allow", "read", path=glob), folder)


def test_a_denied_child_is_left_out_of_its_folder(folder: Path) -> None:
    rules = rule("deny", "*", path="FOLDER/notes/.git/**")
    rules += rule("allow", "write", path="FOLDER/notes/**")

    found = rights(rules, folder)

    assert granted(found, folder) == {"notes/drafts": "write", "notes/one.md": "write"}
    assert any("without" in text and ".git" in text for text in found.unsaid)


def test_a_denied_file_leaves_the_folder_to_be_listed(folder: Path) -> None:
    rules = rule("deny", "*", path="FOLDER/notes/one.md")
    rules += rule("allow", "write", path="FOLDER/notes/**")

    assert granted(rights(rules, folder), folder) == {
        "notes": "list",
        "notes/.git": "write",
        "notes/drafts": "write",
    }


def test_a_denied_wildcard_holds_for_what_is_there(folder: Path) -> None:
    (folder / "notes" / "drafts" / ".env").write_text("x")
    rules = rule("deny", "*", path="**/.env")
    rules += rule("allow", "read", path="FOLDER/notes/**")

    found = rights(rules, folder)

    assert granted(found, folder) == {
        **{"notes": "list", "notes/.git": "read", "notes/drafts": "list"},
        "notes/one.md": "read",
    }
    accepted = rights(rules, folder, gaps=("denies",))
    assert granted(accepted, folder) == {"notes": "read"}


def test_a_deny_about_another_tool_or_a_later_one_takes_nothing_back(folder: Path) -> None:
    rules = rule("deny", "write", path="FOLDER/notes/.git/**")
    rules += rule("allow", "read", path="FOLDER/notes/**")
    rules += rule("deny", "*", path="FOLDER/notes/drafts/**")

    assert granted(rights(rules, folder), folder) == {"notes": "read"}


@pytest.mark.parametrize("glob", ["*", "**", "force", "https://**"])
def test_a_deny_about_something_else_than_files_takes_nothing_back(glob: str, folder: Path) -> None:
    rules = rule("deny", "*", mode=glob) + rule("allow", "read", path="FOLDER/notes/**")

    assert granted(rights(rules, folder), folder) == {"notes": "read"}


def test_a_folder_that_is_too_large_to_split_is_refused_unless_accepted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.firewall.confine.split_roots.CONFINED_ENTRIES", 2)
    rules = rule("deny", "*", path="**/.env") + rule("allow", "read", path="FOLDER/notes/**")

    with pytest.raises(ConfigurationError, match=r"too large .* --accept denies"):
        rights(rules, folder)
    assert granted(rights(rules, folder, gaps=("denies",)), folder) == {"notes": "read"}


def test_an_allow_that_never_matches_grants_nothing(folder: Path) -> None:
    rules = rule("deny", "read*") + rule("allow", "read", path="FOLDER/notes/**")

    assert rights(rules, folder).roots == ()


def test_a_denied_root_is_not_granted(folder: Path) -> None:
    rules = rule("deny", "*", path="FOLDER/notes/**")
    rules += rule("allow", "read", path="FOLDER/notes/drafts/**")

    assert rights(rules, folder).roots == ()


def test_the_own_files_are_never_granted(folder: Path) -> None:
    found = rights(rule("allow", "write", path="FOLDER/**"), folder, kept=(str(folder / "keys"),))

    assert granted(found, folder) == {"notes": "write"}


def test_a_link_that_the_server_may_have_put_there_is_refused(folder: Path) -> None:
    (folder / "notes" / "more").symlink_to(folder / "keys")
    rules = rule("allow", "write", path="FOLDER/notes/**")
    rules += rule("allow", "read", path="FOLDER/notes/more/**")

    with pytest.raises(ConfigurationError, match="is a link inside"):
        rights(rules, folder)


def test_a_link_of_the_owner_leads_to_its_folder(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "notes")

    found = rights(rule("allow", "read", path="FOLDER/link/**"), folder)

    assert granted(found, folder) == {"notes": "read"}


@pytest.mark.parametrize(
    ("url", "ports"),
    [
        *(("https://api.example.com/**", [53, 443]), ("http://127.0.0.1:8080/**", [8080])),
        *(("postgres://db.example.com/**", [53, 5432]), ("*://example.com/**", None)),
        *(("http*://localhost/**", [80, 443]), ("https://example.com:*/**", [53])),
        *(("https://example.com:99999/**", [53]), ("file:///srv/**", [])),
    ],
)
def test_a_url_names_its_port(url: str, ports: list[int] | None, folder: Path) -> None:
    found = sorted(port.number for port in rights(rule("allow", "fetch", url=url), folder).ports)

    assert found == ports if ports is not None else {80, 443, 53, 22} <= set(found)


def test_an_argument_port_names_a_port(folder: Path) -> None:
    rules = '[[rule]]\naction = "allow"\ntool = "connect"\nargs.host = "db"\nargs.port = 5432\n'

    assert sorted(port.number for port in rights(rules, folder).ports) == [53, 5432]


@pytest.mark.parametrize("place", ["FOLDER", "FOLDER/keys", "FOLDER/keys/lib"])
def test_no_server_may_change_what_starts_it(place: str, folder: Path) -> None:
    (folder / "keys" / "lib").mkdir()
    programs = (str(folder / "keys"),)

    with pytest.raises(ConfigurationError, match="can start itself unconfined"):
        rights(rule("allow", "write", path=f"{place}/**"), folder, programs=programs)
    assert rights(rule("allow", "read", path=f"{place}/**"), folder, programs=programs).roots
    notes = rights(rule("allow", "write", path="FOLDER/notes/**"), folder, programs=programs)
    assert granted(notes, folder) == {"notes": "write"}


def test_no_server_may_make_the_rules_that_do_not_exist_yet(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"could make .*/nacre/policy\.toml"):
        rights(
            rule("allow", "write", path="FOLDER/**"),
            folder,
            kept=(str(folder / "nacre" / "policy.toml"),),
        )


@pytest.mark.parametrize(
    "path", ["FOLDER/NOTES/.GIT/**", "FOLDER/Notes/.Git", "**/.GIT/**", ".GIT/**"]
)
def test_a_deny_that_ignores_case_takes_every_spelling_back(path: str, folder: Path) -> None:
    rules = rule("deny", "*", path=path) + "ignore_case = true\n"
    rules += rule("allow", "read", path="FOLDER/notes/**")

    assert "notes" not in granted(rights(rules, folder), folder)
    assert not [root for root in rights(rules, folder).roots if ".git" in root.path]


@pytest.mark.parametrize("path", ["FOLDER/NOTES/**", "FOLDER/NOTES"])
def test_a_deny_that_ignores_case_covers_what_is_below(path: str, folder: Path) -> None:
    rules = rule("deny", "*", path=path) + "ignore_case = true\n"
    rules += rule("allow", "read", path="FOLDER/notes/drafts/**")

    assert rights(rules, folder).roots == ()


@pytest.mark.parametrize(
    ("glob", "said"),
    [
        ("FOLDER/notes/later.md", "later.md does not exist at the start, so the proxy alone"),
        ("id_rsa", "'id_rsa' names no folder, so the proxy alone decides about it"),
        ("*.pem", "'*.pem' names no folder, so the proxy alone decides about it"),
        ("**/.env", "'**/.env' applies only to files that exist at the start"),
    ],
)
def test_a_deny_that_the_kernel_does_not_enforce_is_named(
    glob: str, said: str, folder: Path
) -> None:
    rules = rule("deny", "*", path=glob) + rule("allow", "read", path="FOLDER/notes/**")

    found = rights(rules, folder)

    assert granted(found, folder) == {"notes": "read"}
    assert [text for text in found.unsaid if said in text]


@pytest.mark.parametrize("key", ["command", "cmd", "program", "script", "query", "sql"])
def test_the_path_of_a_program_grants_no_folder(key: str, folder: Path) -> None:
    found = rights(rule("allow", "run", **{key: "FOLDER/notes/**"}), folder)

    assert found.roots == ()
    assert [text for text in found.unsaid if "give --run or --read" in text]


def test_a_folder_without_a_glob_is_granted_whole_and_says_so(folder: Path) -> None:
    found = rights(rule("allow", "list", path="FOLDER/notes"), folder)

    assert granted(found, folder) == {"notes": "read"}
    assert [text for text in found.unsaid if "with all below it, not it alone" in text]


def test_digits_of_other_scripts_are_no_port(folder: Path) -> None:
    found = rights(
        rule("allow", "connect", port="\u00b2", url="https://h.example:\u00b2/**"), folder
    )

    assert [port.number for port in found.ports] == [53]


def code(rules: str, folder: Path, *, kept: tuple[str, ...] = ()) -> Rights:
    where = Surroundings(is_local=True, home=str(folder))
    policy = load_policy(rules.replace("FOLDER", str(folder)), source="policy.toml")
    root = Root(str(folder / "notes"), "read", "code of server.js")
    return code_rights(policy, "files", where, [root], forbidden=kept)


@pytest.mark.parametrize("path", ["FOLDER/notes/.git/**", "**/.git/**"])
def test_a_deny_takes_files_of_the_code_back(path: str, folder: Path) -> None:
    left = granted(code(rule("deny", "*", path=path), folder), folder)

    assert not [place for place in left if ".git" in place]
    assert left["notes/drafts"] == "read"
    assert granted(code(rule("deny", "write", path=path), folder), folder) == {"notes": "read"}


def test_a_deny_of_every_file_leaves_the_code_and_says_so(folder: Path) -> None:
    found = code(rule("deny", "*", path="/**"), folder)

    assert granted(found, folder) == {"notes": "read"}
    assert "it is the server's own code" in found.unsaid[-1]


def test_own_files_are_no_code(folder: Path) -> None:
    left = code("", folder, kept=(str(folder / "notes" / ".git"),))
    assert "notes/.git" not in granted(left, folder)
    with pytest.raises(ConfigurationError, match="install the server elsewhere"):
        code("", folder, kept=(str(folder),))
