"""What the matchers of rules read in a text: addresses, one command, one statement."""

import re
import subprocess
from email.utils import getaddresses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.firewall.rules.arguments.email_addresses import addresses
from nacre.firewall.rules.arguments.shell_command import one_command
from nacre.firewall.rules.arguments.sql_statement import one_statement


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ann@acme.org", ("ann@acme.org",)),
        ("Ann.B+x@Mail.ACME.org", ("Ann.B+x@mail.acme.org",)),
        ("<ann@acme.org>", ("ann@acme.org",)),
        ('Ann B. <a@acme.org>; "Doe, Joe" <j@acme.org>', ("a@acme.org", "j@acme.org")),
        ("M\u00fcller <m@acme.org>,b@evil.org", ("m@acme.org", "b@evil.org")),
        ("", ()),
        ("  ", ()),
        ("ann", None),
        ("a@acme.org b@evil.org", None),
        ("a@acme.org,", None),
        ("a@acme.org,,b@acme.org", None),
        ("a@acme.org\r\nBcc: b@evil.org", None),
        ('"b@evil.org" <a@acme.org>', None),
        ('"x <b@evil.org>, y" <a@acme.org>', None),
        ("b@evil.org <a@acme.org>", None),
        ("a@acme.org (b@evil.org)", None),
        ("all: a@acme.org, b@evil.org;", None),
        ("<@evil.org:a@acme.org>", None),
        ("a%evil.org@acme.org", None),
        ("evil.org!a@acme.org", None),
        ('"a b"@acme.org', None),
        ("a@[127.0.0.1]", None),
        ("a@b@acme.org", None),
        ("a@acme.org.", None),
        ("=?utf-8?q?b=40evil.org=2C?= <a@acme.org>", None),
        ("a@acme.org\uff0cb@evil.org", None),
        ("a\uff20evil.org <a@acme.org>", None),
        ("a@acme.org\u2028b@evil.org", None),
        ("a@acme.org\0b@evil.org", None),
        ("a@\u0430cme.org", None),
    ],
)
def test_addresses_are_those_that_every_program_reads(
    text: str, found: tuple[str, ...] | None
) -> None:
    assert addresses(text) == found


_PIECES = st.sampled_from(
    [*"@,;:<>()[]\"'\\ .\t\n=?", "a@acme.org", "b@evil.org", "Ann", '"Doe, Joe"', "=?q?x?="]
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_no_other_reader_finds_an_address_that_was_not_found(text: str) -> None:
    found = addresses(text)
    if found is None:
        return
    legacy = {address for _, address in getaddresses([text.replace(";", ",")]) if "@" in address}
    split = re.findall(r"[^\s,;:<>()\[\]\"']+@[^\s,;:<>()\[\]\"']+", text)

    assert {each.lower() for each in (*legacy, *split)} <= {each.lower() for each in found}


@pytest.mark.parametrize(
    ("text", "written", "plain"),
    [
        ("git status", "git status", "git status"),
        ("  git   log  -5 ", "git log -5", "git log -5"),
        ("git commit -m 'fix it'", "git commit -m 'fix it'", "git commit -m fix it"),
        ('git log --format="%h %s"', 'git log --format="%h %s"', "git log --format=%h %s"),
        ("ls -la ~/code/*.py", "ls -la ~/code/*.py", "ls -la ~/code/*.py"),
        ("/usr/bin/python3.11 -m x", "/usr/bin/python3.11 -m x", "/usr/bin/python3.11 -m x"),
        ("make CC=gcc", "make CC=gcc", "make CC=gcc"),
        ("git show HEAD^", "git show HEAD^", "git show HEAD^"),
    ],
)
def test_one_plain_command_is_read(text: str, written: str, plain: str) -> None:
    assert one_command(text) == (written, plain)


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "ls; id", "ls && id", "ls || id", "ls | sh", "ls & id", "ls\nid", "ls\r\nid"),
        *("echo $HOME", "echo $(id)", "echo `id`", "echo ${x}", "cat <(id)", "ls > x", "cat < x"),
        *("FOO=1 ls", "PATH+=x ls", "ls # x", "(ls)", "{ ls; }", "! ls", "if ls", "time ls"),
        *("while true", "ls 'a", 'ls "a', "ls a\\ b", "echo 'a; b'", 'echo "$x"', "'' ls", "ls\tx"),
        *("ls\0id", "ls \u2028id", "ls \u00a0id", "ls \uff1b id", "echo {a,b}", "ls [ab]"),
        *("function f", "select x in y", "cat <<EOF", "a=b", "'a=b' ls"),
    ],
)
def test_anything_but_one_plain_command_is_not_read(text: str) -> None:
    assert one_command(text) is None


_WORDS = st.text(st.sampled_from("ab-=./ '\"%,:@+~^"), max_size=20)


@given(_WORDS)
def test_a_shell_makes_the_same_words_of_a_command(text: str) -> None:
    found = one_command(f"printf %s {text}")
    if found is None or "~" in text:
        return
    run = subprocess.run(
        ["/bin/sh", "-c", f"echo() {{ printf '%s' \"$*\"; }}; echo {text}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found[1] == f"printf %s {run.stdout}".rstrip(" ") or not text.strip()


# T-SQL reads two statements without a semicolon between them.
SECOND = (
    "shutdown",
    "kill 5",
    "use master",
    "waitfor delay '1'",
    "backup database x to disk = 'y'",
)
WHOLE = (
    "create table t (a int)",
    "alter table t add a int",
    "alter table t add a int drop table u",
    "grant select on t to u",
    "revoke select on t from u",
    "drop table t",
    "drop table t create table u (a int)",
    "truncate table t",
    "insert into t (a) values (1)",
)


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("SELECT 1", "select"),
        (" select count(*) from t where a = 'it''s' ;\n", "select"),
        ("select t.id from t join u on (t.a = u.a) where u.b in (1, 2)", "select"),
        ('select "order" from `t` limit 5', "select"),
        ("select $1, 'drop table t'", "select"),
        ("with a as (select 1) select * from a", "select"),
        ("values (1, 2)", "values"),
        ("show tables", "show"),
        ("DESC t", "describe"),
        ("explain select 1", "explain"),
        ("insert into t (a, b) values (1, 2)", "insert"),
        ("update t set a = 1 where b = 2", "update"),
        ("delete from t", "delete"),
        ("drop table t", "drop"),
        ("drop index i on t", "drop"),
        ("select open, close from prices", "select"),
        ("select age(born), to_timestamp(x) from unnest(t)", "select"),
        ("create or replace view v as select 1", "create"),
        ("create unique index i on t (a, b)", "create"),
        ("create table t (a int references u (id) on delete cascade)", "create"),
        ("alter table t drop column a", "alter"),
        ("alter table t alter column a set not null", "alter"),
        ("alter table t add foreign key (a) references u (id) on update set null", "alter"),
        ("grant select, insert on t to u with grant option", "grant"),
        ("revoke all on t from u", "revoke"),
        ("truncate table t", "truncate"),
    ],
)
def test_one_plain_statement_has_a_verb(text: str, verb: str) -> None:
    assert one_statement(text) == verb


@pytest.mark.parametrize(
    "text",
    [
        *("", ";", "1", "(select 1)", "select 1; drop table t", "select 1;;", "select 'a;b'"),
        *("select 1 -- x", "/* x */ select 1", "select 1 # x", "/*!50000 drop table t */"),
        *("select $$a$$", "select $x$ a $x$", "select 'a\\' or 1'", "select E'a'", "select q'!a!'"),
        *("select U&'a'", "select [a] from t", "select 'a", 'select "a', "select `a b`"),
        "with d as (delete from t returning *) select * from d",
        "with a as (select 1) insert into t select * from a",
        "explain analyze select 1",
        "explain (analyze) delete from t",
        "EXPLAIN DELETE FROM t",
        "select * into x from t",
        "select * from t into outfile 'x'",
        "select * from t for update",
        "select * from t for share",
        "select pg_sleep(1)",
        "select pg_read_file('x')",
        'select "pg_sleep"(1)',
        "select public.f(1)",
        *("select public.lower('a')", "select public . lower ('a')", "select public. lower('a')"),
        *("select public\n.\nlower('a')", 'select "x" . lower(1)', "select a.b . lower(1)"),
        "select * from dblink('x')",
        "select load_extension('x')",
        "insert into t (a) values (1) on conflict (a) do update set a = 2",
        "insert into t select f(1)",
        *("call f()", "do 1", "copy t to 'x'", "set x = 1", "pragma x", "attach 'x' as y"),
        *("begin", "vacuum", "select 1\0", "select 1 \u2028 from t", "exec x"),
        *(f"select 1 {second}" for second in SECOND),
        *(f"update t set a = 1 {second}" for second in SECOND),
        *(f"{first} {second}" for first in WHOLE for second in (*SECOND, "set nocount on merge u")),
        "create view v as select 1 from a join b on f (1)",
    ],
)
def test_anything_but_one_plain_statement_has_none(text: str) -> None:
    assert one_statement(text) is None


@pytest.mark.parametrize("text", ["a", "a.", ". ", " ", "(", "a(", "lower(1),", "'a'"])
def test_a_long_text_is_read_once(text: str) -> None:
    """With time that grows by the square, any of these would take hours."""
    one_statement(f"select {text * (900_000 // len(text))}")
