"""Checkpoints: PyTrees on disk, written atomically and checked when they are read."""

import json
import os
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Tree = TypeVar("Tree")

MAGIC = b"recombine-checkpoint-1 "


class Damaged(Exception):
    """A file's content differs from what was written."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` so that `path` holds either all of it or what it held before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def pack(arrays: dict[str, np.ndarray], *, compressed: bool = False) -> bytes:
    """Named arrays as the bytes of an `.npz` file."""
    buffer = BytesIO()
    save = np.savez_compressed if compressed else np.savez
    save(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def unpack(content: bytes) -> dict[str, np.ndarray]:
    """The inverse of [`recombine.lab.checkpoint.pack`][]."""
    with np.load(BytesIO(content), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _is_key(leaf: Any) -> bool:
    import jax

    return isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _is_array(leaf: Any) -> bool:
    """Arrays are written; functions, whole numbers and the like come from the template."""
    import jax

    return isinstance(leaf, jax.Array | np.ndarray)


def _leaves(tree: Any) -> list[np.ndarray]:
    import jax

    def plain(leaf):
        return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)

    return [plain(leaf) for leaf in jax.tree.leaves(tree) if _is_array(leaf)]


def _like(template: Any, arrays: list[np.ndarray]) -> Any:
    import jax
    import jax.numpy as jnp

    leaves, structure = jax.tree.flatten(template)
    count = sum(map(_is_array, leaves))
    if count != len(arrays):
        raise Damaged(f"{len(arrays)} arrays where {count} are expected")
    found = iter(arrays)

    def restore(leaf):
        if not _is_array(leaf):
            return leaf
        array = next(found)
        if _is_key(leaf):
            return jax.random.wrap_key_data(jnp.asarray(array), impl=jax.random.key_impl(leaf))
        expected = np.asarray(leaf)
        if expected.shape != array.shape or expected.dtype != array.dtype:
            raise Damaged(f"{array.dtype}{array.shape} where {expected.dtype}{expected.shape} was")
        return jnp.asarray(array)

    return jax.tree.unflatten(structure, [restore(leaf) for leaf in leaves])


def save(folder: Path, step: int, tree: Any, curves: dict[str, np.ndarray] | None = None) -> Path:
    """Write a checkpoint of `tree` and `curves` after `step` steps; it and the last before it stay.

    Those after it go: a trial that comes to `step` has found them damaged, or of another state.
    """
    arrays = {f"leaf{i}": leaf for i, leaf in enumerate(_leaves(tree))}
    arrays |= {f"curve:{name}": curve for name, curve in (curves or {}).items()}
    arrays["header"] = np.frombuffer(json.dumps({"step": step}).encode(), np.uint8)
    content = pack(arrays)
    path = folder / f"{step:012d}.ckpt"
    keep(path, MAGIC + sha256(content).hexdigest().encode() + b"\n" + content)
    return path


def keep(path: Path, content: bytes) -> None:
    """Write the content of a checkpoint; see [`recombine.lab.checkpoint.save`][]."""
    write_atomically(path, content)
    found = sorted(path.parent.glob("*.ckpt"))
    kept = found[max(found.index(path) - 1, 0) : found.index(path) + 1]
    for other in set(found) - set(kept):
        other.unlink(missing_ok=True)


def load(path: Path, template: Tree) -> tuple[int, Tree, dict[str, np.ndarray]]:
    """Step, tree and curves of a checkpoint. Raises `Damaged` unless it is exactly as written."""
    head, newline, content = path.read_bytes().partition(b"\n")
    if not newline or not head.startswith(MAGIC):
        raise Damaged(f"{path.name} is not a checkpoint")
    if sha256(content).hexdigest().encode() != head.removeprefix(MAGIC):
        raise Damaged(f"{path.name} does not match its checksum")
    arrays = unpack(content)
    step = json.loads(arrays.pop("header").tobytes())["step"]
    curves = {k.removeprefix("curve:"): v for k, v in arrays.items() if k.startswith("curve:")}
    leaves = [arrays[f"leaf{i}"] for i in range(len(arrays) - len(curves))]
    return step, _like(template, leaves), curves


def latest(folder: Path, template: Tree) -> tuple[int, Tree, dict[str, np.ndarray]] | None:
    """The newest intact checkpoint in `folder`, or None. Damaged ones are skipped."""
    for path in sorted(folder.glob("*.ckpt"), reverse=True):
        try:
            return load(path, template)
        except (Damaged, OSError, ValueError, KeyError):
            continue
    return None
