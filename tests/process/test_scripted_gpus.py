"""ctest: timeout 300

Every GPU that the fake for NVIDIA's library plays, as a server's `/metrics`, doctor and power show it: their figures
are those of the script, and what a GPU does not report is absent, not 0.
"""

import json
import os
import pathlib
import re
import subprocess
import time

import pytest
from server import RIDGE, Server

SUPPORT = os.environ["RIDGE_TEST_SUPPORT"]
SCRIPTS = pathlib.Path(os.environ["RIDGE_SOURCE"]) / "tests/support/nvml"
NAMES = sorted(path.stem for path in SCRIPTS.glob("*.txt"))

# Family of /metrics: what of the script, and its unit.
FAMILIES = {
    "nv_gpu_utilization": ("utilization_percent", 0.01), "nv_gpu_memory_total_bytes": ("memory_total_bytes", 1),
    "nv_gpu_memory_used_bytes": ("memory_used_bytes", 1), "nv_gpu_power_usage": ("power_mw", 0.001),
    "nv_gpu_power_limit": ("power_limit_mw", 0.001), "ridge_gpu_temperature_celsius": ("temperature_c", 1),
    "ridge_gpu_clock_hertz": ("sm_clock_mhz", 1e6),
}
# NVML, nvmlClocksEventReasons; idle (1) is none.
REASONS = {0x2: "set clocks", 0x4: "power limit", 0x8: "hardware slowdown", 0x20: "heat", 0x40: "heat (hardware)",
           0x80: "power brake"}
# A series of a GPU as perf_analyzer reads it: one label, and digits without exponent.
SERIES = re.compile(r'(nv_(?:gpu_\w+|energy_consumption))\{gpu_uuid="([^"]+)"\} (\d+(?:\.\d+)?)')


class Gpu(dict):
    """A script's lines on a GPU, or on a slice of it."""

    def __init__(self, index=0):
        super().__init__()
        self.index, self.fails, self.hangs, self.slices = index, {}, False, []

    @property
    def lost(self):
        return "*" in self.fails

    @property
    def label(self):
        return str(self.index) if self.lost else self["uuid"]

    def number(self, key):
        if key == "power_mw" and "power_instant_mw" in self:
            key = "power_instant_mw"  # of the moment, where the driver has it
        value = self[key]
        if key == "power_mw" and "draw_percent" in self:
            return int(self["power_limit_mw"]) * int(self["draw_percent"]) // 100
        return value == "true" if value in ("true", "false") else int(value, 0)


def gpus_of(script):
    gpus = []
    for line in script.read_text().splitlines():
        key, _, rest = line.partition(" ")
        if key == "like":
            gpus = gpus_of(script.parent / rest)
        elif key == "gpu":
            gpus.append(Gpu(len(gpus)))
            gpus[-1].update(gpus[int(rest)] if rest else {})
        elif key == "slice":
            gpus[-1].slices.append(Gpu())
        elif gpus and key == "fail":
            gpus[-1].fails[rest.split()[0]] = int(rest.split()[1])
        elif gpus and key == "hang":
            gpus[-1].hangs = True
        elif gpus:
            (gpus[-1].slices or gpus)[-1][key] = rest
    return gpus


def playing(script, **more):
    return {"RIDGE_NVML": f"{SUPPORT}/libnvidia-ml.so.1", "RIDGE_FAKE_NVML": str(script),
            **{key: str(value) for key, value in more.items()}}


@pytest.fixture
def empty(tmp_path):
    (tmp_path / "repo").mkdir()
    return tmp_path / "repo"


def metrics_with(server, mark, seconds=60):
    """The text of /metrics once it has the mark, or after that time."""
    end = time.monotonic() + seconds
    while mark not in (text := server.metrics()) and time.monotonic() < end:
        time.sleep(0.02)
    return text


def expected_series(gpu):
    """{(family, reason): value} of a GPU, but for its energy."""
    series = {("ridge_gpu_up", ""): 0 if gpu.lost else 1}
    if gpu.lost:
        return series
    for family, (key, unit) in FAMILIES.items():
        if key in gpu:
            series[family, ""] = gpu.number(key) * unit
    bits = gpu.number("slowdown_bits")
    return series | {("ridge_gpu_slowdown", REASONS[bit]): 1 for bit in REASONS if bits & bit}


def series_in(text):
    """{label: {(family, reason): value}} of the GPUs."""
    found = {}
    for family, label, reason, value in re.findall(r'^(nv_gpu_\w+|nv_energy_consumption|ridge_gpu_\w+)'
                                                   r'\{gpu_uuid="([^"]+)"(?:,reason="([^"]+)")?\} (\S+)$',
                                                   text, re.MULTILINE):
        assert (family, reason) not in found.setdefault(label, {}), "a series twice"
        found[label][family, reason] = float(value)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_metrics_are_the_scripts_figures(empty, name):
    gpus = gpus_of(SCRIPTS / f"{name}.txt")
    silent = not gpus or any(gpu.hangs for gpu in gpus)
    with Server(empty, "--model-control-mode=explicit", environment=playing(SCRIPTS / f"{name}.txt")) as server:
        text = server.metrics() if silent else metrics_with(server, "ridge_gpu_up{")
        begin = time.monotonic()
    assert time.monotonic() - begin < 15, "a driver that hangs keeps the server from ending"
    found = series_in(text)
    energy = {label: series.pop(("nv_energy_consumption", ""), None) for label, series in found.items()}
    if silent:
        assert found == {}, text
        return
    assert found == {gpu.label: pytest.approx(expected_series(gpu)) for gpu in gpus}
    for gpu in gpus:
        assert (energy[gpu.label] is not None) == (not gpu.lost and "energy_mj" in gpu)
        assert "draw_percent" in gpu or not energy[gpu.label], "counted from the server's start on"
    for line in text.splitlines():
        if line.startswith("nv_gpu_") or line.startswith("nv_energy"):
            assert SERIES.fullmatch(line), line
            assert f"# TYPE {line.partition('{')[0]} {'counter' if 'energy' in line else 'gauge'}\n" in text


def test_a_gpu_that_is_lost_while_the_server_runs_keeps_its_name_and_no_reading(empty, tmp_path):
    state = tmp_path / "state"
    with Server(empty, "--model-control-mode=explicit",
                environment=playing(SCRIPTS / "lost-later.txt", RIDGE_FAKE_NVML_STATE=state)) as server:
        label = 'gpu_uuid="GPU-3f6c1d4e-0000-0000-0000-000000000001"'
        assert "nv_gpu_power_usage{" in metrics_with(server, f"ridge_gpu_up{{{label}}} 1")
        state.write_text("0 writes 1\n")
        text = metrics_with(server, f"ridge_gpu_up{{{label}}} 0")
    assert series_in(text) == {"GPU-3f6c1d4e-0000-0000-0000-000000000001": {("ridge_gpu_up", ""): 0}}


# 4: no permission; 999: unknown error; 3: not supported.
@pytest.mark.parametrize("code", [3, 4, 999])
def test_a_reading_that_is_refused_has_no_series(empty, tmp_path, code):
    (tmp_path / "refused.txt").write_text((SCRIPTS / "healthy.txt").read_text()
                                          + f"fail nvmlDeviceGetPowerUsage {code}\n"
                                          + f"fail nvmlDeviceGetMemoryInfo {code}\n")
    with Server(empty, "--model-control-mode=explicit", environment=playing(tmp_path / "refused.txt")) as server:
        text = metrics_with(server, "ridge_gpu_up{")
    families = {family for family, _ in series_in(text)["GPU-3f6c1d4e-0000-0000-0000-000000000001"]}
    assert families >= {"ridge_gpu_up", "nv_gpu_utilization", "nv_gpu_power_limit", "nv_energy_consumption"}
    assert not families & {"nv_gpu_power_usage", "nv_gpu_memory_total_bytes", "nv_gpu_memory_used_bytes"}


def ridge(script, *arguments):
    limit = "1" if any(gpu.hangs for gpu in gpus_of(script)) else "20"
    done = subprocess.run([RIDGE, *arguments, "--time-limit", limit, "--json"], env=os.environ | playing(script),
                          capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def check_readings(shown, gpu):
    """Every reading of a GPU is what the script says, or has a reason."""
    for key, value in shown.items():
        if isinstance(value, dict) and "reason" in value:
            assert value["reason"] and (gpu.lost or key not in gpu), key
        elif key == "energy_mj" and "draw_percent" in gpu:
            assert value > 0, "it grows with the draw"
        elif key in gpu and key not in ("architecture", "compute_mode"):
            assert value == (gpu[key] if isinstance(value, str) else gpu.number(key)), key


@pytest.mark.parametrize("name", NAMES)
def test_doctor_and_power_tell_the_scripts_figures(name):
    script = SCRIPTS / f"{name}.txt"
    gpus = [gpu for gpu in gpus_of(script) if not any(one.hangs for one in gpus_of(script))]
    seen = ridge(script, "doctor", "--area", "gpu")["cards"]
    assert len(seen) == len(gpus)
    for shown, gpu in zip(seen, gpus, strict=True):
        check_readings(shown, gpu)
        for slice_shown, slice_gpu in zip(shown.get("slices", []), gpu.slices, strict=True):
            check_readings(slice_shown, slice_gpu)
    drawn = [gpu for gpu in ridge(script, "power")["cards"] if gpu["maker"] == "NVIDIA"]
    assert len(drawn) == len(gpus)
    for shown, gpu in zip(drawn, gpus, strict=True):
        check_readings(shown, gpu)
        assert ("failure" in shown) == gpu.lost
