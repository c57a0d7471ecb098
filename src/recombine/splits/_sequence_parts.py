"""The parts of sequences and of parse trees: atoms, pairs of neighbours, compounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from ._divergence import Occurrences
from ._encoded_split import Items
from ._parse_trees import depth, nodes, parse_tree

if TYPE_CHECKING:
    from polars import Series

START, END = "<start>", "<end>"
"""The neighbours of the first and the last token."""


@dataclass(frozen=True, eq=False)
class SequenceParts:
    """What the items of a column are made of; training comes first.

    An item is a sequence, whose pairs are neighbouring tokens, or a parse tree, whose pairs are a
    slot of a node, such as `and 2`, and the label of the child in it.
    """

    atoms: tuple[str, ...]
    atom_item: Int[np.ndarray, " occurrences"]
    atom: Int[np.ndarray, " occurrences"]
    first: tuple[str, ...]
    """Left neighbours, or slots."""
    second: tuple[str, ...]
    """Right neighbours, or labels of children."""
    pair_item: Int[np.ndarray, " pairs"]
    pairs: Items
    """The numbers of both parts of every pair."""
    compounds: Occurrences
    sizes: Int[np.ndarray, " items"]
    """The length of every sequence, or the depth of every tree."""
    compounds_are: str


def sequence_parts(texts: "Series", longest: int = 3) -> SequenceParts:
    """The parts of sequences of tokens: tokens, pairs of neighbours, n-grams.

    **Arguments:**

    - `texts`: a column of texts, whose words are tokens, or of lists of tokens.
    - `longest`: n-grams of 2 to so many tokens are the compounds.
    """
    import polars

    listed = texts
    if texts.dtype == polars.String:
        listed = texts.str.extract_all(r"\S+")
    frame = polars.DataFrame({"item": np.arange(len(listed)), "token": listed.alias("token")})
    flat = frame.explode("token").drop_nulls()
    item = flat["item"].to_numpy()
    names = flat["token"].cast(polars.String).unique(maintain_order=True)
    numbered = polars.DataFrame({"name": names, "number": np.arange(len(names))})
    token = (
        flat.select(polars.col("token").cast(polars.String).alias("name"))
        .join(numbered, on="name", how="left", maintain_order="left")["number"]
        .to_numpy()
        .astype(np.int64)
    )
    atoms = tuple(names.to_list())
    sizes = np.bincount(item, minlength=len(listed))
    left, right, pair_item = _neighbours(item, token, len(atoms))
    return SequenceParts(
        atoms=atoms,
        atom_item=item,
        atom=token,
        first=(*atoms, START),
        second=(*atoms, END),
        pair_item=pair_item,
        pairs=np.stack([left, right], axis=1),
        compounds=_ngrams(item, token, longest),
        sizes=sizes,
        compounds_are="pairs of tokens" if longest == 2 else f"n-grams of 2 to {longest} tokens",
    )


def _neighbours(item: np.ndarray, token: np.ndarray, mark: int) -> tuple[np.ndarray, ...]:
    """Every token with the one before it, `mark` before the first and after the last."""
    first = np.append(True, item[1:] != item[:-1])
    last = np.append(item[1:] != item[:-1], True)
    before = np.where(first, mark, np.roll(token, 1))
    left = np.concatenate([before, token[last]])
    right = np.concatenate([token, np.full(last.sum(), mark)])
    return left, right, np.concatenate([item, item[last]])


def _ngrams(item: np.ndarray, token: np.ndarray, longest: int) -> Occurrences:
    """All n-grams; those of n tokens lie within those of n + 1 that begin or end with them."""
    items, kinds, inner, outer = [], [], [], []
    starts, codes, kinds_before, before, known = np.arange(len(token)), token, 0, None, 0
    for n in range(2, longest + 1):
        longer = starts[:-1] if n == 2 else starts[starts + n <= len(token)]
        longer = longer[item[longer] == item[longer + n - 1]]
        place = np.searchsorted(starts, longer)
        joined = codes[place] * (np.int64(token.max(initial=0)) + 1) + token[longer + n - 1]
        distinct_codes, codes = np.unique(joined, return_inverse=True)
        if before is not None:
            # Place of the n-gram that begins where the longer one does, and of the next.
            for shift in (0, 1):
                inner.append(before[np.searchsorted(starts, longer + shift)])
                outer.append(known + np.arange(len(longer)))
        items.append(item[longer])
        kinds.append(codes + kinds_before)
        before = known + np.arange(len(longer))
        known += len(longer)
        kinds_before += len(distinct_codes)
        starts = longer
    none = np.zeros(0, np.int64)
    return Occurrences(
        np.concatenate(items) if items else none,
        np.concatenate(kinds) if kinds else none,
        np.concatenate(inner) if inner else none,
        np.concatenate(outer) if outer else none,
    )


def tree_parts(texts: Sequence[str]) -> SequenceParts:
    """The parts of parse trees: labels, slots with what fills them, and subtrees.

    Compounds are a node with its children, and a node with its children and theirs; the former lies
    within the latter at the same node and at its parent.
    """
    atoms, first, second, kinds = _Numbers(), _Numbers(), _Numbers(), _Numbers()
    atom_item, atom, pair_item, pairs, sizes = [], [], [], [], []
    item: list[int] = []
    compound: list[int] = []
    inner: list[int] = []
    outer: list[int] = []
    for n, text in enumerate(texts):
        tree = parse_tree(text)
        sizes.append(depth(tree))
        small: dict[int, int] = {}
        large: dict[int, int] = {}
        for node, parent, place in nodes(tree):
            atom_item.append(n)
            atom.append(atoms[node.label])
            slot = START if parent is None else f"{parent.label} {place + 1}"
            pair_item.append(n)
            pairs.append((first[slot], second[node.label]))
            if not node.children:
                continue
            below = tuple(child.label for child in node.children)
            small[id(node)] = len(item)
            item.append(n)
            compound.append(kinds[(node.label, below)])
            grandchildren = tuple(tuple(c.label for c in child.children) for child in node.children)
            if any(grandchildren):
                large[id(node)] = len(item)
                item.append(n)
                compound.append(kinds[(node.label, below, grandchildren)])
            for holder in (id(node), id(parent)):
                if holder in large:
                    inner.append(small[id(node)])
                    outer.append(large[holder])
    return SequenceParts(
        atoms=tuple(atoms.names),
        atom_item=np.array(atom_item, np.int64),
        atom=np.array(atom, np.int64),
        first=tuple(first.names),
        second=tuple(second.names),
        pair_item=np.array(pair_item, np.int64),
        pairs=np.array(pairs, np.int64).reshape(-1, 2),
        compounds=Occurrences(*(np.array(a, np.int64) for a in (item, compound, inner, outer))),
        sizes=np.array(sizes, np.int64),
        compounds_are="subtrees of two and three levels",
    )


class _Numbers:
    """Numbers of things in the order in which they are first asked for."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    def __getitem__(self, name: Any) -> int:
        return self._known.setdefault(name, len(self._known))

    @property
    def names(self) -> list[Any]:
        return list(self._known)
