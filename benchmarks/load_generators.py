#!/usr/bin/env python3
"""ridge bench URL beside wrk, h2load and perf_analyzer: the same server, the same requests, in one interleaved run.

One `ridge serve` of small models on this machine. Every round visits every arm once, in a shuffled order; an arm is one
tool at one number of connections, by HTTP or by gRPC. wrk is HTTP's peer, h2load (Debian's nghttp2-client) gRPC's: a
call is a POST of HTTP/2 to it, whose grpc-status it does not read. Goal: throughput and median latency within 5 % of
each other (median over the rounds of the ratio within a round).

perf_analyzer is optional (--perf-analyzer PROGRAM; the wheel tritonclient 2.41.1 holds it). It costs about as much CPU
per request as the server, which on shared CPUs lowers what it can measure.

  ./dev bench load_generators [--rounds 9] [--seconds 3] [--perf-analyzer PROGRAM] [--out FILE]

On a machine that does other work too, `chrt -r 1 benchmarks/load_generators.py ...` (as root) lets server and tools run
before all else.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

from serve_overhead import RELEASE, commit, machine_line, process, report, request_script, require_wrk, spread, wrk

CONNECTIONS = {"echo": [1, 16, 256], "work": [4]}
SHAPES = {"echo": ("x", [1, 16]), "work": ("input", [1, 1024])}
PORT, GRPC_PORT = 18500, 18502


def make_repository(folder, ridge):
    """echo: 64 bytes of identity, which shows the tools' own cost. work: a model that computes for about a
    millisecond."""
    for name, reference, config in (
        ("echo", "identity", "max_batch_size: 64\ndynamic_batching { }\n"),
        ("work", "mlp", 'max_batch_size: 0\ninput [ { name: "input" data_type: TYPE_FP32 dims: [ 1, 1024 ] } ]\n'
                        'output [ { name: "output" data_type: TYPE_FP32 dims: [ 1, 1000 ] } ]\n'),
    ):
        (folder / name / "1").mkdir(parents=True)
        subprocess.run([ridge, "make", reference, "-o", str(folder / name / "1" / "model.onnx")], check=True,
                       capture_output=True)
        (folder / name / "config.pbtxt").write_text(
            f'name: "{name}"\nbackend: "onnxruntime"\n{config}instance_group [ {{ count: 1 kind: KIND_CPU }} ]\n'
            'parameters { key: "intra_op_thread_count" value { string_value: "1" } }\n')


def grpc_message(model, name, shape):
    """The body of a call: ModelInfer's request behind its five bytes of length."""
    from tritonclient.grpc import service_pb2

    tensor = service_pb2.ModelInferRequest.InferInputTensor(name=name, datatype="FP32", shape=shape)
    values = struct.pack("<f", 1) * math.prod(shape)
    message = service_pb2.ModelInferRequest(model_name=model, inputs=[tensor],
                                            raw_input_contents=[values]).SerializeToString()
    return struct.pack(">BI", 0, len(message)) + message


def h2load(body, connections, seconds, port=GRPC_PORT, calls=1):
    """Each connection has so many calls at a time; one thread."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        text = subprocess.run(
            ["h2load", "-t1", f"-c{connections}", f"-m{calls}", f"--duration={seconds}", "--warm-up-time=1",
             f"--log-file={log}", "-d", str(body), "-H", "content-type: application/grpc", "-H", "te: trailers",
             f"http://127.0.0.1:{port}/inference.GRPCInferenceService/ModelInfer"], capture_output=True, text=True,
             check=True).stdout
        times = sorted(int(line.split()[2]) for line in log.read_text().splitlines())
    if " 0 failed, 0 errored" not in text:
        raise SystemExit(f"h2load saw errors:\n{text}")
    return float(re.search(r"finished in [\d.]+\w+, ([\d.]+) req/s", text).group(1)), times[len(times) // 2]


def ridge_bench(ridge, scheme, model, connections, seconds):
    # A fifth of the time is for warming up.
    url = f"{scheme}://127.0.0.1:{PORT if scheme == 'http' else GRPC_PORT}/v2/models/{model}"
    text = subprocess.run(
        [ridge, "bench", url, "-c", str(connections), "--seconds", str(seconds * 1.25), "--json"],
        capture_output=True, text=True, check=True).stdout
    [point] = json.loads(text)["points"]
    if point["failed"]:
        raise SystemExit(f"ridge bench saw failures: {point['problems']}")
    return point["requests_per_s"], point["latency_ms"]["p50"] * 1e3


def perf_analyzer(program, scheme, model, connections, seconds):
    """One window of that length: further ones only look for a stable result."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "out.csv"
        done = subprocess.run(
            [program, "-m", model, "-u", f"127.0.0.1:{PORT if scheme == 'http' else GRPC_PORT}", "-i", scheme, "-b",
             "1", "--async", "--concurrency-range", str(connections),
             "--measurement-interval", str(int(seconds * 1000)), "--max-trials", "3", "--stability-percentage", "999",
             "-f", str(path)],
            capture_output=True, text=True)
        if not path.exists():
            raise SystemExit(f"perf_analyzer wrote nothing:\n{done.stdout}{done.stderr}")
        [row] = csv.DictReader(path.open())
    return float(row["Inferences/Second"]), float(row["p50 latency"])


def ratio(results, tool, peer, group, index):
    ours, theirs = ([round_[index] for round_ in results[(name, *group)]] for name in (tool, peer))
    ratios = [a / b for a, b in zip(ours, theirs)]
    return ours, theirs, ratios


def median_interval(values):
    """95 % interval of the median by order statistics (binomial), widest where there are few."""
    values = sorted(values)
    n = len(values)
    k = max(0, int(n / 2 - 0.98 * n ** 0.5))
    return values[k], values[n - 1 - k]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3, help="of load per arm and round")
    parser.add_argument("--protocols", default="http,grpc", help="of the two, separated by commas")
    parser.add_argument("--perf-analyzer", help="the program")
    parser.add_argument("--out", type=pathlib.Path, help="also write the report here")
    options = parser.parse_args()
    require_wrk()
    if "grpc" in options.protocols and shutil.which("h2load") is None:
        raise SystemExit("h2load is missing: apt-get install nghttp2-client, or give --protocols http")
    ridge = str(RELEASE / "ridge")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        make_repository(folder / "repo", ridge)
        scripts = {"echo": request_script(folder, "x", "y", [1, 16]),
                   "work": request_script(folder, "input", "output", [1, 1024])}
        arms = {}
        groups = [(scheme, model, n) for scheme in options.protocols.split(",") for model,
                  numbers in CONNECTIONS.items() for n in numbers]
        for group in groups:
            scheme, model, n = group
            arms[("ridge", *group)] = lambda group=group: ridge_bench(ridge, *group, options.seconds)
            if scheme == "http":
                url = f"http://127.0.0.1:{PORT}/v2/models/{model}/infer"
                arms[("wrk", *group)] = lambda model=model, n=n, url=url: wrk(url, scripts[model], n,
                                                                              int(options.seconds))
            else:
                body = folder / f"{model}.bin"
                body.write_bytes(grpc_message(model, *SHAPES[model]))
                arms[("h2load", *group)] = lambda body=body, n=n: h2load(body, n, int(options.seconds))
            if options.perf_analyzer:
                arms[("perf_analyzer",
                      *group)] = lambda group=group: perf_analyzer(options.perf_analyzer, *group, options.seconds)
        results = {arm: [] for arm in arms}
        with process([ridge, "serve", str(folder / "repo"), "--http-port", str(PORT), "--grpc-port", str(GRPC_PORT),
                      "--metrics-port", str(PORT + 1)],
                     f"http://127.0.0.1:{PORT}/v2/health/ready"):
            for number in range(options.rounds + 1):  # the first warms everything up and is not counted
                # The tools of one comparison follow one another, so that they meet the same machine.
                random.Random(number).shuffle(groups)
                for group in groups:
                    tools = [arm for arm in arms if arm[1:] == group]
                    random.Random(number + group[2]).shuffle(tools)
                    for arm in tools:
                        value = arms[arm]()
                        if number > 0:
                            results[arm].append(value)
                print(f"round {number} of {options.rounds} done", file=sys.stderr, flush=True)

    header = ["what", "ridge bench", "peer", "ratio: median [95 %]", "within 5 %"]
    rows = []
    for peer in ("wrk", "h2load", "perf_analyzer"):
        for scheme, model, n in sorted(groups, reverse=True):
            if (peer, scheme, model, n) not in results:
                continue
            for index, what in enumerate(("requests/s", "p50 [µs]")):
                ours, theirs, ratios = ratio(results, "ridge", peer, (scheme, model, n), index)
                middle, (low, high) = statistics.median(ratios), median_interval(ratios)
                verdict = "yes" if abs(middle - 1) <= 0.05 else "not resolved" if low <= 1.05 and high >= 0.95 else "no"
                rows.append([f"{scheme} {model} c={n} {what}, {peer}", spread(ours), spread(theirs),
                             f"{middle:.3f} [{low:.3f}, {high:.3f}]", verdict])
    report([f"load_generators: {options.rounds} rounds, {options.seconds:g} s per arm and round; medians (min–max)",
            machine_line(),
            f"commit: {commit()}", f"load average at the end: {os.getloadavg()[0]:.1f}", ""], header, rows, options.out)


if __name__ == "__main__":
    main()
