"""Each verb of the Makefile does its work in a clone where no other verb has run."""

import os
import re
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO, cast

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 900
# What belongs to this run of pytest or to this checkout, and would lead a verb out of its clone.
FOREIGN = ("PYTEST_", "NACRE_", "AWS_", "MAKE", "MFLAGS", "VIRTUAL_ENV", "PYTHONPATH", "UV_PROJECT")


@dataclass(frozen=True)
class Verb:
    """How a verb is walked: the least work that needs everything the verb prepares."""

    name: str
    says: str  # an expression that its output has when it did its work
    arguments: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    status: int = 0
    is_server: bool = False  # runs until Ctrl-C, once it has said so


PASSED = r"\d+ passed"
VERBS = (
    Verb("help", r"make stack +A whole deployment"),
    Verb("setup", r"Ready: Python 3\."),
    Verb("serve", r"URL: +http://127\.0\.0\.1", "--port 0", is_server=True),
    Verb("check", PASSED, "tests/project/test_oldest_python.py"),
    Verb("lint", r"Contracts: \d+ kept, 0 broken"),
    Verb("format", r"files left unchanged"),
    Verb("reference", r"docs/reference/tools\.md"),
    Verb("site", r"\d+ pages in site/"),
    Verb("test", PASSED, "tests/project/test_oldest_python.py"),
    Verb("test-313", rf"{PASSED}|NOT RUN", "tests/project/test_oldest_python.py"),
    Verb("test-oldest", rf"{PASSED}|NOT RUN", "tests/project/test_oldest_python.py"),
    Verb("conformance", PASSED, "-k test_typescript_client"),
    Verb("clients", PASSED, "-k test_typescript_client"),
    Verb("template", PASSED, "-k test_cfripper"),
    Verb("stack", PASSED, "-k test_other_clients_log_in_by_url_alone"),
    Verb("browser", rf"{PASSED}|skipped", "-k test_passkeys"),
    Verb("slow", PASSED, "-k test_random_crashes"),
    Verb("project", PASSED, "-k test_wheel"),
    Verb("faults", PASSED, "-k disk"),
    Verb("crashes", PASSED, variables={"NACRE_CRASHES": "5"}),
    Verb("mutate", r"0 of 1 broken promises went unnoticed", "003.auth.expiry"),
    Verb("load", r"load: all is well", "laptop --seconds 2"),
    Verb("attack", PASSED, "-k test_stdio_proxy"),
    Verb("bill", r"\d+ components"),
    Verb("fuzz", PASSED, "-k guard", {"NACRE_FUZZ_RUNS": "100"}),
    Verb("bench", PASSED, "-k list_of_many_servers"),
    Verb("build", r"\d+ components"),
    Verb("dist", r"server\.json"),
    Verb("deploy", r"Stack Name \[nacre\]: Aborted", status=2),  # it asks, and nobody answers
    Verb("services", r"Data services answer at", is_server=True),
)


def run_by_pipeline() -> set[str]:
    """Return the verbs that .ci/run runs whole, itself from a clean checkout."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    lanes = re.findall(r"^(?:suite|lane) ([a-z0-9 -]+?)(?: &)?$", script, re.MULTILINE)
    return {name for names in lanes for name in names.split()}


def listed() -> list[str]:
    """Return the verbs that `make help` lists."""
    shown = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return re.findall(r"^  make (\S+)", shown.stdout, re.MULTILINE)


def test_every_verb_is_walked() -> None:
    assert sorted(verb.name for verb in VERBS) == sorted(listed())


def test_the_folders_that_verbs_name_exist() -> None:
    verbs = [verb.name for verb in VERBS if not verb.is_server]
    done = subprocess.run(
        ["make", "-n", *verbs], cwd=ROOT, capture_output=True, text=True, check=True
    )
    named = set(re.findall(r"(?<!\S)tests/[\w/.]+", done.stdout))

    assert {"tests/end_to_end/browser", "tests/functions"} <= named
    assert {place for place in named if not (ROOT / place).exists()} == set()


def test_the_pipeline_runs_known_verbs() -> None:
    assert {"check", "stack", "project"} <= run_by_pipeline() <= set(listed())


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "nacre"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


def output_of(process: subprocess.Popen[str], verb: Verb) -> str:
    """Return all that a verb prints; a server gets Ctrl-C once it serves."""
    timer = threading.Timer(PATIENCE_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    lines = []
    try:
        with process, cast("TextIO", process.stdout) as output:
            for line in output:
                lines.append(line)
                if verb.is_server and re.search(verb.says, line):
                    os.killpg(process.pid, signal.SIGINT)
    finally:
        timer.cancel()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return "".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_a_verb_runs_alone_in_a_fresh_clone(verb: Verb, clone: Path, tmp_path: Path) -> None:
    # One whole suite is walked there too, the one that needs most of what others prepare.
    if "NACRE_PIPELINE" in os.environ and verb.name in run_by_pipeline() - {"stack"}:
        pytest.skip("the pipeline runs it whole")
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(FOREIGN)}
    process = subprocess.Popen(
        ["make", "--no-print-directory", verb.name, f"ARGS={verb.arguments}"],
        cwd=clone,
        env={**inherited, "NACRE_HOME": str(tmp_path / "data"), **verb.variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    output = output_of(process, verb)
    assert re.search(verb.says, output), output[-4000:]
    # Ctrl-C reaches make as well, which then ends by the same signal.
    expected = (0, -signal.SIGINT) if verb.is_server else (verb.status,)
    assert process.returncode in expected, output[-4000:]
