"""Parse trees in brackets: (and (jump) (walk twice))."""

import re
from collections.abc import Iterator

_PIECES = re.compile(r"[()]|[^\s()]+")


class Node:
    """A node with its label and its children."""

    __slots__ = ("children", "label")

    def __init__(self, label: str) -> None:
        self.label = label
        self.children: list[Node] = []


def parse_tree(text: str) -> Node:
    """The tree of a text: a bracket opens a node, the first word in it is its label.

    ```python
    >>> [child.label for child in parse_tree("(twice (jump left))").children]
    ['jump']
    ```
    """
    root = Node("")
    path = [root]
    opened = False
    for piece in _PIECES.findall(text):
        if piece == "(":
            if opened:
                raise ValueError(_wrong(text, "a bracket opens where a label is missing"))
            opened = True
        elif piece == ")":
            if opened or len(path) == 1:
                raise ValueError(_wrong(text, "a bracket closes that holds no label"))
            path.pop()
        else:
            node = Node(piece)
            path[-1].children.append(node)
            if opened:
                path.append(node)
            opened = False
    if len(path) > 1 or opened:
        raise ValueError(_wrong(text, "a bracket is not closed"))
    if len(root.children) != 1:
        raise ValueError(_wrong(text, f"it has {len(root.children)} roots, not one"))
    return root.children[0]


def _wrong(text: str, why: str) -> str:
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return f"{shown!r} is no tree: {why}; write it as (and (jump) (walk twice))"


def nodes(tree: Node) -> Iterator[tuple[Node, Node | None, int]]:
    """Every node with its parent and its place among the parent's children, parents first."""
    waiting: list[tuple[Node, Node | None, int]] = [(tree, None, 0)]
    while waiting:
        node, parent, place = waiting.pop()
        yield node, parent, place
        waiting += [(child, node, n) for n, child in enumerate(node.children)]


def depth(tree: Node) -> int:
    """The number of nodes from the root to the deepest leaf."""
    deepest: dict[int, int] = {}
    most = 0
    for node, parent, _ in nodes(tree):
        deepest[id(node)] = 1 + (deepest[id(parent)] if parent is not None else 0)
        most = max(most, deepest[id(node)])
    return most
