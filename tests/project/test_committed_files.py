import ipaddress
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PUBLIC_INDEX = {"pypi.org", "files.pythonhosted.org"}
PRIVATE = [ipaddress.ip_network(n) for n in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]


def committed() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def texts() -> list[tuple[str, str]]:
    found = []
    for path in committed():
        try:
            found.append((str(path.relative_to(ROOT)), path.read_text()))
        except UnicodeDecodeError:
            continue
    assert len(found) > 30
    return found


def test_the_lock_file_names_the_public_index_only() -> None:
    hosts = set(re.findall(r"https?://([^/\"]+)", (ROOT / "uv.lock").read_text()))

    assert hosts == PUBLIC_INDEX


def test_the_lock_file_of_node_names_no_registry() -> None:
    lock = (ROOT / "infra" / "node" / "package-lock.json").read_text()

    assert "integrity" in lock
    assert '"resolved"' not in lock


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    # Written in two parts, so that this file is not its own finding.
    folders = re.compile("(?<![A-Za-z0-9_.~-])/(?:" + "work|root" + ")/")

    assert [
        f"{name}: {found.group()}" for name, text in texts() for found in folders.finditer(text)
    ] == []


def test_no_file_names_a_private_address() -> None:
    dotted = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
    found = [
        f"{name}: {address}"
        for name, text in texts()
        if name != "uv.lock"
        for address in dotted.findall(text)
        if all(int(part) < 256 for part in address.split("."))
        and any(ipaddress.ip_address(address) in network for network in PRIVATE)
        # The networks themselves may be named, as this file does.
        and f"{address}/" not in text
    ]

    assert found == []


def test_no_built_file_is_committed() -> None:
    built = (".pyc", ".so", ".whl", ".tar.gz", ".zip")

    assert [path.name for path in committed() if path.name.endswith(built)] == []


def test_servers_of_tests_close_every_connection() -> None:
    # In two parts, as above. Programs that the benchmarks run end with their connections.
    leaky = re.compile("asyncio.start_" + r"server\(|loop(?:\(\))?\.create_" + r"server\(")
    allowed = ("tests/scaffolding/stream_server.py", "tests/benchmarks/")

    assert [
        name
        for name, text in texts()
        if name.startswith("tests/") and not name.startswith(allowed) and leaky.search(text)
    ] == [], "use tests/scaffolding/stream_server.py"
