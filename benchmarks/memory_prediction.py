"""memory_prediction.py [--runs N] [--only NAME]... [--more FOLDER]: estimated peak memory of a process beside the
measured one.

`ridge plan MODEL --memory --measure --threads 1 --json` says both: the estimate of a formula, and the peak (VmHWM) of a
process that opened the model and ran it five times. Models: the nine light_*.onnx of the onnx package (batch 1, as
their files fix it), resnet50, bert-base at 128 and 384 and yolov8x of `ridge make` at batch 1 and 4; with --more also
every line of FOLDER/points.txt: a file in FOLDER, a batch, and INPUT=1x2x3 for its inputs.

The engine's memory differs from process to process (which holes in the heap merge is chance), so that each point is
measured N times (default 3). Shown are the median and the range; the error is against the median. Goal: at least 80 %
of the points within ±20 %, and half of them within ±10 %. Exit 1 below it.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

LIGHT = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
         "zfnet512"]


def cases(light, make, more):
    for name in LIGHT:
        yield f"light_{name}", str(light / f"light_{name}.onnx"), 1, []
    for batch in (1, 4):
        yield f"resnet50 batch {batch}", make("resnet50"), batch, []
    for length in (128, 384):
        for batch in (1, 4):
            yield f"bert-base {length} batch {batch}", make("bert-base"), batch, [f"sequence={length}"]
    for batch in (1, 4):
        yield f"yolov8x batch {batch}", make("yolov8x"), batch, []
    for line in (more / "points.txt").read_text().splitlines() if more else []:
        file, batch, *shapes = line.split()
        yield f"{file.removesuffix('.onnx')} batch {batch}", str(more / file), int(batch), shapes


def ask(ridge, model, batch, shapes):
    words = [word for shape in shapes for word in ("--shape", shape)]
    command = [ridge, "plan", model, "--memory", "--measure", "--threads", "1", "--batch", str(batch), *words, "--json"]
    # 1: does not fit this machine; the figures are there all the same.
    out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode > 1:
        sys.exit(f"{' '.join(command)}: {out.stderr}")
    return json.loads(out.stdout)["memory"]


def main():
    deps = pathlib.Path(os.environ.get("RIDGE_DEPS", ".deps"))
    ridge = os.environ.get("RIDGE", "build/release/ridge")
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--models", help="folder with models already made")
    parser.add_argument("--light", help="folder with light_*.onnx")
    parser.add_argument("--more", type=pathlib.Path)
    parser.add_argument("--json", help="file for the points")
    arguments = parser.parse_args()
    light = pathlib.Path(arguments.light
                         or next(deps.glob("python/lib/python3*/site-packages/onnx/backend/test/data/light")))
    errors, points = [], []
    with tempfile.TemporaryDirectory() as folder:
        def make(name):
            path = pathlib.Path(arguments.models or folder) / f"{name}.onnx"
            if not path.exists():
                subprocess.run([ridge, "make", name, "-o", path], check=True, capture_output=True)
            return str(path)
        print(f"{'model':34} {'estimate MB':>11} {'median MB':>10} {'range':>14} {'error':>9}")
        for name, model, batch, shapes in cases(light, make, arguments.more):
            if arguments.only and not any(part in name for part in arguments.only):
                continue
            asked = [ask(ridge, model, batch, shapes) for _ in range(arguments.runs)]
            peaks = sorted(memory["measured"]["peak"] for memory in asked)
            median, estimate = statistics.median(peaks), asked[0]["peak"]
            errors.append(estimate / median - 1)
            points.append({"name": name, "memory": asked})
            print(f"{name:34} {estimate / 1e6:11.0f} {median / 1e6:10.0f} {peaks[0] / 1e6:6.0f} to "
                  f"{peaks[-1] / 1e6:4.0f} {100 * errors[-1]:+7.1f} %", flush=True)
    within = {limit: sum(abs(error) <= limit for error in errors) for limit in (0.1, 0.2)}
    print(f"{within[0.1]} of {len(errors)} points within ±10 % of the median, {within[0.2]} within ±20 %; "
          f"median error {100 * statistics.median(abs(e) for e in errors):.1f} %, "
          f"largest {100 * max(map(abs, errors)):.1f} %")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(points, indent=1))
    sys.exit(0 if within[0.2] >= 0.8 * len(errors) and within[0.1] >= 0.5 * len(errors) else 1)


if __name__ == "__main__":
    main()
