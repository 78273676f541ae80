"""quantiser_vs_onnxruntime.py [--models resnet50,bert-base,mlp,FILE.onnx] [--samples N] [--rounds N] [--seconds S]
[--threads N] [--keep FOLDER]

Static INT8 by ridge's pass (benchmarks/precision_pass) beside ONNX Runtime's own python quantiser, on the same model
with the same calibration data (min-max ranges of N seeded samples): error against FP32 on other samples, and time of
one run of both files and of FP32 in stock ONNX Runtime, interleaved. RIDGE names the program (default
build/release/ridge).

The reference quantiser runs as its documentation asks: shape inference and optimisation first (quant_pre_process), then
quantize_static in QDQ form, per channel, uint8 activations and int8 weights. For transformers and perceptrons both also
quantise dynamically. The weights of the reference models are seeded random numbers: trained ones have other
distributions, and other errors.
"""

import argparse
import collections
import logging
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType
from onnxruntime.quantization import quant_pre_process, quantize_dynamic, quantize_static

RIDGE = os.environ.get("RIDGE", "build/release/ridge")
PASS = os.environ.get("PRECISION_PASS", "build/release/benchmarks/precision_pass")
LABELS = ["ridge static", "ort static", "ridge dynamic", "ort dynamic"]
SYMBOLS = {"batch": 1, "sequence": 128}


def session(path, threads, optimised=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    if optimised:
        options.optimized_model_filepath = str(optimised)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def samples(inputs, count, seed):
    random = np.random.default_rng(seed)
    for _ in range(count):
        feeds = {}
        for node in inputs:
            shape = [SYMBOLS.get(size, size) for size in node.shape]
            if node.type == "tensor(float)":
                feeds[node.name] = random.standard_normal(shape, dtype=np.float32)
            elif node.name == "attention_mask":
                feeds[node.name] = np.ones(shape, np.int64)
            else:
                feeds[node.name] = random.integers(0, 2 if node.name == "token_type_ids" else 30000, shape)
        yield feeds


class Reader(CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


def run(*command, **options):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, **options).stdout


def quantise_ours(model, out, feeds, threads, folder):
    names = run(PASS, "tensors", model).split("\n")[:-1]
    exposed = folder / "exposed.onnx"
    run(PASS, "expose", model, exposed, input="\n".join(names) + "\n")
    runner = session(exposed, threads)
    inputs = {node.name for node in runner.get_inputs()}
    ranges = {}
    for feed in feeds:
        wanted = [name for name in names if name not in inputs]
        values = dict(zip(wanted, runner.run(wanted, feed))) | {name: feed[name] for name in names if name in inputs}
        for name, value in values.items():
            low, high = ranges.get(name, (np.inf, -np.inf))
            ranges[name] = (min(low, float(value.min())), max(high, float(value.max())))
    exposed.unlink()
    text = "".join(f"{low!r} {high!r} {name}\n" for name, (low, high) in ranges.items())
    print("    "
          + run(PASS, "static", model, out, input=text).strip().replace(str(folder) + "/", "").replace("\n", "\n    "))


def quantise_theirs(model, out, feeds, folder):
    prepared = folder / "prepared.onnx"
    quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(out), Reader(feeds), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    prepared.unlink()


def errors(reference, answers):
    """Worst output: relative L2, cosine; and agreement of the largest entry along the last axis."""
    l2 = max(np.linalg.norm(a - b) / np.linalg.norm(a) for a, b in zip(reference, answers))
    cosine = min(float(np.vdot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))) for a, b in zip(reference, answers))
    agree = min(float(np.mean(a.argmax(-1) == b.argmax(-1))) for a, b in zip(reference, answers))
    return l2, cosine, agree


def times(runners, feed, rounds, seconds):
    """Median time [ms] of one run, per runner and round; the runners take turns."""
    found = collections.defaultdict(list)
    for name, runner in runners.items():
        for _ in range(3):
            runner.run(None, feed)
    for _ in range(rounds):
        for name, runner in runners.items():
            taken, end = [], time.perf_counter() + seconds
            while time.perf_counter() < end or len(taken) < 3:
                start = time.perf_counter()
                runner.run(None, feed)
                taken.append(1e3 * (time.perf_counter() - start))
            found[name].append(statistics.median(taken))
    return found


def kernels(path, threads, folder):
    import onnx
    optimised = folder / "optimised.onnx"
    session(path, threads, optimised)
    counts = collections.Counter(node.op_type
                                 for node in onnx.load(str(optimised), load_external_data=False).graph.node)
    optimised.unlink()
    return ", ".join(f"{count} {op}" for op, count in counts.most_common())


def quantised_files(model, options, folder, calibration):
    """Label to file; files that are there already (--keep) are taken as they are."""
    files = {label: folder / f"{model.stem}-{label.replace(' ', '-')}.onnx" for label in LABELS}
    if model.stem == "resnet50":  # no matrix products worth it
        files = {label: path for label, path in files.items() if "dynamic" not in label}
    makers = {
        "ridge static": lambda path: quantise_ours(model, path, calibration, options.threads, folder),
        "ort static": lambda path: quantise_theirs(model, path, calibration, folder),
        "ridge dynamic": lambda path: print("    " + run(PASS, "dynamic", model,
                                                         path).split("\n")[0].replace(str(folder) + "/", "")),
        "ort dynamic": lambda path: quantize_dynamic(str(model), str(path), per_channel=True,
                                                     weight_type=QuantType.QInt8),
    }
    for label, path in files.items():
        if not path.exists():
            makers[label](path)
    return files


def compare(name, options, folder):
    model = folder / f"{name}.onnx" if not name.endswith(".onnx") else pathlib.Path(name)
    if model != pathlib.Path(name):
        run(RIDGE, "make", name, "-o", model)
    fp32 = session(model, options.threads)
    inputs = fp32.get_inputs()
    print(f"{model.stem}: {options.samples} calibration samples")
    files = quantised_files(model, options, folder, list(samples(inputs, options.samples, 1)))
    runners = {"fp32": fp32} | {label: session(path, options.threads) for label, path in files.items()}
    held_out = list(samples(inputs, options.samples, 2))
    measured = times(runners, held_out[0], options.rounds, options.seconds) if not options.no_times else {}
    reference = [np.concatenate(parts) for parts in zip(*(fp32.run(None, feed) for feed in held_out))]
    for label, runner in runners.items():
        answers = [np.concatenate(parts) for parts in zip(*(runner.run(None, feed) for feed in held_out))]
        l2, cosine, agree = errors(reference, answers)
        line = f"  {label:14} relative L2 {l2:.4f}  cosine {cosine:.5f}  top-1 agreement {100 * agree:5.1f} %"
        if measured:
            ratios = [a / b for a, b in zip(measured["fp32"], measured[label])]
            line += (f"  {statistics.median(measured[label]):8.3f} ms  {statistics.median(ratios):.2f} x fp32 "
                     f"[{min(ratios):.2f} - {max(ratios):.2f}]")
        print(line)
    for label, path in files.items():
        print(f"  kernels, {label}: {kernels(path, options.threads, folder)}", flush=True)
    if not options.keep:
        for path in folder.glob(f"{model.stem}*.onnx"):
            path.unlink()


def main():
    logging.disable(logging.WARNING)  # of the reference quantiser, one line a tensor
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default="resnet50,bert-base,mlp")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--no-times", action="store_true")
    parser.add_argument("--keep", default="")
    options = parser.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}, {platform.machine()}, {options.threads} threads, "
          f"{options.rounds} rounds of {options.seconds} s, interleaved")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary)
        for name in options.models.split(","):
            compare(name, options, folder)


if __name__ == "__main__":
    main()
