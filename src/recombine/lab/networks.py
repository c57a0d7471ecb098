"""Kept networks: files from which a trained network is built again.

A file is a NumPy archive (`.npz`) with the network's arrays by their paths, and under `header`, as
JSON, the spec with all its settings, the sizes that it was built for, and a checksum. Nothing in it
is code: a network is built by the spec's own `build`, and a spec of a user's file is used only
where the user names that file, or has loaded it already.
"""

import importlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from .checkpoint import Damaged, _is_array, _is_key, pack, unpack, write_atomically
from .errors import UserError
from .settings import CODE, canonical, from_plain, plain
from .specs import IN_FILE, class_in_file, code_of, file_of, loaded_file

FORMAT = 1
HEADER = "header"
TOP = __package__.partition(".")[0]


@dataclass(frozen=True)
class Trained:
    """The trial whose network another trial looks at: what `needs` of a study returns."""

    trial: Callable[..., None]
    """A trial function that keeps a network."""
    config: Any
    """Its config; the seed is that of the trial that looks."""


@dataclass(frozen=True)
class Kept:
    """A trained network with what it was built from."""

    network: Any
    spec: Any
    """`spec.build(sizes, key)` makes the network before training."""
    sizes: Any


def pack_network(kept: Kept) -> bytes:
    """The bytes of a file that holds a network. Raises `ValueError` if its spec makes another."""
    import jax

    arrays = _arrays(kept.network)
    header = {
        "format": FORMAT,
        "spec": {"class": _class_name(type(kept.spec)), "fields": plain(kept.spec)},
        "sizes": _plain_sizes(kept.sizes),
        "float64": jax.dtypes.canonicalize_dtype(float) == np.float64,
    }
    try:
        _filled(_skeleton(kept.spec, kept.sizes), arrays)
    except Damaged as error:
        raise ValueError(f"the network is not one that its spec builds: {error}") from None
    text = canonical(header)
    header["sha256"] = _checksum(text, arrays)
    return pack(arrays | {HEADER: np.frombuffer(canonical(header).encode(), np.uint8)})


def unpack_network(content: bytes, files: Collection[str | Path] = ()) -> Kept:
    """The network of a file, of its bytes.

    **Arguments:**

    - `files`: Python files that may be loaded for the specs that are written in them.
    """
    import jax

    header, arrays = _opened(content)
    named = {Path(file).name: Path(file).resolve() for file in files}
    fields = _with_files(header["spec"]["fields"], named)
    spec = from_plain(_class_of(header["spec"]["class"], named), fields)
    sizes = header["sizes"]
    if isinstance(sizes, Mapping):
        values = {n: tuple(v) if isinstance(v, list) else v for n, v in sizes["fields"].items()}
        sizes = _class_of(sizes["class"], named)(**values)
    with jax.enable_x64(header["float64"]):
        return Kept(_filled(_skeleton(spec, sizes), arrays), spec, sizes)


def describe_network(content: bytes) -> dict[str, Any]:
    """Spec and sizes of a file, as JSON. Raises `Damaged` unless all is as it was written."""
    return _opened(content)[0]


def read_network(path: str | Path, files: Collection[str | Path] = ()) -> Kept:
    """The network in a file, such as one that `recombine export --networks` has written.

    **Arguments:**

    - `files`: Python files that may be loaded for the specs that are written in them.
    """
    try:
        return unpack_network(Path(path).read_bytes(), files)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror})") from None
    except Damaged as error:
        raise UserError(f"{path}: {error}") from None


def network_path(folder: Path, trial: str, name: str) -> Path:
    """Where a store has a network of a trial."""
    return folder / "networks" / f"{trial}.{name}.npz"


def write_network(folder: Path, trial: str, name: str, kept: Kept) -> Path:
    """Write a network of a trial under the store `folder`."""
    path = network_path(folder, trial, name)
    write_atomically(path, pack_network(kept))
    return path


class KeptNetworks(Mapping[str, Kept]):
    """The networks that a trial has kept in a store, read when they are asked for.

    **Arguments:**

    - `folder`: of the store.
    - `trial`: the identity of the trial.
    """

    def __init__(self, folder: Path, trial: str):
        self._folder, self._trial = folder, trial

    def _names(self) -> list[str]:
        paths = network_path(self._folder, self._trial, "*")
        return sorted(path.name.split(".")[1] for path in paths.parent.glob(paths.name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __getitem__(self, name: str) -> Kept:
        path = network_path(self._folder, self._trial, name)
        if not path.is_file():
            raise UserError(f"the trial that this one needs keeps no network {name!r}")
        return read_network(path)


def _opened(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        arrays = unpack(content)
        header = json.loads(arrays.pop(HEADER).tobytes())
        written = header.pop("sha256")
    except Exception:  # whatever a damaged archive makes of itself
        raise Damaged("it is no kept network, or not whole") from None
    if _checksum(canonical(header), arrays) != written:
        raise Damaged("it does not match its checksum")
    if header["format"] != FORMAT:
        raise Damaged(f"it has format {header['format']}, this version reads {FORMAT}")
    return header, arrays


def _checksum(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    found = sha256(text.encode())
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _arrays(network: Any) -> dict[str, np.ndarray]:
    """The arrays of a network, by their paths in it."""
    import jax

    leaves, _ = jax.tree_util.tree_flatten_with_path(network)
    return {
        jax.tree_util.keystr(path): np.asarray(jax.random.key_data(x) if _is_key(x) else x)
        for path, x in leaves
        if _is_array(x)
    }


def _skeleton(spec: Any, sizes: Any) -> Any:
    """The network of a spec, with shapes in the place of arrays."""
    import equinox as eqx
    import jax

    return eqx.filter_eval_shape(spec.build, sizes, jax.random.key(0))


def _filled(skeleton: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """A network with these arrays."""
    import jax
    import jax.numpy as jnp

    left = dict(arrays)

    def fill(path, leaf):
        name = jax.tree_util.keystr(path)
        is_array = isinstance(leaf, (jax.ShapeDtypeStruct, jax.Array, np.ndarray))
        array = left.pop(name, None)
        if array is None:
            if is_array:
                raise Damaged(f"{name} is missing")
            return leaf
        if not is_array:  # a number, which training has made an array
            return jnp.asarray(array)
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(jnp.asarray(array))
        if (leaf.shape, leaf.dtype) != (array.shape, array.dtype):
            raise Damaged(f"{name} is {array.dtype}{array.shape}, not {leaf.dtype}{leaf.shape}")
        return jnp.asarray(array)

    filled = jax.tree_util.tree_map_with_path(fill, skeleton)
    if left:
        raise Damaged(f"there is no place for {', '.join(left)}")
    return filled


def _class_name(kind: type) -> str:
    """Where a class is found: in a module of the package, under its public name, or in a file."""
    module, name = kind.__module__, kind.__qualname__
    if module.partition(".")[0] != TOP:
        return f"{file_of(kind)}:{name}"
    while "._" in module:
        above = module.rpartition(".")[0]
        if getattr(importlib.import_module(above), name, None) is not kind:
            break
        module = above
    return f"{module}:{name}"


def _class_of(text: str, files: Mapping[str, Path]) -> Any:
    """The class that is meant, of this package or of a file that the user has named."""
    where, _, name = text.rpartition(":")
    if where.endswith(".py"):
        return class_in_file(_allowed(where, files), name)
    found = None
    if where.partition(".")[0] == TOP:
        try:
            found = getattr(importlib.import_module(where), name, None)
        except ImportError:
            found = None
    if not isinstance(found, type):
        raise UserError(f"this version of recombine has no {text}, which the network is made of")
    return found


def _allowed(file: str, files: Mapping[str, Path]) -> Path:
    if (name := Path(file).name) not in files:
        if (loaded := loaded_file(Path(file))) is not None:
            return loaded
        raise UserError(
            f"the network is made by a class of {file}, which is loaded only if you name it:"
            f" model={file}:NAME, or files=[{file!r}]"
        )
    return files[name]


def _with_files(value: Any, files: Mapping[str, Path]) -> Any:
    """A spec in which parts from a user's files are those of the files that are named."""
    if not isinstance(value, Mapping):
        return value
    found = {n: _with_files(v, files) for n, v in value.items() if n != CODE or "spec" not in value}
    written = IN_FILE.fullmatch(value["spec"]) if isinstance(value.get("spec"), str) else None
    if written:
        found["spec"] = f"{_allowed(written['path'], files)}:{written['name']}"
        found[CODE] = code_of(found["spec"])
    return found


def _plain_sizes(sizes: Any) -> Any:
    """Sizes as JSON: a number, a text, a list, or the fields of a named tuple."""
    if not hasattr(sizes, "_asdict"):
        return sizes
    return {"class": _class_name(type(sizes)), "fields": sizes._asdict()}
