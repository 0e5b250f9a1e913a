"""A process that writes points to a Qdrant server until it fails, and says which are acknowledged.

python qdrant_process.py URL
"""

import sys
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).parents[3] / "shared"))

from nacre.adapters.qdrant.calls import connect
from nacre.adapters.qdrant.vectors import QdrantVectors
from nacre.core.errors import UnavailableError
from tests.adapters.vector_cases import EMB_ID, point, unit


def main(url: str) -> None:
    index = QdrantVectors(connect(url), EMB_ID)
    for number in count():
        try:
            index.upsert("b", [point(f"p{number:06}", unit(1, number), ["pearl"])])
        except UnavailableError as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            return
        print(f"p{number:06}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
