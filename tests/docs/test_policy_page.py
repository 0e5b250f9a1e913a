import re
from dataclasses import asdict

from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.sections import Settings
from tests.docs.blocks import blocks_of
from tests.docs.test_links import ROOT

PAGE = ROOT / "docs" / "concepts" / "policy.md"


def test_the_page_has_every_setting_with_its_default() -> None:
    (shown,) = (block for block in blocks_of(PAGE) if block.code.startswith("[settings]"))
    section = PAGE.read_text(encoding="utf-8").partition("\n## Settings\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `?(\w+)", section, re.MULTILINE)

    assert load_policy(shown.code, source="policy.md").settings == Settings()
    assert dict(rows) == {name: str(value) for name, value in asdict(Settings()).items()}
