"""Which waiting trial a worker gets next."""

from collections import OrderedDict, deque
from collections.abc import Collection, Iterable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Schedule(Generic[Item]):
    """What waits to be done, in one queue per shape: the cost of taking an item is constant.

    Items of one shape run the same compiled program, so they go to one worker one after another;
    a worker with none left of its shape takes a shape that nobody works on, or helps the others.

    **Arguments:**

    - `items`: pairs of shape and item.
    """

    def __init__(self, items: Iterable[tuple[str, Item]]):
        self._queues: OrderedDict[str, deque[Item]] = OrderedDict()
        self._size = 0
        for shape, item in items:
            self.put(shape, item)

    def __len__(self) -> int:
        return self._size

    def put(self, shape: str, item: Item) -> None:
        """Let `item` wait behind the others of its shape."""
        self._queues.setdefault(shape, deque()).append(item)
        self._size += 1

    def waiting(self, shape: str) -> int:
        """How many items of this shape wait."""
        return len(self._queues.get(shape, ()))

    def take(self, shape: str, taken: Collection[str]) -> tuple[str, Item]:
        """The next item for a worker whose last one had `shape`, and the item's own shape.

        `taken` are the shapes on which other workers are working.
        """
        if shape not in self._queues:
            # At most as many shapes are passed over as there are other workers.
            free = (other for other in self._queues if other not in taken)
            shape = next(free, next(iter(self._queues)))
        queue = self._queues[shape]
        item = queue.popleft()
        self._size -= 1
        if not queue:
            del self._queues[shape]
        return shape, item
