#!/usr/bin/env python3
"""An hour of `ridge serve` under load and reloads, with 10,000 connections that do nothing.

256 callers are always waiting for an answer, half of them over HTTP and half over gRPC (`ridge bench URL`, closed
loop): the model's batches wait 200 ms for more rows, so that so many callers ask for what a small machine can do beside
other work. Meanwhile 10,000 connections are open that each sent one request at the begin and send one at the end; every
30 s the model is replaced, by turns by another version and by the same one again; every 10 s /metrics is read, one byte
a millisecond by one reader and at once by another.

  failed    requests that got no answer with status 200 or OK, refusals included     goal 0 idle      connections of the
  10,000 whose last request got no answer               goal 0 reloads   loads that were not answered with status 200
  goal 0 growth    resident memory: the line through the samples after the first sixth, over the rest; beside the range
  of the samples about that line
            goal: no more than that range

  benchmarks/soak.py [--seconds 3600] [--idle 10000] [--out FILE]
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from serve_overhead import RELEASE, commit, machine_line, process, report

PORT = 18700
BUSY = 256
CONFIG = 'backend: "onnxruntime"\nmax_batch_size: 1024\ndynamic_batching { max_queue_delay_microseconds: 200000 }\n'
PROBE = b"GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n"


def answered(connection):
    """True if the connection, asked now, answers with status 200."""
    try:
        connection.sendall(PROBE)
        return connection.recv(4096).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def open_idle(count, port=PORT):
    connections = []
    for number in range(count):
        # Loopback addresses of their own: a pair of addresses has some 28,000 ports only.
        connections.append(socket.create_connection(("127.0.0.1", port), timeout=20,
                                                    source_address=(f"127.0.0.{2 + number // 5000}", 0)))
        if not answered(connections[-1]):
            raise SystemExit(f"connection {number} got no answer at the begin")
    return connections


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def read_slowly(until):
    """Reads /metrics a byte a millisecond, again and again."""
    while time.monotonic() < until:
        with socket.create_connection(("127.0.0.1", PORT + 2)) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while time.monotonic() < until and connection.recv(1):
                time.sleep(0.001)


def reload(repository, number):
    """By turns version 2 comes or goes; the load replaces what is served. True if it was answered with status 200."""
    other = repository / "identity" / "2"
    if other.exists():
        shutil.rmtree(other)
    else:
        shutil.copytree(repository / "identity" / "1", repository / "new")
        (repository / "new").rename(other)
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/v2/repository/models/identity/load", data=b"{}",
                                     method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status == 200
    except OSError as error:
        print(f"reload {number}: {error}", file=sys.stderr)
        return False


def growth(samples, period_s):
    """(rise of the least-squares line over the samples, range about it) in MiB, without the first sixth."""
    rest = samples[len(samples) // 6:]
    at = [i * period_s for i in range(len(rest))]
    slope, begin = statistics.linear_regression(at, rest)
    about = [value - begin - slope * t for t, value in zip(at, rest)]
    return slope * at[-1], max(about) - min(about)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--idle", type=int, default=10000, help="connections that do nothing")
    parser.add_argument("--out", type=pathlib.Path, help="also write the table here")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < options.idle + 1000:
        raise SystemExit(f"{options.idle} connections need as many open files; the limit is {hard} (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    ridge, tree = str(RELEASE / "ridge"), commit()
    with tempfile.TemporaryDirectory() as temporary:
        repository = pathlib.Path(temporary)
        (repository / "identity" / "1").mkdir(parents=True)
        subprocess.run([ridge, "make", "identity", "-o", str(repository / "identity" / "1" / "model.onnx")], check=True,
                       capture_output=True)
        (repository / "identity" / "config.pbtxt").write_text(CONFIG)
        command = [ridge, "serve", temporary, "--model-control-mode=explicit", "--load-model=identity",
                   f"--http-port={PORT}", f"--grpc-port={PORT + 1}",
                   f"--metrics-port={PORT + 2}", f"--http-max-connections={options.idle + 1000}",
                   f"--http-idle-timeout-secs={2 * options.seconds + 600:.0f}"]
        with process(command, f"http://127.0.0.1:{PORT}/v2/health/ready") as server:
            begin_mib = resident_mib(server.pid)
            idle = open_idle(options.idle)
            idle_mib = resident_mib(server.pid)
            loads = [subprocess.Popen([ridge, "bench", url, "-c", str(BUSY // 2), "--seconds", f"{options.seconds:.0f}",
                                       "--json"],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                     for url in (f"http://127.0.0.1:{PORT}/v2/models/identity",
                                 f"grpc://127.0.0.1:{PORT + 1}/v2/models/identity")]
            end = time.monotonic() + options.seconds
            threading.Thread(target=read_slowly, args=(end,), daemon=True).start()
            reloads, samples, tick = [], [], 0
            while time.monotonic() < end and all(load.poll() is None for load in loads):
                time.sleep(10)
                tick += 1
                urllib.request.urlopen(f"http://127.0.0.1:{PORT + 2}/metrics", timeout=10).read()
                samples.append(resident_mib(server.pid))
                if tick % 3 == 0:
                    reloads.append(reload(repository, len(reloads)))
            points = [json.loads(load.communicate()[0])["points"][0] for load in loads]
            lost = sum(not answered(connection) for connection in idle)
            for connection in idle:
                connection.close()
    rise, about = growth(samples, 10)
    failures = sum(point["failed"] for point in points)
    rows = [
        ["requests over HTTP, over gRPC", ", ".join(f"{point['samples'] + point['failed']:,}" for point in points), "",
         ""],
        ["failed", f"{failures}" + "".join(f" {point['failures']}" for point in points if point["failed"]), "0",
         "ok" if failures == 0 else "MISSED"],
        ["reloads, of them not answered 200", f"{len(reloads)}, {reloads.count(False)}", "0",
         "ok" if all(reloads) else "MISSED"],
        ["idle connections, of them lost", f"{len(idle)}, {lost}", "0", "ok" if lost == 0 else "MISSED"],
        ["memory of an idle connection [KiB]", f"{(idle_mib - begin_mib) * 1024 / max(1, len(idle)):.1f}", "", ""],
        ["resident memory, first and last sample [MiB]", f"{samples[0]:.1f}, {samples[-1]:.1f}", "", ""],
        ["growth; range about its line [MiB]", f"{rise:+.2f}; {about:.2f}", "≤ range",
         "ok" if rise <= about else "MISSED"],
        ["p50, p99, max over HTTP [ms]",
         ", ".join(f"{points[0]['latency_ms'][key]:.1f}" for key in ("p50", "p99", "max")), "", ""],
        ["p50, p99, max over gRPC [ms]",
         ", ".join(f"{points[1]['latency_ms'][key]:.1f}" for key in ("p50", "p99", "max")), "", ""],
    ]
    report([f"command: benchmarks/soak.py --seconds {options.seconds:g} --idle {options.idle}", machine_line(),
            f"commit: {tree}",
            f"load of the machine at the end (15 min average): {os.getloadavg()[2]:.2f}", ""],
           ["what", "seen", "goal", ""], rows, options.out)
    return 1 if any(row[-1] == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
