"""One repository with a model per purpose, and one server over it per test file."""

import pytest

import models
from server import Server


def config(folder, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.pbtxt").write_text(text)


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    models.identity(root / "identity" / "1" / "model.onnx")
    config(root / "identity", 'max_batch_size: 8\ndynamic_batching { }\n')
    for datatype in models.ELEMENT:
        name = f"identity_{datatype.lower()}"
        models.identity(root / name / "1" / "model.onnx", datatype, ("batch", "n"))
        config(root / name, "max_batch_size: 8\n")
    models.add_sub(root / "simple" / "1" / "model.onnx")
    config(root / "simple", "max_batch_size: 8\n")
    models.identity(root / "fixed" / "1" / "model.onnx", "FP32", (2, 3))
    config(root / "fixed", "max_batch_size: 0\n")
    models.identity(root / "vector" / "1" / "model.onnx", "FP32", ("n",))
    config(root / "vector",
           'input [{ name: "x" data_type: TYPE_FP32 dims: [-1] }]\noutput [{ name: "y" data_type: '
           'TYPE_FP32 dims: [-1] }]\n')
    models.identity(root / "text" / "1" / "model.onnx", "BYTES", (1,))
    config(root / "text", "max_batch_size: 0\n")
    models.identity(root / "classes" / "1" / "model.onnx", "FP32", ("batch", 4))
    config(root / "classes", 'max_batch_size: 8\ninput [{ name: "x" data_type: TYPE_FP32 dims: [4] }]\n'
           'output [{ name: "y" data_type: TYPE_FP32 dims: [4] label_filename: "labels.txt" }]\n')
    (root / "classes" / "labels.txt").write_text("cat\ndog\nbird\nfish\n")
    models.squeeze_batch(root / "reshape" / "1" / "model.onnx")
    config(root / "reshape",
           'max_batch_size: 8\ninput [{ name: "x" data_type: TYPE_FP32 dims: [1] reshape { shape: [] } }]\n'
           'output [{ name: "y" data_type: TYPE_FP32 dims: [1] reshape { shape: [] } }]\n')
    models.steps(root / "steps" / "1" / "model.onnx")
    config(root / "steps", "max_batch_size: 0\n")
    models.fails_on_zero(root / "table" / "1" / "model.onnx")
    config(root / "table", "max_batch_size: 8\n")
    for version, factor in {1: 1.0, 2: 2.0, 10: 10.0}.items():
        models.scaled(root / "versions" / str(version) / "model.onnx", factor)
    config(root / "versions", "max_batch_size: 8\nversion_policy: { all { } }\n")
    for version, factor in {1: 1.0, 3: 3.0}.items():
        models.scaled(root / "latest" / str(version) / "model.onnx", factor)
    models.identity(root / "plain" / "1" / "model.onnx", "FP32", ("batch", 2))  # no config.pbtxt at all
    return root


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository) as running:
        yield running
