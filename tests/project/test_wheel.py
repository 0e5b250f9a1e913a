"""What a user gets who installs the package: the wheel, in an empty environment, without extras."""

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

from infra.layers.build import find_uv
from nacre import __version__
from nacre.firewall.policies.packs import PACKS
from tests.scaffolding.handshake import handshake

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "get_current_time", "arguments": {"timezone": "Asia/Tokyo"}},
}


@pytest.fixture(scope="module")
def wheel(wheels: Path) -> Path:
    (built,) = wheels.glob("nacre_mcp-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    uv = find_uv()
    pins = folder / "pins.txt"
    export = [uv, "export", "--quiet", "--locked", "--no-emit-workspace", "--no-hashes"]
    subprocess.run([*export, "--project", ROOT, "--output-file", pins], check=True)
    subprocess.run([uv, "venv", "--quiet", folder / "venv"], check=True)
    subprocess.run(
        [
            *(uv, "pip", "install", "--quiet", "--python", folder / "venv" / "bin" / "python"),
            *("--constraint", pins, "--find-links", wheel.parent, wheel),
        ],
        check=True,
    )
    return folder / "venv" / "bin"


def run(command: list[str | Path], home: Path, said: str = "") -> str:
    """Run a command far from the checkout, and return what it printed."""
    environment = {"HOME": str(home), "NACRE_HOME": str(home / "data"), "PATH": os.defpath}
    done = subprocess.run(
        command, cwd=home, env=environment, input=said, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert {name.split("/")[0] for name in names} == {
        *("nacre", f"nacre_mcp-{__version__}.dist-info")
    }
    assert {"nacre/py.typed", "nacre/being/tools/lists.json"} <= set(names)
    assert {f"nacre/firewall/policies/packs/{name}.json" for name in PACKS} <= set(names)
    assert f"nacre_mcp-{__version__}.dist-info/licenses/LICENSE" in names


@pytest.mark.parametrize("kind", ["tables", "encoder", "english"])
def test_a_data_wheel_holds_what_its_list_of_sums_names_and_its_licences(
    wheels: Path, kind: str
) -> None:
    package = f"nacre_{kind}"
    (built,) = wheels.glob(f"nacre_mcp_{kind}-*.whl")
    with zipfile.ZipFile(built) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        sums = archive.read(f"{package}/SHA256SUMS").decode().splitlines()
        wrong = [
            line
            for line in sums
            if hashlib.sha256(archive.read(f"{package}/{line.split()[1]}")).hexdigest()
            != line.split()[0]
        ]

    licences = {name for name in names if name.startswith(f"{package}/licenses/")}
    data = {f"{package}/{line.split()[1]}" for line in sums}
    assert wrong == []
    assert licences
    assert names - data - licences == {
        f"{package}/{name}" for name in ("__init__.py", "NOTICE", "SHA256SUMS")
    }


def test_every_wheel_passes_the_check_of_the_package_index(wheels: Path) -> None:
    checked = subprocess.run(
        [
            find_uv(),
            "tool",
            "run",
            "--quiet",
            "twine@7.0.0",
            "check",
            "--strict",
            *wheels.glob("*.whl"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("PASSED") == 4


@pytest.mark.requirement("000.cli.version")
def test_an_installed_nacre_says_its_version(installed: Path, tmp_path: Path) -> None:
    assert run([installed / "nacre", "--version"], tmp_path) == f"nacre {__version__}\n"


def test_an_installed_nacre_has_no_more_than_the_laptop_needs(
    installed: Path, tmp_path: Path
) -> None:
    listed = run(
        [
            installed / "python",
            "-c",
            "import importlib.metadata as m; print(*{d.name for d in m.distributions()})",
        ],
        tmp_path,
    )

    assert not {"boto3", "botocore", "mangum", "openai", "pytest"} & set(listed.split())


def test_an_installed_nacre_serves_a_being_it_made(installed: Path, tmp_path: Path) -> None:
    being = json.loads(run([installed / "nacre", "being", "create", "x", "--json"], tmp_path))
    said = "".join(json.dumps(message) + "\n" for message in (handshake(), CALL))
    answers = run([installed / "nacre", "mcp-server"], tmp_path, said).splitlines()

    assert set(being) == {"being_id", "name"}
    first, second = (json.loads(answer)["result"] for answer in answers)
    assert first["serverInfo"] == {"name": "nacre", "version": __version__, "title": "Nacre"}
    assert second["structuredContent"]["timezone"] == "Asia/Tokyo"


def test_an_installed_nacre_serves_the_tools_of_another_server(
    installed: Path, tmp_path: Path
) -> None:
    nacre, server = installed / "nacre", ROOT / "tests" / "gateway" / "odd_upstream.py"
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "echo", "inputSchema": {"type": "object"}}]))
    run([nacre, "being", "create", "x"], tmp_path)
    run([nacre, "server", "add", "odd", sys.executable, server, "legacy", tools], tmp_path)
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    said = "".join(json.dumps(message) + "\n" for message in (handshake(), listing))
    last = json.loads(run([nacre, "mcp-server"], tmp_path, said).splitlines()[-1])

    assert "mcp__odd__echo" in {each["name"] for each in last["result"]["tools"]}


def test_an_installed_nacre_shows_its_owner_the_pages(installed: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    with subprocess.Popen(
        [installed / "nacre", "serve", "--port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        said = iter(server.stdout.readline, "")
        link = next(line.split()[-1] for line in said if line.startswith("Sign in"))
        place, _, secret = link.partition("#")
        base = place.removesuffix("/sign-in")
        pages = build_opener(HTTPCookieProcessor())
        form = pages.open(place).read().decode()
        csrf = re.search(r'name="csrf" value="(\w+)"', form)
        assert csrf is not None
        sent = urlencode({"secret": secret, "csrf": csrf[1], "then": "/"}).encode()
        shown = pages.open(Request(place, sent, {"Origin": base}))

        assert shown.url.endswith("/overview")
        server.terminate()
