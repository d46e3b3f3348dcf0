"""Which subscriptions are registered: id <-> slot, and the plain part of what was registered.

A slot is a small number that is given to the next subscription once its holder is gone, so that engines can use it as
an index into arrays. The registration number, in contrast, is never reused: it tells who came first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearcast.errors import UnknownSubscription
from nearcast.snapshot import Contents

ROW = np.dtype([("number", "i8"), ("x", "f8"), ("y", "f8"), ("alpha", "f4"), ("k", "i4")])
PAGE_BITS = 14
PAGE = 1 << PAGE_BITS


class Registered(NamedTuple):
    """The plain part of one subscription."""

    number: int
    x: float
    y: float
    alpha: float
    k: int


class Registry:
    """Subscriptions by id and by slot. Rows lie in pages, so that growth never copies what is there."""

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}  # in order of registration
        self._ids: list[str | None] = []  # by slot
        self._pages: list[NDArray[Any]] = []
        self._free: list[int] = []
        self._next_number = 0

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, id: object) -> bool:
        return id in self._slots

    def __iter__(self) -> Iterator[str]:
        return iter(self._slots)

    def slot(self, id: str) -> int:
        """The slot of a subscription, or UnknownSubscription."""
        slot = self._slots.get(id) if isinstance(id, str) else None
        if slot is None:
            raise UnknownSubscription(id)
        return slot

    def ids(self, slots: NDArray[np.int64]) -> list[str]:
        """The ids that hold these slots."""
        ids: list[Any] = self._ids
        return [ids[slot] for slot in slots.tolist()]

    def slots(self) -> NDArray[np.int64]:
        """The slots of all subscriptions, in order of registration."""
        return np.fromiter(self._slots.values(), np.int64, len(self._slots))

    def row(self, slot: int) -> Registered:
        """What was registered in a slot."""
        return Registered(*self._pages[slot >> PAGE_BITS][slot & (PAGE - 1)].item())

    def add(
        self, ids: Sequence[str], x: NDArray[np.float64], y: NDArray[np.float64], alpha: NDArray[np.float32], k: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Register new ids; returns their slots and registration numbers."""
        count = len(ids)
        reused = self._free[len(self._free) - min(count, len(self._free)) :][::-1]
        del self._free[len(self._free) - len(reused) :]
        fresh = range(len(self._ids), len(self._ids) + count - len(reused))
        slots = np.array([*reused, *fresh], np.int64)
        self._ids.extend([None] * len(fresh))
        while len(self._pages) << PAGE_BITS < len(self._ids):
            self._pages.append(np.zeros(PAGE, ROW))
        numbers = np.arange(self._next_number, self._next_number + count, dtype=np.int64)
        self._next_number += count
        rows = np.empty(count, ROW)
        rows["number"], rows["x"], rows["y"], rows["alpha"], rows["k"] = numbers, x, y, alpha, k
        pages = slots >> PAGE_BITS
        for page in np.unique(pages).tolist():
            here = pages == page
            self._pages[page][slots[here] & (PAGE - 1)] = rows[here]
        for id, slot in zip(ids, slots.tolist(), strict=True):
            self._slots[id] = slot
            self._ids[slot] = id
        return slots, numbers

    def remove(self, id: str) -> None:
        """Forget a subscription; its slot may be given away from now on."""
        slot = self._slots.pop(id)
        self._ids[slot] = None
        self._free.append(slot)

    def save(self) -> Contents:
        """Everything."""
        rows = np.concatenate(self._pages)[: len(self._ids)] if self._pages else np.zeros(0, ROW)
        arrays = {name: np.ascontiguousarray(rows[name]) for name in ROW.names or ()}
        arrays["slots"] = np.fromiter(self._slots.values(), np.int64, len(self._slots))
        arrays["free"] = np.array(self._free, np.int64)
        return Contents(
            {"next_number": self._next_number},
            arrays,
            {"ids": pa.table({"id": pa.array(list(self._slots), pa.large_string())})},
        )

    @classmethod
    def load(cls, saved: Contents) -> Registry:
        """The registry that `save` wrote."""
        registry = cls()
        registry._next_number = saved.meta["next_number"]
        registry._free = saved.arrays["free"].tolist()
        rows = np.zeros(len(saved.arrays["number"]), ROW)
        for name in ROW.names or ():
            rows[name] = saved.arrays[name]
        for start in range(0, len(rows), PAGE):
            page = np.zeros(PAGE, ROW)
            page[: len(rows) - start] = rows[start : start + PAGE]
            registry._pages.append(page)
        ids = saved.tables["ids"].column("id").to_pylist()
        registry._slots = dict(zip(ids, saved.arrays["slots"].tolist(), strict=True))
        registry._ids = [None] * len(rows)
        for id, slot in registry._slots.items():
            registry._ids[slot] = id
        return registry
