#!/usr/bin/env python3
"""`ridge plan FOLDER` beside what `ridge serve` does on this machine: time to the first token and per output token.

The model is one that `ridge make` makes. Each load is predicted twice, from this machine's limits alone and from the
steps that `ridge bench FOLDER` measures, as long and as many at once as the loads have them; then `ridge bench URL`
measures it, in a closed loop, with lengths drawn from 20 % less to the given ones. Steps and loads are measured in
turn; the medians of the rounds are compared. Speculation and reuse of prefixes are off: answers of a made model repeat
themselves, and a prediction knows no answers. Goal: from measured steps within 10 % for nine times in ten, and the line
of a step within 10 % for nine in ten of its points.

  ./dev bench llm_prediction [--model llama-90m] [--weights bf16] [--loads N ...] [--rounds 3] [--seconds 8]
  [--step-seconds 30] [--out FILE]

On a machine that does other work too, `chrt -r 1` (as root) lets all of it run before the rest.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from serve_overhead import RELEASE, commit, machine_line, report

PORT = 18830
# Prompt, answer, at once
LOADS = [(64, 32, 1), (256, 64, 1), (1024, 32, 1), (128, 64, 4), (512, 64, 4), (128, 64, 16), (256, 32, 16)]
GOAL = 10  # percent


def less(tokens):
    return round(0.8 * tokens)


class Ridge:
    def __init__(self, program, cache):
        self.program = program
        self.environment = os.environ | {"XDG_CACHE_HOME": str(cache)}

    def json(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments), "--json"], capture_output=True, text=True,
                              env=self.environment)
        if done.returncode not in (0, 1):
            raise SystemExit(f"ridge {' '.join(map(str, arguments))} failed:\n{done.stderr}")
        return json.loads(done.stdout)

    def predicted(self, folder, weights, load):
        prompt, output, callers = load
        return self.json("plan", folder, "--weights", weights, "--prompt", prompt, "--output-tokens", output,
                         "--concurrency", callers)["serving_here"]


def serve(ridge, repository):
    """The server once it is ready; ridge says so in its log."""
    server = subprocess.Popen([ridge.program, "serve", repository, "--http-port", str(PORT)], stderr=subprocess.PIPE,
                              text=True, env=ridge.environment)
    for line in server.stderr:
        if "all models are loaded" in line:
            return server
    raise SystemExit(f"ridge serve ended with {server.wait()}")


def measure(ridge, load, seconds):
    prompt, output, callers = load
    point = ridge.json("bench", f"http://127.0.0.1:{PORT}/v1/completions", "--prompt", f"{less(prompt)}..{prompt}",
                       "--output-tokens", f"{less(output)}..{output}",
                       "--concurrency", callers, "--warmup", callers, "--seconds",
                       seconds * max(1, callers / 4))["points"][0]
    if point["failed"]:
        raise SystemExit(f"{load}: {point['failures']}")
    return point["tokens"]


TIMES = ("ttft_ms", "tpot_ms")


class Round:
    """Each load's measured means, and those predicted from limits and from steps [ms]."""

    def __init__(self, ridge, folder, loads, options):
        server = serve(ridge, folder.parent.parent)
        points = {load: measure(ridge, load, options.seconds) for load in loads}
        server.terminate()
        server.wait()
        # The words that are sent are about a token each: the prediction is for the tokens that they were.
        self.sent = {load: round(of["prompt_tokens"] / of["requests"] / 0.9) for load, of in points.items()}
        self.measured = {load: {time: of[time]["mean"] for time in TIMES} for load, of in points.items()}
        predicted = lambda: {load: ridge.predicted(folder, options.weights, (self.sent[load], *load[1:]))
                             for load in loads}
        self.before = predicted()
        lengths = ("--prompt", max(prompt for prompt, _, _ in loads), "--batch",
                   ",".join(map(str, sorted({callers for _, _, callers in loads}))))
        self.steps = ridge.json("bench", folder, "--weights", options.weights, *lengths, "--seconds",
                                options.step_seconds, "--keep-disturbed")
        self.predicted = predicted()


def cells(rounds, load, limits):
    row, ratios = [], []
    for time in TIMES:
        measured = statistics.median(each.measured[load][time] for each in rounds)
        row.append(f"{measured:.1f}")
        for prediction in (limits[load][time]["mean"],
                           statistics.median(each.predicted[load][time]["mean"] for each in rounds)):
            ratios.append(prediction / measured)
            row.append(f"{prediction:.1f} ({ratios[-1]:.2f})")
    return row, ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="llama-90m")
    parser.add_argument("--weights", default="bf16")
    parser.add_argument("--loads", type=int, nargs="*", default=range(len(LOADS)), help="numbers of those to measure")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8,
                        help="of each load in a round, for each four at once; several times what an answer takes")
    parser.add_argument("--step-seconds", type=float, default=30, help="of the steps' measurement in a round")
    parser.add_argument("--ridge", default=str(RELEASE / "ridge"))
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    loads = [LOADS[number] for number in options.loads]
    with tempfile.TemporaryDirectory() as work:
        ridge = Ridge(options.ridge, pathlib.Path(work) / "cache")
        folder = pathlib.Path(work) / "models" / "m" / "1"
        ridge.json("make", options.model, "-o", folder)
        parameters = {"ridge_speculation": "false", "ridge_prefix_reuse": "0", "ridge_weights": options.weights}
        (folder.parent / "config.pbtxt").write_text("".join(
            f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
            for key, value in parameters.items()))
        ridge.json("bench", "device", "--keep-disturbed")
        rounds = [Round(ridge, folder, loads, options) for _ in range(options.rounds)]
    limits = rounds[0].before  # no steps were measured yet
    assert not any(of["measured_at"] for of in limits.values())
    rows, estimated, from_steps = [], [], []
    for load in loads:
        row, ratios = cells(rounds, load, limits)
        rows.append([str(rounds[0].sent[load]), *map(str, load[1:]), *row])
        estimated += [ratios[0], ratios[2]]
        from_steps += [ratios[1], ratios[3]]
    steps = rounds[-1].steps
    within = lambda ratios: (f"{sum(abs(ratio - 1) <= GOAL / 100 for ratio in ratios)} of {len(ratios)} "
                             f"within {GOAL} %, from {min(ratios):.2f} to {max(ratios):.2f}")
    errors = [100 * (point["line_ms"] / point["step_ms"] - 1) for point in steps["points"]]
    line = steps["step_line"]
    report([f"commit    {commit()}", machine_line(),
            f"model     {options.model}, {options.weights} weights, u8 cache, {steps['threads']} threads, "
            f"{steps['engine']} {steps['engine_version']}",
            "step line " + ", ".join(f"{name} {1e6 * value:.3f} us" for name, value in line.items()),
            "          its points off by " + ", ".join(f"{error:+.1f}" for error in errors)
            + f" %: {sum(abs(error) <= GOAL for error in errors)} of {len(errors)} within {GOAL} %",
            "estimate  "
            + ", ".join(f"{name} {1e6 * value:.3f} us" for name, value in limits[loads[0]]["step_line"].items()),
            f"times     medians of {options.rounds} rounds' means in ms; predicted from the limits and from measured "
            "steps, in brackets predicted / measured",
            f"limits    predicted: {within(estimated)}", f"steps     predicted: {within(from_steps)}", ""],
           ["prompt", "answer", "at once", "TTFT", "from limits", "from steps", "per token", "from limits",
            "from steps"], rows, options.out)
    near = sum(abs(ratio - 1) <= GOAL / 100 for ratio in from_steps)
    return 0 if near >= 0.9 * len(from_steps) else 1


if __name__ == "__main__":
    raise SystemExit(main())
