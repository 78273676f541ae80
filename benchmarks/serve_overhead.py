#!/usr/bin/env python3
"""Serving's cost on top of the engine, measured against three things in one interleaved run.

  resnet50, bert-base   served (HTTP, binary tensors, 4 connections)  ÷  in-process throughput of the same plan   goal ≥
  0.97 identity   1 connection, p50 latency                 ÷  Triton's                                        goal ≤
  0.3 identity   16 and 64 connections, requests/s         ÷  Triton's                                        goal ≥ 4
  identity   1 connection of 64 calls, gRPC            ÷  Triton's                                        goal ≥ 6
  identity   16 and 64 connections, requests/s         ÷  an echo on the same HTTP or gRPC library        goal ≥ 0.6 16
  MB      4 connections, requests/s                 ÷  the same echo                                   goal ≥ 0.8 all of
  these, and CPU time per request               ÷  an earlier program's, with --before             goal: no slower

Every round visits all parties once, in a shuffled order; figures are medians over the rounds with their range. Load
comes from the same cores: by HTTP from wrk, by gRPC from `ridge bench grpc://`, many calls of one connection from
h2load. Triton is optional: give the folder of its launcher with --peers (the launcher takes REPOSITORY HTTP GRPC
METRICS; its identity model runs in Triton's python backend, which costs a hop to another process).

  benchmarks/serve_overhead.py [--rounds 7] [--seconds 4] [--peers DIR --peer-repository DIR] [--before PROGRAM] [--out
  FILE]
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
            "inputs": [{"name": input_name, "shape": shape, "datatype": "FP32",
                        "parameters": {"binary_data_size": 4 * count}}],
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
    """A server process, waited for until it answers ready, stopped by SIGTERM.

    Yields the process. Without an URL it is not waited for.
    """
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        for _ in range(600 if ready_url else 0):
            if child.poll() is not None:
                raise SystemExit(f"{command[0]} ended with status {child.returncode}")
            with contextlib.suppress(OSError):
                if urllib.request.urlopen(ready_url, timeout=1).status == 200:
                    break
            time.sleep(0.1)
        else:
            if ready_url:
                raise SystemExit(f"{command[0]} was not ready within 60 s")
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(40)
        except subprocess.TimeoutExpired:
            child.kill()


LARGE = 1 << 22  # elements of FP32: 16 MiB
CONFIGS = {
    "identity": "max_batch_size: 64\ndynamic_batching { }\n",
    "large": f'max_batch_size: 0\ninput [ {{ name: "x" data_type: TYPE_FP32 dims: [ {LARGE // 16}, 16 ] }} ]\n'
             f'output [ {{ name: "y" data_type: TYPE_FP32 dims: [ {LARGE // 16}, 16 ] }} ]\n',
    "resnet50": 'max_batch_size: 0\ninput [ { name: "input" data_type: TYPE_FP32 dims: [ 1, 3, 224, 224 ] } ]\n'
                'output [ { name: "output" data_type: TYPE_FP32 dims: [ 1, 1000 ] } ]\n',
    "bert-base": "max_batch_size: 0\n",
}
HEAVY = ("resnet50", "bert-base")


def with_cpu_time(child, trial):
    """The same trial, with the µs of CPU time that the process took per request; less by the part of the trial in which
    the load program starts."""

    def run():
        def cpu_time():
            fields = open(f"/proc/{child.pid}/stat").read().rsplit(")", 1)[1].split()
            return sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")

        cpu, begin = cpu_time(), time.monotonic()
        rate, p50 = trial()
        return rate, p50, (cpu_time() - cpu) / (time.monotonic() - begin) / rate * 1e6

    return run


def make_repository(folder, ridge, threads):
    """identity (dynamic batching, as the peer's), the same for 16 MB, and the heavy models: one instance of `threads`
    threads, no batching."""
    for name, config in CONFIGS.items():
        version = folder / name / "1"
        version.mkdir(parents=True)
        made = "identity" if name == "large" else name
        fixed = ["--batch", "1", "--sequence", "128"] if name == "bert-base" else []
        subprocess.run([ridge, "make", made, *fixed, "-o", str(version / "model.onnx")], check=True,
                       capture_output=True)
        (folder / name / "config.pbtxt").write_text(
            f'name: "{name}"\nbackend: "onnxruntime"\n{config}instance_group [ {{ count: 1 kind: KIND_CPU }} ]\n'
            'parameters { key: "intra_op_thread_count" '
            f'value {{ string_value: "{threads if name in HEAVY else 1}" }} }}\n'
        )


def bench(ridge, url, connections, seconds, *more):
    """(requests per second, p50 in µs) of `ridge bench URL`. Any failed request is an error."""
    text = subprocess.run([ridge, "bench", url, "-c", str(connections), "--seconds", str(seconds), "--json", *more],
                          capture_output=True, text=True, check=True).stdout
    point = json.loads(text)["points"][0]
    if point["failed"]:
        raise SystemExit(f"failed requests at {url}: {point['failures']}")
    return point["requests_per_s"], point["latency_ms"]["p50"] * 1e3


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
    return subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True,
                          text=True).stdout.strip()


def report(lines, header, rows, out):
    """Prints the lines and the table below them; also into the file `out`, if there is one."""
    widths = [max(len(row[i]) for row in [header] + rows) for i in range(len(header))]
    text = "\n".join(lines + ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                              for row in [header] + rows])
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
    return [name, spread(above), spread(below), f"{middle:.3f} ({min(ratios):.3f}–{max(ratios):.3f})", goal or "",
            verdict]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=4, help="of load per party and round")
    parser.add_argument("--peers", type=pathlib.Path, help="folder that holds Triton's launcher `triton`")
    parser.add_argument("--peer-repository", type=pathlib.Path,
                        help="Triton repository with an identity model x → y, FP32 [16]")
    parser.add_argument("--before", type=pathlib.Path, help="an earlier `ridge`, served beside this one")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=pathlib.Path, help="also write the report here")
    options = parser.parse_args()
    from load_generators import grpc_message, h2load  # which takes its tools from here

    require_wrk()
    ridge = str(RELEASE / "ridge")

    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folder = pathlib.Path(temporary)
        make_repository(folder / "repo", ridge, options.threads)
        base = 18300
        http = {"ridge": base, "echo": base + 10}
        grpc = {"ridge": base + 1, "echo": base + 11}
        programs = {"ridge": ridge}
        if options.before:
            programs["before"], http["before"], grpc["before"] = str(options.before), base + 30, base + 31
        children = {}
        for party, program in programs.items():
            children[party] = stack.enter_context(process(
                [program, "serve", str(folder / "repo"), "--http-port", str(http[party]), "--grpc-port",
                 str(grpc[party]), "--metrics-port", str(http[party] + 2)],
                f"http://127.0.0.1:{http[party]}/v2/health/ready"))
        echoes = RELEASE / "benchmarks"
        stack.enter_context(process([str(echoes / "http_echo"), str(http["echo"])],
                                    f"http://127.0.0.1:{http['echo']}/v2/health/ready"))
        stack.enter_context(process([str(echoes / "grpc_echo"), str(grpc["echo"])], None))
        if options.peers:
            # tritonserver wants a writable repository only for its stubs; a copy keeps the original untouched.
            peer_repository = folder / "peer"
            shutil.copytree(options.peer_repository / "identity", peer_repository / "identity")
            http["triton"], grpc["triton"] = base + 20, base + 21
            stack.enter_context(process(
                [str(options.peers / "triton"), str(peer_repository), str(base + 20), str(base + 21), str(base + 22)],
                f"http://127.0.0.1:{base + 20}/v2/health/ready"))
        seconds = options.seconds

        def by_http(port, model, script, connections):
            return lambda: wrk(f"http://127.0.0.1:{port}/v2/models/{model}/infer", script, connections, seconds)

        def by_grpc(port, model, connections, *more):
            return lambda: bench(ridge, f"grpc://127.0.0.1:{port}/v2/models/{model}", connections, seconds, *more)

        small, large = request_script(folder, "x", "y", [1, 16]), request_script(folder, "x", "y", [LARGE // 16, 16])
        trials = {}
        for party in http:
            for connections in (1, 16, 64):
                trials[f"{party} HTTP {connections}"] = by_http(http[party], "identity", small, connections)
                trials[f"{party} gRPC {connections}"] = by_grpc(grpc[party], "identity", connections)
        calls = folder / "calls"
        calls.write_bytes(grpc_message("identity", "x", [1, 16]))
        for party in grpc:
            trials[f"{party} gRPC 64 calls"] = lambda port=grpc[party]: h2load(calls, 1, seconds, port, 64)
        for party in (*programs, "echo"):
            model = "large" if party in programs else "identity"
            trials[f"{party} HTTP 16 MB"] = by_http(http[party], model, large, 4)
            trials[f"{party} gRPC 16 MB"] = by_grpc(grpc[party], model, 4,
                                                    *([] if party in programs else ["--shape", f"x={LARGE // 16}x16"]))
        for model in HEAVY:
            trials[f"served {model}"] = lambda model=model: bench(ridge, f"http://127.0.0.1:{base}/v2/models/{model}",
                                                                  4, 2 * seconds)
            trials[f"in-process {model}"] = lambda model=model: (
                in_process(ridge, folder / "repo" / model / "1" / "model.onnx", options.threads, 2 * seconds), 0)

        for name, trial in trials.items():
            if (party := name.split()[0]) in children:
                trials[name] = with_cpu_time(children[party], trial)
        results = measure(trials, options.rounds)

    def rates(name):
        return [rate for rate, *_ in results[name]]

    def medians(name):
        return [p50 for _, p50, *_ in results[name]]

    rows = []
    for model in HEAVY:
        rows.append(ratio_row(f"{model} c=4 served / in-process [rows/s]", rates(f"served {model}"),
                              rates(f"in-process {model}"), "≥ 0.97", lambda r: r >= 0.97))
    for protocol in ("HTTP", "gRPC"):
        if options.peers:
            rows.append(ratio_row(f"identity {protocol} c=1 p50 ridge / Triton [µs]", medians(f"ridge {protocol} 1"),
                                  medians(f"triton {protocol} 1"), "≤ 0.3", lambda r: r <= 0.3))
            for c in (16, 64):
                rows.append(ratio_row(f"identity {protocol} c={c} ridge / Triton [requests/s]",
                                      rates(f"ridge {protocol} {c}"),
                                      rates(f"triton {protocol} {c}"), "≥ 4", lambda r: r >= 4))
            if protocol == "gRPC":
                rows.append(ratio_row("identity gRPC 1 connection, 64 calls ridge / Triton [requests/s]",
                                      rates("ridge gRPC 64 calls"),
                                      rates("triton gRPC 64 calls"), "≥ 6", lambda r: r >= 6))
        for c in (16, 64):
            rows.append(ratio_row(f"identity {protocol} c={c} ridge / echo [requests/s]",
                                  rates(f"ridge {protocol} {c}"), rates(f"echo {protocol} {c}"),
                                  "≥ 0.6", lambda r: r >= 0.6))
        rows.append(ratio_row(f"16 MB {protocol} c=4 ridge / echo [requests/s]", rates(f"ridge {protocol} 16 MB"),
                              rates(f"echo {protocol} 16 MB"), "≥ 0.8", lambda r: r >= 0.8))
    for name in [name for name in results if name.startswith("before ")]:
        what = name.removeprefix("before ")
        rows.append(ratio_row(f"{what} ridge / before [requests/s]", rates(f"ridge {what}"), rates(name), "≥ 0.97",
                              lambda r: r >= 0.97))
        rows.append(ratio_row(f"{what} ridge / before [CPU µs/request]",
                              *([cpu for *_, cpu in results[of]] for of in (f"ridge {what}", name)),
                              "≤ 1.03", lambda r: r <= 1.03))

    report([f"serve_overhead: {options.rounds} rounds, {seconds} s of load per party and round, median (min–max)",
            machine_line(),
            f"commit: {commit()}", f"load of the machine at the end (1 min average): {os.getloadavg()[0]:.2f}", ""],
           ["what", "A", "B", "A / B per round", "goal", ""], rows, options.out)


if __name__ == "__main__":
    main()
