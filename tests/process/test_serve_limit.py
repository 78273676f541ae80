"""A served model's batches stand beside the bound of this machine; memory is checked before a load."""

import json
import os
import re
import subprocess

import known_limits
import models
import pytest
from server import RIDGE, Server, fp32, wait_until


@pytest.fixture(scope="module")
def measured_machine(tmp_path_factory):
    """The environment of a machine whose limits are known."""
    return {"XDG_CACHE_HOME": str(known_limits.fill(tmp_path_factory.mktemp("machine")))}


def bound_seconds(server, model):
    found = re.search(rf'^ridge_model_bound_seconds\{{model="{model}",version="1"\}} (\S+)$',
                      server.get("/metrics").body.decode(), re.MULTILINE)
    return float(found[1]) if found else None


def send(server, model, rows, width):
    assert server.infer(model, {"inputs": [fp32("x", [rows, width], [1.0] * rows * width)]}).status == 200


def test_the_batches_that_ran_are_set_beside_their_bounds_where_the_machine_was_measured(tmp_path, measured_machine):
    repository = tmp_path / "models"
    models.products(repository / "products.onnx", width=256)
    models.identity(repository / "open.onnx", dims=("batch", "width"))
    planned = {}
    for rows in (1, 4):
        plan = subprocess.run([RIDGE, "plan", str(repository / "products.onnx"), "--batch", str(rows), "--json"],
                              capture_output=True, text=True, timeout=60, env={**os.environ, **measured_machine})
        planned[rows] = json.loads(plan.stdout)["bound_ms"] / 1e3
    assert 0 < planned[1] <= planned[4]
    cpus = len(os.sched_getaffinity(0))
    with Server(repository, environment=measured_machine) as server:
        known = [0.0]
        for run, rows in enumerate((1, 4, 4), start=1):
            send(server, "products", rows, 256)
            wait_until(lambda: server.statistics("products")["execution_count"] == run)
            known.append(bound_seconds(server, "products"))
            # A plan for so small a model has one thread, whose peak is about the whole machine's over its CPUs.
            assert planned[rows] / cpus * 0.5 <= known[run] - known[run - 1] <= planned[rows] * 1.01
        assert known[3] - known[2] == pytest.approx(known[2] - known[1], rel=1e-2), "equal batches"
        statistics = server.statistics("products")
        assert statistics["ridge_bound_ns"] == pytest.approx(1e9 * known[3], rel=1e-2)
        assert statistics["ridge_bound_ns"] <= statistics["ridge_busy_ns"], "no machine is faster than its limit"
        send(server, "open", 2, 3)
        wait_until(lambda: server.statistics("open")["execution_count"] == 1)
        assert bound_seconds(server, "open") is None and "ridge_bound_ns" not in server.statistics("open")


def test_a_container_takes_the_limits_that_tune_wrote_beside_its_model(tmp_path, measured_machine):
    models.products(tmp_path / "products.onnx")
    tuned = subprocess.run([RIDGE, "tune", tmp_path / "products.onnx", "-o", tmp_path / "models", "--engine",
                            "onnxruntime", "--precision", "fp32", "--max-batch", "2",
                            "--trials", "1", "--seconds", "4"], capture_output=True, text=True, timeout=120,
                           env={**os.environ, **measured_machine})
    assert tuned.returncode == 0, tuned.stderr
    file = tmp_path / "models" / "products" / "tuning.json"
    for identity, known in ((None, True), ("another machine", False)):
        document = json.loads(file.read_text())
        document["machine"]["id"] = identity or document["machine"]["id"]
        file.write_text(json.dumps(document))
        with Server(tmp_path / "models", environment={"XDG_CACHE_HOME": str(tmp_path / "cache")}) as server:
            send(server, "products", 1, 64)
            wait_until(lambda: server.statistics("products")["execution_count"] >= 1)
            assert ("ridge_bound_ns" in server.statistics("products")) == known


def test_without_limits_there_is_no_bound_and_the_log_says_so(tmp_path):
    models.products(tmp_path / "models" / "products.onnx")
    with Server(tmp_path / "models", environment={"XDG_CACHE_HOME": str(tmp_path / "cache")}) as server:
        send(server, "products", 1, 64)
        assert bound_seconds(server, "products") is None
        assert "ridge bench device" in server.read_log()
