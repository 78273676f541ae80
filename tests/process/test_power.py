"""`ridge power sweep` as a process: whatever ends it, the GPU gets back the limit that it had."""

import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess

import models
import pytest
from server import RIDGE, wait_until

SUPPORT = os.environ["RIDGE_TEST_SUPPORT"]
SCRIPTS = pathlib.Path(os.environ["RIDGE_SOURCE"]) / "tests/support/nvml"


class Gpu:
    """A scripted GPU whose limit lies in a file, and a process that sweeps it and stands at 400 W."""

    def __init__(self, folder, script="healthy"):
        self.state = folder / "state"
        self.environment = os.environ | {
            "RIDGE_NVML": f"{SUPPORT}/libnvidia-ml.so.1",
            "RIDGE_FAKE_NVML": str(SCRIPTS / f"{script}.txt"),
            "RIDGE_FAKE_NVML_STATE": str(self.state),
        }
        # The default, 700 W, comes first; the load waits at the lower one.
        wait = f"exec >/dev/null 2>&1; grep -q '0 power_limit_mw 400000' {self.state} && sleep 300; true"
        self.process = self.start("sweep", "--from", "400", "--steps", "2", "--seconds", "600", "--", "sh", "-c", wait)
        self.wait_for(400000)

    def start(self, *arguments):
        return subprocess.Popen(
            [RIDGE, "power", *arguments], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True, preexec_fn=self.begin,
        )

    def begin(self):
        for number in (signal.SIGINT, signal.SIGHUP):  # whoever runs the tests may ignore them, as under nohup
            signal.signal(number, signal.SIG_DFL)

    def limit_mw(self):
        with open(f"{self.state}.lock", "a") as lock:  # as the library does that writes it
            fcntl.flock(lock, fcntl.LOCK_SH)
            values = dict(line.rsplit(" ", 1)
                          for line in self.state.read_text().splitlines()) if self.state.exists() else {}
        return int(values.get("0 power_limit_mw", 0))

    def wait_for(self, limit_mw, seconds=60):
        wait_until(lambda: self.limit_mw() == limit_mw, seconds)

    def guards(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(c) for c in children if pathlib.Path(f"/proc/{c}/comm").read_text().strip() == "ridge-guard"]

    def guard(self):
        wait_until(self.guards)  # it has left its parent's group and taken its name
        return self.guards()[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_the_limit_is_restored(tmp_path, number):
    gpu = Gpu(tmp_path)
    gpu.process.send_signal(number)
    gpu.process.communicate(timeout=60)
    assert gpu.limit_mw() == 700000


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_the_guard_restores_when_it_is_killed_or_crashes(tmp_path, number):
    gpu = Gpu(tmp_path)
    gpu.process.send_signal(number)
    _, errors = gpu.process.communicate(timeout=60)  # the guard holds stderr until it is done
    assert gpu.process.returncode != 0  # -number; the sanitizers make a status of their own of a crash
    assert gpu.limit_mw() == 700000
    assert f"process {gpu.process.pid} ended" in errors and "power limit of 700 W again" in errors


def test_killing_the_whole_group_leaves_the_guard(tmp_path):
    gpu = Gpu(tmp_path)
    assert gpu.guard()
    os.killpg(gpu.process.pid, signal.SIGKILL)
    gpu.process.wait(timeout=60)
    gpu.wait_for(700000)


def test_a_sweep_runs_a_model_on_the_gpu_that_it_limits(tmp_path, real_onnxruntime):
    models.scaled(tmp_path / "scaled.onnx", 3.0)
    gpu = (SCRIPTS.parent / "cuda/healthy.txt").read_text()  # the same one as NVML's
    (tmp_path / "cuda.txt").write_text(re.sub(r"(?m)^uuid .*", "uuid 3f6c1d4e-0000-0000-0000-000000000001", gpu))
    environment = os.environ | {
        "RIDGE_NVML": f"{SUPPORT}/libnvidia-ml.so.1",
        "RIDGE_FAKE_NVML": str(SCRIPTS / "at-limit.txt"),
        "RIDGE_FAKE_NVML_STATE": str(tmp_path / "state"),
        "RIDGE_CUDA": f"{SUPPORT}/libcuda.so.1",
        "RIDGE_FAKE_CUDA": str(tmp_path / "cuda.txt"),
        "RIDGE_REAL_ONNXRUNTIME": str(real_onnxruntime),
        "RIDGE_FAKE_ONNXRUNTIME_LOG": str(tmp_path / "asked"),
    }
    options = ["--engine-library", f"{SUPPORT}/libonnxruntime-gpu.so.1", "--from", "300", "--steps", "2", "--seconds",
               "0.5", "--json"]
    done = subprocess.run([RIDGE, "power", "sweep", "--model", tmp_path / "scaled.onnx", *options], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    swept = json.loads(done.stdout)
    assert swept["workload"].endswith("on cuda:0") and all(point["rate_per_s"] > 0 for point in swept["points"])
    assert "append CUDA device_id=0" in (tmp_path / "asked").read_text()
    assert "0 power_limit_mw 700000" in (tmp_path / "state").read_text()
