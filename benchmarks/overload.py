#!/usr/bin/env python3
"""Answers in time under three times the load that `ridge serve` can answer, with deadlines, and what fixed queues and
Triton make of it.

The model is bert-base at 32 tokens (one instance, one thread, batches up to 8), so that a request is small and a run is
not. Per arm, on a server of its own: the capacity, closed loop; then an open loop of Poisson arrivals at 3 times that,
latencies counted from the intended times; then the same at a quarter of it, to see when everything is answered in time
again. Each request should be answered within the deadline.

  deadline         the requests say so (the parameter `timeout`) fixed queue      they do not; the queue holds 32
  requests (max_queue_size), as TensorFlow Serving's max_enqueued_batches bounds its own plain            neither: what
  a queue does alone Triton deadline  with --peers: Triton, requests with `timeout`. Its model keeps a CPU busy for as
  long as ridge's batches took in the arm
                   "deadline" (rows / capacity), in the python backend
  Triton fixed     the same with max_queue_size 32 and no timeouts

  goodput    answers within the deadline / capacity       goal ≥ 0.90
  refusals   99th percentile of the time to a 503         goal ≤ 5 ms
  recovery   from the end of the overload to the last request that was not answered in time     goal ≤ 2 s

The load comes from this process, on the same CPUs as the server, so what it costs is taken from the goodput. late:
answered, but after the deadline; expired: admitted, and left the queue unserved at the deadline. Not for a machine
whose speed changes meanwhile: predictions of the next second cannot know that, and the capacity is measured before.

  benchmarks/overload.py [--seconds 60] [--compared-seconds 60] [--deadline-ms 600] [--peers DIR] [--out FILE]

On a machine that does other work too, `chrt -r 1 benchmarks/overload.py ...` (as root) lets server and load run before
all else.
"""

import argparse
import asyncio
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import aiohttp

from serve_overhead import RELEASE, commit, machine_line, process, report

PORT = 18600
RIDGE = str(RELEASE / "ridge")
URL = f"http://127.0.0.1:{PORT}"
TOKENS = 32
WITH_DEADLINE = "allow_timeout_override: true"
FIXED_QUEUE = "max_queue_size: 32"
CONFIG = """name: "bert"
max_batch_size: 8
dynamic_batching { default_queue_policy { %s } }
input [ { name: "input_ids" data_type: TYPE_INT64 dims: [ 32 ] },
        { name: "attention_mask" data_type: TYPE_INT64 dims: [ 32 ] },
        { name: "token_type_ids" data_type: TYPE_INT64 dims: [ 32 ] } ]
output [ { name: "pooler_output" data_type: TYPE_FP32 dims: [ 768 ] } ]
instance_group [ { count: 1 kind: KIND_CPU } ]
"""
OURS = """backend: "onnxruntime"
parameters { key: "intra_op_thread_count" value { string_value: "1" } }
"""
TRITONS = """import time
import numpy as np
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        rows = [pb.get_input_tensor_by_name(request, "input_ids").as_numpy().shape[0] for request in requests]
        end = time.monotonic() + sum(rows) * %r
        while time.monotonic() < end:
            pass
        return [pb.InferenceResponse([pb.Tensor("pooler_output", np.zeros((count, 768), np.float32))])
                for count in rows]
"""


def write_model(repository, policy, kind, file, content=None):
    """`content` None: ridge makes the file."""
    folder = repository / "bert" / "1"
    folder.mkdir(parents=True, exist_ok=True)
    (repository / "bert" / "config.pbtxt").write_text(CONFIG % policy + kind)
    if content is not None:
        (folder / file).write_text(content)
    elif not (folder / file).exists():
        subprocess.run([RIDGE, "make", "bert-base", "-o", str(folder / file)], check=True, capture_output=True)


def body(timeout_us=None):
    tensors = [{"name": name, "shape": [1, TOKENS], "datatype": "INT64", "data": [value] * TOKENS}
               for name, value in (("input_ids", 1000), ("attention_mask", 1), ("token_type_ids", 0))]
    return json.dumps({"inputs": tensors, **({"parameters": {"timeout": timeout_us}} if timeout_us else {})}).encode()


async def ask(session, request):
    """The status, 0 for an admitted request that left the queue unserved, and when it came."""
    async with session.post(URL + "/v2/models/bert/infer", data=request) as answer:
        text = await answer.read()
        return 0 if b"expired" in text else answer.status, time.monotonic()


async def capacity(session, seconds, connections=24):
    """Answers per second with enough requests waiting for whole batches."""
    end, answered = time.monotonic() + seconds, 0

    async def caller():
        nonlocal answered
        while time.monotonic() < end:
            status, at = await ask(session, body())
            assert status == 200, status
            answered += at < end

    await asyncio.gather(*(caller() for _ in range(connections)))
    return answered / seconds


async def open_loop(session, request, rate, seconds):
    """[(intended time from the begin, seconds to its answer, status)]; unserved ones have the status 0."""
    begin, at, results, under_way = time.monotonic(), 0.0, [], set()

    async def one(intended):
        try:
            status, answered = await ask(session, request)
        except (aiohttp.ClientError, asyncio.CancelledError, OSError):
            status, answered = 0, time.monotonic()
        results.append((intended, answered - begin - intended, status))

    while (at := at + random.expovariate(rate)) < seconds:
        await asyncio.sleep(max(0.0, begin + at - time.monotonic()))
        task = asyncio.create_task(one(at))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    await asyncio.sleep(max(0.0, begin + seconds - time.monotonic()))
    return results, under_way


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def server_pid():
    found = subprocess.run(["pgrep", "-n", "-f", f"http-port={PORT}"], capture_output=True, text=True, check=True)
    return int(found.stdout)


async def measure(arm, seconds, deadline_s):
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:
        await capacity(session, 3)
        possible = await capacity(session, 10)
        request = body(int(deadline_s * 1e6) if arm.endswith("deadline") else None)
        before = resident_mib(server_pid())
        results, left = await open_loop(session, request, 3 * possible, seconds)
        grown = resident_mib(server_pid()) - before
        afterwards, still = await open_loop(session, request, possible / 4, 10)
        await asyncio.wait(still | left | {asyncio.create_task(asyncio.sleep(0))}, timeout=2)
        unanswered = sum(not task.done() for task in left | still)
        for task in left | still:
            task.cancel()
        await asyncio.gather(*left, *still, return_exceptions=True)
    answered = [r for r in results if r[2] == 200]
    expired = sum(r[2] == 0 for r in results)
    in_time = [r for r in answered if r[1] <= deadline_s]
    refused = sorted(r[1] for r in results if r[2] == 503)
    failed = [at for at, took, status in afterwards if status != 200 or took > deadline_s]
    return {
        "capacity": possible, "rate": len(results) / seconds, "goodput": len(in_time) / seconds / possible,
        "late": len(answered) - len(in_time), "expired": expired, "refused": len(refused),
        "refusal_p50": percentile(refused, 0.5), "refusal_p99": percentile(refused, 0.99),
        "recovery": 10.0 if unanswered > 2 else max(failed, default=0.0), "grown": grown,
    }


def percentile(values, q):
    return values[min(len(values) - 1, int(q * len(values)))] if values else None


def row(arm, found):
    def ms(value):
        return "-" if value is None else f"{value * 1e3:.1f}"

    judged = arm == "deadline"
    passed = found["goodput"] >= 0.9 and (found["refusal_p99"] or 0) <= 0.005 and found["recovery"] <= 2
    return [arm, f"{found['capacity']:.1f}", f"{found['rate']:.1f}", f"{found['goodput']:.3f}", str(found["late"]),
            str(found["expired"]), str(found["refused"]),
            f"{ms(found['refusal_p50'])} / {ms(found['refusal_p99'])}",
            "> 10" if found["recovery"] >= 10 else f"{found['recovery']:.2f}", f"{found['grown']:+.0f}",
            ("ok" if passed else "MISSED") if judged else "not judged"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of the overload")
    parser.add_argument("--deadline-ms", type=float, default=600)
    parser.add_argument("--compared-seconds", type=float, default=60, help="of the overload in the other arms")
    parser.add_argument("--peers", type=pathlib.Path, help="folder that holds Triton's launcher `triton`")
    parser.add_argument("--out", type=pathlib.Path, help="also write the table here")
    options = parser.parse_args()
    random.seed(1)
    rows, loads = [], []

    def run(arm, command):
        loads.append(os.getloadavg()[0])
        with process(command, URL + "/v2/health/ready"):
            found = asyncio.run(measure(arm, options.compared_seconds if rows else options.seconds,
                                        options.deadline_ms / 1e3))
        rows.append(row(arm, found))
        print("  ".join(rows[-1]), file=sys.stderr)  # should a later arm fail
        return found["capacity"]

    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as tritons:
        command = [RIDGE, "serve", ours, f"--http-port={PORT}", "--allow-grpc=false", "--allow-metrics=false"]
        capacities = {}
        for arm, policy in (("deadline", WITH_DEADLINE), ("fixed queue", FIXED_QUEUE), ("plain", WITH_DEADLINE)):
            write_model(pathlib.Path(ours), policy, OURS, "model.onnx")
            capacities[arm] = run(arm, command)
        command = [str(options.peers / "triton"), tritons, str(PORT), str(PORT + 1),
                   str(PORT + 2)] if options.peers else []
        for arm, policy in (("Triton deadline", WITH_DEADLINE), ("Triton fixed", FIXED_QUEUE)) if options.peers else ():
            write_model(pathlib.Path(tritons), policy, 'backend: "python"\n', "model.py",
                        TRITONS % (1 / capacities["deadline"]))
            run(arm, command)
    header = ["arm", "capacity [1/s]", "asked [1/s]", "goodput / capacity", "late", "expired", "refused",
              "refusal p50 / p99 [ms]", "recovery [s]", "memory [MiB]", ""]
    report([f"command: benchmarks/overload.py --seconds {options.seconds:g} "
            f"--compared-seconds {options.compared_seconds:g} "
            f"--deadline-ms {options.deadline_ms:g}" + (" --peers DIR" if options.peers else ""),
            machine_line(), f"commit: {commit()}",
            "load of the machine before each arm (1 min average): " + ", ".join(f"{load:.2f}" for load in loads), ""],
           header, rows, options.out)
    return 0 if rows[0][-1] == "ok" else 1


if __name__ == "__main__":
    sys.exit(main())
