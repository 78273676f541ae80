"""fusion.py [MODEL.onnx...]: whether `ridge plan` forecasts the kernels that ONNX Runtime really runs: their kinds and counts.

The engine writes its optimised graph; its operators are compared with those of `ridge plan --json`. Without models: the light_*
graphs of the python package onnx and every reference model but sd-unet. Exit 1 where they differ. Needs a calibrated machine (the
width of the channel blocks is measured there).
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx
import onnxruntime

SHAPES = {"bert-base": ["--shape", "sequence=64"]}


def executed(path, folder):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = f"{folder}/optimised.onnx"
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights")
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return collections.Counter(node.op_type for node in onnx.load(options.optimized_model_filepath, load_external_data=False).graph.node)


def forecast(ridge, path):
    out = subprocess.run([ridge, "plan", path, *SHAPES.get(pathlib.Path(path).stem, []), "--json"], capture_output=True, text=True, check=True)
    return collections.Counter(kernel["op"] for kernel in json.loads(out.stdout)["estimate"]["kernels"])


def main():
    ridge = os.environ.get("RIDGE", "build/release/ridge")
    agree = True
    with tempfile.TemporaryDirectory() as folder:
        paths = sys.argv[1:]
        if not paths:
            paths = [str(path) for path in sorted((pathlib.Path(onnx.__file__).parent / "backend/test/data/light").glob("light_*.onnx"))]
            for name in ("resnet50", "bert-base", "yolov8x", "mlp"):
                subprocess.run([ridge, "make", name, "-o", f"{folder}/{name}.onnx"], check=True, capture_output=True)
                paths.append(f"{folder}/{name}.onnx")
        for path in paths:
            engine, ours = executed(path, folder), forecast(ridge, path)
            different = {op: (ours[op], engine[op]) for op in engine | ours if ours[op] != engine[op]}
            agree = agree and not different
            text = ", ".join(f"{op}: {a} forecast, {b} run" for op, (a, b) in different.items())
            print(f"{pathlib.Path(path).name:26} {sum(engine.values()):4} kernels  {text or 'agree'}", flush=True)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
