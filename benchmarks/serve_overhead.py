#!/usr/bin/env python3
"""What serving costs on top of the engine, measured against three things in one interleaved run.

  resnet50   served (HTTP, binary tensors, 4 connections)  ÷  in-process throughput of the same plan   goal ≥ 0.95
  identity   1 connection, p50 latency                      ÷  Triton's                                goal ≤ 0.40
  identity   16 connections, requests/s                     ÷  Triton's                                goal ≥ 3.0
  identity   16 connections, requests/s                     ÷  a plain HTTP echo on the same stack      (reported)

Every round visits all parties once, in a shuffled order; figures are medians over the rounds with their range.
Load comes from wrk on the same cores. Triton is optional: give the folder of its launcher with --peers (the launcher takes
REPOSITORY HTTP GRPC METRICS; its identity model runs in Triton's python backend, which costs a hop to another process).

  benchmarks/serve_overhead.py [--rounds 7] [--seconds 4] [--peers DIR --peer-repository DIR] [--out FILE]
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "build" / "release"

LUA = """
local header = '%s'
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/octet-stream"
wrk.headers["Inference-Header-Content-Length"] = tostring(#header)
wrk.body = header .. string.rep("\\0\\0\\128\\63", %d)
"""


def request_script(folder, input_name, output_name, shape):
    """A wrk script that posts one FP32 tensor of ones as binary data and asks for a binary output."""
    count = 1
    for dim in shape:
        count *= dim
    header = json.dumps(
        {
            "inputs": [{"name": input_name, "shape": shape, "datatype": "FP32", "parameters": {"binary_data_size": 4 * count}}],
            "outputs": [{"name": output_name, "parameters": {"binary_data": True}}],
        },
        separators=(",", ":"),
    )
    path = folder / f"{input_name}_{count}.lua"
    path.write_text(LUA % (header, count))
    return path


def wrk(url, script, connections, seconds):
    """Runs wrk with one thread; returns (requests per second, p50 in µs). Any non-2xx answer is an error."""
    text = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s", "--latency", "-s", str(script), url],
        capture_output=True, text=True, check=True,
    ).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(f"wrk saw errors at {url}:\n{text}")
    value, unit = re.search(r"50%\s+([\d.]+)(us|ms|s)", text).groups()
    p50 = float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)), p50


@contextlib.contextmanager
def process(command, ready_url, **options):
    """A server process, waited for until it answers ready, stopped by SIGTERM. Yields the process."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        for _ in range(600):
            if child.poll() is not None:
                raise SystemExit(f"{command[0]} ended with status {child.returncode}")
            with contextlib.suppress(OSError):
                if urllib.request.urlopen(ready_url, timeout=1).status == 200:
                    break
            time.sleep(0.1)
        else:
            raise SystemExit(f"{command[0]} was not ready within 60 s")
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(40)
        except subprocess.TimeoutExpired:
            child.kill()


def make_repository(folder, ridge, threads):
    """identity (dynamic batching, as the peer's) and resnet50 (one instance of `threads` threads, no batching)."""
    for name, config in {
        "identity": "max_batch_size: 64\ndynamic_batching { }\n",
        "resnet50": "max_batch_size: 0\ninput [ { name: \"input\" data_type: TYPE_FP32 dims: [ 1, 3, 224, 224 ] } ]\n"
                    "output [ { name: \"output\" data_type: TYPE_FP32 dims: [ 1, 1000 ] } ]\n",
    }.items():
        version = folder / name / "1"
        version.mkdir(parents=True)
        subprocess.run([ridge, "make", name, "-o", str(version / "model.onnx")], check=True, capture_output=True)
        count = threads if name == "resnet50" else 1
        (folder / name / "config.pbtxt").write_text(
            f'name: "{name}"\nbackend: "onnxruntime"\n{config}instance_group [ {{ count: 1 kind: KIND_CPU }} ]\n'
            f'parameters {{ key: "intra_op_thread_count" value {{ string_value: "{count}" }} }}\n'
        )


def in_process(ridge, model, threads, seconds):
    text = subprocess.run(
        [ridge, "bench", str(model), "--threads", str(threads), "--seconds", str(seconds), "--ci", "0.01", "--json"],
        capture_output=True, text=True, check=True,
    ).stdout
    return json.loads(text)["throughput_per_s"]


def require_wrk():
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is missing: ./dev setup installs it")


def machine_line():
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return (f"machine: {cpu}, {len(os.sched_getaffinity(0))} CPUs shared by server and load, {platform.system()} "
            f"{platform.release()}")


def commit():
    return subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()


def report(lines, header, rows, out):
    """Prints the lines and the table below them; also into the file `out`, if there is one."""
    widths = [max(len(row[i]) for row in [header] + rows) for i in range(len(header))]
    text = "\n".join(lines + ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [header] + rows])
    print("\n" + text)
    if out:
        out.write_text(text + "\n")


def with_k(value):
    return f"{value / 1000:.4g} k" if value >= 10_000 else f"{value:.4g}"


def spread(values):
    return f"{with_k(statistics.median(values))} ({with_k(min(values))}–{with_k(max(values))})"


def measure(trials, rounds):
    """Name → what its trial returned, of each round. Every round visits all once, in a shuffled order."""
    results = {name: [] for name in trials}
    for number in range(rounds + 1):  # the first warms everything up and is not counted
        order = list(trials)
        random.Random(number).shuffle(order)
        for name in order:
            value = trials[name]()
            if number > 0:
                results[name].append(value)
        print(f"round {number} of {rounds} done", file=sys.stderr, flush=True)
    return results


def ratio_row(name, above, below, goal, passes):
    ratios = [a / b for a, b in zip(above, below)]
    middle = statistics.median(ratios)
    verdict = "" if goal is None else ("ok" if passes(middle) else "MISSED")
    return [name, spread(above), spread(below), f"{middle:.3f} ({min(ratios):.3f}–{max(ratios):.3f})", goal or "", verdict]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=4, help="of load per party and round")
    parser.add_argument("--peers", type=pathlib.Path, help="folder that holds Triton's launcher `triton`")
    parser.add_argument("--peer-repository", type=pathlib.Path, help="Triton repository with an identity model x → y, FP32 [16]")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=pathlib.Path, help="also write the report here")
    options = parser.parse_args()
    require_wrk()
    ridge = str(RELEASE / "ridge")
    echo = RELEASE / "benchmarks" / "http_echo"

    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folder = pathlib.Path(temporary)
        make_repository(folder / "repo", ridge, options.threads)
        base = 18300
        stack.enter_context(process(
            [ridge, "serve", str(folder / "repo"), "--http-port", str(base), "--grpc-port", "0", "--metrics-port", str(base + 2)],
            f"http://127.0.0.1:{base}/v2/health/ready"))
        stack.enter_context(process([str(echo), str(base + 10)], f"http://127.0.0.1:{base + 10}/v2/health/ready"))
        identity = request_script(folder, "x", "y", [1, 16])
        image = request_script(folder, "input", "output", [1, 3, 224, 224])
        seconds = options.seconds
        targets = {"ridge": base, "echo": base + 10}
        if options.peers:
            # tritonserver wants a writable repository only for its stubs; a copy keeps the original untouched.
            peer_repository = folder / "peer"
            shutil.copytree(options.peer_repository / "identity", peer_repository / "identity")
            stack.enter_context(process(
                [str(options.peers / "triton"), str(peer_repository), str(base + 20), str(base + 21), str(base + 22)],
                f"http://127.0.0.1:{base + 20}/v2/health/ready"))
            targets["triton"] = base + 20

        def url(port, model):
            return f"http://127.0.0.1:{port}/v2/models/{model}/infer"

        model = folder / "repo" / "resnet50" / "1" / "model.onnx"
        trials = {}
        for name, port in targets.items():
            trials[f"{name} c1"] = lambda port=port: wrk(url(port, "identity"), identity, 1, seconds)[1]
            trials[f"{name} c16"] = lambda port=port: wrk(url(port, "identity"), identity, 16, seconds)[0]
        trials["served resnet50"] = lambda: wrk(url(base, "resnet50"), image, 4, 2 * seconds)[0]
        trials["in-process resnet50"] = lambda: in_process(ridge, model, options.threads, 2 * seconds)

        results = measure(trials, options.rounds)

    rows = [ratio_row("resnet50 c=4 served / in-process [rows/s]", results["served resnet50"],
                      results["in-process resnet50"], "≥ 0.95", lambda r: r >= 0.95)]
    if "triton" in targets:
        rows.append(ratio_row("identity c=1 p50 ridge / Triton [µs]", results["ridge c1"], results["triton c1"],
                              "≤ 0.40", lambda r: r <= 0.40))
        rows.append(ratio_row("identity c=16 ridge / Triton [requests/s]", results["ridge c16"], results["triton c16"],
                              "≥ 3.0", lambda r: r >= 3.0))
    rows.append(ratio_row("identity c=16 ridge / echo [requests/s]", results["ridge c16"], results["echo c16"], None, None))
    rows.append(ratio_row("identity c=1 p50 ridge / echo [µs]", results["ridge c1"], results["echo c1"], None, None))

    report([f"serve_overhead: {options.rounds} rounds, {seconds} s of load per party and round, median (min–max)", machine_line(),
            f"commit: {commit()}", ""], ["what", "A", "B", "A / B per round", "goal", ""], rows, options.out)


if __name__ == "__main__":
    main()
