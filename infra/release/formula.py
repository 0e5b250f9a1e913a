"""The Homebrew formula: a virtual environment with every package at the version of uv.lock."""

from hashlib import sha256
from pathlib import Path

from infra.release.locked_packages import packages
from infra.release.server_json import DESCRIPTION
from infra.release.tree import Release

PYTHON = "3.13"
# Homebrew has these as formulae; built here they would need compilers for an hour.
FORMULAE = {
    "certifi": "certifi",
    "cffi": "cffi",
    "cryptography": "cryptography",
    "numpy": "numpy",
    "pycparser": "pycparser",
    "pydantic": "pydantic",
    "pydantic-core": "pydantic",
    "annotated-types": "pydantic",
    "typing-extensions": "pydantic",
    "typing-inspection": "pydantic",
    "rpds-py": "rpds-py",
}


def formula(release: Release, source: Path, data: list[Path]) -> str:
    """Return the formula of a release, with its source archive and those of the data."""
    resources = [
        _resource(package.name, package.url, package.sha256)
        for package in packages("darwin")
        if package.name not in FORMULAE
    ]
    for archive in data:
        name = archive.name.rpartition("-")[0].replace("_", "-")
        resources.append(_resource(name, release.file_url(archive.name), _digest(archive)))
    needed = sorted({*FORMULAE.values(), "libyaml", f"python@{PYTHON}"})
    depends = "".join(f'  depends_on "{name}"\n' for name in needed)
    return (
        "class NacreMcp < Formula\n"
        "  include Language::Python::Virtualenv\n\n"
        f'  desc "{DESCRIPTION}"\n'
        f'  homepage "{release.url}"\n'
        f'  url "{release.file_url(source.name)}"\n'
        f'  sha256 "{_digest(source)}"\n'
        '  license "MIT"\n\n'
        '  depends_on "rust" => :build # jsonschema-rs\n'
        f"{depends}\n"
        f"{chr(10).join(resources)}\n"
        "  def install\n"
        "    virtualenv_install_with_resources\n"
        "  end\n\n"
        "  service do\n"
        '    run [opt_bin/"nacre", "serve", "--log", "--quiet"]\n'
        "    keep_alive true\n"
        '    error_log_path var/"log/nacre.log"\n'
        "  end\n\n"
        "  test do\n"
        '    assert_match version.to_s, shell_output("#{bin}/nacre --version")\n'
        '    system bin/"nacre", "being", "create", "Pearl", "--data-dir", testpath/"data"\n'
        "  end\n"
        "end\n"
    )


def _resource(name: str, url: str, digest: str) -> str:
    return f'  resource "{name}" do\n    url "{url}"\n    sha256 "{digest}"\n  end\n'


def _digest(archive: Path) -> str:
    return sha256(archive.read_bytes()).hexdigest()
