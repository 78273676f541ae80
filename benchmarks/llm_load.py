#!/usr/bin/env python3
"""ridge bench http://HOST/v1/completions beside the truth: a server whose times are scripted (llm_script.cc).

1000 streams at once, in a closed loop and at a Poisson rate that keeps about as many open. Goal: every figure within 2
% of the script's: first token, gaps between tokens, time per output token, end to end, tokens/s of the closed loop.

  ./dev bench llm_load [--streams 1000] [--seconds 40] [--out FILE]

On a machine that does other work too, `chrt -r 1 benchmarks/llm_load.py ...` (as root) lets server and client run
before all else.
"""

import argparse
import json
import subprocess

from serve_overhead import RELEASE, commit, machine_line

TTFT, STEP, GAP, LONG_GAP, TOKENS = 200, 4, 40, 120, 64
GOAL = 2  # percent


def truth(streams):
    """The figures that the script gives, by the definitions of `ridge bench` (percentiles by linear interpolation)."""
    ttft = [TTFT + STEP * n for n in range(101)]
    gaps = [LONG_GAP if k % 5 == 0 else GAP for k in range(1, TOKENS)]
    whole = sum(ttft) / len(ttft) + sum(gaps)
    return {
        "ttft mean": sum(ttft) / len(ttft), "ttft p50": ttft[50], "ttft p90": ttft[90], "ttft p99": ttft[99],
        "itl mean": sum(gaps) / len(gaps), "itl p50": GAP, "itl p90": LONG_GAP, "itl p99": LONG_GAP,
        "tpot p50": sum(gaps) / len(gaps), "tpot p99": sum(gaps) / len(gaps),
        "end to end p50": ttft[50] + sum(gaps), "end to end p99": ttft[99] + sum(gaps),
        "tokens/s": streams * TOKENS / whole * 1e3,
    }, whole


def figures(point):
    tokens = point["tokens"]
    found = {f"{name} {of}": tokens[f"{name}_ms"][of] for name in ("ttft", "itl", "tpot")
             for of in ("mean", "p50", "p90", "p99")}
    found |= {f"end to end {of}": point["latency_ms"][of] for of in ("p50", "p99")}
    return found | {"tokens/s": tokens["output_tokens_per_s"]}


def visit(ridge, load, seconds):
    server = subprocess.Popen([RELEASE / "benchmarks" / "llm_script", *map(str, (TTFT, STEP, GAP, LONG_GAP))],
                              stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline())
    done = subprocess.run([ridge, "bench", f"http://127.0.0.1:{port}/v1/completions", *load, "--prompt", "16",
                           "--output-tokens", str(TOKENS),
                           "--seconds", str(seconds), "--json"], capture_output=True, text=True)
    server.terminate()
    late = server.stdout.read().strip()
    if done.returncode != 0:
        raise SystemExit(f"ridge bench failed:\n{done.stderr}")
    return json.loads(done.stdout)["points"][0], late


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--out")
    options = parser.parse_args()
    expected, whole_ms = truth(options.streams)
    rate = options.streams / whole_ms * 1e3
    lines = [f"commit    {commit()}", machine_line(),
             f"script    first token {TTFT} + {STEP} (n mod 101) ms, gaps {GAP} ms, each fifth {LONG_GAP} ms, "
             f"{TOKENS} tokens", ""]
    worst = 0
    for name, load in (("closed", ["--concurrency", str(options.streams)]),
                       ("rate", ["--rate", f"{rate:.3f}", "--poisson", "--concurrency", str(3 * options.streams)])):
        point, late = visit(RELEASE / "ridge", load, options.seconds)
        found = figures(point)
        client = point["client"]
        lines.append(f"{' '.join(load)}: {point['samples']} answers, {point['failed']} failed")
        lines.append(f"  client {client['cpus']:.2f} CPUs of 1 thread, {client['waiting_for_cpu'] or 0:.2f} waiting; "
                     "sent late by p50 "
                     f"{point['tokens']['late_ms']['p50']:.3f} ms, p99 {point['tokens']['late_ms']['p99']:.3f} ms")
        lines.append(f"  server {late}")
        lines.append(f"  {'figure':<16} {'truth':>10} {'ridge bench':>12} {'off':>8}")
        for figure, value in expected.items():
            if name == "rate" and figure == "tokens/s":
                continue  # drawn arrivals
            off = 100 * (found[figure] / value - 1)
            worst = max(worst, abs(off))
            lines.append(f"  {figure:<16} {value:>10.2f} {found[figure]:>12.2f} {off:>+7.2f} %")
        worst = max(worst, 100 if point["failed"] else 0)
        lines.append("")
    lines.append(f"worst {worst:.2f} %, goal {GOAL} %: {'met' if worst <= GOAL else 'not met'}")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.out:
        with open(options.out, "w") as file:
            file.write(text)
    return 0 if worst <= GOAL else 1


if __name__ == "__main__":
    raise SystemExit(main())
