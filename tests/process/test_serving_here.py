"""`ridge size config.json --gpu cuda:0`: what `ridge bench device` measured on this GPU takes the place of the
datasheet; what it did not stays."""
# ctest: timeout 180

import json
import os
import pathlib
import re
import subprocess

import pytest

RIDGE = os.environ["RIDGE"]
SOURCE = pathlib.Path(os.environ["RIDGE_SOURCE"])
SUPPORT = os.environ["RIDGE_TEST_SUPPORT"]
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
          "num_hidden_layers": 32,
          "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "torch_dtype": "bfloat16"}
UNITS, LISTED_BYTES_PER_S = 132, 3352e9  # of the H100 in data/gpus.csv


class Machine:
    """A machine with one fake GPU, and figures of it in the store."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "config.json").write_text(json.dumps(CONFIG))
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "LC_ALL": "C.UTF-8",
                            "RIDGE_CUDA": f"{SUPPORT}/libcuda.so.1",
                            "RIDGE_NVML": f"{SUPPORT}/libnvidia-ml.so.1", "RIDGE_NVRTC": f"{SUPPORT}/libnvrtc.so.1",
                            "RIDGE_CUBLASLT": "/nowhere/libcublasLt.so",
                            "RIDGE_FAKE_CUDA": str(folder / "cuda.txt"),
                            "RIDGE_FAKE_NVML": f"{SOURCE}/tests/support/nvml/power-brake.txt"}
        self.script(2, 128 << 20)  # a small GPU, whose figures are then edited into those of a whole one
        done = self.run("bench", "device", "-d", "cuda:0", "--seconds", "0.1", "--keep-disturbed")
        assert done.returncode == 0, done.stderr
        self.kept = (folder / "ridge/machine.json").read_text()
        (folder / "ridge/machine.json").unlink()

    def script(self, units, memory_bytes):
        text = (SOURCE / "tests/support/cuda/bench.txt").read_text()
        text = re.sub(r"(?m)^multiprocessors .*", f"multiprocessors {units}", text)
        (self.folder / "cuda.txt").write_text(re.sub(r"(?m)^memory_total_bytes .*",
                                                     f"memory_total_bytes {memory_bytes}", text))

    def run(self, *command):
        return subprocess.run([RIDGE, *command], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=100)

    def store(self, units, flops_per_s, bytes_per_s):
        kept = json.loads(self.kept)
        ((entry,),) = kept["cards"].values()
        measured = entry["measured"]
        measured["setting"]["compute_units"] = units
        measured["facts"]["compute_units"] = units
        for row in measured["peaks"]:
            if (row["precision"], row["way"]) == ("bf16", "cuBLASLt") and flops_per_s:
                row |= {"flops_per_s": flops_per_s, "typical_flops_per_s": 0.95 * flops_per_s, "spread_percent": 1,
                        "bursts": 9, "burst_seconds": 0.01, "kernel": "cuBLASLt 13.2, 8192 x 8192 x 8192", "shares": []}
                del row["reason"]
        for row in measured["bandwidth"]:
            if row["level"] == "DRAM":
                row |= {"bytes_per_s": bytes_per_s, "typical_bytes_per_s": bytes_per_s}
        (self.folder / "ridge/machine.json").write_text(json.dumps(kept))

    def plan(self, gpu):
        done = self.run("size", "config.json", "--gpu", gpu, "--tp", "1", "--engine", "vllm", "--concurrency", "16",
                        "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("here"))


def kernel(plan, step, name):
    return next(row for row in plan["serving"][step] if row["name"] == name)


def origins(plan):
    return {limit["what"]: limit["origin"] for limit in plan["here"][0]["limits"]}


def test_measured_limits_take_the_place_of_the_datasheet(machine):
    machine.script(UNITS, 80 << 30)
    listed = machine.plan("H100 SXM")
    unmeasured = machine.plan("cuda:0")
    assert set(origins(unmeasured).values()) == {"datasheet"} and any("nothing was measured on it yet" in note
                                                                      for note in unmeasured["notes"])
    assert (unmeasured["serving"]["gpu"] == "H100 SXM5 80GB (cuda:0)"
            and unmeasured["serving"]["decode_step"] == listed["serving"]["decode_step"])

    machine.store(UNITS, 500e12, 0.93 * LISTED_BYTES_PER_S)
    here = machine.plan("cuda:0")
    assert origins(here) == {"bf16": "measured", "fp8": "datasheet", "DRAM": "measured"}
    assert kernel(here, "decode_step", "feed-forward")["law"] == "this GPU's" and "usd_per_million" in here["serving"]
    # A healthy memory: no change, but the bound is what was measured.
    before, after = (kernel(plan, "decode_step", "attention, decode") for plan in (listed, here))
    assert after["ms"] == pytest.approx(before["ms"], rel=0.02) and after["bound_ms"] == pytest.approx(
        before["bound_ms"] / 0.93, rel=0.02)
    # Its matrix multiplication is slower than an H100's: so are the large ones of a prompt.
    assert kernel(here, "prompt_step", "feed-forward")["ms"] > 1.2 * kernel(listed, "prompt_step", "feed-forward")["ms"]

    machine.store(UNITS, 500e12, 0.93 * LISTED_BYTES_PER_S / 2)
    half = machine.plan("cuda:0")
    assert kernel(half, "decode_step", "attention, decode")["ms"] > 1.6 * kernel(here, "decode_step",
                                                                                 "attention, decode")["ms"]
    text = machine.run("size", "config.json", "--gpu", "cuda:0", "--tp", "1", "--concurrency", "16").stdout
    assert "bf16 500 TFLOP/s (measured, cuBLASLt)" in text and "fp8 1.98 PFLOP/s (datasheet)" in text


def test_a_gpu_that_the_catalogue_does_not_know_needs_the_measurement(machine):
    machine.script(100, 80 << 30)
    done = machine.run("size", "config.json", "--gpu", "cuda:0", "--tp", "1", "--concurrency", "16")
    assert done.returncode == 2 and "ridge bench device -d cuda:0" in done.stderr
    machine.store(100, 500e12, 2e12)
    plan = machine.plan("cuda:0")
    assert plan["serving"]["gpu"] == "NVIDIA H100 80GB HBM3 (cuda:0)" and origins(plan) == {
        "bf16": "measured", "DRAM": "measured"
    }
    assert {row["law"] for row in plan["serving"]["decode_step"]} == {"other GPUs'", "assumed"}
    assert plan["serving"]["usd_per_million"] is None
    machine.store(100, None, 2e12)
    done = machine.run("size", "config.json", "--gpu", "cuda:0", "--tp", "1", "--concurrency", "16")
    assert done.returncode == 2 and "no rate of 16-bit arithmetic" in done.stderr
