"""Take the pictures of docs/: python -m infra.screenshots (needs Chromium)."""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from infra.browser import Scheme, Window, browsing, window
from infra.sample import Sample, make

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
MOST_BYTES = 200_000
SIZE = (1200, 800)
PHONE = (390, 760)
FORM = (800, 640)

# The file's name, the page, and how it is shown; ID is the Being's.
PAGES: tuple[tuple[str, str, Scheme, tuple[int, int]], ...] = (
    ("overview", "/beings/ID/overview", "light", SIZE),
    ("map", "/beings/ID/map", "light", SIZE),
    ("map-dark", "/beings/ID/map", "dark", SIZE),
    ("memory", "MEMORY", "light", SIZE),
    ("connect", "/beings/ID/connect", "light", SIZE),
    ("access", "/beings/ID/access", "light", SIZE),
    ("rules", "RULES", "light", SIZE),
    ("approvals", "/approvals", "light", SIZE),
    ("approvals-phone", "/approvals", "dark", PHONE),
    ("audit", "/beings/ID/audit", "light", SIZE),
    ("patrols", "/beings/ID/patrols", "light", SIZE),
    ("servers", "/servers/tools?server=files", "light", SIZE),
    ("sign-in", "/sign-in", "light", FORM),
    ("consent", "CONSENT", "light", FORM),
)
# Put a path that readers know in place of this machine's.
RENAME = """([path, shown]) => document.querySelectorAll('pre, code').forEach(
  block => { if (block.textContent.includes(path))
    block.textContent = block.textContent.replaceAll(path, shown) })"""
OPEN = ("/sign-in",)  # shown to whoever has not signed in


def main() -> None:
    """Make a sample, serve it, and take every picture."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        sample = make(Path(folder) / "data")
        with serving(sample) as (base, link), browsing() as browser:
            live(base, sample)
            with window(browser, base) as opened:
                opened.sign_in(link)
                cookies = opened.page.context.cookies()
            for name, address, scheme, size in PAGES:
                with window(browser, base, scheme=scheme, size=size) as opened:
                    if address not in OPEN:
                        opened.page.context.add_cookies(cookies)  # type: ignore[arg-type]  # what it gave
                    show(opened, address, sample)
                    take(opened, PICTURES / f"{name}.png")
                    if opened.wrong:
                        raise SystemExit(f"{address}: {opened.wrong}")


@contextmanager
def serving(sample: Sample) -> Iterator[tuple[str, str]]:
    """Run `nacre serve` over the sample; yield its address and what signs in."""
    # A file of this machine's owner would decide instead of the sample's rules.
    environment = {
        "PATH": os.defpath,
        "PYTHONPATH": str(ROOT / "shared"),
        "HOME": str(sample.folder),
    }
    command = [str(Path(sys.executable).with_name("nacre")), "serve", "--port", "8642"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(sample.folder)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"(http://[^/]+)/sign-in#(\S+)", line):
                yield found[1], found[2]
                return
        raise SystemExit("nacre serve did not start; is port 8642 free?")
    finally:
        process.terminate()
        process.wait()


def live(base: str, sample: Sample) -> None:
    """Make calls, one of which waits for its owner."""
    tom = {"entity_name": "Tom", "relation_type": "person", "action": "upsert"}
    for tool, arguments in (
        ("get_current_time", {}),
        ("search_memory", {"query": "the Danube trip"}),
        ("recall", {"query": "Miso the cat"}),
        ("update_relation", {**tom, "content": "Ann's partner; wants the window seat on trains"}),
    ):
        call(base, sample, tool, arguments)


def call(base: str, sample: Sample, tool: str, arguments: dict[str, str]) -> None:
    """Call a tool with the sample's token."""
    connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=30)
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "authorization": f"Bearer {sample.token}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
    }
    connection.request("POST", f"/mcp/{sample.being_id}", json.dumps(message), headers)
    if (answer := connection.getresponse()).status != 200:
        raise SystemExit(f"{tool}: {answer.status} {answer.read().decode()[:200]}")
    connection.close()


def asking(base: str) -> str:
    """Register a client, and return the path at which it asks for access."""
    there = "http://127.0.0.1:33418/callback"
    connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=30)
    client = {"client_name": "An editor", "redirect_uris": [there]}
    headers = {"content-type": "application/json"}
    connection.request("POST", "/register", json.dumps(client), headers)
    client_id = json.loads(connection.getresponse().read())["client_id"]
    connection.close()
    fields = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": there,
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",  # RFC 7636's example
        "code_challenge_method": "S256",
        "resource": f"{base}/mcp",
    }
    return f"/authorize?{urlencode(fields)}"


def show(opened: Window, address: str, sample: Sample) -> None:
    """Open a page, or what is a click or two behind one."""
    page = opened.page
    being_path = f"/beings/{sample.being_id}"
    if address == "MEMORY":
        opened.go(f"{being_path}/memories?q=tomatoes")
        page.locator("main a[href*='/memories/']").filter(has_text="tomatoes").first.click()
    elif address == "RULES":
        opened.go(f"{being_path}/policy")
        text = page.locator("#text").input_value()
        page.fill("#text", text.replace('action = "deny"', 'action = "prompt"'))
        page.get_by_role("button", name="Check").click()
        page.locator("#review").scroll_into_view_if_needed()
        page.evaluate("scrollTo(0, document.querySelector('#review').offsetTop - 12)")
    elif address == "CONSENT":
        opened.go(asking(opened.base))
    else:
        opened.go(address.replace("/beings/ID", being_path))
    if address == "/sign-in":  # the command has this machine's paths
        page.locator("main code").evaluate("code => code.textContent = 'nacre owner bootstrap'")
    page.wait_for_load_state("load")
    for path, name in (
        (ROOT, "/home/ann/nacre"),
        (sample.folder, "/home/ann/.local/share/nacre"),
    ):
        page.evaluate(RENAME, [str(path), name])


def take(opened: Window, file: Path) -> None:
    """Take a picture of what is seen without scrolling."""
    opened.page.screenshot(path=file)
    size = file.stat().st_size
    print(f"{file.relative_to(ROOT)}: {size} bytes", file=sys.stderr)
    if size > MOST_BYTES:
        raise SystemExit(f"{file.name} is larger than {MOST_BYTES} bytes")


if __name__ == "__main__":
    main()
