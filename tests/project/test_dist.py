"""What `make dist` builds: each file is checked by the rules of whoever takes it, or run."""

import json
import os
import re
import shutil
import socket
import subprocess
import tarfile
import time
import tomllib
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from infra.layers.build import find_uv
from infra.release.build import build
from infra.release.bundle import MCPB
from infra.release.server_json import SCHEMA, server_json
from infra.release.tree import Release, published_readme
from infra.tools import programs
from nacre import __version__
from tests.scaffolding.handshake import handshake

ROOT = Path(__file__).parents[2]
# As published at SCHEMA; github.com/modelcontextprotocol/static a9ba437, under the licence beside.
SERVER_SCHEMA = Path(__file__).parent / "mcp_registry" / "server.schema.json"
RELEASE = Release("Some-Owner/nacre")
LISTING = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def problems(document: Any) -> list[str]:
    """Return what the registry's schema finds wrong in a server.json."""
    validator = jsonschema_rs.validator_for(json.loads(SERVER_SCHEMA.read_text()))
    return [error.message for error in validator.iter_errors(document)]


def test_the_document_for_the_registry_fits_its_schema(tmp_path: Path) -> None:
    bundle = tmp_path / "nacre.mcpb"
    bundle.write_bytes(b"zip")
    document = server_json(RELEASE, bundle)

    assert json.loads(SERVER_SCHEMA.read_text())["$id"] == SCHEMA
    assert problems(document) == []
    assert document["name"] == "io.github.Some-Owner/nacre"
    assert {package["registryType"] for package in document["packages"]} == {"pypi", "mcpb", "oci"}
    assert problems({**document, "description": "x" * 101}) != []


def test_the_readme_on_the_package_index_has_no_relative_link() -> None:
    text = published_readme((ROOT / "README.md").read_text(), RELEASE)

    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert targets
    assert [target for target in targets if not target.startswith("https://")] == []
    assert f"{RELEASE.url}/raw/v{__version__}/docs/pictures/map.png" in targets
    assert text.endswith("<!-- mcp-name: io.github.Some-Owner/nacre -->\n")


def test_the_release_workflow_builds_attests_and_publishes_without_a_password() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()

    assert "id-token: write" in text
    assert "attestations: write" in text
    assert "pypa/gh-action-pypi-publish@" in text
    assert "secrets.PYPI" not in text
    assert "password:" not in text.replace("password: ${{ secrets.GITHUB_TOKEN }}", "")
    actions = re.findall(r"uses: (\S+)", text)
    assert [action for action in actions if "@" not in action] == []
    assert re.search(r"^permissions: \{\}$", text, re.MULTILINE)


@pytest.mark.slow
def test_the_dockerfile_has_nothing_that_hadolint_minds() -> None:
    checked = subprocess.run(
        [programs("hadolint") / "hadolint", ROOT / "Dockerfile"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (checked.returncode, checked.stdout) == (0, "")


def test_the_image_runs_as_nobody_and_says_whether_it_is_well() -> None:
    text = (ROOT / "Dockerfile").read_text()

    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)
    assert "HEALTHCHECK" in text
    assert re.search(r"^EXPOSE 8000$", text, re.MULTILINE)
    assert not re.search(r"^VOLUME", text, re.MULTILINE)  # an anonymous volume only looks durable
    ignored = (ROOT / ".dockerignore").read_text().split()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    assert {f"!{name}" for line in copied for name in line.split()} <= set(ignored)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not MCPB.exists():
        pytest.skip("NOT RUN: needs npm's packages (make .tools/node/.ready)")
    folder = tmp_path_factory.mktemp("dist") / "dist"
    build(RELEASE, folder)
    return folder


def environment(home: Path) -> dict[str, str]:
    """Return an environment with a home of its own and uv's cache."""
    kept = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
    uv = Path(find_uv()).absolute().parent
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "HOME": str(home),
        "PATH": f"{uv}:{Path(shutil.which('python3') or '/usr/bin/python3').parent}:{os.defpath}",
        "UV_NO_PYTHON_DOWNLOADS": "1",
    }


@pytest.mark.slow
def test_the_built_document_names_the_built_bundle(dist: Path) -> None:
    document = json.loads((dist / "server.json").read_text())

    assert problems(document) == []
    assert document == server_json(RELEASE, dist / f"nacre-{__version__}.mcpb")
    with zipfile.ZipFile(next(dist.glob("nacre_mcp-*.whl"))) as wheel:
        metadata = wheel.read(f"nacre_mcp-{__version__}.dist-info/METADATA").decode()
    assert f"mcp-name: {document['name']}" in metadata


@pytest.mark.slow
def test_the_bundle_serves_as_a_desktop_client_starts_it(dist: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    bundle = dist / f"nacre-{__version__}.mcpb"
    subprocess.run([MCPB, "unpack", bundle, folder], check=True, stdout=subprocess.DEVNULL)
    manifest = json.loads((folder / "manifest.json").read_text())
    server = manifest["server"]
    assert (manifest["manifest_version"], server["type"]) == ("0.4", "uv")
    assert (folder / server["entry_point"]).is_file()
    arguments = [word.replace("${__dirname}", str(folder)) for word in server["mcp_config"]["args"]]
    home = tmp_path / "home"
    home.mkdir()

    done = subprocess.run(
        [server["mcp_config"]["command"], *arguments],
        input="".join(json.dumps(message) + "\n" for message in (handshake(), LISTING)),
        env=environment(home) | {"NACRE_HOME": ""},  # what an empty choice of the user gives
        cwd=home,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    first, second = (json.loads(line)["result"] for line in done.stdout.splitlines())
    assert first["serverInfo"]["version"] == __version__
    listed = {tool["name"] for tool in second["tools"]}
    assert {tool["name"] for tool in manifest["tools"]} <= listed
    assert (home / ".local" / "share" / "nacre" / "nacre.db").is_file()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ruby") is None, reason="needs ruby")
def test_the_formula_has_every_package_of_the_lock(dist: Path, tmp_path: Path) -> None:
    stand_in = tmp_path / "formula.rb"
    stand_in.write_text(_FORMULA)

    loaded = subprocess.run(
        ["ruby", "-W", "-r", stand_in, dist / "nacre-mcp.rb"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (loaded.returncode, loaded.stderr) == (0, "")
    resources = dict(line.split(" ")[:2] for line in loaded.stdout.splitlines())
    lock = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    archives = {package["sdist"]["url"] for package in lock if "sdist" in package}
    ours = {name for name in resources if name.startswith("nacre-mcp")}
    assert ours == {"nacre-mcp-encoder", "nacre-mcp-tables"}
    assert {url for name, url in resources.items() if name not in ours} <= archives
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[<>=]", line)[0] for line in needed}
    assert names - {"numpy", "cryptography"} <= resources.keys()


# As much of Homebrew's language as the formula uses; it prints the resources.
_FORMULA = """
module Language; module Python; module Virtualenv; end; end; end
class Formula
  class << self
    def desc(text) = (raise "a description has at most 80 characters" if text.length > 80)
    def homepage(*) = nil
    def license(*) = nil
    def depends_on(*) = nil
    def service = nil
    def test = nil
    def url(text) = (@url = text)
    def sha256(text) = (raise "no digest" unless text.match?(/\\A[0-9a-f]{64}\\z/))
    def resource(name)
      yield
      puts "#{name} #{@url}"
    end
  end
end
"""


@pytest.mark.slow
def test_the_image_s_own_commands_build_and_serve_without_an_engine(
    dist: Path, tmp_path: Path
) -> None:
    """What the Dockerfile runs, in its build context, then the health check and a call."""
    source, target, home = tmp_path / "src", tmp_path / "opt", tmp_path / "home"
    home.mkdir()
    with tarfile.open(dist / f"nacre-{__version__}-container.tar.gz") as context:
        context.extractall(source, filter="data")
    text = (source / "Dockerfile").read_text()
    sync = re.search(r"^RUN uv (sync .+)$", text, re.MULTILINE)
    health = re.search(r'^    CMD \["python", "-c", "(.+)"\]$', text, re.MULTILINE)
    entry = re.search(r"^ENTRYPOINT (\[.+\])\nCMD (\[.+\])$", text, re.MULTILINE)
    assert sync is not None
    assert health is not None
    assert entry is not None
    uv = environment(home) | {"UV_PROJECT_ENVIRONMENT": str(target), "UV_LINK_MODE": "copy"}
    options = [word for word in sync[1].split() if word != "--no-cache"]
    subprocess.run([find_uv(), *options, "--quiet"], cwd=source, env=uv, check=True)
    shutil.rmtree(source)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*json.loads(entry[1]), *json.loads(entry[2])]
    assert command == ["nacre", "serve", "--container"]

    # Loopback only, and a folder that this test says is kept: here is no volume.
    here = ["serve", "--host", "127.0.0.1", "--port", str(port), "--log", "--quiet"]
    server = subprocess.Popen(
        [target / "bin" / "nacre", *here],
        env=environment(home) | {"NACRE_HOME": str(tmp_path / "data")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        assert '"serving"' in server.stderr.readline()
        status = 0
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/mcp", timeout=10)
            except urllib.error.HTTPError as error:
                status = error.code
                break
            except OSError:
                time.sleep(0.1)
        assert status == 401
        modules = "import boto3, openai, numpy, nacre_tables, nacre_encoder"
        subprocess.run([target / "bin" / "python", "-c", modules], check=True, env={})
        compile(health[1], "HEALTHCHECK", "exec")
    finally:
        server.terminate()
        out, _ = server.communicate(timeout=60)
    assert out == ""
