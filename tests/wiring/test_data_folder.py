"""The folders that the laptop uses, and those that it refuses."""

import pwd
import re
import sys
from pathlib import Path

import pytest

from nacre.cli.commands import run_commands
from nacre.core.errors import ConfigurationError
from nacre.wiring.data_folder import prepare_data_folder
from nacre.wiring.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="homes are found otherwise there")


def homeless(_: int) -> pwd.struct_passwd:
    raise KeyError("getpwuid(): uid not found")


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NACRE_HOME", "XDG_DATA_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("home", ["", "/"])
def test_a_home_that_is_nowhere_is_refused_and_nothing_is_made(
    monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setenv("HOME", home)

    with pytest.raises(ConfigurationError, match=r"HOME is empty or '/'.* NACRE_HOME"):
        prepare_data_folder(Settings.from_environment().data_folder)
    assert not Path("/.local/share/nacre").exists()


def test_without_home_the_system_says_where_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ann = pwd.struct_passwd(("ann", "x", 1, 1, "", str(tmp_path), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: ann)

    folder = prepare_data_folder(Settings.from_environment().data_folder)

    assert folder.is_relative_to(tmp_path)


@pytest.mark.parametrize("path", ["~/nacre", "~nobody-of-this-name/nacre"])
def test_a_user_that_has_no_home_is_told_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str
) -> None:
    monkeypatch.setattr(pwd, "getpwuid", homeless)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ConfigurationError, match=re.escape(path) + ".* NACRE_HOME"):
        prepare_data_folder(path)
    assert list(tmp_path.iterdir()) == []


def test_a_command_without_a_home_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", "")

    code = run_commands(["being", "list"])

    told = capsys.readouterr().err
    assert code == 2
    assert "cannot be the data folder (HOME is empty or '/')" in told
    assert "NACRE_HOME" in told
    assert not Path("/.local/share/nacre").exists()
