#!/usr/bin/env python3
"""shares.py [--seconds S] [--models DIR] [--out FILE]: what share of the physical limit `ridge bench` prints, model by
model.

Models: the nine light_*.onnx of the onnx package and ridge's reference models, at batch 1 with the plan that `ridge
bench` makes by itself. Goal: between 1 % and 100 %. Exit 1 if a share lies outside.

identity copies 64 bytes at batch 1; the least time for that is a fraction of a nanosecond, and a call into any engine
takes a microsecond: no share of 1 % can be true there. It is shown, and judged at a batch whose 64 MiB are worth a
call.
"""

import argparse
import datetime
import glob
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent
RIDGE = os.environ.get("RIDGE", str(ROOT / "build" / "release" / "ridge"))
SHAPES = {"bert-base": ["sequence=128"]}
LARGE = 1 << 20  # rows of identity: 64 bytes each


def cases(folder):
    light = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
    for path in sorted(glob.glob(str(light / "light_*.onnx"))):
        yield pathlib.Path(path).stem, path, [], True
    for name in ("resnet50", "bert-base", "yolov8x", "sd-unet", "mlp"):
        yield name, made(name, folder), [word for shape in SHAPES.get(name, []) for word in ("--shape", shape)], True
    yield "identity", made("identity", folder), [], False
    yield f"identity, batch {LARGE}", made("identity", folder), ["--batch", str(LARGE)], True


def made(name, folder):
    path = os.path.join(folder, name + ".onnx")
    if not os.path.exists(path):
        subprocess.run([RIDGE, "make", name, "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def measure(path, arguments, seconds):
    done = subprocess.run([RIDGE, "bench", path, *arguments, "--seconds", str(seconds), "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def table(folder, seconds):
    outside = 0
    yield f"{'model':26} {'threads':>7} {'p50':>12} {'bound':>12} {'share':>8}  limiter"
    for name, path, arguments, judged in cases(folder):
        found = measure(path, arguments, seconds)
        share = found["percent_of_limit"]
        wrong = judged and not 1 <= share <= 100
        outside += wrong
        verdict = "  OUTSIDE" if wrong else "" if judged else "  not judged: see above"
        yield (f"{name:26} {found['threads']:7} {found['latency_ms']['p50']:9.4g} ms {found['bound_ms']:9.4g} ms "
               f"{share:6.3g} %  {found['limiter']}{verdict}")
    yield f"{outside} outside 1 % to 100 %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement")
    parser.add_argument("--models", help="folder for the reference models, made there if missing")
    parser.add_argument("--out", help="also write the table here")
    arguments = parser.parse_args()
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
               platform.machine())
    lines = [f"{cpu}, {os.cpu_count()} CPUs, {datetime.date.today()}, benchmarks/shares.py "
             f"--seconds {arguments.seconds:g}"]
    print(lines[0])
    with tempfile.TemporaryDirectory() as folder:
        for line in table(arguments.models or folder, arguments.seconds):
            print(line, flush=True)
            lines.append(line)
    if arguments.out:
        pathlib.Path(arguments.out).write_text("\n".join(lines) + "\n")
    return 0 if lines[-1].startswith("0 ") else 1


if __name__ == "__main__":
    sys.exit(main())
