#!/usr/bin/env python3
"""ridge's measured limits beside those of likwid-bench (Debian package likwid), from one interleaved run.

  FP32 peak                      ÷  best of peakflops_sp_avx_fma, peakflops_sp_avx512_fma   goal 0.95 … 1.05
  plain read, each level         ÷  load_avx (same working set)                             goal 0.90 … 1.10
  triad, DRAM                    ÷  stream_mem_avx_fma (same working set)                   goal 0.90 … 1.10
  limit of reading, each level   ÷  best of load_avx, load_avx512                           goal at least 0.95

for 1 thread and for all. Every round runs `ridge bench device --fresh` and each likwid kernel several times for about
0.02 s, in a shuffled order. Peaks and limits are the best that was seen: of likwid's runs the best counts, of a round
and of all. Plain read and triad are typical rates: ridge's are medians of its bursts, and so the median counts of
likwid's runs. The median and range of the ratios per round stand beside the ratio of all. Bytes, on both sides: those
the program loads and stores, each once; the triads store past the caches, so that nothing is read which the program did
not ask for. The limit may lie above likwid's figure: likwid's loads are one stream over ordinary pages, the limit is
the best of several loops in huge pages, because no program may come out above it. The plain loop addresses by base and
index, as likwid's does: from L2 of some CPUs this is a fifth slower than a moving pointer. A kernel that the CPU lacks
is left out. As root, both run with real-time priority, so that what else runs on the machine disturbs neither.

  benchmarks/limits_vs_likwid.py [--rounds 5] [--repeats 3] [--out FILE]     RIDGE names the program (default
  build/release/ridge)
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RIDGE = os.environ.get("RIDGE", str(ROOT / "build" / "release" / "ridge"))
RUN_SECONDS = 0.02
# likwid averages over its whole run: on a machine with other work it would show the share it was given, not the
# hardware's rate. Round robin: likwid's threads start on one CPU and spin until all are there.
UNDISTURBED = ["chrt", "--rr", "10"] if os.geteuid() == 0 and shutil.which("chrt") else []
PEAK_KERNELS = ("peakflops_sp_avx_fma", "peakflops_sp_avx512_fma")
LOAD_KERNELS = ("load_avx", "load_avx512")
TRIAD_KERNEL = "stream_mem_avx_fma"


def ridge_limits():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*UNDISTURBED, RIDGE, "bench", "device", "--fresh", "--json", "--cache", f"{folder}/machine.json"],
            check=True, capture_output=True, text=True,
        )
    return json.loads(done.stdout)


class Likwid:
    """One kernel of likwid-bench with a working set of all threads together, for about RUN_SECONDS at the rate
    `expected`."""

    FLOPS_PER_BYTE = 7.5  # of the single-precision peak kernels: 30 per element

    def __init__(self, kernel, size_bytes, threads, expected):
        self.kernel, self.threads = kernel, threads
        self.size_kb = max(1, size_bytes // 1000)
        self.is_peak = kernel.startswith("peakflops")
        per_iteration = self.size_kb * 1000 * (self.FLOPS_PER_BYTE if self.is_peak else 1)
        self.iterations = max(2, int(expected * RUN_SECONDS / per_iteration))

    def run(self):
        """Its rate [FLOP/s or bytes/s]."""
        text = subprocess.run(
            [*UNDISTURBED, "likwid-bench", "-t", self.kernel, "-W", f"N:{self.size_kb}kB:{self.threads}", "-i",
             str(self.iterations)],
            check=True, capture_output=True, text=True, timeout=120,
        ).stdout
        return float(field(text, "MFlops/s" if self.is_peak else "MByte/s")) * 1e6


def field(text, name):
    found = re.search(rf"^{re.escape(name)}:\s+([0-9.e+-]+)", text, re.MULTILINE)
    if not found:
        sys.exit(f"likwid-bench printed no '{name}'; its output was:\n{text}")
    return found.group(1)


class Row:
    """A figure of ridge, the likwid kernels it is compared with, and the ratio's goal."""

    def __init__(self, name, threads, pick, rivals, goal):
        self.name, self.threads, self.pick, self.rivals, self.goal = name, threads, pick, rivals, goal
        self.typical = name.endswith(("plain read", "triad"))
        self.ours, self.theirs, self.winners = [], [], []

    def total(self, rates):
        return statistics.median(rates) if self.typical else max(rates)

    def ratios(self):
        return [a / b for a, b in zip(self.ours, self.theirs)]


def make_rows(first):
    wide = "avx512f" in first["cpu"]["isa"]
    rows = []
    for threads in sorted({1, first["usable_threads"]}):
        def add(name, pick, kernels, size, goal):
            usable = [k for k in kernels if wide or "512" not in k]
            rows.append(Row(name, threads, pick, [Likwid(k, size, threads, pick(first)) for k in usable], goal))

        add("FP32 peak", lambda r, t=threads: peak(r, t), PEAK_KERNELS, 16000 * threads, (0.95, 1.05))
        for entry in (b for b in first["bandwidth"] if b["threads"] == threads):
            level, size = entry["level"], entry["working_set_bytes"]
            for name, key, kernels, goal in (
                ("plain read", "plain_bytes_per_s", ["load_avx"], (0.90, 1.10)),
                ("limit of reading", "bytes_per_s", LOAD_KERNELS, (0.95, float("inf"))),
            ):
                add(f"{level} {name}", lambda r, t=threads, l=level, k=key: level_rate(r, l, t, k), kernels, size, goal)
            if level == "DRAM":
                add("DRAM triad", lambda r, t=threads: level_rate(r, "DRAM", t, "triad_bytes_per_s"), [TRIAD_KERNEL],
                    size, (0.90, 1.10))
    return rows


def peak(report, threads):
    return next(p["flops_per_s"] for p in report["peaks"] if p["precision"] == "fp32" and p["threads"] == threads)


def level_rate(report, level, threads, key):
    return next(b[key] for b in report["bandwidth"] if b["level"] == level and b["threads"] == threads)


def measure_round(rows, repeats):
    """One value of either side per row, measured in a shuffled order."""
    parties = [(row, rival) for row in rows for rival in row.rivals for _ in range(repeats)] + [None]
    random.shuffle(parties)
    seen, report = {}, None
    for party in parties:
        if party is None:
            report = ridge_limits()
            continue
        row, rival = party
        seen.setdefault(id(row), []).append((rival.run(), rival.kernel))
    for row in rows:
        rates = sorted(seen[id(row)])
        rate, winner = rates[len(rates) // 2] if row.typical else rates[-1]
        row.ours.append(row.pick(report))
        row.theirs.append(rate)
        row.winners.append(winner)


def render(rows, first, arguments):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True,
                            text=True).stdout.strip()
    lines = [
        "# Measured limits beside likwid-bench",
        "",
        f"- machine: {first['machine']} ({first['device']}, {first['usable_threads']} threads, {first['system']})",
        f"- commit: {commit}",
        f"- command: benchmarks/limits_vs_likwid.py --rounds {arguments.rounds} --repeats {arguments.repeats}",
        f"- priority: {'real-time, both' if UNDISTURBED else 'ordinary, both'}",
        f"- {first_line(['likwid-bench', '-v'])}",
        "- bytes: loaded and stored by the program, each once; rates: best of all rounds (plain read, triad: median); "
        "per round: median [range] of the ratio",
        "",
        "| figure | threads | ridge | likwid | best likwid kernel | ratio | per round | goal | met |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratios, ours, theirs = row.ratios(), row.total(row.ours), row.total(row.theirs)
        unit = "GFLOP/s" if "peak" in row.name else "GB/s"
        winner = row.winners[row.theirs.index(max(row.theirs))]
        met = "yes" if row.goal[0] <= ours / theirs <= row.goal[1] else "no"
        lines.append(
            f"| {row.name} | {row.threads} | {ours / 1e9:.1f} {unit} | {theirs / 1e9:.1f} {unit} | {winner} "
            f"| {ours / theirs:.3f} "
            f"| {statistics.median(ratios):.3f} [{min(ratios):.3f} … {max(ratios):.3f}] | {goal_text(row.goal)} "
            f"| {met} |")
    return "\n".join(lines) + "\n"


def goal_text(goal):
    return f"≥ {goal[0]:.2f}" if goal[1] == float("inf") else f"{goal[0]:.2f} … {goal[1]:.2f}"


def first_line(command):
    return subprocess.run(command, capture_output=True, text=True).stdout.strip().splitlines()[0].strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    if not shutil.which("likwid-bench"):
        sys.exit("likwid-bench is missing: apt-get install likwid")
    first = ridge_limits()
    rows = make_rows(first)
    for number in range(arguments.rounds):
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
        measure_round(rows, arguments.repeats)
    text = render(rows, first, arguments)
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
