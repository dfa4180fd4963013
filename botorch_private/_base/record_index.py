"""RecordIndex: which row of a table is this? By exact value, in O(d log n) a row."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

# Constants of splitmix64 (Steele, Lea, Flood 2014).
_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_FEW = 1000
_CHUNK_ENTRIES = 2**18


class RecordIndex:
    """Exact look-up of rows in a fixed table.

    A row is hashed to 64 bits and found by binary search among the sorted hashes; a hit is then
    compared value by value, so that the answer is exact whatever the hash does. Equal records are
    found as the first of them.

    Args:
        table: ``n x d`` finite float64 array.
    """

    def __init__(self, table: np.ndarray) -> None:
        self._table = np.ascontiguousarray(table)
        step = max(1, _CHUNK_ENTRIES // self._table.shape[1])
        starts = range(0, len(self._table), step)
        hashes = np.concatenate([_hashes(self._table[start : start + step]) for start in starts])
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]

    def find(self, rows: np.ndarray) -> np.ndarray:
        """Return the record of each row of an ``m x d`` float64 array, or -1."""
        hashes = _hashes(rows)
        places = self._first_places(hashes)
        records = self._order.take(np.minimum(places, len(self._order) - 1))
        same = self._table.take(records, axis=0) == rows  # take: several times faster than indexing
        if same.all():
            return records
        hit = same.all(axis=1)
        found = np.where(hit, records, -1)
        pending = np.flatnonzero(~hit)
        while pending.size:  # no records, or records that share a hash with another one
            places[pending] += 1
            pending = pending[places[pending] < len(self._sorted)]
            pending = pending[self._sorted[places[pending]] == hashes[pending]]
            records = self._order[places[pending]]
            equal = (self._table[records] == rows[pending]).all(axis=1)
            found[pending[equal]] = records[equal]
            pending = pending[~equal]
        return found

    def _first_places(self, hashes: np.ndarray) -> np.ndarray:
        if len(hashes) < _FEW:
            return np.searchsorted(self._sorted, hashes)
        # Searching in sorted order walks memory forwards: 3 times faster on 10^5 rows of 10^6.
        order = np.argsort(hashes)
        places = np.empty(len(hashes), dtype=np.int64)
        places[order] = np.searchsorted(self._sorted, hashes[order])
        return places


def _hashes(rows: np.ndarray) -> np.ndarray:
    bits = (np.ascontiguousarray(rows) + 0.0).view(np.uint64)  # + 0.0: -0.0 equals 0.0
    bits ^= bits >> np.uint64(32)
    return np.einsum("ij,j->i", bits, _multipliers(rows.shape[1]))


@lru_cache
def _multipliers(columns: int) -> np.ndarray:
    # No small linear relation may hold among them: tables of small integers would share hashes.
    z = np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX_2)
    return (z ^ (z >> np.uint64(31))) | np.uint64(1)
