"""How fast a curator's server answers: many clients at once, rows measured already, the release.

    python benchmarks/service.py [--seconds 60] [--clients 50]    # make bench runs it, too

The server is a process of its own on this machine, reached over loopback; the clients share the other
core. Writes ``benchmarks/results/service.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from botorch_private import Curator, NoisyProjection, PublicScaling, Release
from botorch_private.curator.service.make_folder import make_folder

RESULTS = Path(__file__).parent / "results" / "service.md"
COMMAND = [sys.executable, "-m", "botorch_private.cli.main", "curator", "serve"]
N, D = 36_000, 15
MEASURED = 500


class Connection:
    """A client that writes HTTP/1.1 by hand: a library would take more time than the server."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self.latencies: list[float] = []
        self.failures: list[str] = []

    async def open(self) -> Connection:
        """Connect; returns itself."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def request(self, method: str, path: str, body: object = None, key: str = "") -> dict:
        """Send a request and read its answer; note how long it took, and whether it failed."""
        content = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {self._token}"]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
        if key:
            lines.append(f"Idempotency-Key: {key}")
        start = time.perf_counter()
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + content)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        answer = json.loads(await self._reader.readexactly(length))
        self.latencies.append(time.perf_counter() - start)
        status = int(head[9:12])
        if status not in (200, 201):
            self.failures.append(f"{status}: {answer}")
        return answer

    def close(self) -> None:
        """Disconnect."""
        self._writer.close()


class Server:
    """A server on a fresh folder of a large table."""

    def __init__(self, place: Path, *, known: bool) -> None:
        generator = torch.Generator().manual_seed(0)
        records = torch.rand(N, D, generator=generator, dtype=torch.float64)
        curator = Curator(
            records,
            PublicScaling([0.0] * D, [1.0] * D),
            NoisyProjection(3.0),
            records[:, 0] if known else (lambda record: 0.0),
        )
        folder = make_folder(place, curator, objective="column" if known else "person")
        store = folder.open()
        self.modeler, self.staff = (
            store.tokens.make(role, role).result() for role in ("modeler", "staff")
        )
        store.close()
        self.process = subprocess.Popen(
            [*COMMAND, str(place), "--port", "0", "--rate", "1e6"],
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().strip().rpartition(":")[2])

    def cpu(self) -> float:
        """Seconds of processor time that the server took so far."""
        fields = (
            Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


async def measured_already(server: Server, seconds: float, *, fresh_keys: bool) -> dict[str, float]:
    """Ask for rows that have answers, over 16 connections."""
    clients = [await Connection(server.port, server.modeler).open() for _ in range(16)]
    for row in range(MEASURED):
        await clients[0].request("POST", "/v1/queries", {"row": row}, f"first-{row:08d}")
    clients[0].latencies.clear()
    cpu, start = server.cpu(), time.perf_counter()

    async def work(number: int, client: Connection) -> None:
        i = 0
        while time.perf_counter() - start < seconds:
            row = (number * 31 + i) % MEASURED
            key = f"key-{number}-{i:08d}" if fresh_keys else f"first-{row:08d}"
            answer = await client.request("POST", "/v1/queries", {"row": row}, key)
            assert answer["state"] == "measured", answer
            i += 1

    await asyncio.gather(*(work(i, client) for i, client in enumerate(clients)))
    return _summary(clients, time.perf_counter() - start, server.cpu() - cpu)


async def many_clients(server: Server, seconds: float, count: int) -> dict[str, float]:
    """Modelers ask new rows and read answers, staff enter values, all at once."""
    staff = max(1, count // 5)
    clients = [
        await Connection(server.port, server.staff if i < staff else server.modeler).open()
        for i in range(count)
    ]
    cpu, start = server.cpu(), time.perf_counter()

    def running() -> bool:
        return time.perf_counter() - start < seconds

    async def measure(client: Connection) -> None:
        while running():
            wanted = await client.request("GET", "/v1/staff/queries?state=pending&limit=20")
            for query in wanted["queries"]:
                value = float(query["identifier"].split()[1])
                path = f"/v1/staff/queries/{query['id']}/measurement"
                await client.request("PUT", path, {"value": value})
            await asyncio.sleep(0.2)

    async def ask(number: int, client: Connection) -> None:
        rows = np.random.default_rng(number).permutation(N)
        for i, row in enumerate(rows):
            if not running():
                return
            query = await client.request(
                "POST", "/v1/queries", {"row": int(row)}, f"key-{number:04d}-{i:08d}"
            )
            await client.request("GET", f"/v1/queries/{query['id']}")
            await asyncio.sleep(0.1)

    await asyncio.gather(
        *(measure(client) for client in clients[:staff]),
        *(ask(i, client) for i, client in enumerate(clients[staff:])),
    )
    return _summary(clients, time.perf_counter() - start, server.cpu() - cpu)


def download(server: Server, place: Path) -> dict[str, float]:
    """Fetch the release as a client does, and read it."""
    import httpx2

    headers = {"Authorization": f"Bearer {server.modeler}"}
    times = []
    for _ in range(5):
        start = time.perf_counter()
        url = f"http://127.0.0.1:{server.port}/v1/release/file"
        (place / "got.safetensors").write_bytes(
            httpx2.get(url, headers=headers, trust_env=False).content
        )
        assert Release.load(place / "got.safetensors").candidates.shape == (N, D)
        times.append(time.perf_counter() - start)
    return {"seconds": float(np.median(times)), "MB": N * D * 8 / 1e6}


def _summary(clients: list[Connection], seconds: float, cpu: float) -> dict[str, float]:
    latencies = np.concatenate([client.latencies for client in clients]) * 1e3
    failures = [failure for client in clients for failure in client.failures]
    if failures:
        print(f"failures, such as {failures[0]}", file=sys.stderr)
    for client in clients:
        client.close()
    return {
        "requests": len(latencies),
        "a second": len(latencies) / seconds,
        "errors": len(failures),
        "p50 ms": float(np.median(latencies)),
        "p99 ms": float(np.quantile(latencies, 0.99)),
        "server CPU ms a request": 1e3 * cpu / len(latencies),
    }


def main() -> None:
    """Run all parts and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the long part")
    parser.add_argument("--clients", type=int, default=50)
    options = parser.parse_args()
    short = min(10.0, options.seconds)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        server = Server(place / "known", known=True)
        try:
            fetched = download(server, place)
            parts = {
                "measured rows, the same keys": asyncio.run(
                    measured_already(server, short, fresh_keys=False)
                ),
                "measured rows, new keys": asyncio.run(measured_already(server, short, fresh_keys=True)),
            }
        finally:
            server.stop()
        server = Server(place / "person", known=False)
        try:
            part = f"{options.clients} clients for {options.seconds:g} s"
            parts[part] = asyncio.run(many_clients(server, options.seconds, options.clients))
        finally:
            server.stop()
    columns = list(next(iter(parts.values())))
    lines = [
        "# A curator's server",
        "",
        f"`python benchmarks/service.py --seconds {options.seconds:g} --clients {options.clients}` on "
        f"{os.cpu_count()} cores ({platform.machine()}), server and clients on the same machine, "
        "`synchronous=FULL`, one thread.",
        "",
        "| part | " + " | ".join(columns) + " |",
        "| --- |" + " ---: |" * len(columns),
    ]
    for label, values in parts.items():
        cells = [
            f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.2g}"
            for value in values.values()
        ]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    lines += [
        "",
        f"A release of {N:,} x {D} ({fetched['MB']:.1f} MB) is fetched, checked and read in "
        f"{fetched['seconds']:.2f} s.",
        "",
    ]
    RESULTS.write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
