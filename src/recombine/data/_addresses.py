"""Addresses on the State of the Union: one file each, joined in the order of their years."""

from pathlib import Path


def joined(folder: Path) -> None:
    """Write all texts of a folder to `addresses.txt`, with a line break between two of them."""
    files = sorted(folder.glob("*.txt"))
    whole = b"\n".join(file.read_bytes() for file in files)
    for file in files:
        file.unlink()
    (folder / "addresses.txt").write_bytes(whole)
