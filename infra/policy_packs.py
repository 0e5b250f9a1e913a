"""Compile the policies that Nacre ships: python infra/policy_packs.py."""

from pathlib import Path

from nacre.firewall.policies.compiled import to_json
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.packs import PACKS, text_of

ROOT = Path(__file__).resolve().parents[1]


def compiled() -> dict[Path, str]:
    """Return each compiled file with what belongs in it."""
    folder = ROOT / "shared" / "nacre" / "firewall" / "policies" / "packs"
    return {
        folder / f"{name}.json": to_json(load_policy(text_of(name), source=f"the pack '{name}'"))
        + "\n"
        for name in PACKS
    }


if __name__ == "__main__":
    for path, text in compiled().items():
        path.write_text(text, encoding="utf-8")
