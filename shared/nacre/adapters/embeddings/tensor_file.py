"""Reading tensors from a safetensors file: a length, a JSON header, and the numbers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Tensor = np.ndarray[Any, np.dtype[Any]]

_KINDS = {"F32": "<f4", "U32": "<u4", "U8": "u1", "I8": "i1"}


def mapped_tensors(path: Path) -> Mapping[str, Tensor]:
    """Return the tensors of a file by name; their numbers are read from the disk when used."""
    data = np.memmap(path, np.uint8, "r")
    header, start = _header(data)
    tensors: dict[str, Tensor] = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        numbers = data[start + first : start + last].view(_KINDS[entry["dtype"]])
        tensors[name] = np.asarray(numbers).reshape(entry["shape"])
    return tensors


def tensor_places(path: Path) -> Mapping[str, tuple[int, int]]:
    """Return the first byte of each tensor in a file, and the number of its bytes."""
    header, start = _header(np.memmap(path, np.uint8, "r"))
    places = {name: entry["data_offsets"] for name, entry in header.items()}
    return {name: (start + first, last - first) for name, (first, last) in places.items()}


def _header(data: Tensor) -> tuple[Mapping[str, Any], int]:
    """Return the entries of the header, and the byte after it."""
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    return json.loads(data[8:start].tobytes()), start
