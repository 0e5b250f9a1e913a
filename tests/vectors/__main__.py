"""Write the product's own vectors as JSON Lines: python -m tests.vectors FOLDER."""

import json
import sys
from pathlib import Path

from tests.vectors.sets import OWN

if len(sys.argv) != 2:
    sys.exit("usage: python -m tests.vectors FOLDER")
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, rows in OWN.items():
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows()]
    (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
