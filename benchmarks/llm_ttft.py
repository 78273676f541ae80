#!/usr/bin/env python3
"""Time to the first token of short prompts while prompts of 8,000 tokens are computed, on the real decoder (llama-90m).

The short ones (16 to 64 tokens, answers of 8 to 24) arrive at --rate per second with random gaps; of the long ones
(8,000 tokens, answers of 8) there are always --long under way. Both come from `ridge bench URL --seed`. The server has
ridge_token_goal_ms: no step is to be longer. A short prompt waits for the step under way and is computed in the next,
so its goal is two of them.

  alone    no long prompts beside   with them                                              goal: p99 of the first token
  at most 1.2 x its goal, no request failed no goal  with them, without ridge_token_goal_ms: steps of 512 tokens

  ./dev bench llm_ttft [--token-goal-ms 100] [--rate 2] [--long 2] [--seconds 25] [--weights bf16] [--build
  build/release] [--out FILE]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

from serve_overhead import RELEASE, commit, machine_line, process, report

PORT = 18870
FACTOR = 1.2


def bench(ridge, seconds, *load):
    command = [ridge, "bench", f"http://127.0.0.1:{PORT}/v1/completions", "--seconds", f"{seconds:g}", "--json", *load]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def point_of(load):
    out, errors = load.communicate()
    if load.returncode != 0:
        raise SystemExit(f"ridge bench failed:\n{errors}")
    return json.loads(out)["points"][0]


def steps_of(goal_ms):
    """(prompt tokens computed, steps, of them longer than goal_ms) by /metrics."""
    buckets, tokens = {}, 0
    for line in urllib.request.urlopen(f"http://127.0.0.1:{PORT + 1}/metrics").read().decode().splitlines():
        if line.startswith("ridge_llm_step_seconds_bucket"):
            bound = float(line.split('le="')[1].split('"')[0])
            buckets[bound] = buckets.get(bound, 0) + float(line.split()[-1])  # both phases
        if line.startswith("vllm:prompt_tokens_total"):
            tokens = float(line.split()[-1])
    within = max(count for bound, count in buckets.items() if bound <= goal_ms / 1e3)
    return tokens, buckets[float("inf")], buckets[float("inf")] - within


def visit(options, folder, goal, long):
    parameters = {"ridge_weights": options.weights} | ({"ridge_token_goal_ms": f"{options.token_goal_ms:g}"}
                                                       if goal else {})
    (folder / "llama" / "config.pbtxt").write_text(
        "".join(f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n' for key,
                value in parameters.items()))
    ridge = str(options.build / "ridge")
    command = [ridge, "serve", str(folder), f"--http-port={PORT}", "--grpc-port=0", f"--metrics-port={PORT + 1}"]
    with process(command, f"http://127.0.0.1:{PORT}/v2/health/ready"):
        longs = bench(ridge, 3600, "--prompt", "8000", "--output-tokens", "8", "-c", str(long), "--seed",
                      "2") if long else None
        shorts = point_of(bench(ridge, options.seconds, "--prompt", "16..64", "--output-tokens", "8..24", "--rate",
                                f"{options.rate:g}", "--poisson",
                                "--ttft-ms", f"{2 * options.token_goal_ms:g}", "--seed", "1"))
        prompt_tokens, steps, beyond = steps_of(options.token_goal_ms)
        if longs:
            longs.kill()
            longs.wait()
        return shorts, prompt_tokens, steps, beyond


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--token-goal-ms", type=float, default=100)
    parser.add_argument("--rate", type=float, default=2, help="short prompts per second")
    parser.add_argument("--long", type=int, default=2, help="long prompts under way")
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--weights", default="bf16", help="their form")
    parser.add_argument("--only", nargs="*", help="some of the three")
    parser.add_argument("--build", type=pathlib.Path, default=RELEASE, help="folder of ridge")
    parser.add_argument("--out", type=pathlib.Path, help="also write the table here")
    options = parser.parse_args()
    goal_ms, missed, rows = 2 * options.token_goal_ms, False, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        subprocess.run([str(options.build / "ridge"), "make", "llama-90m", "-o", str(folder / "llama" / "1")],
                       check=True, capture_output=True)
        for name, goal, long in (("alone", True, 0), ("beside", True, options.long), ("no goal", False, options.long)):
            if options.only and name not in options.only:
                continue
            shorts, prompt_tokens, steps, beyond = visit(options, folder, goal, long)
            ttft = shorts["tokens"]["ttft_ms"]
            kept = ttft["p99"] <= FACTOR * goal_ms and shorts["failed"] == 0
            missed |= name == "beside" and not kept
            rows.append([name, f"{shorts['samples']}", f"{shorts['failed']}",
                         *(f"{ttft[key]:.0f}" for key in ("p50", "p90", "p99", "max")),
                         f"{shorts['tokens']['itl_ms']['p99']:.0f}", f"{prompt_tokens / options.seconds:.0f}",
                         f"{beyond:.0f} of {steps:.0f}", ("ok" if kept else "MISSED") if name == "beside" else ""])
    report([f"command: benchmarks/llm_ttft.py --token-goal-ms {options.token_goal_ms:g} --rate {options.rate:g} "
            f"--long {options.long} "
            f"--seconds {options.seconds:g} --weights {options.weights}", machine_line(), f"commit: {commit()}",
            f"first token of short prompts: goal {goal_ms:g} ms, p99 at most {FACTOR * goal_ms:g} ms", ""],
           ["", "short", "failed", "first token p50 [ms]", "p90", "p99", "max", "inter-token p99", "prompt tokens/s",
            "steps beyond the goal", ""],
           rows, options.out)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
