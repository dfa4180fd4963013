"""The cost model of a release and of a search on many workers, taken from runs with one.

A release: each stage has its tasks, one a file or one a bucket, of equal cost, and the busiest worker
has ``ceil(tasks / workers)`` of them. What the driver does itself is not divided. A search: what shards
do is divided by their number, and what the driver does (the fit, O(t^3), and O(t r) numbers to send) is
not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

STAGES = ("check", "noise", "order")
COLUMNS = 10


@dataclass(frozen=True)
class ReleaseModel:
    """CPU seconds per 10^6 records.

    Attributes:
        start: Seconds that a worker needs until it works, in its first stage.
        check: Of a stage, and so on.
        noise: As above.
        order: As above.
        driver: Of what one process does for all records: the identity, most of all.
        fixed: Seconds of the driver whatever the size.
        services: Seconds of Ray's own processes whatever the size.
        total: Of all processes together.
    """

    start: float
    check: float
    noise: float
    order: float
    driver: float
    fixed: float
    services: float
    total: float

    @classmethod
    def of(cls, small: dict, one: dict) -> ReleaseModel:
        """From a run of a tiny table, and one of a large table, both with one worker."""
        millions = one["rows"] / 1e6
        stages = {name: one["stages"][name]["busiest"] / millions for name in STAGES}
        start = small["stages"]["check"]["busiest"]
        stages["check"] = max(0.0, one["stages"]["check"]["busiest"] - start) / millions
        fixed = small["driver"]
        return cls(
            start,
            **stages,
            driver=max(0.0, one["driver"] - fixed) / millions,
            fixed=fixed,
            services=small["cpu"] - fixed - start,
            total=(one["cpu"] - small["cpu"]) / millions,
        )

    def path(self, rows: int, workers: int, files: int, buckets: int) -> float:
        """Seconds with a core for each process."""
        tasks = {"check": files, "noise": files, "order": buckets}
        busiest = sum(
            getattr(self, stage) * math.ceil(count / workers) / count for stage, count in tasks.items()
        )
        return self.start + self.fixed + rows / 1e6 * (busiest + self.driver)

    def cpu(self, rows: int, workers: int) -> float:
        """CPU seconds of driver and workers together."""
        return self.fixed + self.services + workers * self.start + rows / 1e6 * self.total


@dataclass(frozen=True)
class SearchModel:
    """CPU seconds of the rounds of one search.

    Attributes:
        driver: Of all rounds in the driver.
        shards: Of all rounds in all shards, per 10^6 rows.
    """

    driver: float
    shards: float

    @classmethod
    def of(cls, one: dict) -> SearchModel:
        """From a run with one actor."""
        stage = one["stages"]["search"]
        return cls(stage["driver"], stage["busiest"] / (one["rows"] / 1e6))

    def path(self, rows: int, workers: int) -> float:
        """Seconds with a core for each process."""
        return self.driver + self.shards * rows / 1e6 / workers


def shuffled_bytes(width: int, number: int) -> int:
    """Bytes of a record that go to disk between two stages, and are read again."""
    return width * number + 8
