"""Reading tensors from a safetensors file: a length, a JSON header, and the numbers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Tensor = np.ndarray[Any, np.dtype[Any]]

_KINDS = {"F32": "<f4", "U32": "<u4", "U8": "u1"}


def mapped_tensors(path: Path) -> Mapping[str, Tensor]:
    """Return the tensors of a file by name; their numbers are read from the disk when used."""
    data = np.memmap(path, np.uint8, "r")
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    tensors: dict[str, Tensor] = {}
    for name, entry in json.loads(data[8:start].tobytes()).items():
        first, last = entry["data_offsets"]
        numbers = data[start + first : start + last].view(_KINDS[entry["dtype"]])
        tensors[name] = np.asarray(numbers).reshape(entry["shape"])
    return tensors
