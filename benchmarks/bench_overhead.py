"""bench_overhead.py [MODEL.onnx...]: what `ridge bench` costs beside a bare loop over ONNX Runtime's C API.

Both run the same model with the same library and threads, in turn and in random order, round after round. The ratio is
the geometric mean over the rounds with its 95 % confidence interval. Goal (issue 3): at least 0.98. Exit 1 below it.
Without models: resnet50, mlp and identity, made by `ridge make`.
"""

import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

GOAL = 0.98
# Student's t, 0.975, by degrees of freedom.
T = {4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 11: 2.201, 14: 2.145, 19: 2.093}


def ridge_rate(ridge, library, model, threads, seconds):
    # An interval that no measurement reaches: it samples for the whole time, as the loop does.
    out = subprocess.run([ridge, "bench", model, "--threads", str(threads), "--seconds", str(seconds), "--ci", "1e-6",
                          "--engine-library", library, "--json"], check=True, capture_output=True, text=True).stdout
    found = json.loads(out)
    return found["throughput_per_s"] / found["batch"]


def bare_rate(loop, library, model, threads, seconds):
    out = subprocess.run([loop, library, model, str(threads), str(seconds)], check=True, capture_output=True, text=True)
    return float(out.stdout)


def compare(model, arguments):
    rates = {"ridge bench": [], "bare loop": []}
    todo = {"ridge bench": lambda: ridge_rate(arguments.ridge, arguments.library, model, arguments.threads,
                                              arguments.seconds),
            "bare loop": lambda: bare_rate(arguments.loop, arguments.library, model, arguments.threads,
                                           arguments.seconds)}
    for _ in range(arguments.rounds):
        for name in random.sample(list(todo), 2):
            rates[name].append(todo[name]())
    logs = [math.log(a / b) for a, b in zip(rates["ridge bench"], rates["bare loop"])]
    half = T[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    mean = statistics.mean(logs)
    ratio, low, high = math.exp(mean), math.exp(mean - half), math.exp(mean + half)
    print(f"{pathlib.Path(model).name:24} ridge bench {statistics.median(rates['ridge bench']):10.4g} runs/s   "
          f"bare loop {statistics.median(rates['bare loop']):10.4g} runs/s   ratio {ratio:.3f} [{low:.3f}, {high:.3f}]",
          flush=True)
    return ratio


def main():
    deps = pathlib.Path(os.environ["RIDGE_DEPS"])
    ridge = os.environ["RIDGE"]
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rounds", type=int, default=8, choices=[n + 1 for n in T])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--loop", default=str(pathlib.Path(ridge).parent / "benchmarks/bare_ort_loop"))
    arguments = parser.parse_args()
    arguments.ridge = ridge
    arguments.library = str(next(deps.glob("python/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*")))
    random.seed(1)
    print(f"{arguments.rounds} rounds of {arguments.seconds:g} s each, {arguments.threads} threads, batch 1, "
          f"interleaved; load average {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        models = arguments.models
        for name in [] if models else ["resnet50", "mlp", "identity"]:
            path = f"{folder}/{name}.onnx"
            subprocess.run([ridge, "make", name, "-o", path], check=True, capture_output=True)
            models.append(path)
        ratios = [compare(model, arguments) for model in models]
    sys.exit(0 if min(ratios) >= GOAL else 1)


if __name__ == "__main__":
    main()
