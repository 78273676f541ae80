"""The lines under "next:": every verb ends with some, and each is a command line that ridge accepts."""

# ctest: timeout 600
import os
import shlex
import subprocess

import known_limits
import models
import pytest
from server import RIDGE

SUPPORT = os.environ["RIDGE_TEST_SUPPORT"]
SOURCE = os.environ["RIDGE_SOURCE"]
GPU = {
    "RIDGE_NVML": f"{SUPPORT}/libnvidia-ml.so.1",
    "RIDGE_FAKE_NVML": f"{SOURCE}/tests/support/nvml/four.txt",
    "RIDGE_CUDA": f"{SUPPORT}/libcuda.so.1",
    "RIDGE_FAKE_CUDA": f"{SOURCE}/tests/support/cuda/healthy.txt",
}
LLM = "--llm layers=32,heads=32,kv-heads=8,hidden=4096,vocabulary=128256,intermediate=14336"
PROBE = "--no-such-option"
RUN_WHOLE = {"gpus", "explain", "history"}  # quick, and what they name must exist


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of an awkward name, two results of it, and a cache of its own."""
    folder = tmp_path_factory.mktemp("next")
    models.identity(folder / "my model.onnx")
    models.identity(folder / "second.onnx")
    models.identity(folder / "open.onnx", dims=("batch", "sequence"))
    known_limits.fill(folder / "cache")
    for name in ("a.json", "b.json"):
        assert run(folder, f"bench 'my model.onnx' --iterations 5 -o {name}").returncode == 0
    return folder


def run(folder, line, environment=None, words=()):
    own = {"XDG_CACHE_HOME": str(folder / "cache"), "LC_ALL": "C.UTF-8"}
    return subprocess.run([RIDGE, *shlex.split(line), *words], cwd=folder, env=os.environ | own | (environment or {}),
                          text=True, capture_output=True, timeout=120)


def next_lines(text):
    lines = text.splitlines()
    assert "next:" in lines, text
    after = lines[len(lines) - lines[::-1].index("next:"):]
    assert after and all(line.startswith("  ") for line in after), text
    return [line.strip() for line in after]


def check_line(folder, line, environment):
    words = shlex.split(line)
    assert words[0] == "ridge", line
    verb, at = words[1], words.index("--") if "--" in words else len(words)
    if verb in RUN_WHOLE:
        done = run(folder, "", environment, words[1:])
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return
    done = run(folder, "", environment, words[1:at] + [PROBE] + words[at:])
    assert done.returncode == 2 and f"unknown option {PROBE}" in done.stderr, f"{line}\n{done.stderr}"


LINES = [
    ("describe", "'my model.onnx'", {}),
    ("bench", "bench 'my model.onnx' --iterations 3", {}),
    ("bench-device", "bench device", {}),
    ("plan", "plan 'my model.onnx'", {}),
    ("plan-catalogue", "plan 'my model.onnx' --device T4", {}),
    ("plan-llm", f"size {LLM} --device 'RTX 4090'", {}),
    ("plan-llm-too-large", f"size {LLM} --device 'RTX 4090' --weights fp32 --context 8192 --kv fp8", {}),
    ("gpus", "gpus", {}),
    ("gpus-sheet", "gpus RTX 4090", {}),
    ("gpus-several", "gpus H100", {}),
    ("gpus-compare", "gpus --compare 4090 3090", {}),
    ("gpus-families", "gpus --families", {}),
    ("gpus-capabilities", "gpus --capabilities", {}),
    ("gpus-recommend", "gpus --recommend 'my model.onnx' --batch 4", {}),
    ("gpus-recommend-none", "gpus --recommend 'my model.onnx' --p99-ms 0.00001", {}),
    ("power-nothing", "power", {"RIDGE_NVML": "none"}),
    ("power", "power", GPU),
    ("power-reset", "power set --reset --device 3", GPU),
    ("power-set", "power set --limit 300", GPU),
    ("power-sweep", "power sweep --device 3 --steps 2 --seconds 0.5 -o sweep.json -- true", GPU),
    ("show-sweep", "show sweep.json", {}),
    ("history", "history", {}),
    ("history-model", "history 'my model.onnx' a.json b.json", {}),
    ("show", "show a.json", {}),
    ("compare", "compare a.json b.json", {}),
    ("doctor", "doctor --area cpu --no-measure", {}),
    ("doctor-recorded", f"doctor --root {SOURCE}/tests/machines/doctor-intel.tree", {}),
    ("plan-load-no", "size 'my model.onnx' --device T4 --rps 1e12 --p99-ms 1e-6 --service-ms 1", {}),
    ("plan-memory-no", "plan 'my model.onnx' --batch 4096 --memory-limit 100KiB", {}),
    ("plan-training-no", "size mlp --device T4 --training adam --batch 100000000", {}),
    ("explain", "explain --lang en ridge point", {}),
    ("explain-list", "explain --lang en --list terms", {}),
    ("lab-list", "lab list", {}),
    ("lab-occupancy", "lab occupancy --threads 512 --registers 65 --cc 6.1", {}),
]


@pytest.mark.parametrize("line, environment", [pytest.param(line, own, id=name) for name, line, own in LINES])
def test_each_suggested_line_is_accepted(folder, line, environment):
    environment = environment | {"RIDGE_FAKE_NVML_STATE": str(folder / "state")}
    done = run(folder, line, environment)
    for suggested in next_lines(done.stdout):
        check_line(folder, suggested, environment)


@pytest.mark.parametrize("line", ["gpus T4 --json", "gpus T4 --csv", "gpus T4 --quiet", "history --csv",
                                  "history --json", "show a.json --quiet",
                                  "compare a.json b.json --csv", "power --json", "explain --json roofline",
                                  "lab occupancy --json"])
def test_documents_and_quiet_runs_have_none(folder, line):
    assert "next:" not in run(folder, line).stdout


@pytest.mark.parametrize("content, suggested",
                         [(None, "ridge tune resnet50 -o 'nothing here'"), (b"no model", "ridge doctor --verbose")])
def test_a_server_without_models_says_what_to_do(folder, tmp_path, content, suggested):
    (tmp_path / "nothing here").mkdir()
    if content:
        (tmp_path / "nothing here" / "broken.onnx").write_bytes(content)
    command = [RIDGE, "serve", "nothing here", "--port", "0", "--metrics-port", "0",
               *([] if content else ["--model-control-mode", "poll"])]
    server = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
                              env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")})
    try:
        line = next(line for line in server.stderr if "try: " in line)
    finally:
        server.terminate()
        server.communicate(timeout=60)
    assert line.rstrip().endswith("try: " + suggested)
    check_line(folder, suggested, {})


ENGINE = "--engine fake --engine-option latency_ms=4 --max-batch 4 --seconds 2"

# A line, and what it suggests: all that was asked for, and nothing of the output.
CONTENTS = {
    "bench open.onnx --batch 8 --shape sequence=16 --iterations 3 --csv --quiet": None,
    "bench open.onnx --batch 8 --shape sequence=16 --iterations 3 -o kept.json": [
        "ridge bench open.onnx --batch 8 --shape sequence=16 --iterations 3 --layers",
        "ridge tune open.onnx --shape sequence=16 -o models"],
    "bench 'my model.onnx' -b 64 -t 1 --engine onnxruntime --iterations 3": [
        "ridge bench 'my model.onnx' --batch 64 --threads 1 --iterations 3 --engine onnxruntime --layers",
        "ridge tune 'my model.onnx' --threads 1 --engine onnxruntime --max-batch 64 -o models"],
    "bench 'my model.onnx' --shape x=4x16 --iterations 3": [
        "ridge bench 'my model.onnx' --shape x=4x16 --iterations 3 --layers",
        "ridge tune 'my model.onnx' --shape x=4x16 --max-batch 1 -o models"],
    "plan 'my model.onnx' --batch 8 --threads 1 --precision bf16 --layers 3": [
        "ridge bench 'my model.onnx' --threads 1 --batch 8 --engine openvino --precision bf16",
        "ridge tune 'my model.onnx' --threads 1 --precision bf16 -o models"],
    "size 'my model.onnx' --precision int8 --rps 10": [
        "ridge bench 'my model.onnx'", "ridge tune 'my model.onnx' --rps 10 --precision int8 -o models"],
    "plan 'my model.onnx' --batch 400000000 --device T4 --memory": ["ridge plan 'my model.onnx' --device T4 --memory "
                                                                    "--batch "],
    f"tune 'my model.onnx' {ENGINE} --for latency --rps 10 --precision fp32 --held-out 4 --json --html x.html": None,
    f"tune 'my model.onnx' {ENGINE} --for latency --precision fp32 --held-out 4 --html x.html": [
        "ridge tune 'my model.onnx' --for latency --seconds 2 --max-batch 4 --engine fake --precision fp32 "
        "--held-out 4 --engine-option latency_ms=4 -o models"],
    f"tune 'my model.onnx' {ENGINE} --p99-ms 0.001": ["ridge bench 'my model.onnx' --engine-option latency_ms=4 "
                                                      "--engine fake"],
    f"tune 'my model.onnx' second.onnx --share {ENGINE}": [
        "ridge tune 'my model.onnx' second.onnx --share --seconds 2 --max-batch 4 --engine fake "
        "--engine-option latency_ms=4 -o models"],
    "mlp": ["ridge plan mlp", "ridge bench mlp", "ridge tune mlp -o models", "ridge serve "],
}


@pytest.mark.parametrize("line", CONTENTS)
def test_a_suggested_line_keeps_what_was_asked_for(folder, line):
    done = run(folder, line, {"RIDGE_FAKE_CLOCK": "1"} if line.startswith("tune") else {})
    if CONTENTS[line] is None:
        assert "next:" not in done.stdout
        return
    assert done.returncode in (0, 1), done.stderr
    suggested = next_lines(done.stdout)
    assert len(suggested) == len(CONTENTS[line])
    for expected, found in zip(CONTENTS[line], suggested, strict=True):
        assert found.startswith(expected) if expected.endswith(" ") else found == expected
    for each in suggested:
        check_line(folder, each, {})
    assert "cache" not in done.stdout.splitlines()[0]
