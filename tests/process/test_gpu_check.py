"""ctest: timeout 900

gpu_check/gpu_check.py on the fakes for NVIDIA's libraries: a GPU in order, one that is slower than it was, libraries that are missing,
a program that hangs. The fakes compute on the CPU, so that no rate of theirs is that of a GPU: what is expected of rates is tested by itself.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

import browser
from schemas import errors_of

SOURCE = pathlib.Path(os.environ["RIDGE_SOURCE"])
SUPPORT = os.environ["RIDGE_TEST_SUPPORT"]
SCRIPT = SOURCE / "gpu_check/gpu_check.py"
sys.path.insert(0, str(SCRIPT.parent))
import judge  # noqa: E402
import rows  # noqa: E402

UUID = "3f6c1d4e-0000-0000-0000-000000000001"
MEMORY = 256 << 20
SMI = f"""#!/bin/sh
echo "NVIDIA H100 80GB HBM3, GPU-{UUID}, 700.00, {MEMORY >> 20}"
"""
SANITIZER = """#!/bin/sh
case "$2 $7" in
  "memcheck transpose") echo $$ > "$PID_FILE"; sleep 1000 ;;
  "racecheck reduction") echo "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)" ;;
  memcheck*) echo "========= ERROR SUMMARY: 0 errors" ;;
  *) echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;
esac
"""


def program(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def script(kind, file, **changes):
    """A script of tests/support with other values."""
    text = (SOURCE / "tests/support" / kind / file).read_text()
    for key, value in changes.items():
        text = re.sub(rf"^{key} .*", f"{key} {value}", text, flags=re.MULTILINE)
    return text


@pytest.fixture(scope="module")
def machine(tmp_path_factory, real_onnxruntime):
    """(folder, environment) of a machine with one GPU, without cuBLASLt and PyTorch."""
    folder = tmp_path_factory.mktemp("machine")
    (folder / "cuda.txt").write_text(script("cuda", "bench.txt", uuid=UUID, memory_total_bytes=MEMORY) + "ipc 1\n")
    (folder / "nvml.txt").write_text(script("nvml", "healthy.txt", memory_total_bytes=MEMORY))
    program(folder / "bin/nvidia-smi", SMI)
    return folder, {
        **os.environ, "LC_ALL": "C.UTF-8", "PATH": f"{folder}/bin:{os.environ['PATH']}", "RIDGE_CUDA": f"{SUPPORT}/libcuda.so.1",
        "RIDGE_NVRTC": f"{SUPPORT}/libnvrtc.so.1", "RIDGE_NVML": f"{SUPPORT}/libnvidia-ml.so.1", "RIDGE_CUBLASLT": "/nowhere/libcublasLt.so",
        "RIDGE_ONNXRUNTIME": f"{SUPPORT}/libonnxruntime-gpu.so.1", "RIDGE_REAL_ONNXRUNTIME": str(real_onnxruntime),
        "RIDGE_FAKE_CUDA": f"{folder}/cuda.txt", "RIDGE_FAKE_NVML": f"{folder}/nvml.txt"}


def check(folder, environment, *arguments, seconds=800):
    return subprocess.run([sys.executable, SCRIPT, "--quick", *map(str, arguments)], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=seconds)


def rows_of(file):
    document = json.loads(file.read_text())
    assert errors_of("gpu-check", document) == []
    return document, {row["id"]: row for row in document["rows"]}


@pytest.fixture(scope="module")
def whole(machine):
    folder, environment = machine
    done = check(folder, environment, "--row-seconds", 60, "-o", "whole.json")
    assert done.returncode in (0, 1), done.stderr
    return done, folder / "whole.json"


def test_the_whole_check_of_a_gpu_in_order(whole):
    done, file = whole
    document, found = rows_of(file)
    assert document["device"] == "NVIDIA H100 80GB HBM3" and not document["interrupted"]
    assert {row["group"] for row in document["rows"]} == {"facts", "limits", "lab", "torch", "engines", "memory", "sanitizer"}
    passed = {id for id, row in found.items() if row["verdict"] == "pass"}
    slow = {id for id, row in found.items() if "time limit" in (row["reason"] or "")}  # the fake computes on the CPU
    assert passed >= {"facts.doctor", "facts.driver", "facts.nvidia_smi"} and any(id.startswith("lab.") for id in passed)
    assert passed | slow >= {"memory.cuda", "engines.callers"}
    # The fake's compiler knows no half precision.
    failed = {id: row["reason"] for id, row in found.items() if row["verdict"] == "fail" and row["value"] is None}
    assert all("rejects this PTX" in reason or "time limit" in reason for reason in failed.values()), failed
    assert {row["verdict"] for id, row in found.items() if id.startswith("limits.") and id.endswith("multiply-adds") and row["value"]} == {"not possible"}
    pinned = found["limits.host-to-device.pinned"]  # the rate of a copy between caches of the CPU
    inside = pinned["expected"]["low"] <= pinned["value"] <= pinned["expected"]["high"]
    assert pinned["verdict"] == ("pass" if inside else "fail") and "link" in pinned["expected"]["source"]
    for row in document["rows"]:
        assert f"{row['verdict']:<12}  " in done.stderr and (row["verdict"] != "fail" or row["do"]), row


def test_what_is_missing_is_not_possible_and_has_its_reason(whole):
    _, found = rows_of(whole[1])
    for id, reason in {"limits.bf16.cuBLASLt": "open library /nowhere/libcublasLt.so", "torch": "No module named 'torch'",
                       "sanitizer": "compute-sanitizer was not found", "limits.fp8.mma": "do not multiply fp8"}.items():
        assert found[id]["verdict"] == "not possible" and reason in found[id]["reason"], found[id]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits(whole, width):
    browser.check_fits(whole[1].with_suffix(".html"), width)


def test_the_page_shows_the_documents_figures_in_both_languages(whole):
    page, document = whole[1].with_suffix(".html"), json.loads(whole[1].read_text())
    at = next(i for i, row in enumerate(document["rows"]) if row["id"] == "limits.host-to-device.pinned")
    browser.check_figures(page, document, {"counts.pass", f"rows.{at}.value", f"rows.{at}.expected.low"})
    browser.check_chinese(page, ["cuModuleLoadDataEx", "open library", "No module named", "do not multiply"])
    browser.check_paper(page)


def test_a_gpu_slower_than_before_fails(machine):
    folder, environment = machine
    earlier = {"id": "limits.fp32.multiply-adds", "value": 60e12}
    (folder / "earlier.json").write_text(json.dumps({"about": {"date": "2026-11-01T12:00:00Z"}, "rows": [earlier]}))
    done = check(folder, environment, "--only", "limits", "--earlier", "earlier.json", "-o", "slower.json")
    assert done.returncode == 1, done.stderr
    row = rows_of(folder / "slower.json")[1]["limits.fp32.multiply-adds"]
    assert row["verdict"] == "fail" and 0 < row["value"] < row["expected"]["low"] == pytest.approx(57e12)
    assert row["expected"]["source"] == "earlier run 2026-11-01T12:00:00Z" and "ridge power" in row["do"]


def test_a_driver_and_a_management_library_that_differ_fail(machine, tmp_path):
    folder, environment = machine
    (tmp_path / "nvml.txt").write_text(script("nvml", "healthy.txt", memory_total_bytes=4 * MEMORY, name="NVIDIA H200"))
    done = check(tmp_path, environment | {"RIDGE_FAKE_NVML": str(tmp_path / "nvml.txt")}, "--only", "facts")
    found = rows_of(tmp_path / "gpu-check.json")[1]
    assert done.returncode == 1 and found["facts.driver"]["verdict"] == found["facts.nvidia_smi"]["verdict"] == "fail"
    assert "NVML NVIDIA H200" in found["facts.driver"]["found"] and "memory" in found["facts.driver"]["found"]


def test_a_program_that_hangs_takes_only_its_rows_time(machine, tmp_path):
    folder, environment = machine
    program(tmp_path / "bin/compute-sanitizer", SANITIZER)
    environment = environment | {"PATH": f"{tmp_path}/bin:{environment['PATH']}", "PID_FILE": str(tmp_path / "pid")}
    begin = time.monotonic()
    done = check(tmp_path, environment, "--only", "sanitizer", "--row-seconds", "5")
    assert done.returncode == 1 and time.monotonic() - begin < 120
    found = rows_of(tmp_path / "gpu-check.json")[1]
    assert {id for id, row in found.items() if row["verdict"] == "fail"} == {"sanitizer.memcheck.transpose", "sanitizer.racecheck.reduction"}
    hung = found["sanitizer.memcheck.transpose"]
    assert "time limit" in hung["reason"] and "Xid" in hung["do"] and hung["seconds"] >= 5 and "transpose" in hung["command"]
    assert "2 hazards" in found["sanitizer.racecheck.reduction"]["found"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_ctrl_c_keeps_what_is_known(machine, tmp_path):
    folder, environment = machine
    with subprocess.Popen([sys.executable, SCRIPT, "--quick", "--only", "facts,limits"], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as running:
        for line in running.stderr:
            if "nvidia-smi" in line:
                break
        running.send_signal(signal.SIGINT)
        assert running.wait(90) == 1
    document, found = rows_of(tmp_path / "gpu-check.json")
    assert document["interrupted"] and set(found) == {"facts.doctor", "facts.driver", "facts.nvidia_smi"}
    assert (tmp_path / "gpu-check.html").exists()


def test_once_its_time_is_up_the_rest_is_not_possible(machine, tmp_path):
    folder, environment = machine
    done = check(tmp_path, environment, "--minutes", "0")
    document, found = rows_of(tmp_path / "gpu-check.json")
    assert done.returncode == 0 and document["seconds"] < 60
    assert {row["verdict"] for row in found.values()} == {"not possible"} and {row["group"] for row in found.values()} >= {"facts", "lab", "engines"}
    assert "--minutes" in found["memory.cuda"]["do"] and found["lab"]["reason"] == found["memory.cuda"]["reason"]


@pytest.mark.parametrize("changes, said", [({"RIDGE_CUDA": "/nowhere/libcuda.so.1"}, "looked for /nowhere/libcuda.so.1"),
                                           ({"RIDGE_FAKE_CUDA": f"{SOURCE}/tests/support/cuda/none.txt"}, "there is no GPU 0")])
def test_without_a_gpu_it_says_what_was_looked_for(machine, tmp_path, changes, said):
    done = check(tmp_path, machine[1] | changes)
    assert done.returncode == 3 and said in done.stderr and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--only", "nothing"], ["-d", "opencl:0"], ["--ridge", "/nowhere/ridge"], ["--earlier", "/nowhere.json"]])
def test_wrong_usage(machine, tmp_path, arguments):
    assert check(tmp_path, machine[1], *arguments).returncode == 2


# What is expected of rates: the GPU's own row of the table comes before the share of the datasheet; none is believed above it.
@pytest.mark.parametrize("id, gpu, value, references, verdict, source", [
    ("limits.fp16.cuBLASLt", "NVIDIA H200", 800e12, {"datasheet": 989e12}, "pass", "estimate for H200"),
    ("limits.fp16.cuBLASLt", "NVIDIA H200", 700e12, {"datasheet": 989e12}, "fail", "estimate for H200"),
    ("limits.fp16.cuBLASLt", "NVIDIA H100", 700e12, {"datasheet": 989e12}, "pass", "60 to 105 % of the datasheet"),
    ("limits.fp16.cuBLASLt", "NVIDIA H100", 2000e12, {"datasheet": 989e12}, "fail", "60 to 105 % of the datasheet"),
    ("limits.DRAM.read", "NVIDIA H200", 5.5e12, {}, "fail", "estimate for H200"),
    ("limits.graph-node", "NVIDIA H200", 1.2e-6, {}, "pass", "estimate for H200"),
    ("limits.kernel,-queued", "NVIDIA H200", 9e-6, {}, "fail", "estimate for H200"),
    ("limits.fp16.cuBLASLt", "new", 800e12, {}, "not possible", None),
])
def test_what_is_expected_of_a_rate(id, gpu, value, references, verdict, source):
    row = judge.judged(id, "what", value, "", gpu, {}, references)
    assert row["verdict"] == verdict and (row["expected"] or {}).get("source") == source
    assert (verdict == "fail") == bool(row.get("do"))


def test_a_part_of_the_datasheet_is_of_its_figure_whatever_its_origin():
    shares = [{"of": "best here: copy", "value": 1, "origin": "measured"}, {"of": "datasheet of NVIDIA H200", "value": 66.9e12, "origin": "derived"},
              {"of": "PCIe 5.0 x16", "value": 63e9, "origin": "derived"}]
    assert rows.references_of(shares) == {"datasheet": 66.9e12, "link": 63e9}


@pytest.mark.parametrize("reason, verdict", [
    ("ridge lab: open library libnvrtc.so.13: cannot open shared object file", "not possible"),
    ("cuModuleGetFunction: named symbol not found (CUDA_ERROR_NOT_FOUND, 500)", "fail"),
    ("ridge lab: matmul: value 17 is 0.3, the reference says 0.5", "fail"),
])
def test_what_is_missing_is_told_from_what_is_wrong(reason, verdict):
    assert judge.error_of(reason).verdict == verdict


def test_every_row_of_the_table_can_be_met_and_has_a_remedy():
    for row in judge.EXPECTED:
        assert judge.REMEDIES[row["do"]] and row["of"] in ({"datasheet", "link", *judge.SOURCES} if not row["gpu"] else {""})
        assert not row["high"] or float(row["low"]) < float(row["high"])
