"""Serving through OpenVINO, and how the program gets on without it."""

import json
import os
import pathlib
import shutil
import subprocess

import models
import numpy as np
import pytest
from onnx import helper, numpy_helper
from server import RIDGE, Server, fp32

PLUGINS = sorted(pathlib.Path(RIDGE).parent.glob("libridge_openvino.so.*"))
pytestmark = pytest.mark.skipif(not PLUGINS, reason="ridge was built without OpenVINO's plugin")


def product(path):
    """y [batch,4] = x [batch,8] · w, with w[i][j] = (i − j) / 8."""
    weights = np.subtract.outer(np.arange(8), np.arange(4)).astype(np.float32) / 8
    models.save(path, [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", "FP32", ["batch", 8])],
                [("y", "FP32", ["batch", 4])], [numpy_helper.from_array(weights, "w")])
    return weights


@pytest.fixture
def repository(tmp_path):
    for backend in ("openvino", "onnxruntime"):
        folder = tmp_path / "repo" / backend
        weights = product(folder / "1" / "model.onnx")
        (folder / "config.pbtxt").write_text(f'backend: "{backend}"\nmax_batch_size: 8\ndynamic_batching {{ }}\n'
                                             f'instance_group {{ count: 2 }}\n')
    return tmp_path / "repo", weights


def infer(server, model, rows):
    values = np.arange(rows * 8, dtype=np.float32).reshape(rows, 8) / 16
    answer = server.post(f"/v2/models/{model}/infer",
                         json.dumps({"inputs": [fp32("x", [rows, 8], values.ravel().tolist())]}))
    assert answer.status == 200, answer.body
    return values, np.array(answer.json()["outputs"][0]["data"], dtype=np.float32).reshape(rows, 4)


def test_both_engines_serve_from_one_repository_with_the_same_answers(repository):
    path, weights = repository
    with Server(path) as server:
        for rows in (1, 3, 8):
            for model in ("openvino", "onnxruntime"):
                values, found = infer(server, model, rows)
                np.testing.assert_allclose(found, values @ weights, rtol=1e-5, atol=1e-5)
        assert server.get("/v2/models/openvino").json()["platform"] == "openvino"


def test_batches_beyond_the_sizes_that_are_warm_have_the_same_answers(repository):
    path, weights = repository
    config = path / "openvino" / "config.pbtxt"
    config.write_text(config.read_text().replace("max_batch_size: 8", "max_batch_size: 50"))
    with Server(path) as server:
        for rows in (16, 23, 47, 50):
            values, found = infer(server, "openvino", rows)
            np.testing.assert_allclose(found, values @ weights, rtol=1e-5, atol=1e-5)
        statistics = server.get("/v2/models/openvino/stats").json()["model_stats"][0]
        assert (statistics["inference_count"], statistics["execution_count"]) == (136, 4)


def test_a_precision_that_the_engine_may_not_use_keeps_the_model_from_loading_with_the_reason(repository):
    path, _ = repository
    (path / "openvino" / "config.pbtxt").write_text('backend: "openvino"\n'
                                                    'parameters { key: "HINT_BF16" value { string_value: "YES" } }\n')
    with Server(path, "--exit-on-error=false", wait_ready=False, environment={"ONEDNN_MAX_CPU_ISA": "AVX2"}) as server:
        index = server.wait_loaded()
        assert "bf16 was asked for" in index["openvino"]["reason"], index
        infer(server, "onnxruntime", 1)


def engines(program, **environment):
    """Engine → (verdict, evidence), as the doctor finds them."""
    found = subprocess.run([program, "doctor", "--area", "engines", "--no-measure", "--json"], capture_output=True,
                           text=True, timeout=120, env={**os.environ, **environment})
    assert found.returncode == 0, found.stderr
    return {finding["id"]: (finding["verdict"], finding["evidence"])
            for finding in json.loads(found.stdout)["findings"]}


def test_without_its_plugin_or_its_library_the_program_works_and_says_what_it_tried(tmp_path):
    alone = tmp_path / "ridge"
    shutil.copy(RIDGE, alone)
    (tmp_path / ".deps").symlink_to(os.environ["RIDGE_DEPS"])  # where a program in a checkout finds its engines
    without_plugin = engines(alone)
    assert without_plugin["engines.onnxruntime"][0] == "ok"
    assert without_plugin["engines.openvino"][0] == "not_applicable"
    assert str(tmp_path) in without_plugin["engines.openvino"][1]
    shutil.copy(PLUGINS[0], tmp_path)
    assert engines(alone)["engines.openvino"][0] == "ok"
    without_library = engines(alone, RIDGE_OPENVINO="/nowhere")
    assert without_library["engines.openvino"][0] == "not_applicable"
    assert "RIDGE_OPENVINO=/nowhere" in without_library["engines.openvino"][1]


def test_a_warm_up_that_takes_long_is_broken_off_at_the_end(tmp_path):
    size, nodes = 2048, 400  # 7 TFLOP: a minute or more
    names = ["x", *(f"t{i}" for i in range(nodes - 1)), "y"]
    weights = numpy_helper.from_array(np.eye(size, dtype=np.float32), "w")
    models.save(tmp_path / "long" / "1" / "model.onnx",
                [helper.make_node("MatMul", [a, "w"], [b]) for a, b in zip(names, names[1:])],
                [("x", "FP32", [size, size])], [("y", "FP32", [size, size])], [weights])
    (tmp_path / "long" / "config.pbtxt").write_text('backend: "openvino"\nmax_batch_size: 0\n')
    with Server(tmp_path, "--exit-timeout-secs=600", wait_ready=False) as server:
        server.wait_log("long on cpu")  # the session is open
        assert server.stop(seconds=30) == 0
        assert "the load of model 'long' was cancelled" in server.read_log()
