"""The reference models in the tools they are made for: ONNX's checker and stock ONNX Runtime.

Weights are scaled so that activations stay finite and outputs depend on the input; sizes are reduced where the full one
would only take longer (the images of yolov8x, the width of sd-unet), the graph being the same.
"""
# ctest: timeout 600

import json
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest

RIDGE = os.environ["RIDGE"]

# name, options, and the least standard deviation that the difference of two answers must have.
MODELS = [
    ("resnet50", [], 1e-2),
    ("bert-base", [], 1e-1),
    ("yolov8x", ["--image-size", "64"], 1e-1),
    ("sd-unet", ["--channels", "32", "--image-size", "64"], 1e-1),
    ("mlp", [], 1e-1),
]
SYMBOLS = {"batch": 2, "sequence": 16}
TYPES = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64",
         "BYTES", "BF16"]


def make(name, path, *options):
    command = [RIDGE, "make", name, "-o", str(path), "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def describe(name):
    return json.loads(subprocess.run([RIDGE, "make", name, "--describe", "--json"], check=True,
                                     capture_output=True).stdout)


def feeds(session, seed):
    random = np.random.default_rng(seed)
    values = {}
    for node in session.get_inputs():
        shape = [SYMBOLS.get(size, size) for size in node.shape]
        if node.type == "tensor(float)":
            values[node.name] = random.standard_normal(shape, dtype=np.float32)
        else:
            values[node.name] = {
                "attention_mask": lambda: np.ones(shape, np.int64),
                "token_type_ids": lambda: np.zeros(shape, np.int64),
            }.get(node.name, lambda: random.integers(1, 1000, shape))()
    return values


def stored_elements(model):
    return sum(int(np.prod(t.dims)) for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT)


@pytest.mark.parametrize("name,options,least", MODELS, ids=[row[0] for row in MODELS])
def test_runs_in_stock_runtime_with_sane_outputs(tmp_path, name, options, least):
    path = tmp_path / "model.onnx"
    make(name, path, *options)
    onnx.checker.check_model(str(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    answers = [session.run(None, feeds(session, seed)) for seed in (1, 2)]
    for first, second in zip(*answers):
        assert np.isfinite(first).all() and np.isfinite(second).all()
        assert 0.05 < first.std() < 200  # boxes of yolov8x are in pixels
        assert (first - second).std() > least
        assert (first[0] - first[1]).std() > least / 2  # rows of a batch differ too


@pytest.mark.parametrize("seed", [0, 3])
def test_one_seed_gives_one_file(tmp_path, seed):
    for name in ("a", "b"):
        make("resnet50", tmp_path / name, "--seed", str(seed))
    make("resnet50", tmp_path / "other", "--seed", str(seed + 1))
    contents = [(tmp_path / name).read_bytes() for name in ("a", "b", "other")]
    assert contents[0] == contents[1] != contents[2]


@pytest.mark.parametrize("name,parameters", [
    ("resnet50", 25_557_032), ("bert-base", 109_482_240), ("yolov8x", 68_200_608), ("sd-unet", 859_520_964),
    ("mlp", 25_076_712), ("identity", 0),
])
def test_described_parameters_are_the_published_count(name, parameters):
    assert describe(name)["params"] == parameters


def test_written_weights_are_the_published_count_and_known_tables(tmp_path):
    make("bert-base", tmp_path / "bert.onnx")
    bert = onnx.load(tmp_path / "bert.onnx")
    scalars = sum(1 for t in bert.graph.initializer if t.data_type == onnx.TensorProto.FLOAT and not t.dims)
    assert stored_elements(bert) - scalars == 109_482_240
    make("resnet50", tmp_path / "resnet.onnx")
    running_statistics = 2 * 26_560  # a mean and a variance per channel of the 53 normalisations
    assert stored_elements(onnx.load(tmp_path / "resnet.onnx")) - running_statistics == 25_557_032


@pytest.mark.parametrize("kind", TYPES)
def test_identity_copies_every_type(tmp_path, kind):
    path = tmp_path / "identity.onnx"
    make("identity", path, "--type", kind)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].shape == ["batch", 16]
    if kind == "BF16":  # numpy has no such type
        return
    numpy_type = {"BOOL": np.bool_, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
                  "BYTES": object}.get(kind)
    x = (np.arange(48).reshape(3, 16) % 2).astype(numpy_type or kind.lower())
    if kind == "BYTES":
        x = np.array([[f"text {i}" for i in range(16)]] * 3, dtype=object)
    assert (session.run(None, {"x": x})[0] == x).all()


@pytest.mark.parametrize("opset", [18, 21, 23])
def test_opsets_load(tmp_path, opset):
    make("sd-unet", tmp_path / "unet.onnx", "--channels", "32", "--image-size", "64", "--opset", str(opset))
    onnx.checker.check_model(str(tmp_path / "unet.onnx"), full_check=True)
    onnxruntime.InferenceSession(str(tmp_path / "unet.onnx"), providers=["CPUExecutionProvider"])
