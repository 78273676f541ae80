"""ctest: timeout 900

gpu_check/gpu_check.py on the fakes for NVIDIA's libraries: a GPU in order, one that is slower than it was, libraries
that are missing, a program that hangs. The fakes compute on the CPU, so that no rate of theirs is that of a GPU: what
is expected of rates is tested by itself.
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
import gpu_check  # noqa: E402
import judge  # noqa: E402
import rows  # noqa: E402

UUID = "3f6c1d4e-0000-0000-0000-000000000001"
MEMORY = 256 << 20
SMI = f"""#!/bin/sh
echo "NVIDIA H100 80GB HBM3, GPU-{UUID}, 700.00, {MEMORY >> 20}"
"""
# Runs the program as the real one does, and ends with its status.
SANITIZER = """#!/bin/sh
case "$2 $7" in
  "memcheck transpose") echo $$ > "$PID_FILE"; sleep 1000 ;;
  "racecheck reduction") echo "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)" ;;
  memcheck*) echo "========= ERROR SUMMARY: 0 errors" ;;
  *) echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;
esac
shift 4
exec "$@"
"""
# The lab's layer_norm fails before its first kernel, and its matmul has no time for one; of the rest the lab itself is
# tested elsewhere.
RIDGE = f"""#!/bin/sh
case "$1 $2" in
  "lab layer_norm") echo "ridge lab: no kernel ran" >&2; exit 3 ;;
  "lab matmul") echo "$2" >> "$CHECKED_FILE"; exit 1 ;;
  lab*) echo "$2" >> "$CHECKED_FILE" ;;
  *) exec "{os.environ['RIDGE']}" "$@" ;;
esac
"""
# Rates of the stub for PyTorch: FLOP/s by type, bytes/s of copies.
PYTORCH = {"bf16": 800e12, "fp16": 790e12, "tf32": 400e12, "fp32": 52e12, "fp64": 60e12, "fp8": 1400e12,
           "int8": 1500e12, "attention": 450e12, "copy": 4.2e12, "host-to-device": 53e9, "device-to-host": 54e9}


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
        **os.environ, "LC_ALL": "C.UTF-8", "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "RIDGE_CUDA": f"{SUPPORT}/libcuda.so.1",
        "RIDGE_NVRTC": f"{SUPPORT}/libnvrtc.so.1", "RIDGE_NVML": f"{SUPPORT}/libnvidia-ml.so.1",
        "RIDGE_CUBLASLT": "/nowhere/libcublasLt.so",
        "RIDGE_ONNXRUNTIME": f"{SUPPORT}/libonnxruntime-gpu.so.1", "RIDGE_REAL_ONNXRUNTIME": str(real_onnxruntime),
        "RIDGE_FAKE_CUDA": f"{folder}/cuda.txt", "RIDGE_FAKE_NVML": f"{folder}/nvml.txt"}


def check(folder, environment, *arguments, seconds=800):
    return subprocess.run([sys.executable, SCRIPT, "--quick", *map(str, arguments)], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=seconds)


def rows_of(file):
    document = json.loads(file.read_text())
    assert errors_of("gpu-check", document) == []
    return document, {row["id"]: row for row in document["rows"]}


@pytest.fixture(scope="module")
def whole(machine):
    folder, environment = machine
    # The part of the lab that the fake, which computes on the CPU, does in a few seconds.
    done = check(folder, environment, "--only",
                 "facts,limits,lab.divergence,lab.reduction,lab.pinned,torch,engines,memory,sanitizer,repeat",
                 "--minutes", 12, "-o", "whole.json")
    assert done.returncode in (0, 1), done.stderr
    return done, folder / "whole.json"


def test_the_whole_check_of_a_gpu_in_order(whole):
    done, file = whole
    document, found = rows_of(file)
    assert document["device"] == "NVIDIA H100 80GB HBM3" and not document["interrupted"]
    assert {row["group"] for row in document["rows"]} == {"facts", "limits", "lab", "torch", "engines", "memory",
                                                          "sanitizer", "repeat"}
    passed = {id for id, row in found.items() if row["verdict"] == "pass"}
    assert passed >= {"facts.doctor", "facts.driver",
                      "facts.nvidia_smi"} and any(id.startswith("lab.") for id in passed)
    # The fake's compiler knows no half precision.
    failed = {id: row["reason"] for id, row in found.items() if row["verdict"] == "fail" and row["value"] is None}
    assert all("rejects this PTX" in reason for reason in failed.values()), failed
    # The CPU is no H100.
    assert {row["verdict"] for id, row in found.items() if id.startswith("limits.") and id.endswith("multiply-adds")
            and row["value"]} == {"fail"}
    pinned = found["limits.host-to-device.pinned"]  # the rate of a copy between caches of the CPU
    inside = pinned["expected"]["low"] <= pinned["value"] <= pinned["expected"]["high"]
    assert pinned["verdict"] == ("pass" if inside else "fail") and "H100" in pinned["expected"]["source"]
    for row in document["rows"]:
        assert f"{row['verdict']:<12}  " in done.stderr and (row["verdict"] != "fail" or row["do"]), row


def test_what_is_missing_is_not_possible_and_has_its_reason(whole):
    _, found = rows_of(whole[1])
    for id, reason in {"limits.bf16.cuBLASLt": "open library /nowhere/libcublasLt.so",
                       "torch": "No module named 'torch'",
                       "sanitizer": "compute-sanitizer was not found", "limits.fp8.mma": "do not multiply fp8"}.items():
        assert found[id]["verdict"] == "not possible" and reason in found[id]["reason"], found[id]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits(whole, width):
    browser.check_fits(whole[1].with_suffix(".html"), width)


def test_the_page_shows_the_documents_figures_in_both_languages(whole):
    page, document = whole[1].with_suffix(".html"), json.loads(whole[1].read_text())
    at = next(i for i, row in enumerate(document["rows"]) if row["id"] == "limits.host-to-device.pinned")
    browser.check_figures(page, document, {"counts.pass", f"rows.{at}.value", f"rows.{at}.expected.low"})
    with browser.page(1280) as (opened, _):
        browser.show(opened, page)
        assert "equal: name, uuid, capability, memory" in opened.inner_text("body"), (
            "what is expected of a row without a figure")
    browser.check_chinese(page, ["cuModuleLoadDataEx", "open library", "No module named", "do not multiply"])
    browser.check_paper(page)


def test_shared_memory_and_several_callers_work(machine, tmp_path):
    done = check(tmp_path, machine[1], "--only", "memory,engines.callers")
    found = rows_of(tmp_path / "gpu-check.json")[1]
    verdicts = {id: row["verdict"] for id, row in found.items()}
    assert done.returncode == 0 and verdicts == {"memory.cuda": "pass", "engines.callers": "pass"}
    assert (found["memory.cuda"]["expected"]["text"] == "all values equal"
            and "(expected: all values equal)" in done.stderr)


def with_pytorch(environment):
    paths = [str(SOURCE / "tests/support/stubs"), environment.get("PYTHONPATH", "")]
    return environment | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "TORCH_RATES": json.dumps(PYTORCH)}


def test_references_by_pytorch(machine, tmp_path):
    # The fake for cuBLASLt multiplies on the CPU: of a small memory, small matrices, and only the first types.
    (tmp_path / "cuda.txt").write_text(script("cuda", "bench.txt", uuid=UUID, memory_total_bytes=47 << 20))
    environment = with_pytorch(machine[1]) | {"RIDGE_FAKE_CUDA": str(tmp_path / "cuda.txt"),
                                              "RIDGE_CUBLASLT": f"{SUPPORT}/libcublasLt.so.1"}
    done = check(tmp_path, environment, "--only", "limits,torch")
    assert done.returncode == 1, done.stderr  # a CPU is slower
    found = rows_of(tmp_path / "gpu-check.json")[1]
    assert {id for id in found if id.startswith("torch")} == {f"torch.{name}" for name in rows.TORCH}
    for name in ("fp64", "copy"):
        row, own = found[f"torch.{name}"], found[rows.TORCH[name]]["value"]
        assert row["value"] == pytest.approx(own / PYTORCH[name]) and row["unit"] == "×", row
        assert row["verdict"] == "fail" and row["expected"]["source"] == "PyTorch's rate"
    assert (found["torch.lab_matmul"]["verdict"] == "not possible"
            and "not measured" in found["torch.lab_matmul"]["reason"])


def test_every_reference_by_pytorch_has_its_rate(machine):
    """Gives what ridge measured: 0.98 of PyTorch's rate, of the lab's kernels 0.7."""
    def run(command, limit):
        done = subprocess.run(list(map(str, command)), env=with_pytorch(machine[1]), capture_output=True, text=True,
                              timeout=60)
        return done.returncode, done.stdout, done.stderr

    shares = {"lab_matmul": 0.7 * PYTORCH["bf16"] / 1.1, "lab_attention": 0.7 * PYTORCH["attention"]}
    check = Measured(None, **{own: shares.get(name) or 0.98 * PYTORCH[name] for name, own in rows.TORCH.items()})
    check.run, check.index = run, 0
    found = {row["id"].removeprefix("torch."): row for row in rows.references(check)}
    assert set(found) == set(rows.TORCH) >= set(PYTORCH) - {"attention"}
    for name, row in found.items():
        assert row["value"] == pytest.approx(0.7 if name in shares else 0.98), name
        assert row["verdict"] == ("fail" if name == "lab_matmul" else "pass"), row


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
    program(tmp_path / "bin/ridge", RIDGE)
    environment = environment | {"PATH": f"{tmp_path}/bin:{environment['PATH']}", "PID_FILE": str(tmp_path / "pid"),
                                 "CHECKED_FILE": str(tmp_path / "checked")}
    begin = time.monotonic()
    done = check(tmp_path, environment, "--only", "sanitizer", "--row-seconds", "5", "--ridge", tmp_path / "bin/ridge")
    assert done.returncode == 1 and time.monotonic() - begin < 120
    found = rows_of(tmp_path / "gpu-check.json")[1]
    assert {id for id, row in found.items() if row["verdict"] == "fail"} == {
        "sanitizer.memcheck.transpose", "sanitizer.racecheck.reduction", "sanitizer.memcheck.layer_norm",
        "sanitizer.racecheck.layer_norm"}
    assert "0 errors; the program ended with 3" in found["sanitizer.memcheck.layer_norm"]["found"]
    assert found["sanitizer.memcheck.reduction"]["expected"]["text"] == "0 errors, and exit status 0"
    unmeasured = {id for id,
                  row in found.items() if row["verdict"] == "not possible" and row["reason"] == rows.UNMEASURED}
    assert unmeasured == {"sanitizer.memcheck.matmul", "sanitizer.racecheck.matmul"}
    assert sorted((tmp_path / "checked").read_text().split()) == sorted(
        2 * ["attention_half", "matmul_tensor", "matmul", "reduction"] + ["transpose"])
    hung = found["sanitizer.memcheck.transpose"]
    assert ("time limit" in hung["reason"] and "Xid" in hung["do"] and hung["seconds"] >= 5
            and "transpose" in hung["command"])
    assert "2 hazards" in found["sanitizer.racecheck.reduction"]["found"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGINT, signal.SIGTERM]])
def test_what_is_known_is_kept_by_ctrl_c_and_by_whoever_ends_it_twice(machine, tmp_path, signals):
    folder, environment = machine
    with subprocess.Popen([sys.executable, SCRIPT, "--quick", "--only", "facts,limits"], cwd=tmp_path, env=environment,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        for line in running.stderr:
            if "nvidia-smi" in line:
                break
        for one in signals:
            running.send_signal(one)
        assert running.wait(90) == 1
    document, found = rows_of(tmp_path / "gpu-check.json")
    assert document["interrupted"] and set(found) == {"facts.doctor", "facts.driver", "facts.nvidia_smi"}
    assert (tmp_path / "gpu-check.html").exists()


def test_once_its_time_is_up_the_rest_is_not_possible(machine, tmp_path):
    folder, environment = machine
    done = check(tmp_path, environment, "--minutes", "0")
    document, found = rows_of(tmp_path / "gpu-check.json")
    assert done.returncode == 0 and document["seconds"] < 60
    assert {row["verdict"] for row in found.values()} == {"not possible"}
    assert {row["group"] for row in found.values()} >= {"facts", "lab", "engines"}
    assert "--minutes" in found["memory.cuda"]["do"] and found["lab"]["reason"] == found["memory.cuda"]["reason"]


@pytest.mark.parametrize("changes, said",
                         [({"RIDGE_CUDA": "/nowhere/libcuda.so.1"}, "looked for /nowhere/libcuda.so.1"),
                                           ({"RIDGE_FAKE_CUDA": f"{SOURCE}/tests/support/cuda/none.txt"},
                                            "there is no GPU 0")])
def test_without_a_gpu_it_says_what_was_looked_for(machine, tmp_path, changes, said):
    done = check(tmp_path, machine[1] | changes)
    assert done.returncode == 3 and said in done.stderr and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--only", "nothing"], ["-d", "opencl:0"], ["--ridge", "/nowhere/ridge"],
                                       ["--earlier", "/nowhere.json"]])
def test_wrong_usage(machine, tmp_path, arguments):
    assert check(tmp_path, machine[1], *arguments).returncode == 2


# Expected rates: the GPU's own row of the table comes before the share of the datasheet; none is believed
# above it.
@pytest.mark.parametrize("id, gpu, value, references, verdict, source", [
    ("limits.fp16.cuBLASLt", "NVIDIA H200", 800e12, {"datasheet": 989e12}, "pass", "estimate for H200"),
    ("limits.fp16.cuBLASLt", "NVIDIA H200", 700e12, {"datasheet": 989e12}, "fail", "estimate for H200"),
    ("limits.fp16.cuBLASLt", "NVIDIA H100", 700e12, {"datasheet": 989e12}, "pass", "60 to 105 % of the datasheet"),
    ("limits.fp16.cuBLASLt", "NVIDIA H100", 2000e12, {"datasheet": 989e12}, "fail", "60 to 105 % of the datasheet"),
    ("limits.DRAM.read", "NVIDIA H200", 5.5e12, {}, "fail", "estimate for H200"),
    ("limits.graph-node", "NVIDIA H200", 1.2e-6, {}, "pass", "estimate for H200"),
    ("limits.kernel,-queued", "NVIDIA H200", 9e-6, {}, "fail", "estimate for H200"),
    ("limits.DRAM.read", "NVIDIA H100 80GB HBM3", 3.1e12, {"datasheet": 3.35e12}, "pass",
     "estimate for H100 80GB HBM3"),
    ("limits.DRAM.read", "NVIDIA H100 80GB HBM3", 3.4e12, {"datasheet": 3.35e12}, "fail",
     "estimate for H100 80GB HBM3"),
    ("lab.matmul_tensor.mma", "NVIDIA H100 80GB HBM3", 0.62, {}, "pass", "estimate for H100"),
    ("lab.matmul_tensor.mma", "NVIDIA A100-SXM4-80GB", 0.62, {}, "fail", "the vendor's library in the same run"),
    ("limits.fp16.cuBLASLt", "new", 800e12, {}, "not possible", None),
])
def test_what_is_expected_of_a_rate(id, gpu, value, references, verdict, source):
    row = judge.judged(id, "what", value, "", gpu, {}, references)
    assert row["verdict"] == verdict and (row["expected"] or {}).get("source") == source
    assert (verdict == "fail") == bool(row.get("do"))


def test_a_part_of_the_datasheet_is_of_its_figure_whatever_its_origin():
    shares = [{"of": "best here: copy", "value": 1, "origin": "measured"},
              {"of": "datasheet of NVIDIA H200", "value": 66.9e12, "origin": "derived"},
              {"of": "PCIe 5.0 x16", "value": 63e9, "origin": "derived"}]
    assert rows.references_of(shares) == {"datasheet": 66.9e12, "link": 63e9}


@pytest.mark.parametrize("reason, verdict", [
    ("ridge lab: open library libnvrtc.so.13: cannot open shared object file", "not possible"),
    ("ridge lab: start ridge-lab: not found; it is a program of its own, in the Debian package", "not possible"),
    ("cuModuleGetFunction: named symbol not found (CUDA_ERROR_NOT_FOUND, 500)", "fail"),
    ("ridge lab: matmul: value 17 is 0.3, the reference says 0.5", "fail"),
    ("ridge lab: product of 2048 × 2048 FP16: the program has no kernel matmul_wide_fp16", "fail"),
    ("NVRTC 11.2 has no sm_90: it compiles for 35, 52, 86", "not possible"),
])
def test_what_is_missing_is_told_from_what_is_wrong(reason, verdict):
    assert judge.error_of(reason).verdict == verdict


def test_nothing_can_be_installed_for_what_the_gpu_does_not_have():
    absent = judge.error_of("the tensor cores of this GPU do not multiply fp8 by mma.sync")
    assert absent.verdict == "not possible" and judge.REMEDIES[absent.do] == ""


@pytest.mark.parametrize("value, unit, text", [(8e-7, "s", "800 ns"), (2e-6, "s", "2 µs"),
                                               (3.35e12, "B/s", "3.35 TB/s"), (0.5, "×", "0.5 ×")])
def test_figures_are_readable(value, unit, text):
    assert judge.readable(value, unit) == text


@pytest.mark.parametrize("verdicts, do", [({"not measured": 3}, "time"), ({"not testable here": 1, "not measured": 3},
                                                                          "time"), ({"not testable here": 1}, "")])
def test_an_experiment_of_which_no_case_ran_does_not_pass(verdicts, do):
    with pytest.raises(rows.NotPossible) as ended:
        rows.experiment(Measured({"verdicts": verdicts, "cases": [], "ledger": []}), "matmul_tensor")
    assert ended.value.do == do


def test_every_step_is_kept_whatever_ends_it(tmp_path):
    """The second step reads what it sees of the document; the third ends by an error that was not foreseen, and so does
    the list of steps."""
    options = type("Options", (),
                   {"ridge": "ridge", "index": 0, "output": str(tmp_path / "out.json"), "only": [], "quick": True})
    check = gpu_check.Check(options, gpu_check.Steps(tmp_path))
    check.head = {"about": {}, "device": "a GPU"}
    seen = []

    def steps(_):
        yield "lab.a", "a", lambda: [judge.yes_or_no("lab.a", "a", True, "", "", "")]
        yield "lab.b", "b", lambda: seen.append(json.loads((tmp_path / "out.json").read_text())) or []
        yield "lab.c", "c", lambda: [][0]
        raise AttributeError("no more of them")

    gpu_check.perform(check, {"lab": steps})
    assert [row["id"] for row in seen[0]["rows"]] == ["lab.a"] and seen[0]["interrupted"]
    kept = {row["id"]: row for row in json.loads((tmp_path / "out.json").read_text())["rows"]}
    assert kept["lab.c"]["verdict"] == kept["lab"]["verdict"] == "fail" and "IndexError" in kept["lab.c"]["reason"]
    assert list(tmp_path.glob("out.json*")) == [tmp_path / "out.json"]


class Measured:
    """A check that has measured what is given."""

    def __init__(self, document, **measured):
        self.document, self.measured = document, measured
        self.device, self.driver, self.folder = "cuda:0", {"name": "NVIDIA H100"}, pathlib.Path()
        self.options = type("Options", (), {"row_seconds": None, "earlier": {}})

    def ridge(self, *arguments, limit, answers=(0,)):
        return self.document

    def seconds(self, usual, quick=1):
        return usual


def lab_of(products):
    """A document of the lab's: FLOP/s of each product by variant."""
    cases = [{"work": work, "variants": [{"name": name, "flops_per_s": rate * 1e12} for name, rate in variants.items()]}
             for work, variants in products.items()]
    return {"verdicts": {"smaller": len(cases)}, "cases": cases, "ledger": []}


ALONE, NARROW, WIDE, GROUPS, LIBRARY = ("tensor cores alone", "tensor cores, blocks of 128 × 128",
                                        "tensor cores, blocks of 128 × 256",
                                        "tensor cores by warp groups, blocks of 128 × 256", "vendor's library")


@pytest.mark.parametrize("products, mma, wgmma", [
    # Neither the cores alone, nor the library, nor a smaller product's rate counts.
    ({"product of 4096 × 4096 FP16": {NARROW: 390, WIDE: 400, ALONE: 660, GROUPS: 500, LIBRARY: 800}}, (0.5, "fail"),
     (0.625, "fail")),
    ({"product of 4096 × 4096 FP16": {NARROW: 790, WIDE: 640, ALONE: 660, GROUPS: 720, LIBRARY: 800}}, (0.8, "pass"),
     (0.9, "pass")),
    ({"product of 2048 × 2048 FP16": {WIDE: 300, GROUPS: 300, LIBRARY: 800},
      "product of 4096 × 4096 FP16": {WIDE: 640, GROUPS: 720, LIBRARY: 800},
      "product of 4096 × 4096 TF32": {WIDE: 220, GROUPS: 360, LIBRARY: 400}}, (0.55, "fail"), (0.9, "pass")),
    # Where wide blocks do not fit, and without warp groups.
    ({"product of 4096 × 4096 FP16": {NARROW: 130, ALONE: 160, LIBRARY: 150}}, (130 / 150, "pass"),
     (None, "not possible")),
    ({"product of 4096 × 4096 FP16": {NARROW: 130, ALONE: 160}}, (None, "not possible"), (None, "not possible")),
])
def test_our_products_are_held_against_the_librarys(products, mma, wgmma):
    check = Measured(lab_of(products))
    found = {row["id"]: row for row in rows.experiment(check, "matmul_tensor")}
    for kind, (value, verdict) in {"mma": mma, "wgmma": wgmma}.items():
        row = found[f"lab.matmul_tensor.{kind}"]
        assert row["verdict"] == verdict and row.get("value") == (None if value is None else pytest.approx(value)), row


def test_our_rates_are_those_of_the_cases_that_pytorch_has():
    check = Measured(lab_of({"product of 4096 × 4096 FP16": {GROUPS: 700}, "product of 2048 × 2048 BF16": {GROUPS: 650},
                             "product of 4096 × 4096 BF16": {ALONE: 900, WIDE: 400, GROUPS: 600, LIBRARY: 800}}))
    rows.experiment(check, "matmul_tensor")
    assert check.measured["lab.matmul_tensor.rate"] == 600e12
    attention = Measured(lab_of({"FP16 attention over 2048 positions, 16 heads of 64": {"tiles on tensor cores": 300},
                                 "FP16 attention over 4096 positions, 8 heads of 64": {"tiles on tensor cores": 400}}))
    rows.experiment(attention, "attention_half")
    assert attention.measured["lab.attention_half.rate"] == 300e12


def test_a_second_run_is_not_held_against_a_cache_that_is_not_steady():
    read = {"access": "read", "working_set_bytes": 1, "shares": []}
    document = {"peaks": [{"precision": "fp32", "way": "multiply-adds", "flops_per_s": 60e12}], "links": [],
                "starts": [],
                "bandwidth": [{"level": "DRAM", "bytes_per_s": 4.0e12, **read},
                              {"level": "last cache", "bytes_per_s": 7e12, **read}]}
    first = {"limits.fp32.multiply-adds": 60e12, "limits.DRAM.read": 4.04e12, "limits.last-cache.read": 9e12}
    [row] = rows.repeated(Measured(document, **first))
    assert row["verdict"] == "pass" and row["value"] == pytest.approx(4 / 4.04) and "DRAM" in row["found"]


def test_every_row_of_the_table_can_be_met_and_has_a_remedy():
    for row in judge.EXPECTED:
        assert judge.REMEDIES[row["do"]] and row["of"] in ({"datasheet", "link", *judge.SOURCES}
                                                           if not row["gpu"] else {""})
        assert not row["high"] or float(row["low"]) < float(row["high"])
