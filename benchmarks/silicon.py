#!/usr/bin/env python3
"""Predictions of language-model serving against published runs: error tables, and cross-validation of the fitted
constants.

usage: silicon.py [--serving CSV] [--open CSV] [--disaggregated CSV] [--configs FOLDER] [--program FILE] [--validate]

Runs the program `silicon` (benchmarks/silicon.cc; ninja silicon), which predicts every row with the library's laws and
constants. Prints mean and median |error|, bias, and the share within 20 %, by device, engine and model. Beside them,
from a study of the same sample (both halves, so rows differ): what NVIDIA's AIConfigurator 0.12 predicts. Below, how
many of the measured values lie in the ranges that the program states. --validate leaves each device and each model out
in turn: constants are fitted to the others, and a device's own kernel laws are left out with it. Disaggregated runs
have a table of their own: nothing but the handover was fitted to them.
"""

import argparse
import csv
import math
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "benchmarks/data/silicon"

# AIConfigurator 0.12 by device, engine and model: mean and median |error| in percent of TTFT and of TPOT, measured on
# both halves of the sample.
PEER = {
    ("b200_sxm", "sglang", "Qwen3.5-397B-A17B"): (69, 75, 20, 20),
    ("b200_sxm", "sglang", "DeepSeek-R1"): (72, 77, 15, 14),
    ("b200_sxm", "trtllm", "DeepSeek-R1"): (46, 45, 20, 16),
    ("b200_sxm", "trtllm", "Meta-Llama-3.1-70B"): (39, 43, 35, 34),
    ("b200_sxm", "trtllm", "gpt-oss-120b"): (83, 31, 118, 73), ("b200_sxm", "vllm", "MiniMax-M2.5"): (38, 36, 14, 12),
    ("b200_sxm", "vllm", "Meta-Llama-3.1-70B"): (24, 21, 12, 10),
    ("b200_sxm", "vllm", "gpt-oss-120b"): (46, 47, 19, 13),
    ("h100_sxm", "sglang", "Qwen3-32B"): (85, 87, 25, 20), ("h100_sxm", "trtllm", "Qwen3-32B"): (40, 38, 12, 11),
    ("h100_sxm", "trtllm", "Meta-Llama-3.1-8B"): (60, 61, 9, 7), ("h100_sxm", "vllm", "MiniMax-M2.5"): (43, 43, 35, 33),
    ("h100_sxm", "vllm", "Qwen3-32B"): (41, 46, 14, 11), ("h100_sxm", "vllm", "Meta-Llama-3.1-70B"): (49, 43, 5, 4),
    ("h100_sxm", "vllm", "gpt-oss-120b"): (43, 36, 78, 6),
    ("vllm",): (38.1, 33.1, 30.9, 13.4), ("trtllm",): (50.9, 42.6, 30.8, 15.3), ("sglang",): (68.4, 74.4, 21.1, 17.3),
    ("h100_sxm",): (51, 48, 18, 10), ("b200_sxm",): (47, 42, 29, 19), (): (48.8, 44.5, 29.1, 15.1),
}
ENGINES = ("vllm", "trtllm", "sglang")
# Where a fit of an engine begins, the program's own constants, and its first step. Of a step of the engine, by TPOT;
# then of a request, by TTFT.
STEP = {
    "vllm": {"kernel_us": (2.5, 0.5), "sequence_us": (10, 4), "prompt_factor": (1.4, 0.1)},
    "trtllm": {"kernel_us": (3, 0.5), "sequence_us": (20, 4), "prompt_factor": (1.25, 0.1), "start_share": (0.2, 0.2)},
    "sglang": {"kernel_us": (2.5, 0.5), "sequence_us": (10, 4), "prompt_factor": (1.4, 0.1)},
}
REQUEST = {
    "vllm": {"eager_kernel_us": (10, 10), "token_us": (8, 2)},
    "trtllm": {"eager_kernel_us": (50, 10), "token_us": (5, 2)},
    "sglang": {"eager_kernel_us": (100, 20), "token_us": (17, 4)},
}
# These are added to a prediction, without another run.
ADDED = {
    "vllm": {"lag_steps": (0, 1), "fixed_ms": (8, 4)},
    "trtllm": {"lag_steps": (1, 1), "fixed_ms": (0, 4)},
    "sglang": {"lag_steps": (1, 1), "fixed_ms": (8, 4)},
}


def with_settings(row):
    """The row with settings of TensorRT-LLM that its columns do not have: batch_wait_timeout_iters and
    batch_wait_max_tokens_ratio, from the scripts of InferenceX at the date of the run (70b_fp*_trt*.sh of 2025;
    dsr1_fp8_b200_trt.sh since 2026-01-29); with attention replicas timeout_iters of attention_dp_config
    (dsr1_*_trt*.sh: 60; gptoss_*_trt*.sh: the default, 50)."""
    steps, share = 0, 0.0
    inferencex = row["engine"] == "trtllm" and row.get("origin") == "inferencex"
    if inferencex and int(row["attention_dp"]) > 1:
        steps = 50 if row["model"].startswith("gpt-oss") else 60
    if inferencex and row["prompt_max"] == "1024" and row["output_max"] == "1024":
        if row["model"] == "Meta-Llama-3.1-70B" and int(row["tp"]) < 8:
            steps, share = 20, 0.9
        if (row["model"], row["precision"], row["system"]) == ("DeepSeek-R1", "fp8", "b200_sxm"):
            if row["measured"] >= "2026-01-29" and int(row["concurrency"]) >= 64 and int(row["attention_dp"]) == 1:
                steps, share = 40, 0.8
    # Tokens per step: the column has those of the scripts since 2026-01-21; before, dsr1_*_trt*.sh took one prompt
    # beside the concurrency.
    chunk = int(row["chunk_tokens"])
    if inferencex and row["model"] == "DeepSeek-R1" and row["measured"] < "2026-01-21":
        chunk = (int(row["concurrency"]) + int(row["prompt_max"]) + 127) // 64 * 64
    return row | {"batch_wait_steps": steps, "batch_wait_share": share, "chunk_tokens": chunk}


# For disaggregated tables in the form of the sample, which name neither the device nor what the checkpoints store: of
# attention, feed-forward and experts.
DEVICES = {
    "h100_sxm": "H100 SXM5 80GB", "h200_sxm": "H200 SXM 141GB", "b200_sxm": "B200 SXM 180GB",
    "b300_sxm": "B300 SXM 288GB", "gb200": "GB200 (per GPU)", "gb300": "GB300 (per GPU)",
}
STORED = {
    "fp4": {"DeepSeek-R1": ("bfloat16", "nvfp4", "nvfp4"), "Kimi-K2.5": ("bfloat16", "bfloat16", "nvfp4"),
            "": ("nvfp4", "nvfp4", "nvfp4")},
    "fp8": {"Qwen3-32B": ("fp8", "fp8", ""), "": ("fp8_block", "fp8_block", "fp8_block")},
}


def with_stored(row):
    """The row with the columns that benchmarks/data/silicon/serving_disaggregated.csv has beside those of the
    sample."""
    if "attention_weights" in row:
        return row
    model = row["model"].removesuffix("-NVFP4")
    stored = STORED[row["precision"]]
    parts = dict(zip(("attention_weights", "feed_forward_weights", "expert_weights"), stored.get(model, stored[""])))
    bits = 16 if row["system"].startswith("h") and row["engine"] != "trtllm" else 8
    health = "starved" if float(row["ttft_ms"]) > 10000 else ""
    more = {"device": DEVICES[row["system"]], "cache_bits": bits, "prefill_tokens": "", "decode_sequences": "",
            "health": health}
    return row | {"model": model, "concurrency": round(float(row["concurrency"]))} | parts | more


def predict(program, rows, configs, constants=None, without=None):
    scratch = pathlib.Path("silicon-rows.csv")
    with scratch.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    command = [program, scratch, configs]
    if without:
        command += ["--without", without]
    for name, value in (constants or {}).items():
        command += ["--constant", f"{name}={value}"]
    try:
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    finally:
        scratch.unlink()
    columns = ("ttft_ms", "tpot_ms", "fits", "ttft_low", "ttft_high", "tpot_low", "tpot_high")
    return [tuple(float(p[c]) for c in columns) for p in csv.DictReader(output.splitlines())]


def ratios(rows, predictions, which):
    name = ("ttft_ms", "tpot_ms")[which]
    return [p[which] / float(row[name]) for row, p in zip(rows, predictions)]


def errors(values):
    off = [100 * abs(v - 1) for v in values]
    near = 100 * sum(v <= 20 for v in off) / len(off)
    p90 = sorted(off)[min(len(off) - 1, math.ceil(0.9 * len(off)) - 1)]
    return (f"{statistics.mean(off):5.1f} {statistics.median(off):5.1f} {p90:5.0f} "
            f"{100 * (statistics.median(values) - 1):+6.1f} {near:4.0f} %")


HEAD = (f"{'rows':>50}   TTFT: mean median p90 bias <= 20 %    TPOT: mean median p90 bias <= 20 %    "
        "AIConfigurator TTFT, TPOT")


def line(name, rows, predictions, peer=None):
    text = f"{name:44} {len(rows):5}   {errors(ratios(rows, predictions, 0))}   {errors(ratios(rows, predictions, 1))}"
    if peer:
        text += f"   {peer[0]}/{peer[1]}, {peer[2]}/{peer[3]}"
    print(text)


def tables(rows, predictions):
    print(HEAD)
    line("all", rows, predictions, PEER[()])
    for columns in (("engine",), ("system",), ("system", "engine", "model"),
                    ("system", "engine", "model", "precision")):
        print()
        groups = {}
        for row, p in zip(rows, predictions):
            groups.setdefault(tuple(row[c] for c in columns), []).append((row, p))
        for key, members in sorted(groups.items()):
            line(" ".join(key), [m[0] for m in members], [m[1] for m in members], PEER.get(key))


def covered(rows, predictions):
    """Percent of TTFT and of TPOT in the stated ranges."""
    inside = [[p[3 + 2 * w] <= 1 / v <= p[4 + 2 * w] for v, p in zip(ratios(rows, predictions, w), predictions)]
              for w in (0, 1)]
    return "TTFT {:3.0f} %, TPOT {:3.0f} %".format(*(100 * sum(i) / len(i) for i in inside))


def loss(rows, predictions, which):
    off = [abs(math.log(v)) for v in ratios(rows, predictions, which)]
    return statistics.mean(min(v, 0.6) for v in off) + 0.5 * statistics.median(off)


def descend(constants, table, judge, rounds=1):
    """Coordinate descent over the constants of a table, with steps that halve; returns the constants and their loss."""
    constants = {**{name: begin for name, (begin, _) in table.items()}, **constants}
    best = judge(constants)
    steps = {name: step for name, (_, step) in table.items()}
    for _ in range(rounds):
        for name in table:
            for sign in (1, -1):
                while True:
                    other = {**constants, name: max(0, constants[name] + sign * steps[name])}
                    value = judge(other) if other != constants else best
                    if value >= best - 1e-6:
                        break
                    best, constants = value, other
        steps = {name: step / 2 for name, step in steps.items()}
    return constants, best


def fit(rows, program, configs, without=None):
    """Constants of the engines that the rows are of, each fitted to its own rows."""
    fitted = {}
    for engine in sorted({r["engine"] for r in rows}):
        own = [r for r in rows if r["engine"] == engine]
        found = fit_engine(engine, own, program, configs, without)
        fitted |= {f"{engine}.{name}": value for name, value in found.items()}
    return fitted


def fit_engine(engine, rows, program, configs, without):
    def run(constants):
        return predict(program, rows, configs, {f"{engine}.{name}": value for name, value in constants.items()},
                       without)

    constants, _ = descend({}, STEP[engine], lambda c: loss(rows, run(c), 1))
    # The added constants that fit best.
    added = {}

    def judge(c):
        predictions = run(c | {name: 0 for name in ADDED[engine]})

        def with_added(a):
            return loss(rows, [(p[0] + a["lag_steps"] * p[1] + a["fixed_ms"], *p[1:]) for p in predictions], 0)

        found, value = descend({}, ADDED[engine], with_added, 3)
        added[tuple(sorted(c.items()))] = found
        return value

    constants, _ = descend(constants, REQUEST[engine], judge)
    return constants | added[tuple(sorted(constants.items()))]


def quantiles(values):
    """80 % of measured over predicted."""
    ordered = sorted(1 / v for v in values)
    return ordered[len(ordered) // 10], ordered[(9 * len(ordered)) // 10]


def validate(rows, program, configs):
    print("\nconstants fitted to all rows:", {k: round(v, 3) for k, v in fit(rows, program, configs).items()})
    for column in ("system", "model"):
        print(f"\nleave one {column} out: constants fitted to the others"
              + ("; its own kernel laws left out too" if column == "system" else ""))
        print(HEAD)
        out_rows, out_predictions = [], []
        groups = {"gb200": "b200_sxm"} if column == "system" else {}
        keys = sorted({groups.get(r[column], r[column]) for r in rows})
        for key in keys:
            left = [r for r in rows if groups.get(r[column], r[column]) == key]
            engines = {r["engine"] for r in left}
            rest = [r for r in rows if groups.get(r[column], r[column]) != key and r["engine"] in engines]
            # An engine that was measured with this model alone keeps the program's constants, which saw it.
            constants = fit(rest, program, configs)
            predictions = []
            for device in sorted({r["device"] for r in left}) if column == "system" else [None]:
                part = [r for r in left if device in (None, r["device"])]
                predictions += list(zip(part, predict(program, part, configs, constants, device)))
            line(key, [p[0] for p in predictions], [p[1] for p in predictions])
            out_rows += [p[0] for p in predictions]
            out_predictions += [p[1] for p in predictions]
        line("all, each left out", out_rows, out_predictions)
        for engine in ENGINES + (None,):
            part = [(r, p) for r, p in zip(out_rows, out_predictions) if engine in (None, r["engine"])]
            ranges(engine or "all", [x[0] for x in part], [x[1] for x in part])
            print("    in the stated ranges:", covered([x[0] for x in part], [x[1] for x in part]))


def ranges(name, rows, predictions):
    low, high = zip(*(quantiles(ratios(rows, predictions, which)) for which in (0, 1)))
    print(f"  80 % of measured/predicted, {name}: TTFT x{low[0]:.2f} to x{high[0]:.2f}, "
          f"TPOT x{low[1]:.2f} to x{high[1]:.2f}")


def open_loops(options):
    with options.open.open() as file:
        rows = [row for row in csv.DictReader(file) if not row["health"]]
    predictions = predict(options.program, rows, options.configs)
    print("\nopen loops: dense models in 16 bits, vLLM on H100, requests at random times")
    print(HEAD.removesuffix("    AIConfigurator TTFT, TPOT"))
    line("all", rows, predictions)
    for column in ("origin", "model"):
        print()
        for key in sorted({r[column] for r in rows}):
            part = [(r, p) for r, p in zip(rows, predictions) if r[column] == key]
            line(key, [x[0] for x in part], [x[1] for x in part])
    print("  in the stated ranges of closed loops:", covered(rows, predictions))


def disaggregated(rows, program, configs):
    fits = [(r, p) for r, p in zip(rows, predict(program, rows, configs)) if p[2]]
    wrong = [row["id"] for row in rows if row["id"] not in {r["id"] for r, _ in fits}]
    rows, predictions = zip(*fits)
    print("\nprefill and decode on workers of their own. AIConfigurator answers 165 of the 274 such runs of the whole "
          "sample that name their workers:")
    print("TTFT 51 to 86 %, TPOT 6 to 74 % by system and engine (mean/median of TPOT: B200 SGLang 6/4, GB200 42/37)")
    print("do not fit by prediction:", *wrong)
    print(HEAD.removesuffix("    AIConfigurator TTFT, TPOT"))
    line("all", rows, predictions)
    for columns in (("engine",), ("system",), ("system", "engine", "model")):
        print()
        for key in sorted({tuple(r[c] for c in columns) for r in rows}):
            part = [(r, p) for r, p in zip(rows, predictions) if tuple(r[c] for c in columns) == key]
            line(" ".join(key), [x[0] for x in part], [x[1] for x in part])
    for engine in ENGINES:
        part = [(r, p) for r, p in zip(rows, predictions) if r["engine"] == engine]
        ranges(engine, [x[0] for x in part], [x[1] for x in part])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serving", type=pathlib.Path, default=DATA / "serving.csv")
    parser.add_argument("--open", type=pathlib.Path, default=DATA / "serving_open.csv")
    parser.add_argument("--disaggregated", type=pathlib.Path, default=DATA / "serving_disaggregated.csv")
    parser.add_argument("--configs", type=pathlib.Path, default=DATA / "configs")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/benchmarks/silicon")
    parser.add_argument("--validate", action="store_true")
    options = parser.parse_args()
    if not options.program.exists():
        sys.exit(f"silicon.py: no {options.program}: ninja -C build/release silicon")
    with options.serving.open() as file:
        rows = [with_settings(row) for row in csv.DictReader(file) if not row.get("health")]
    predictions = predict(options.program, rows, options.configs)
    tables(rows, predictions)
    print("\nmeasured values in the stated ranges, which are to hold 80 %")
    for engine in ENGINES:
        part = [(r, p) for r, p in zip(rows, predictions) if r["engine"] == engine]
        print(f"  {engine}:", covered([x[0] for x in part], [x[1] for x in part]))
    wrong = [row["id"] for row, p in zip(rows, predictions) if not p[2]]
    print(f"\nmemory: {len(rows) - len(wrong)} of {len(rows)} that ran fit by prediction", *wrong)
    open_loops(options)
    with options.disaggregated.open() as file:
        rows_of_pools = [with_stored(row) for row in csv.DictReader(file) if row["concurrency"]]
    disaggregated([row for row in rows_of_pools if not row["health"]], options.program, options.configs)
    if options.validate:
        validate(rows, options.program, options.configs)


if __name__ == "__main__":
    main()
