#!/usr/bin/env python3
"""Requests of different shapes at one server, by three policies (handbook L23: 51.5, 43.3 and 122.8 frames/s on a GPU).

bert-base, one instance; 16 callers in closed loop ask for texts of 32, 64, 96 or 128 tokens, drawn evenly.

  padded     every client pads its text to 128 tokens; one request is one run
  own        each text in its own length; one request is one run
  grouped    each text in its own length; requests of equal length share a run, up to 4 of them (dynamic_batching)

Every round visits all three on servers of their own, in a shuffled order; texts per second and latencies are medians
over the rounds with their range, ratios per round.

  benchmarks/shape_policies.py [--rounds 5] [--seconds 8] [--out FILE]
"""

import argparse
import asyncio
import contextlib
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import aiohttp
import numpy

from serve_overhead import RELEASE, commit, machine_line, measure, process, report, spread

LENGTHS = (32, 64, 96, 128)
PORT = 18800
CONFIG = """backend: "onnxruntime"
max_batch_size: 4
{}input [ {{ name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] }},
        {{ name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] }},
        {{ name: "token_type_ids" data_type: TYPE_INT64 dims: [ -1 ] }} ]
output [ {{ name: "pooler_output" data_type: TYPE_FP32 dims: [ 768 ] }} ]
instance_group [ {{ count: 1 kind: KIND_CPU }} ]
"""


def body(tokens):
    """Binary tensors: (headers, bytes) of one text of that many tokens, 1000 the whole of it."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    tensors = ", ".join(f'{{"name":"{name}","shape":[1,{tokens}],"datatype":"INT64",'
                        f'"parameters":{{"binary_data_size":{8 * tokens}}}}}' for name in names)
    outputs = '[{"name":"pooler_output","parameters":{"binary_data":true}}]'
    header = f'{{"inputs":[{tensors}],"outputs":{outputs}}}'.encode()
    data = b"".join(numpy.full(tokens, value, numpy.int64).tobytes() for value in (1000, 1, 0))
    return {"Inference-Header-Content-Length": str(len(header))}, header + data


async def load(port, padded, seconds, seed):
    """(texts per second, p50, p99 in ms) of 16 callers."""
    draw, bodies, took = random.Random(seed), {tokens: body(tokens) for tokens in LENGTHS}, []
    async with aiohttp.ClientSession() as session:
        end = time.monotonic() + seconds

        async def caller():
            while (begin := time.monotonic()) < end:
                headers, data = bodies[128 if padded else draw.choice(LENGTHS)]
                async with session.post(f"http://127.0.0.1:{port}/v2/models/bert/infer", data=data,
                                        headers=headers) as answer:
                    assert answer.status == 200, await answer.text()
                    await answer.read()
                if time.monotonic() < end:
                    took.append(1e3 * (time.monotonic() - begin))

        await asyncio.gather(*(caller() for _ in range(16)))
    took.sort()
    return len(took) / seconds, took[len(took) // 2], took[int(0.99 * len(took))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8, help="of load per policy and round")
    parser.add_argument("--out", type=pathlib.Path, help="also write the table here")
    options = parser.parse_args()
    ridge = str(RELEASE / "ridge")
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        trials = {}
        for number, policy in enumerate(("padded", "own", "grouped")):
            folder = pathlib.Path(temporary) / policy / "bert"
            (folder / "1").mkdir(parents=True)
            subprocess.run([ridge, "make", "bert-base", "-o", str(folder / "1" / "model.onnx")], check=True,
                           capture_output=True)
            (folder / "config.pbtxt").write_text(CONFIG.format("dynamic_batching { }\n" if policy == "grouped" else ""))
            port = PORT + number
            stack.enter_context(process([ridge, "serve", str(folder.parent), f"--http-port={port}",
                                         "--allow-grpc=false", "--allow-metrics=false"],
                                        f"http://127.0.0.1:{port}/v2/health/ready"))
            trials[policy] = lambda port=port, policy=policy: asyncio.run(load(port, policy == "padded",
                                                                               options.seconds, 1))
        results = measure(trials, options.rounds)
    rows = []
    for policy, found in results.items():
        rates = [rate for rate, _, _ in found]
        ratios = [rate / padded for rate, (padded, _, _) in zip(rates, results["padded"])]
        rows.append([policy, spread(rates), f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})",
                     spread([p50 for _, p50, _ in found]), spread([p99 for _, _, p99 in found])])
    report([f"shape_policies: {options.rounds} rounds, {options.seconds:g} s of load per policy and round, "
            "median (min–max)", machine_line(),
            f"commit: {commit()}", f"load of the machine at the end (1 min average): {os.getloadavg()[0]:.2f}", ""],
           ["policy", "texts/s", "padded = 1, per round", "p50 [ms]", "p99 [ms]"], rows, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
