#!/usr/bin/env python3
"""The 99th percentile under independent arrivals at 70 % of capacity, beside what an ideal batch queue would give.

bert-base at 32 tokens, one instance of one thread, batches up to 8, no delay. Per round: the capacity in closed loop;
then `ridge bench URL --poisson` at 0.7 of it, whose latencies count from the intended times. The ideal queue is
simulated for the same rate: whenever the instance is free it takes all that wait, up to 8, at once and at no cost, and
the run takes the mean time that the server's own statistics give for that number of rows in the same round. What the
measured p99 is above the simulated one is the price of protocol, queue, threads and of runs that take longer than their
mean.

  p99        measured / ideal      goal ≤ 1.3

  benchmarks/poisson.py [--rounds 3] [--seconds 30] [--out FILE]

On a machine that does other work too, `chrt -r 1 benchmarks/poisson.py ...` (as root) lets server and load run before
all else.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import urllib.request

from overload import PORT, URL, make_repository
from serve_overhead import RELEASE, commit, machine_line, process, ratio_row, report

MODEL = f"{URL}/v2/models/bert"


def point(ridge, *options):
    text = subprocess.run([ridge, "bench", MODEL, "--json", *map(str, options)], capture_output=True, text=True,
                          check=True).stdout
    found = json.loads(text)["points"][0]
    if found["failed"]:
        raise SystemExit(f"failed requests: {found['failures']}")
    return found


def runs():
    """{rows: (runs so far, their seconds)}."""
    with urllib.request.urlopen(MODEL + "/stats") as answer:
        batches = json.load(answer)["model_stats"][0]["batch_stats"]
    return {b["batch_size"]: (b["compute_infer"]["count"],
                              sum(b[part]["ns"] for part in ("compute_input", "compute_infer", "compute_output")) / 1e9)
            for b in batches}


def means(before, after):
    """{rows: mean seconds of a run} of what changed; rows that did not run are taken from the line between their
    neighbours."""
    seen = {rows: (seconds - before.get(rows, (0, 0))[1]) / (count - before.get(rows, (0, 0))[0])
            for rows, (count, seconds) in after.items() if count > before.get(rows, (0, 0))[0]}
    known = sorted(seen)

    def at(rows):
        below, above = max((k for k in known if k <= rows), default=known[0]), min((k for k in known if k >= rows),
                                                                                   default=known[-1])
        return (seen[below]
                if below == above else seen[below] + (rows - below) / (above - below) * (seen[above] - seen[below]))

    return {rows: at(rows) for rows in range(1, 9)}


def ideal_p99_ms(rate, service, requests=200_000):
    draw, at, waiting, free, latencies = random.Random(7), 0.0, collections.deque(), 0.0, []
    arrivals = []
    for _ in range(requests):
        at += draw.expovariate(rate)
        arrivals.append(at)
    coming = 0
    while coming < requests or waiting:
        if not waiting:
            free = max(free, arrivals[coming])
        while coming < requests and arrivals[coming] <= free:
            waiting.append(arrivals[coming])
            coming += 1
        taken = [waiting.popleft() for _ in range(min(8, len(waiting)))]
        free += service[len(taken)]
        latencies += [free - arrived for arrived in taken]
    latencies.sort()
    return 1e3 * latencies[int(0.99 * len(latencies))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30, help="of the load of a round")
    parser.add_argument("--out", type=pathlib.Path, help="also write the table here")
    options = parser.parse_args()
    ridge = str(RELEASE / "ridge")
    with tempfile.TemporaryDirectory() as folder:
        make_repository(pathlib.Path(folder), ridge)
        command = [ridge, "serve", folder, f"--http-port={PORT}", "--allow-grpc=false", "--allow-metrics=false"]
        measured, ideal, rates = [], [], []
        with process(command, URL + "/v2/health/ready"):
            for number in range(options.rounds):
                rate = 0.7 * point(ridge, "-c", 24, "--seconds", 8)["requests_per_s"]
                before = runs()
                measured.append(point(ridge, "--rate", f"{rate:.3f}", "--poisson", "--seed", number + 1, "--seconds",
                                      options.seconds)["latency_ms"]["p99"])
                ideal.append(ideal_p99_ms(rate, means(before, runs())))
                rates.append(rate)
                print(f"round {number + 1} of {options.rounds} done", file=sys.stderr, flush=True)
    row = ratio_row("p99 measured / ideal [ms]", measured, ideal, "≤ 1.3", lambda r: r <= 1.3)
    report([f"poisson: {options.rounds} rounds, {options.seconds:g} s of load each, at {statistics.median(rates):.1f} "
            "requests/s, median (min–max)", machine_line(),
            f"commit: {commit()}", f"load of the machine at the end (1 min average): {os.getloadavg()[0]:.2f}", ""],
           ["what", "A", "B", "A / B per round", "goal", ""], [row], options.out)
    return 0 if row[-1] == "ok" else 1


if __name__ == "__main__":
    sys.exit(main())
