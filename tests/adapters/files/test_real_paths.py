import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.adapters.files import real_paths
from nacre.adapters.files.real_paths import resolved

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it leaves it to others")

NAMES = ["a", "b", "file", "link", "far", "loop", "nowhere", "none", "..", ".", ""]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "file").write_text("x")
    (root / "a" / "link").symlink_to("b")
    (root / "link").symlink_to("a")
    (root / "a" / "b" / "far").symlink_to(root / "a" / "file")
    (root / "loop").symlink_to("loop")
    (root / "a" / "nowhere").symlink_to("none/file")
    return root


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.sampled_from(NAMES), max_size=5))
def test_it_is_what_the_usual_way_finds_or_nothing(tree: Path, names: list[str]) -> None:
    place = "/".join([str(tree), *names])

    found = resolved(place)

    if found is not None:
        assert found == Path(place).resolve().as_posix()


@pytest.mark.parametrize(
    ("place", "leads_to"),
    [
        ("a/file", "a/file"),
        ("link/link/far", "a/file"),
        ("link/none", "a/none"),
        ("a/b/../link", "a/b"),
        ("link/nowhere", None),
        ("loop", None),
        ("none/none", None),
        ("a/\0", None),
    ],
)
def test_links_are_followed_and_what_is_unclear_is_left(
    tree: Path, place: str, leads_to: str | None
) -> None:
    expected = None if leads_to is None else f"{tree}/{leads_to}"

    assert resolved(f"{tree}/{place}") == expected


@pytest.mark.parametrize(
    "place",
    [
        "/proc/self/cwd",
        "/proc/self/status",
        "/proc/thread-self/cwd/a",
        "/proc/self/root/etc",
        "/dev/fd/../cwd/a",
        "/proc/net/../cwd",
        "{tree}/process",
        "{tree}/process/a",
        "{tree}/process/none",
    ],
)
def test_a_link_of_a_process_is_left(tree: Path, place: str) -> None:
    if not (tree / "process").is_symlink():
        (tree / "process").symlink_to("/proc/self/cwd")

    assert resolved(place.format(tree=tree)) is None


def test_an_older_kernel_cannot_leave_out_the_links_of_a_process(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_paths, "_openat2", lambda: None)

    assert resolved(f"{tree}/a/file") is None


def test_nothing_is_opened_and_nothing_stays_open(tree: Path) -> None:
    if not (tree / "pipe").exists():
        os.mkfifo(tree / "pipe")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the folder itself is one of them

    for _ in range(50):
        assert resolved(f"{tree}/pipe") == f"{tree}/pipe"
        resolved(f"{tree}/none")
        resolved(f"{tree}/loop")

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above
