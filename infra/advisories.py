"""Look for known weaknesses in the packages of uv.lock and of infra/node.

    python -m infra.advisories

OSV is asked, which knows both kinds, and where it does not answer the registries themselves.
Where none answers, it says so in a line that nobody overlooks and ends with 3: nothing was found
out.
"""

import http.client
import json
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from infra.layers.build import ROOT

OSV = "https://api.osv.dev"
PYPI = "https://pypi.org"
NPM = "https://registry.npmjs.org"
_SECONDS = 20
_AT_ONCE = 500  # OSV takes a thousand
NOT_RUN = 3

# Looked at and found harmless here, each with a reason; an entry that nothing finds is an error.
HARMLESS: Mapping[str, str] = {}


class UnreachableError(Exception):
    """A source does not answer, or not with what it should."""


@dataclass(frozen=True, slots=True)
class Package:
    """One package as a lock file has it."""

    ecosystem: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A weakness that is known of a package."""

    package: Package
    advisory: str


Source = Callable[[Sequence[Package]], list[Finding]]


def locked() -> list[Package]:
    """Return the packages of the two lock files."""
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    python = [
        Package("PyPI", package["name"], package["version"])
        for package in lock["package"]
        if "registry" in package["source"]
    ]
    node = json.loads((ROOT / "infra" / "node" / "package-lock.json").read_text())["packages"]
    return python + [
        Package(
            "npm", package.get("name") or path.rpartition("node_modules/")[2], package["version"]
        )
        for path, package in node.items()
        if path
    ]


def osv(base: str) -> Source:
    """Return the source that asks an OSV server."""

    def ask(packages: Sequence[Package]) -> list[Finding]:
        findings = []
        for start in range(0, len(packages), _AT_ONCE):
            some = packages[start : start + _AT_ONCE]
            queries = [
                {
                    "package": {"ecosystem": package.ecosystem, "name": package.name},
                    "version": package.version,
                }
                for package in some
            ]
            results = _sent(base, "POST", "/v1/querybatch", {"queries": queries}).get("results")
            if not isinstance(results, list) or len(results) != len(some):
                raise UnreachableError(f"{base} did not answer for every package")
            findings += [
                Finding(package, vulnerability["id"])
                for package, result in zip(some, results, strict=True)
                for vulnerability in result.get("vulns", ())
            ]
        return findings

    return ask


def pypi(base: str) -> Source:
    """Return the source that asks PyPI, package by package."""

    def ask(packages: Sequence[Package]) -> list[Finding]:
        findings = []
        for package in packages:
            answer = _sent(base, "GET", f"/pypi/{package.name}/{package.version}/json")
            if not isinstance(answer.get("vulnerabilities"), list):  # a mirror may know nothing
                raise UnreachableError(f"{base} tells no weaknesses")
            findings += [Finding(package, weakness["id"]) for weakness in answer["vulnerabilities"]]
        return findings

    return ask


def npm(base: str) -> Source:
    """Return the source that asks the registry of npm, as `npm audit` does."""

    def ask(packages: Sequence[Package]) -> list[Finding]:
        versions: dict[str, list[str]] = {}
        for package in packages:
            versions.setdefault(package.name, []).append(package.version)
        answer = _sent(base, "POST", "/-/npm/v1/security/advisories/bulk", versions)
        return [
            Finding(Package("npm", name, ", ".join(versions[name])), str(advisory["url"]))
            for name, advisories in answer.items()
            for advisory in advisories
        ]

    return ask


def _sent(base: str, method: str, path: str, body: object = None) -> dict[str, Any]:
    parts = urlsplit(base)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=_SECONDS)
    try:
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"content-type": "application/json"})
        response = connection.getresponse()
        raw = response.read()
        if response.status != 200:
            raise UnreachableError(f"{parts.netloc} answers {response.status}")
        answer = json.loads(raw)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UnreachableError(f"{parts.netloc}: {error}") from error
    finally:
        connection.close()
    if not isinstance(answer, dict):
        raise UnreachableError(f"{parts.netloc} answers with something else")
    return answer


def looked(
    packages: Sequence[Package], sources: Iterable[Source], report: Callable[[str], None]
) -> list[Finding] | None:
    """Return the findings of the first source that answers; None where none does."""
    for source in sources:
        try:
            return source(packages)
        except UnreachableError as error:
            report(f"not reached: {error}")
    return None


def audit(packages: Sequence[Package], sources: Mapping[str, Sequence[Source]]) -> int:
    """Look for all packages, tell what was found, and return the exit code."""
    code, harmless = 0, set()
    for ecosystem, sources_of in sources.items():
        some = [package for package in packages if package.ecosystem == ecosystem]
        findings = looked(some, sources_of, lambda text: print(text, file=sys.stderr))
        if findings is None:
            print(f"!!! NOT RUN: no source of advisories for {len(some)} packages of {ecosystem}")
            code = code or NOT_RUN
            continue
        open_ = [hit for hit in findings if hit.advisory not in HARMLESS]
        harmless |= {hit.advisory for hit in findings} - {hit.advisory for hit in open_}
        print(f"{ecosystem}: {len(some)} packages, {len(open_)} known weaknesses")
        for hit in open_:
            print(f"  {hit.package.name} {hit.package.version}: {hit.advisory}")
            code = 1
    if code == 0 and (forgotten := set(HARMLESS) - harmless):
        print(f"not found any more, so take it out: {', '.join(sorted(forgotten))}")
        return 1
    return code


def main() -> None:
    """Look, and end with 0, 1 for a weakness, or 3 where nothing could be found out."""
    sys.exit(audit(locked(), {"PyPI": [osv(OSV), pypi(PYPI)], "npm": [osv(OSV), npm(NPM)]}))


if __name__ == "__main__":
    main()
