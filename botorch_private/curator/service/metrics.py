"""Metrics for Prometheus, at a port of their own: counts, and nothing that depends on the table.

How long a request took is left out where it waits for a measurement. Of questions only those states are
counted that a modeler sees as well: whether a program fails may depend on a record. So may what staff
do, and in how many steps: a value outside the plausible range is asked for once more, a wrong one is
corrected. Of their requests those alone are counted that the server failed in. Where a program measures,
messages are not counted, since they tell of its failures.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Any

import prometheus_client
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from botorch_private.curator.service.question import OPEN, State
from botorch_private.curator.service.store import Store

_WAITS = "/v1/queries/{number}"
_STAFF, _MODELERS = "/v1/staff/", ("/v1/", "-")
_SERVER_FAILED = 500
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_LARGEST_PORT = 65535


def parse_place(text: str) -> tuple[str, int]:
    """Address and port of ``9400``, ``127.0.0.1:9400`` or ``[::1]:9400``; alone it is this machine's.

    Raises:
        ValueError: If it is something else.
    """
    host, _, port = text.rpartition(":")
    host = (host or "127.0.0.1").removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit() and len(port) < 6 and int(port) <= _LARGEST_PORT):
        raise ValueError("metrics must be a port, or an address and a port such as 127.0.0.1:9400")
    try:
        return str(ip_address(host)), int(port)
    except ValueError:
        raise ValueError(
            "metrics must be a port, or an address and a port such as 127.0.0.1:9400"
        ) from None


class Metrics:
    """What a server counts.

    Args:
        store: Has the questions.
        is_healthy: What was found when health was looked at last.
        sessions: How many are at the console.
        notified: Messages by what became of them; see `Notifier`. Not shown where a program measures.
    """

    def __init__(
        self,
        store: Store,
        *,
        is_healthy: Callable[[], bool] = lambda: True,
        sessions: Callable[[], int] = lambda: 0,
        notified: Counter[str] | None = None,
    ) -> None:
        self._store, self._is_healthy, self._sessions = store, is_healthy, sessions
        by_program = ":" in store.facts.objective
        self._notified = None if by_program else notified
        self.registry = prometheus_client.CollectorRegistry()
        prometheus_client.ProcessCollector(registry=self.registry)
        self._requests = prometheus_client.Counter(
            "curator_requests",
            "Requests answered, of staff the failed ones; status 0: the connection ended before.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = prometheus_client.Histogram(
            "curator_request_seconds",
            "Seconds until a request was answered, but for those that wait for a measurement.",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.registry.register(self)
        self._servers: list[tuple[Any, Any]] = []

    def observe(self, address: str, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        if not route.startswith(_MODELERS) or route.startswith(_STAFF):
            if status >= _SERVER_FAILED:
                self._requests.labels("-", "staff", status).inc()
            return
        self._requests.labels(method, route, status).inc()
        if route != _WAITS:
            self._seconds.observe(seconds)

    def serve(self, host: str, port: int) -> int:
        """Serve them, in a thread; returns the port.

        Raises:
            OSError: If the address is taken.
        """
        try:
            server, thread = prometheus_client.start_http_server(port, host, self.registry)
        except OSError as error:
            raise OSError(f"cannot listen at {host} port {port}: {error.strerror}") from error
        self._servers.append((server, thread))
        return server.server_port

    def close(self) -> None:
        """Serve them no more."""
        for server, thread in self._servers:
            server.shutdown()
            server.server_close()
            thread.join()
        self._servers.clear()

    def collect(self) -> Iterable[Metric]:
        """What is read when somebody asks."""
        up = GaugeMetricFamily("curator_healthy", "1: all is well, as /v1/health found it last.")
        up.add_metric([], float(self._is_healthy() and not self._store.in_place.is_lost))
        yield up
        sessions = GaugeMetricFamily("curator_console_sessions", "Logins to the console that last.")
        sessions.add_metric([], self._sessions())
        yield sessions
        if self._notified is not None:
            told = CounterMetricFamily(
                "curator_notifications", "Messages by webhook and e-mail.", labels=["result"]
            )
            for result in ("sent", "failed", "given up"):
                told.add_metric([result], self._notified[result])
            yield told
        try:
            counts, left = self._store.counts.by_state(), self._store.queries_left()
        except sqlite3.Error:
            return  # whoever asks the server itself is told
        questions = GaugeMetricFamily(
            "curator_questions", "Questions, as a modeler sees them.", labels=["state"]
        )
        questions.add_metric([State.PENDING], sum(counts[each] for each in OPEN))
        for state in (State.MEASURED, State.WITHDRAWN):
            questions.add_metric([state], counts[state])
        yield questions
        if left is not None:
            measurements = GaugeMetricFamily("curator_measurements_left", "Measurements that are left.")
            measurements.add_metric([], left)
            yield measurements
