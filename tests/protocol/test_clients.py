"""Contract section 18: the stock clients, unmodified. ctest: timeout 600"""

import csv
import os
import pathlib
import subprocess

import numpy as np
import pytest
import tritonclient.http as http
from server import RIDGE, Server
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

DEPS = pathlib.Path(os.environ.get("RIDGE_DEPS", pathlib.Path(__file__).resolve().parents[2] / ".deps"))


@pytest.fixture(scope="module")
def client(server):
    with http.InferenceServerClient(f"127.0.0.1:{server.port}") as stock:
        yield stock


def infer(client, model, values, **options):
    tensor = http.InferInput("x", list(values.shape), np_to_triton_dtype(values.dtype))
    tensor.set_data_from_numpy(values, binary_data=options.pop("binary_in", True))
    return client.infer(model, [tensor], **options)


def test_health_metadata_and_config(client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("identity")
    assert not client.is_model_ready("nope")
    assert "statistics" in client.get_server_metadata()["extensions"]
    assert client.get_model_metadata("identity")["inputs"][0]["shape"] == [-1, 16]
    assert client.get_model_config("identity")["max_batch_size"] == 8
    assert client.get_inference_statistics("identity")["model_stats"][0]["name"] == "identity"
    assert any(entry["name"] == "identity" for entry in client.get_model_repository_index())


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32,
                                   np.int64, np.float16, np.float32, np.float64])
def test_every_numpy_type(client, dtype):
    values = np.array([[0, 1, 1, 0]], dtype)
    result = infer(client, f"identity_{np_to_triton_dtype(values.dtype).lower()}", values)
    assert (result.as_numpy("y") == values).all() and result.as_numpy("y").dtype == values.dtype


def test_strings(client):
    values = np.array([["a", "ü", ""]], np.object_)
    assert [v.decode() for v in infer(client, "identity_bytes", values).as_numpy("y")[0]] == ["a", "ü", ""]


@pytest.mark.parametrize("binary_in", [True, False])
@pytest.mark.parametrize("binary_out", [True, False])
@pytest.mark.parametrize("compression", [None, "gzip", "deflate"])
def test_binary_json_and_compression_in_all_combinations(client, binary_in, binary_out, compression):
    values = np.random.default_rng(0).normal(size=(2, 16)).astype(np.float32)
    result = infer(client, "identity", values, binary_in=binary_in, request_id="r1",
                   request_compression_algorithm=compression,
                   response_compression_algorithm=compression,
                   outputs=[http.InferRequestedOutput("y", binary_data=binary_out)])
    assert (result.as_numpy("y") == values).all() and result.get_response()["id"] == "r1"


def test_classification(client):
    result = infer(client, "classes", np.array([[1, 9, 3, 4]], np.float32),
                   outputs=[http.InferRequestedOutput("y", class_count=1)])
    assert result.as_numpy("y")[0][0].decode().endswith(":1:dog")


def test_errors_become_exceptions_with_the_server_s_text(client):
    with pytest.raises(InferenceServerException, match="nope"):
        infer(client, "nope", np.zeros((1, 16), np.float32))
    with pytest.raises(InferenceServerException, match="x"):
        infer(client, "identity", np.zeros((1, 15), np.float32))


def test_asynchronous_requests(server):
    with http.InferenceServerClient(f"127.0.0.1:{server.port}", concurrency=8) as stock:
        handles = []
        for i in range(64):
            tensor = http.InferInput("x", [1, 16], "FP32")
            tensor.set_data_from_numpy(np.full((1, 16), i, np.float32))
            handles.append(stock.async_infer("identity", [tensor]))
        assert [handle.get_result().as_numpy("y")[0][0] for handle in handles] == list(range(64))


def test_load_and_unload_by_the_client(repository):
    with (Server(repository, "--model-control-mode=explicit") as server,
          http.InferenceServerClient(f"127.0.0.1:{server.port}") as stock):
        stock.load_model("identity")
        assert stock.is_model_ready("identity")
        stock.unload_model("identity")
        with pytest.raises(InferenceServerException, match="failed to load"):
            stock.load_model("nope")


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """ResNet-50, BERT and identity as `ridge make` writes them, served together."""
    root = tmp_path_factory.mktemp("reference")
    for name in ("resnet50", "bert-base", "identity"):
        folder = root / name / "1"
        folder.mkdir(parents=True)
        subprocess.run([RIDGE, "make", name, "-o", str(folder / "model.onnx")], check=True, capture_output=True)
        # one batch size keeps the warm-up short on small machines
        (root / name / "config.pbtxt").write_text("max_batch_size: 2\ndynamic_batching { }\n")
    with Server(root, wait_ready=False) as server:
        server.wait_ready(240)
        yield server


PERF = DEPS / "perf_analyzer" / "perf_analyzer"
SHAPES = {"resnet50": [], "bert-base": ["--shape", "input_ids:32", "--shape", "attention_mask:32", "--shape",
                                        "token_type_ids:32"], "identity": []}


@pytest.mark.parametrize("model", SHAPES)
@pytest.mark.parametrize("encoding", ["binary", "json"])
def test_perf_analyzer_runs_and_reports_server_side_times(reference, model, encoding, tmp_path):
    if not PERF.exists():
        pytest.fail(f"{PERF} is missing; ./dev setup installs it")
    report = tmp_path / "report.csv"
    run = subprocess.run(
        [PERF, "-m", model, "-u", f"127.0.0.1:{reference.port}", "-i", "http", "-b", "1", "--concurrency-range", "2",
         "--measurement-mode", "count_windows",
         "--measurement-request-count", "2000" if model == "identity" else "10", "-s", "999", "-r", "5",
         "--input-tensor-format", encoding, "--output-tensor-format", encoding,
         "-f", report, *SHAPES[model], "--input-data", "zero"],
        capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stdout + run.stderr
    row = next(csv.DictReader(report.open()))
    assert float(row["Inferences/Second"]) > 0
    assert float(row["Server Compute Infer"]) > 0, row


@pytest.mark.parametrize("model,inputs", [
    ("resnet50", {"input": np.zeros((1, 3, 224, 224), np.float32)}),
    ("bert-base", {name: np.ones((2, 16), np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}),
    ("identity", {"x": np.ones((2, 16), np.float32)})])
def test_tritonclient_gets_the_engine_s_own_results(reference, model, inputs):
    import onnxruntime

    tensors = []
    for name, values in inputs.items():
        tensor = http.InferInput(name, list(values.shape), np_to_triton_dtype(values.dtype))
        tensor.set_data_from_numpy(values)
        tensors.append(tensor)
    with http.InferenceServerClient(f"127.0.0.1:{reference.port}", network_timeout=120,
                                    connection_timeout=120) as stock:
        result = stock.infer(model, tensors)
    root = pathlib.Path(reference.process.args[2])
    session = onnxruntime.InferenceSession(str(root / model / "1" / "model.onnx"), providers=["CPUExecutionProvider"])
    for output, expected in zip(session.get_outputs(), session.run(None, inputs)):
        np.testing.assert_allclose(result.as_numpy(output.name), expected, rtol=1e-4, atol=1e-4)
