"""ctest: timeout 900

Every page of `--html` in a real browser, as the program writes it: no error, no request, no wider than the window on a
desktop and on a phone, dark, whole in Chinese, and on paper. What a single page must show besides is tested in
test_plan_page.py, test_tune_page.py, ….
"""

import json
import os
import pathlib
import subprocess

import pytest

import browser
import known_limits
import models
from server import Server

RIDGE = os.environ["RIDGE"]
SOURCE = pathlib.Path(os.environ["RIDGE_SOURCE"])
SUPPORT = os.environ["RIDGE_TEST_SUPPORT"]
FAKE = ["--engine", "fake", "--engine-option", "latency_ms=3", "--engine-option", "latency_ms_per_row=0.2"]
GPUS = {"RIDGE_CUDA": f"{SUPPORT}/libcuda.so.1", "RIDGE_NVML": f"{SUPPORT}/libnvidia-ml.so.1",
        "RIDGE_NVRTC": f"{SUPPORT}/libnvrtc.so.1", "RIDGE_CUBLASLT": "/nowhere/libcublasLt.so"}

# Sentences that others wrote: sources of the catalogue, lines of a kernel log, texts of NVIDIA's library; and a
# command.
QUOTED = ["TechPowerUp", "github.com", "NVRM:", "AER:", "Out of memory: Killed", "answers on PCIe",
          "A memory error was", "cooling, seating",
          "affected application", "Failed to initialize", "pid=", "cuModuleLoadDataEx", "read kernel buffer",
          "ridge bench device"]

# name: (arguments, environment, exit status)
PAGES = {
    "plan": (["size", "model.onnx", "-d", "RTX 4090", "--batch", "1..64", "--rps", "1000", "--cost", "--price-usd",
              "2000", "--memory", "--training", "adamw"], {}, 0),
    "plan-serving": (["size", "config.json", "--gpu", "H100 SXM,L40S", "--tpot-ms", "20", "--weights", "bf16,int4",
                      "--gpus", "2", "--model-id", "m", "--manifest", "m.yaml"], {}, 0),
    "plan-serving-no": (["size", "config.json", "--gpu", "T4", "--tp", "1"], {}, 1),
    "bench": (["bench", "model.onnx", *FAKE, "--seconds", "0.3"], {}, 0),
    "bench-rate": (["bench", "model.onnx", *FAKE, "--seconds", "0.3", "--rate", "50"], {}, 0),
    "bench-layers": (["bench", "model.onnx", "--layers", "--seconds", "0.5"], {}, 0),
    "device": (["bench", "device"], {}, 0),
    "device-gpu": (["bench", "device", "--device", "cuda:0", "--seconds", "0.1"],
                   {**GPUS, "RIDGE_FAKE_CUDA": f"{SOURCE}/tests/support/cuda/bench.txt",
                    "RIDGE_FAKE_NVML": f"{SOURCE}/tests/support/nvml/power-brake.txt"}, 0),
    "tune": (["tune", "model.onnx", *FAKE, "--max-batch", "4", "--seconds", "4"], {"RIDGE_FAKE_CLOCK": "1"}, 0),
    "tune-share": (["tune", "model.onnx", "other.onnx", "--share", *FAKE, "--engine-option", "processors=2",
                    "--engine-option", "interference=0.3", "--threads", "2",
                    "--max-batch", "2", "--p99-ms", "model=1"], {"RIDGE_FAKE_CLOCK": "1"}, 1),
    "lab": (["lab", "L03", "L04", "L05", "L12", "--seconds", "20"], {}, 0),
    "doctor-gpu": (["doctor", "--root", f"{SOURCE}/tests/machines/doctor-sick-gpu.tree"], {}, 1),
    "doctor-versions": (["doctor", "--root", f"{SOURCE}/tests/machines/doctor-wrong-versions.tree"], {}, 1),
    "doctor-neglected": (["doctor", "--root", f"{SOURCE}/tests/machines/doctor-neglected.tree"], {}, 0),
    "doctor-amd": (["doctor", "--root", f"{SOURCE}/tests/machines/doctor-amd.tree"], {}, 0),
    "gpus": (["gpus", "RTX 4090"], {}, 0),
    "gpus-list": (["gpus", "--vendor", "AMD"], {}, 0),
    "gpus-compare": (["gpus", "--compare", "RTX 4090", "A100 SXM4 80GB"], {}, 0),
    "gpus-recommend": (["gpus", "--recommend", "model.onnx", "--p99-ms", "20", "--rps", "500"], {}, 0),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = known_limits.fill(tmp_path_factory.mktemp("pages"))
    models.products(folder / "model.onnx", width=16)
    models.products(folder / "other.onnx", width=16)
    (folder / "config.json").write_text(json.dumps({
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "torch_dtype": "bfloat16"}))
    return folder


@pytest.fixture(scope="module", params=PAGES)
def written(request, folder):
    """(page, document): a page in English and the object that it was drawn from."""
    arguments, environment, status = PAGES[request.param]
    path = folder / f"{request.param}.html"
    done = subprocess.run([RIDGE, *arguments, "--html", path, "--json"], cwd=folder, capture_output=True, text=True,
                          timeout=200,
                          env={**os.environ, "XDG_CACHE_HOME": str(folder), "LC_ALL": "C.UTF-8", **environment})
    assert done.returncode == status, done.stderr
    assert f"wrote {path}" in done.stderr
    return path, json.loads(done.stdout)


@pytest.mark.parametrize("width", [1280, 390])
def test_no_error_no_request_and_no_wider_than_the_window(written, width):
    browser.check_fits(written[0], width)


def test_figures_are_those_of_the_document(written):
    browser.check_figures(*written, set())


def test_whole_in_chinese(written):
    browser.check_chinese(written[0], QUOTED)


def test_on_paper(written):
    browser.check_paper(written[0])


def test_says_when_where_and_by_what_it_was_made(written):
    path, document = written
    with browser.shown(path, 1280) as (page, _):
        about = page.locator("#about").text_content()
        assert document["about"]["ridge"] in about and document["about"]["machine"]["id"] in about
        assert page.locator("#command").text_content() == document["about"]["command"]


@pytest.mark.parametrize("locale, option, language",
                         [("zh_CN.UTF-8", [], "zh-CN"), ("zh_CN.UTF-8", ["--lang", "en"], "en"), ("C", [], "en"),
                          ("C", ["--lang", "zh"], "zh-CN")])
def test_the_language_is_the_systems_unless_one_is_given(tmp_path, locale, option, language):
    subprocess.run([RIDGE, "gpus", "RTX 4090", "--html", "page.html", *option], cwd=tmp_path, check=True,
                   capture_output=True, env={**os.environ, "LC_ALL": locale})
    assert f'<html lang="{language}">' in (tmp_path / "page.html").read_text()


# A sweep of loads against a server, as `ridge bench URL --json` has it.
def test_a_servers_curve_is_latency_over_throughput(folder, tmp_path):
    def point(concurrency, rows_per_s, p50, p99, failures):
        return {"concurrency": concurrency, "rate_per_s": None, "requests_per_s": rows_per_s,
                "throughput_per_s": rows_per_s, "samples": 100,
                "latency_ms": {"mean": p50, "p50": p50, "p90": p99, "p95": p99, "p99": p99, "min": p50, "max": p99},
                "ci95_percent": 2.0, "load": None,
                "latency_ci95_ms": {"p99": {"low": 0.9 * p99, "high": 1.1 * p99}},
                "throughput_ci95_per_s": {"low": 0.8 * rows_per_s, "high": 1.2 * rows_per_s},
                "failed": sum(failures.values()), "failures": failures,
                "problems": {kind: browser.HOSTILE for kind in failures}, "reconnects": 0,
                "client": {"threads": 1, "cpus": 0.2, "bottleneck": concurrency > 8},
                "server": {"queue_ms": 0.5, "compute_infer_ms": 1.0, "mean_batch": 2.5},
                "percent_of_limit": None, "interrupted": False}
    points = [point(1, 500.0, 2.0, 3.0, {}), point(8, 2000.0, 4.0, 9.0, {}), point(16, 2100.0, 8.0, 30.0, {"503": 4})]
    document = {"about": {"schema": 1, "verb": "bench server", "ridge": "1", "date": "2026-11-23T12:00:00Z",
                          "command": "ridge bench URL", "machine": None},
                "url": "http://host:8000", "server": "ridge", "server_version": "1", "on_this_machine": False,
                "model": "resnet50", "model_version": "1", "batch": 1,
                "payload": "binary", "points": points, "notes": [], "interrupted": False, "ended_early": "",
                "search": {"p99_ms": 10.0, "highest_rate_per_s": 1900.0, "lowest_failed_rate_per_s": 2000.0,
                           "confirmed": True, "limiter": "queue", "sentence": "It queues."}}
    with Server(folder / "model.onnx") as server:
        subprocess.run([RIDGE, "bench", f"http://127.0.0.1:{server.port}/v2/models/model", "--seconds", "0.5", "--html",
                        "bench.html"], cwd=folder, check=True,
                       capture_output=True, timeout=200, env={**os.environ, "XDG_CACHE_HOME": str(folder)})
    path = tmp_path / "server.html"
    path.write_text(browser.with_data(folder / "bench.html", document))
    browser.check_fits(path, 390)
    browser.check_figures(path, document, {"points.1.throughput_per_s", "points.2.failed", "search.highest_rate_per_s"})
    browser.check_chinese(path)
    browser.check_paper(path)
    with browser.shown(path, 1280) as (page, _):
        assert page.evaluate("Chart.getChart('load-chart').data.datasets[1].data.map(p => [p.x, p.y])") == [[500, 3],
                                                                                                            [2000, 9],
                                                                                                            [2100, 30]]
        assert page.locator("#failures td.name").text_content() == browser.HOSTILE
        rows = [row.locator("td").all_text_contents() for row in page.locator("#curve tbody tr").all()]
        assert rows[0][0] == rows[3][0] == "1" and rows[1][0] == "8", "in two tables, as wide as a sheet of paper"
        assert "400 – 600" in rows[0] and "2.70 ms – 3.30 ms" in rows[3]
        bars = page.evaluate("""() => Chart.getChart('load-chart').data.datasets.filter(set => set.label === '')
                                        .map(set => set.data.map(p => [p.x, p.y])
                                        .filter(([x, y]) => !Number.isNaN(x) && !Number.isNaN(y)))""")
        assert [[500, 2.7], [500, 3.3]] in [[[round(x), round(y, 3)] for x, y in bar[:2]] for bar in bars], bars
        assert [[400, 2.0], [600, 2.0]] in [bar[:2] for bar in bars], bars
