"""What the lists of excluded projects and words cover, however a path or a word is written."""

import os
import unicodedata
from pathlib import Path

import pytest

from nacre.cli.hooks.capture_settings import CaptureSettings, read_settings
from tests.cli.conftest import Nacre


def settings(*, projects: tuple[str, ...] = (), words: tuple[str, ...] = ()) -> CaptureSettings:
    return CaptureSettings(consented={}, projects=projects, words=words)


@pytest.mark.parametrize(
    ("entry", "project"),
    [
        ("/home/mia/taxes", "/home/mia/taxes/2026"),
        ("/home/mia/taxes/", "/home/mia/TAXES"),
        ("/home/mia/boat/../taxes", "/home/mia/taxes"),
        ("/home/mia/taxes", "/home/mia/boat/../taxes"),
        ("/", "/home/mia"),
        ("taxes", "/home/mia/taxes/2026"),
        ("C:\\Users\\mia\\taxes", "c:/Users/mia/taxes/2026"),
        (
            unicodedata.normalize("NFC", "/home/mia/Müll"),
            unicodedata.normalize("NFD", "/home/mia/Müll"),
        ),
        (unicodedata.normalize("NFD", "Müll"), unicodedata.normalize("NFC", "/home/mia/Müll")),
    ],
)
def test_a_folder_is_excluded_however_it_is_written(entry: str, project: str) -> None:
    assert settings(projects=(entry,)).excludes_project(project)


@pytest.mark.parametrize(
    ("entry", "project"),
    [
        ("/home/mia/tax", "/home/mia/taxes"),
        ("tax", "/home/mia/taxes"),
        ("/home/mia/taxes/2026", "/home/mia/taxes"),
        ("/home/mia", "/home/ann/\ud83d"),
        ("/home/mia", "/home/ann/\0"),
        ("/home/mia", None),
        ("/home/mia", ""),
    ],
)
def test_another_folder_is_not(entry: str, project: str | None) -> None:
    assert not settings(projects=(entry,)).excludes_project(project)


def test_a_link_to_an_excluded_folder_is_excluded_and_the_other_way_round(tmp_path: Path) -> None:
    folder, link = tmp_path / "taxes", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)

    assert settings(projects=(str(folder),)).excludes_project(str(link / "2026"))
    assert settings(projects=(str(link),)).excludes_project(str(folder / "2026"))


def test_a_word_is_excluded_in_each_normal_form() -> None:
    composed, split = (unicodedata.normalize(form, "Grüße") for form in ("NFC", "NFD"))

    assert settings(words=(composed,)).excludes_text(f"Viele {split}!")
    assert settings(words=(split,)).excludes_text(f"Viele {composed}!")
    assert not settings(words=(composed,)).excludes_text("Viele Grüßen")


def test_a_project_is_written_down_as_its_path_or_refused(
    nacre: Nacre, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taxes").mkdir()
    monkeypatch.chdir(tmp_path / "taxes")

    nacre("capture", "exclude", "project", ".", "../boat", "..", "~/secrets/", "plain")
    refused = nacre("capture", "exclude", "project", "tax*")

    listed = [str(tmp_path / "taxes"), str(tmp_path / "boat"), str(tmp_path)]
    expected = (*listed, os.path.expanduser("~/secrets"), "plain")  # noqa: PTH111 - as a shell does
    assert read_settings(str(folder)).projects == expected
    assert (refused.code, "has no '*'" in refused.err) == (2, True)
    nacre("capture", "exclude", "project", "--remove", ".", "../boat", "..", "~/secrets", "plain")
    assert read_settings(str(folder)).projects == ()
