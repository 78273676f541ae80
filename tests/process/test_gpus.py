"""A model on a GPU, from the command line to the engine and back, on fakes: NVIDIA's driver and management library play
the GPUs, ONNX Runtime's providers compute on the CPU. ctest: timeout 300"""

import json
import os
import pathlib
import subprocess

import known_limits
import models
import pytest
from onnx import TensorProto, helper
from server import Server, fp32

RIDGE = os.environ["RIDGE"]
SUPPORT = pathlib.Path(os.environ["RIDGE_TEST_SUPPORT"])
SCRIPTS = pathlib.Path(os.environ["RIDGE_SOURCE"]) / "tests" / "support"
LIBRARY = str(SUPPORT / "libonnxruntime-gpu.so.1")
CARD = "cuda:1"  # of this script the second GPU is the one that works


@pytest.fixture
def gpus(tmp_path, monkeypatch, real_onnxruntime):
    """The environment of a machine with two GPUs, and the file that tells what was asked of the engine."""
    log = tmp_path / "asked"
    for name, value in {
        "RIDGE_CUDA": SUPPORT / "libcuda.so.1", "RIDGE_FAKE_CUDA": SCRIPTS / "cuda" / "two.txt",
        "RIDGE_NVML": SUPPORT / "libnvidia-ml.so.1", "RIDGE_FAKE_NVML": SCRIPTS / "nvml" / "healthy.txt",
        "RIDGE_REAL_ONNXRUNTIME": real_onnxruntime, "RIDGE_FAKE_ONNXRUNTIME_LOG": log,
        "XDG_CACHE_HOME": known_limits.fill(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, str(value))
    return log


@pytest.fixture
def model(tmp_path):
    models.scaled(tmp_path / "scaled.onnx", 3.0)
    return tmp_path / "scaled.onnx"


@pytest.fixture
def product(tmp_path):
    models.save(tmp_path / "product.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])],
                [("x", "FP32", ["batch", 64])],
                [("y", "FP32", ["batch", 64])], [helper.make_tensor("w", TensorProto.FLOAT, [64, 64], [0.01] * 4096)])
    return tmp_path / "product.onnx"


def ridge(verb, *arguments, status=0):
    done = subprocess.run([RIDGE, verb, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done


def test_bench_measures_on_the_gpu_in_three_stages_beside_the_gpus_limit(gpus, product):
    done = ridge("bench", product, "--device", CARD, "--engine-library", LIBRARY, "--seconds", "1", "--batch", "8",
                 "--concurrency", "2", "--engine-option", "cuda.use_tf32=0", "--json")
    measured = json.loads(done.stdout)
    assert measured["device"] == CARD
    assert measured["executed"] == "1 node on CUDAExecutionProvider"
    assert all(measured["stages_ms"][stage] > 0 for stage in ("input", "compute", "output")), measured["stages_ms"]
    assert measured["bound_ms"] > 0, done.stderr
    asked = gpus.read_text().splitlines()
    assert asked[0] == "append CUDA device_id=1 use_tf32=0 on a given stream"
    assert asked[-2:] == ["run in: GPU out: GPU", "end"]


def test_plan_says_why_a_gpu_of_this_machine_is_of_no_use(gpus, model):
    done = ridge("plan", model, "--device", "cuda:0", status=3)
    assert "device cuda:0: cuDeviceGet: " in done.stderr and "another process holds the GPU" in done.stderr


def test_what_tune_finds_on_a_gpu_is_served_on_it(gpus, model, tmp_path):
    done = ridge("tune", model, "--device", CARD, "--engine-library", LIBRARY, "--precision", "fp32", "--max-batch",
                 "2", "--seconds", "6", "--trials", "6", "-o", tmp_path / "repo", "--json")
    tuning = json.loads(done.stdout)
    assert tuning["baseline"]["device"] == CARD
    assert any(point.get("options") for point in tuning["points"]), "the providers' options are among what is measured"
    config = (tmp_path / "repo" / "scaled" / "config.pbtxt").read_text()
    assert "kind: KIND_GPU" in config and "gpus: 1" in config
    gpus.write_text("")
    with Server(tmp_path / "repo", "--engine-library", LIBRARY) as server:
        answer = server.infer("scaled", {"inputs": [fp32("x", [1, 4], [1.0, 2.0, -1.0, 0.5])]})
        assert answer.json()["outputs"][0]["data"] == [3.0, 6.0, -3.0, 1.5]
        assert server.get("/v2/models/scaled/config").json()["instance_group"][0]["gpus"] == [1]
    assert "run in: GPU out: GPU" in gpus.read_text()


def test_int8_on_tensorrt_is_judged_with_the_option_that_it_runs_with(gpus, product, tmp_path):
    done = ridge("tune", product, "--device", "tensorrt:1", "--engine-library", LIBRARY, "--precision", "int8",
                 "--max-batch", "1",
                 "--seconds", "30", "--trials", "2", "--calibration-samples", "4", "--held-out", "4", "--store",
                 tmp_path / "store", "--json",
                 "--min-cosine", "0.98")  # the CPU that stands for the GPU may add products of 8 by 8 bits in 16
    accuracy = json.loads(done.stdout)["accuracy"]
    assert [one["variant"] for one in accuracy["implementations"]] == ["fp32", "int8"], accuracy["refused"]


def test_serve_puts_a_model_without_a_configuration_on_the_gpus_that_are_in_order(gpus, tmp_path):
    models.scaled(tmp_path / "repo" / "plain" / "1" / "model.onnx", 2.0)
    with Server(tmp_path / "repo", "--engine-library", LIBRARY) as server:
        group = server.get("/v2/models/plain/config").json()["instance_group"][0]
        assert (group["kind"], group["gpus"]) == ("KIND_GPU", [1])
        assert "plain on cuda:1: 1 node on CUDAExecutionProvider" in server.read_log()


def test_serve_loads_what_it_has_gpus_for_and_says_why_not_the_rest(gpus, tmp_path):
    repository = tmp_path / "repo"
    for name, group in {"second": "kind: KIND_GPU gpus: 1 count: 2", "seventh": "kind: KIND_GPU gpus: 7",
                        "processor": "kind: KIND_CPU"}.items():
        models.scaled(repository / name / "1" / "model.onnx", 2.0)
        (repository / name / "config.pbtxt").write_text(f"instance_group {{ {group} }}")
    with Server(repository, "--engine-library", LIBRARY, wait_ready=False) as server:
        index = server.wait_loaded()
        for name in ("second", "processor"):
            answer = server.infer(name, {"inputs": [fp32("x", [1, 4], [1.0, 2.0, 3.0, 4.0])]})
            assert answer.json()["outputs"][0]["data"] == [2.0, 4.0, 6.0, 8.0]
    assert "there is no GPU 7; the driver has 2" in index["seventh"]["reason"]


# This GPU always draws 97 % of its limit of 700 W.
@pytest.fixture
def counting_gpu(gpus, monkeypatch):
    monkeypatch.setenv("RIDGE_FAKE_CUDA", str(SCRIPTS / "cuda" / "bench.txt"))
    monkeypatch.setenv("RIDGE_FAKE_NVML", str(SCRIPTS / "nvml" / "at-limit.txt"))


def test_bench_says_what_a_row_takes_by_the_gpus_counter(counting_gpu, model):
    done = ridge("bench", model, "--device", "cuda:0", "--engine-library", LIBRARY, "--seconds", "2", "--ci", "0.001",
                 "--json")
    measured = json.loads(done.stdout)
    energy = measured["energy"]
    assert (energy["counters"], energy["origin"]) == ("NVML GPU 0", "measured")
    assert 1 < energy["power_w"] < 100_000, "watts from millijoules; the arithmetic is measure/energy_test.cc's"
    assert energy["joules_per_row"] == pytest.approx(energy["power_w"] / measured["throughput_per_s"], rel=1e-6)


def test_bench_of_a_gpu_says_why_it_knows_no_energy(gpus, model):
    done = ridge("bench", model, "--device", CARD, "--engine-library", LIBRARY, "--seconds", "1", "--json")
    assert "none of the 1 GPU(s) that it knows is cuda:1" in json.loads(done.stdout)["energy"]["counters"]


def test_tune_by_energy_is_refused_where_the_gpu_counts_none(gpus, model):
    done = ridge("tune", model, "--device", CARD, "--engine-library", LIBRARY, "--objective", "energy", status=3)
    assert "--for efficiency: none of the 1 GPU(s)" in done.stderr


def test_what_was_measured_on_a_gpu_is_what_bench_and_plan_set_beside(gpus, model, tmp_path):
    """Figures that were made up, as this GPU would have them: no fake is as fast as an RTX 4090."""
    def figure(unit, value):
        return {unit: value, "spread_percent": 0.5, "bursts": 40, "burst_seconds": 0.005, "kernel": "made up",
                "shares": []}
    name, uuid = "NVIDIA GeForce RTX 4090", "GPU-5c0d9f6e-1a2b-4c3d-8e4f-60718293a4b5"
    setting = {"card": uuid, "name": name, "driver": "CUDA driver 13.0", "compute_units": 128, "power_limit_mw": None,
               "ecc": None, "method": 1}
    kept = {"measured_at": "2026-11-22T05:00:00Z", "seconds": 20, "datasheet": "", "processor_limits": "",
            "observer": "", "setting": setting,
            "peaks": [{"precision": "fp32", "way": "multiply-adds", **figure("flops_per_s", 80e12)},
                      {"precision": "tf32", "way": "cuBLASLt", **figure("flops_per_s", 75e12)}],
            "bandwidth": [{"level": "DRAM", "access": "read", "working_set_bytes": 1 << 29,
                           **figure("bytes_per_s", 4e11)}], "links": [], "starts": []}
    file = tmp_path / "cache" / "ridge" / "machine.json"
    file.write_text(json.dumps({"version": 1, "machines": {},
                                "cards": {f"cuda {uuid} {name}": [{"most_seconds": 20, "measured": kept}]}}))

    plan = json.loads(ridge("plan", model, "-d", CARD, "--json").stdout)
    assert plan["device"]["origin"] == "measured"
    limits = {limit["what"]: limit for limit in plan["device"]["limits"]}
    assert (limits["fp32"]["per_s"], limits["fp32"]["by"], limits["fp32"]["origin"]) == (80e12, "multiply-adds",
                                                                                         "measured")
    assert limits["fp16"]["origin"] == "datasheet"
    assert any("DRAM reached 400 GB/s here, 39.7 % of the datasheet's 1.01 TB/s" in note
               for note in plan["notes"]), plan["notes"]
    assert json.loads(ridge("plan", model, "-d", "RTX 4090", "--json").stdout)["device"]["origin"] == "datasheet"

    done = ridge("bench", model, "--device", CARD, "--engine-library", LIBRARY, "--seconds", "1")
    assert "DRAM 400 GB/s measured ± 0.5 %" in done.stdout, "the model multiplies nothing, so no peak bounds it"
